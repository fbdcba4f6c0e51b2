#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>

#include "search.hpp"
#include "surface_arrays.hpp"
#include "targets.hpp"

namespace segauge {
namespace {

Vec3 row_of(const InputArray<double>& table, size_t row) {
  return {table.data()[3 * row], table.data()[3 * row + 1], table.data()[3 * row + 2]};
}

void lay_side_by_side(Patterns& patterns) {
  constexpr auto kSize = static_cast<int64_t>(SampleGroup::kSize);
  patterns.group_start.push_back(0);
  for (size_t code = 0; code + 1 < patterns.sample_start.size(); ++code) {
    const int64_t samples = patterns.sample_start[code + 1] - patterns.sample_start[code];
    patterns.group_start.push_back(patterns.group_start.back() + (samples + kSize - 1) / kSize);
  }
  patterns.group.resize(static_cast<size_t>(patterns.group_start.back()));
  for (size_t code = 0; code + 1 < patterns.sample_start.size(); ++code) write_groups(patterns, code);
}

// For every step between two cells that are near each other: the least of its mirrored versions stands for all.
void find_near_offsets(Patterns& patterns) {
  constexpr int64_t kReach = KnownDistances::kReach;
  for (int64_t z = -kReach; z <= kReach; ++z)
    for (int64_t y = -kReach; y <= kReach; ++y)
      for (int64_t x = -kReach; x <= kReach; ++x) {
        const std::array<int64_t, 3> step{z, y, x};
        std::array<int64_t, 3> least = step;
        size_t shown_by = 0;
        for (size_t v = 0; v < patterns.views.size(); ++v) {
          const Patterns::View& view = patterns.views[v];
          std::array<int64_t, 3> seen;
          for (size_t i = 0; i < 3; ++i) seen[i] = view.sign[i] * step[static_cast<size_t>(view.axis[i])];
          if (seen < least) {
            least = seen;
            shown_by = v;
          }
        }
        const auto at = std::find(patterns.standing.begin(), patterns.standing.end(), least);
        patterns.near_offset.push_back(
            {static_cast<uint16_t>(shown_by), static_cast<uint16_t>(at - patterns.standing.begin())});
        if (at == patterns.standing.end()) patterns.standing.push_back(least);
      }
}

// The views that `patterns` lists: arrays view_axis, view_sign, view_code, view_sample, one row each.
void read_views(const nb::object& patterns, size_t skip, Patterns& out) {
  const auto axis = nb::cast<InputArray<int64_t>>(patterns.attr("view_axis"));
  const auto sign = nb::cast<InputArray<int64_t>>(patterns.attr("view_sign"));
  const auto code = nb::cast<InputArray<uint8_t>>(patterns.attr("view_code"));
  const auto sample = nb::cast<InputArray<uint8_t>>(patterns.attr("view_sample"));
  const size_t codes = code.shape(1), ndim = axis.shape(1);
  for (size_t v = 0; v < axis.shape(0); ++v) {
    Patterns::View view{{0, 1, 2}, {1, 1, 1}};
    for (size_t i = 0; i < ndim; ++i) {
      view.axis[skip + i] = static_cast<int64_t>(skip) + axis.data()[v * ndim + i];
      view.sign[skip + i] = sign.data()[v * ndim + i];
    }
    out.views.push_back(view);
  }
  out.seen_code.assign(code.data(), code.data() + code.size());
  out.seen_sample.assign(sample.data(), sample.data() + sample.size());
  // those with few pieces first: they are the common ones, and what is looked up often stands together
  std::vector<size_t> occurring;
  for (size_t c = 0; c < codes; ++c)
    if (out.same_as[c] == static_cast<int64_t>(c)) occurring.push_back(c);
  std::stable_sort(occurring.begin(), occurring.end(), [&](size_t a, size_t b) {
    return out.target_start[a + 1] - out.target_start[a] < out.target_start[b + 1] - out.target_start[b];
  });
  out.kinds = occurring.size();
  std::vector<uint8_t> kind(codes, 0);
  for (size_t k = 0; k < occurring.size(); ++k) kind[occurring[k]] = static_cast<uint8_t>(k);
  for (const uint8_t seen : out.seen_code) out.seen_kind.push_back(kind[seen]);
  find_near_offsets(out);
}

// `patterns` is a segauge.geometry.patterns.CellPatterns.
Patterns read_patterns(const nb::object& patterns) {
  auto table = [&](const char* name) { return nb::cast<InputArray<double>>(patterns.attr(name)); };
  auto starts = [&](const char* name) {
    const auto array = nb::cast<InputArray<int64_t>>(patterns.attr(name));
    return std::vector<int64_t>(array.data(), array.data() + array.size());
  };
  Patterns out;
  const auto linear = table("linear");
  const size_t d = linear.shape(0), skip = 3 - d;
  read_steps(linear, out);
  out.sample_start = starts("sample_start");
  out.target_start = starts("target_start");
  out.same_as = starts("same_as");
  const auto sample = table("sample_point"), area = table("sample_area");
  const auto corner = table("target_corner"), u = table("target_u"), v = table("target_v");
  const auto is_rectangle = nb::cast<InputArray<bool>>(patterns.attr("target_is_rectangle"));
  for (size_t i = 0; i < sample.shape(0); ++i) out.sample.push_back(row_of(sample, i));
  out.area.assign(area.data(), area.data() + area.size());
  for (size_t i = 0; i < corner.shape(0); ++i)
    out.target.push_back(prepared_target(row_of(corner, i), row_of(u, i), row_of(v, i), is_rectangle.data()[i]));
  const auto lowest = table("cell_origin"), inverse = table("inverse");
  const Vec3 reach = out.reach();
  for (size_t axis = 0; axis < 3; ++axis) {
    out.cell_low[axis] = axis >= skip ? lowest.data()[axis - skip] * out.step[axis][axis] : 0.0;
  }
  const size_t codes = out.sample_start.size() - 1;
  out.sample_box.resize(codes);
  out.target_box.resize(codes);
  out.clearance.assign(out.sample.size(), 1e300);
  out.wide_clearance = out.clearance;
  for (size_t code = 0; code < codes; ++code) {
    for (int64_t i = out.sample_start[code]; i < out.sample_start[code + 1]; ++i) {
      const Vec3& sample = out.sample[static_cast<size_t>(i)];
      out.sample_box[code].include(sample);
      for (size_t axis = skip; axis < 3; ++axis) {
        // where in its cell the sample sits along this axis, 0 to 1; the neighbour ends one step beyond the cell
        double within = -lowest.data()[axis - skip];
        for (size_t k = skip; k < 3; ++k) within += inverse.data()[(axis - skip) * d + k - skip] * sample[k];
        const double aside = std::min(within, 1 - within), step = (1 - 1e-9) / reach[axis];
        double& clearance = out.clearance[static_cast<size_t>(i)];
        double& wide_clearance = out.wide_clearance[static_cast<size_t>(i)];
        clearance = std::min(clearance, (1 + aside) * step);
        wide_clearance = std::min(wide_clearance, (KnownDistances::kReach + aside) * step);
      }
    }
    for (int64_t i = out.target_start[code]; i < out.target_start[code + 1]; ++i) {
      const Target& t = out.target[static_cast<size_t>(i)];
      for (int s = 0; s < 2; ++s)
        for (int r = 0; r < (t.is_rectangle || s == 0 ? 2 : 1); ++r) {
          Vec3 p;
          for (int k = 0; k < 3; ++k) p[k] = t.corner[k] + s * t.u[k] + r * t.v[k];
          out.target_box[code].include(p);
        }
    }
  }
  lay_side_by_side(out);
  read_views(patterns, skip, out);
  return out;
}

SurfaceKind kind_of(const std::string& surface) {
  if (surface == "marching-cubes") return SurfaceKind::marching_cubes;
  if (surface == "voxel") return SurfaceKind::voxel;
  throw std::invalid_argument("unknown surface");
}

nb::tuple surface_distances(const BitVolume& pred, const BitVolume& gt, std::optional<const BitVolume*> ignore,
                            const std::string& surface, PreparedPatterns& prepared, int threads) {
  pred.require_same_shape(gt);
  const SurfaceKind kind = kind_of(surface);
  const Patterns& patterns = prepared.patterns;
  const BitVolume* ignored = ignore.value_or(nullptr);
  Samples from_pred, from_gt;
  {
    nb::gil_scoped_release release;
    const CellSet p = find_cells(pred, ignored, kind, patterns, threads);
    const CellSet g = find_cells(gt, ignored, kind, patterns, threads);
    if (p.cells.empty() || g.cells.empty()) throw std::invalid_argument("a mask is empty");
    from_pred = directed_distances(p, g, prepared, threads);
    from_gt = directed_distances(g, p, prepared, threads);
  }
  return hand_out(std::move(from_pred), std::move(from_gt));
}

BitVolume band(const BitVolume& mask, const std::string& surface, const PreparedPatterns& prepared, double width_mm,
               int threads) {
  const SurfaceKind kind = kind_of(surface);
  nb::gil_scoped_release release;
  const CellSet cells = find_cells(mask, nullptr, kind, prepared.patterns, threads);
  return boundary_band(mask, cells, kind, prepared.patterns, width_mm, threads);
}

}  // namespace

void bind_surface(nb::module_& m) {
  nb::class_<PreparedPatterns>(m, "PreparedPatterns", "The surface pieces of all cell codes, ready to be searched.");
  m.def(
      "prepare", [](const nb::object& patterns) { return std::make_unique<PreparedPatterns>(read_patterns(patterns)); },
      nb::arg("patterns"));
  m.def("surface_distances", &surface_distances, nb::arg("pred"), nb::arg("gt"), nb::arg("ignore").none(),
        nb::arg("surface"), nb::arg("patterns"), nb::arg("threads"));
  m.def("boundary_band", &band, nb::arg("mask"), nb::arg("surface"), nb::arg("patterns"), nb::arg("width_mm"),
        nb::arg("threads"));
}

}  // namespace segauge
