#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>

#include "bindings/surface_arrays.hpp"
#include "search/bounds.hpp"
#include "subvoxel/normal_quantile.hpp"
#include "subvoxel/subvoxel.hpp"

namespace segauge {
namespace {

SubvoxelRule::Gaussian read_gaussian(const nb::handle& gaussian, size_t skip) {
  SubvoxelRule::Gaussian out;
  out.width = nb::cast<double>(gaussian.attr("width_mm"));
  for (auto& weights : out.along) weights[0] = 1;
  size_t axis = skip;
  for (const nb::handle weights : nb::borrow<nb::tuple>(gaussian.attr("along"))) {
    const auto array = nb::cast<InputArray<double>>(weights);
    out.radius[axis] = static_cast<int64_t>(array.size() / 2);
    if (out.radius[axis] > SubvoxelRule::Gaussian::kMostRadius)
      throw std::invalid_argument("a gaussian that reaches too far");
    std::copy_n(array.data(), array.size(), out.along[axis++].data());
  }
  for (axis = 0; axis < 3; ++axis)
    for (uint32_t bits = 0; bits < 2u << (2 * out.radius[axis]); ++bits) {
      double sum = 0;
      for (uint32_t k = 0; bits >> k != 0; ++k) sum += bits >> k & 1 ? out.along[axis][k] : 0.0;
      out.of_bits[axis].push_back(sum);
    }
  const std::vector<double>& sums = out.of_bits[2];
  for (size_t bits = 0; bits < 2 * sums.size(); ++bits)
    out.of_neighbours.push_back({sums[bits % sums.size()], sums[bits / 2]});
  return out;
}

// `loops` is a segauge.geometry.subvoxel.CellLoops.
void read_fans(const nb::object& loops, size_t skip, FanTable& out) {
  auto whole_numbers = [&](const char* name) {
    const auto array = nb::cast<InputArray<int64_t>>(loops.attr(name));
    return std::vector<int64_t>(array.data(), array.data() + array.size());
  };
  const std::vector<int64_t> loop_start = whole_numbers("loop_start"), corner_start = whole_numbers("corner_start");
  const std::vector<int64_t> axis = whole_numbers("axis"), low = whole_numbers("low");
  const size_t ndim = 3 - skip;
  for (size_t code = 0; code + 1 < loop_start.size(); ++code) {
    out.shape.emplace_back();
    for (auto loop = static_cast<size_t>(loop_start[code]); loop < static_cast<size_t>(loop_start[code + 1]); ++loop) {
      std::vector<FanTable::Edge> corners;
      for (auto k = static_cast<size_t>(corner_start[loop]); k < static_cast<size_t>(corner_start[loop + 1]); ++k) {
        FanTable::Edge edge{skip + static_cast<size_t>(axis[k]), {0, 0, 0}};
        std::copy_n(low.data() + k * ndim, ndim, edge.low.data() + skip);
        corners.push_back(edge);
      }
      out.add(corners);
    }
  }
}

// `rule` is a segauge.geometry.subvoxel.SubvoxelRule.
SubvoxelRule read_rule(const nb::object& rule) {
  const auto linear = nb::cast<InputArray<double>>(rule.attr("linear"));
  const size_t d = linear.shape(0), skip = 3 - d;
  const nb::object loops = rule.attr("loops");
  SubvoxelRule out;
  out.ndim = static_cast<int>(d);
  out.margin = nb::cast<double>(rule.attr("margin"));
  out.least_share = nb::cast<double>(rule.attr("least_share"));
  if (!(out.least_share >= NormalQuantile::kLeast)) throw std::invalid_argument("least_share is too small");
  out.largest_share = nb::cast<double>(rule.attr("largest_share"));
  out.thin_from = nb::cast<double>(rule.attr("thin_from_mm"));
  out.thin_to = nb::cast<double>(rule.attr("thin_to_mm"));
  for (size_t b = 0; b < out.gaussians.size(); ++b) out.gaussians[b] = read_gaussian(rule.attr("gaussians")[b], skip);
  read_fans(loops, skip, out.fans);
  out.near_steps = nb::cast<double>(rule.attr("near_steps"));
  out.far_steps = nb::cast<double>(rule.attr("far_steps"));
  out.strip_error = nb::cast<double>(rule.attr("strip_error"));
  out.flat_steps = nb::cast<double>(rule.attr("flat_steps"));
  out.gaussians_variance = nb::cast<double>(rule.attr("gaussians_variance"));
  out.flat_variance = nb::cast<double>(rule.attr("flat_variance"));
  auto by_axis = [&](const char* name, std::array<double, 3>& to) {
    size_t axis = skip;
    for (const nb::handle each : nb::borrow<nb::tuple>(rule.attr(name))) to[axis++] = nb::cast<double>(each);
  };
  by_axis("chord_reach_mm", out.chord_reach);
  by_axis("slope_to_mm", out.slope_to);
  out.chord_error = nb::cast<double>(rule.attr("chord_error_mm"));
  out.roundness_error = nb::cast<double>(rule.attr("roundness_error"));
  for (const nb::handle axis : nb::borrow<nb::tuple>(rule.attr("cap_axes")))
    out.has_caps[skip + nb::cast<size_t>(axis)] = true;
  for (const nb::handle axis : nb::borrow<nb::tuple>(rule.attr("thick_axes")))
    out.is_thick[skip + nb::cast<size_t>(axis)] = true;
  read_steps(linear, out.lattice);
  for (size_t axis = 0; axis < 3; ++axis)
    out.edge[axis] = std::sqrt(dot(out.lattice.step[axis], out.lattice.step[axis]));
  Box cell;
  for (int corner = 0; corner < 8; ++corner)
    cell.include(out.lattice.offset(skip == 0 ? corner >> 2 : 0, corner >> 1 & 1, corner & 1));
  for (size_t code = 0; code < out.fans.shape.size(); ++code) {
    out.lattice.same_as.push_back(static_cast<int64_t>(code));
    out.lattice.target_box.push_back(cell);
  }
  return out;
}

nb::tuple subvoxel_distances(const BitVolume& pred, const BitVolume& gt, std::optional<const BitVolume*> ignore,
                             const SubvoxelRule& rule, int threads) {
  pred.require_same_shape(gt);
  Samples from_pred, from_gt;
  std::array<double, 2> largest;
  {
    nb::gil_scoped_release release;
    const SubvoxelSurface p = find_subvoxel_surface(pred, ignore.value_or(nullptr), rule, threads);
    const SubvoxelSurface g = find_subvoxel_surface(gt, ignore.value_or(nullptr), rule, threads);
    if (p.grid.cells.empty() || g.grid.cells.empty()) throw std::invalid_argument("a mask is empty");
    from_pred = directed_distances(p, g, rule, threads);
    from_gt = directed_distances(g, p, rule, threads);
    largest = {largest_distance(p, g, rule, from_pred), largest_distance(g, p, rule, from_gt)};
  }
  return samples_to_numpy(std::move(from_pred), std::move(from_gt), largest);
}

BitVolume subvoxel_band(const BitVolume& mask, const SubvoxelRule& rule, double width_mm, int threads) {
  nb::gil_scoped_release release;
  return boundary_band(mask, find_subvoxel_surface(mask, nullptr, rule, threads), rule, width_mm, threads);
}

}  // namespace

void bind_subvoxel(nb::module_& m) {
  nb::class_<SubvoxelRule>(m, "PreparedRule", "All that decides the sub-voxel surface of a mask on one lattice.");
  m.def(
      "prepare_subvoxel", [](const nb::object& rule) { return std::make_unique<SubvoxelRule>(read_rule(rule)); },
      nb::arg("rule"));
  m.def("subvoxel_distances", &subvoxel_distances, nb::arg("pred"), nb::arg("gt"), nb::arg("ignore").none(),
        nb::arg("rule"), nb::arg("threads"));
  m.def("subvoxel_band", &subvoxel_band, nb::arg("mask"), nb::arg("rule"), nb::arg("width_mm"), nb::arg("threads"));
}

}  // namespace segauge
