#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <numeric>

#include "bindings/surface_arrays.hpp"
#include "core/parallel.hpp"
#include "search/band/band.hpp"
#include "search/near/near_search.hpp"

namespace segauge {
namespace {

// The rows of a table with one column an axis; in 2-D the first of three is zero.
std::vector<Vec3> rows_of(const InputArray<double>& table, size_t first, size_t count) {
  const size_t d = table.shape(table.ndim() - 1), skip = 3 - d;
  std::vector<Vec3> rows(count, Vec3{});
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < d; ++k) rows[i][skip + k] = table.data()[(first + i) * d + k];
  return rows;
}

template <class T>
std::vector<T> list_of(const nb::object& from, const char* name) {
  const auto array = nb::cast<InputArray<T>>(from.attr(name));
  return std::vector<T>(array.data(), array.data() + array.size());
}

// The symmetries that `symmetries` lists (segauge.geometry.symmetries.Symmetries), with the samples of those rows that
// are taken over.
void read_symmetries(const nb::object& symmetries, const std::vector<char>& is_taken, CellShapes& out) {
  const auto axis = nb::cast<InputArray<int64_t>>(symmetries.attr("axis"));
  const auto sign = nb::cast<InputArray<int64_t>>(symmetries.attr("sign"));
  const auto sample = nb::cast<InputArray<uint8_t>>(symmetries.attr("sample"));
  const size_t ndim = axis.shape(1), skip = 3 - ndim, samples = sample.shape(1);
  for (size_t v = 0; v < axis.shape(0); ++v) {
    Symmetries::Symmetry symmetry{{0, 1, 2}, {1, 1, 1}};
    for (size_t i = 0; i < ndim; ++i) {
      symmetry.axis[skip + i] = static_cast<int64_t>(skip) + axis.data()[v * ndim + i];
      symmetry.sign[skip + i] = sign.data()[v * ndim + i];
    }
    out.symmetries.all.push_back(symmetry);
    for (size_t i = 0; i < samples; ++i)
      if (is_taken[i]) out.symmetries.image_sample.push_back(sample.data()[v * samples + i]);
  }
  out.symmetries.image_sample.resize(out.symmetries.image_sample.size() +
                                     PairCache::kMostSamples);  // read in whole groups
  out.symmetries.image_code = list_of<uint8_t>(symmetries, "code");
  number_distinct_codes(out);
  find_canonical_codes(out);
  find_image_steps(out);
}

// `shapes` is a segauge.geometry.patterns.CellShapes.
std::shared_ptr<CellShapes> read_shapes(const nb::object& shapes) {
  auto out = std::make_shared<CellShapes>();
  const nb::object unit = shapes.attr("unit");
  out->same_as = list_of<int64_t>(unit, "same_as");
  const auto point = nb::cast<InputArray<double>>(unit.attr("sample_point"));
  const auto extent = nb::cast<InputArray<double>>(unit.attr("sample_extent"));
  const auto sides = nb::cast<InputArray<double>>(unit.attr("target_sides"));
  const auto is_flat = nb::cast<InputArray<bool>>(unit.attr("target_is_flat"));
  const std::vector<int64_t> sample_code = list_of<int64_t>(unit, "sample_code");
  const std::vector<int64_t> target_code = list_of<int64_t>(unit, "target_code"),
                             number = list_of<int64_t>(unit, "target_piece");
  out->ndim = static_cast<int>(point.shape(1));
  for (size_t axis = 3 - point.shape(1); axis < 3; ++axis)
    out->cell_low[axis] = nb::cast<double>(shapes.attr("cell_origin"));
  const size_t samples = sample_code.size(), targets = target_code.size(), codes = out->same_as.size();
  const auto points = rows_of(point, 0, samples), extents = rows_of(extent, 0, samples);
  const auto corner = rows_of(sides, 0, targets), u = rows_of(sides, targets, targets),
             v = rows_of(sides, 2 * targets, targets);
  auto is_first = [&](int64_t code) { return out->same_as[static_cast<size_t>(code)] == code; };
  std::vector<char> is_taken;
  out->sample_start.assign(codes + 1, 0);
  out->target_start.assign(codes + 1, 0);
  for (size_t i = 0; i < samples; ++i) {
    is_taken.push_back(is_first(sample_code[i]));
    if (!is_taken.back()) continue;
    out->sample.push_back(points[i]);
    out->extent.push_back(extents[i]);
    ++out->sample_start[static_cast<size_t>(sample_code[i]) + 1];
  }
  for (size_t i = 0; i < targets; ++i) {
    if (!is_first(target_code[i])) continue;
    out->target.push_back({corner[i], u[i], v[i], is_flat.data()[i], number[i]});
    ++out->target_start[static_cast<size_t>(target_code[i]) + 1];
  }
  std::partial_sum(out->sample_start.begin(), out->sample_start.end(), out->sample_start.begin());
  std::partial_sum(out->target_start.begin(), out->target_start.end(), out->target_start.begin());
  read_symmetries(shapes.attr("symmetries"), is_taken, *out);
  out->beside = neighbour_bounds(*out);
  return out;
}

std::unique_ptr<PreparedPatterns> prepare(std::shared_ptr<CellShapes> shapes, const InputArray<double>& linear) {
  if (linear.ndim() != 2 || linear.shape(0) != static_cast<size_t>(shapes->ndim) || linear.shape(1) != linear.shape(0))
    throw std::invalid_argument("the steps of the lattice have another dimension than the shapes");
  CellPatterns patterns;
  read_steps(linear, patterns);
  put_on_lattice(*shapes, patterns);
  return std::make_unique<PreparedPatterns>(std::move(shapes), std::move(patterns));
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
  const CellPatterns& patterns = prepared.patterns;
  const BitVolume* ignored = ignore.value_or(nullptr);
  Samples from_pred, from_gt;
  std::array<double, 2> largest;
  {
    nb::gil_scoped_release release;
    const CellGrid p = find_cells(pred, ignored, kind, patterns, threads);
    const CellGrid g = find_cells(gt, ignored, kind, patterns, threads);
    if (p.cells.empty() || g.cells.empty()) throw std::invalid_argument("a mask is empty");
    from_pred = directed_distances(p, g, prepared, threads);
    from_gt = directed_distances(g, p, prepared, threads);
    largest = {largest_distance(p, g, patterns, from_pred), largest_distance(g, p, patterns, from_gt)};
  }
  return samples_to_numpy(std::move(from_pred), std::move(from_gt), largest);
}

BitVolume band(const BitVolume& mask, const std::string& surface, const PreparedPatterns& prepared, double width_mm,
               int threads) {
  const SurfaceKind kind = kind_of(surface);
  nb::gil_scoped_release release;
  return boundary_band(mask, kind, prepared.patterns, width_mm, threads);
}

// The bands of two masks; each is one thread's work, or that of half of them.
std::pair<BitVolume, BitVolume> band_pair(const BitVolume& a, const BitVolume& b, const std::string& surface,
                                          const PreparedPatterns& prepared, double width_mm, int threads) {
  const SurfaceKind kind = kind_of(surface);
  nb::gil_scoped_release release;
  std::pair<BitVolume, BitVolume> out;
  parallel_for(2, threads, [&](int64_t i) {
    (i == 0 ? out.first : out.second) =
        boundary_band(i == 0 ? a : b, kind, prepared.patterns, width_mm, std::max(1, threads / 2));
  });
  return out;
}

}  // namespace

void bind_surface(nb::module_& m) {
  nb::class_<PreparedPatterns>(m, "PreparedPatterns", "The surface pieces of all cell codes, ready to be searched.");
  nb::class_<CellShapes>(m, "CellShapes", "The surface pieces of all cell codes in cell units.");
  m.def("read_shapes", &read_shapes, nb::arg("shapes"));
  m.def("prepare", &prepare, nb::arg("shapes"), nb::arg("linear"));
  m.def("surface_distances", &surface_distances, nb::arg("pred"), nb::arg("gt"), nb::arg("ignore").none(),
        nb::arg("surface"), nb::arg("patterns"), nb::arg("threads"));
  m.def("boundary_band", &band, nb::arg("mask"), nb::arg("surface"), nb::arg("patterns"), nb::arg("width_mm"),
        nb::arg("threads"));
  m.def("boundary_band_pair", &band_pair, nb::arg("a"), nb::arg("b"), nb::arg("surface"), nb::arg("patterns"),
        nb::arg("width_mm"), nb::arg("threads"));
}

}  // namespace segauge
