#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <mutex>

#include "subvoxel.hpp"
#include "surface_arrays.hpp"

namespace segauge {
namespace {

// A rule, and the memory of the last surfaces made by it: getting memory from the system takes as long as using it.
struct PreparedRule {
  explicit PreparedRule(SubvoxelRule&& from) : rule(std::move(from)) {}

  const SubvoxelRule rule;

  // Runs work with the spare memory, which it gives back; if somebody else is using that, with none.
  template <class Work>
  auto with_room(Work&& work) {
    const std::unique_lock<std::mutex> lock(guard_, std::try_to_lock);
    Patterns none;
    Patterns& room = lock.owns_lock() ? spare_ : none;
    auto result = work(room);
    if (room.target.capacity() > kMostKept) room = Patterns();
    return result;
  }

 private:
  static constexpr size_t kMostKept = size_t{1} << 19;  // pieces; about 100 MB
  std::mutex guard_;
  Patterns spare_;
};

SubvoxelRule::Bell read_bell(const nb::handle& bell, size_t skip) {
  SubvoxelRule::Bell out;
  out.width = nb::cast<double>(bell.attr("width_mm"));
  out.along.fill({1.0});
  size_t axis = skip;
  for (const nb::handle weights : nb::borrow<nb::tuple>(bell.attr("along"))) {
    const auto array = nb::cast<InputArray<double>>(weights);
    out.along[axis].assign(array.data(), array.data() + array.size());
    out.radius[axis++] = static_cast<int64_t>(array.size() / 2);
  }
  if (out.radius[2] > 8) throw std::invalid_argument("a bell that reaches too far");
  for (uint32_t bits = 0; bits < 1u << (2 * out.radius[2] + 1); ++bits) {
    double sum = 0;
    for (size_t k = 0; k < out.along[2].size(); ++k) sum += bits >> k & 1 ? out.along[2][k] : 0.0;
    out.of_bits.push_back(sum);
  }
  return out;
}

// The least that a voxel across a face adds to any share.
double least_share_of_neighbour(const SubvoxelRule& rule) {
  double least = 1;
  for (const auto& bell : rule.bells)
    for (size_t axis = 0; axis < 3; ++axis) {
      double share = 1;
      for (size_t other = 0; other < 3; ++other)
        share *= bell.along[other][static_cast<size_t>(bell.radius[other]) + (other == axis && bell.radius[axis] > 0 ? 1 : 0)];
      least = std::min(least, share);
    }
  return least;
}

// `rule` is a segauge.geometry.subvoxel.SubvoxelRule.
SubvoxelRule read_rule(const nb::object& rule) {
  const auto linear = nb::cast<InputArray<double>>(rule.attr("linear"));
  const size_t d = linear.shape(0), skip = 3 - d;
  const nb::object loops = rule.attr("loops");
  auto whole_numbers = [&](const char* name) {
    const auto array = nb::cast<InputArray<int64_t>>(loops.attr(name));
    return std::vector<int64_t>(array.data(), array.data() + array.size());
  };
  SubvoxelRule out;
  out.ndim = static_cast<int>(d);
  out.margin = nb::cast<double>(rule.attr("margin"));
  out.least_share = nb::cast<double>(rule.attr("least_share"));
  out.largest_share = nb::cast<double>(rule.attr("largest_share"));
  out.thin_from = nb::cast<double>(rule.attr("thin_from_mm"));
  out.thin_to = nb::cast<double>(rule.attr("thin_to_mm"));
  for (size_t b = 0; b < out.bells.size(); ++b) out.bells[b] = read_bell(rule.attr("bells")[b], skip);
  out.needs_both_classes = least_share_of_neighbour(out) < 1e-6;
  out.loop_start = whole_numbers("loop_start");
  out.corner_start = whole_numbers("corner_start");
  const std::vector<int64_t> axis = whole_numbers("axis"), low = whole_numbers("low");
  for (size_t k = 0; k < axis.size(); ++k) {
    SubvoxelRule::Corner corner{skip + static_cast<size_t>(axis[k]), {0, 0, 0}};
    std::copy_n(low.data() + k * d, d, corner.low.data() + skip);
    out.corners.push_back(corner);
  }
  read_steps(linear, out.lattice);
  Box cell;
  for (int corner = 0; corner < 8; ++corner) cell.include(out.lattice.offset(skip == 0 ? corner >> 2 : 0, corner >> 1 & 1, corner & 1));
  for (size_t code = 0; code + 1 < out.loop_start.size(); ++code) {
    out.lattice.same_as.push_back(static_cast<int64_t>(code));
    out.lattice.target_box.push_back(cell);
  }
  return out;
}

nb::tuple subvoxel_distances(const BitVolume& pred, const BitVolume& gt, std::optional<const BitVolume*> ignore,
                             PreparedRule& prepared, int threads) {
  pred.require_same_shape(gt);
  std::pair<Samples, Samples> both;
  {
    nb::gil_scoped_release release;
    both = prepared.with_room([&](Patterns& room) {
      SubvoxelPair pair = find_subvoxel_cells(pred, &gt, ignore.value_or(nullptr), prepared.rule, std::move(room), threads);
      if (pair.pred.cells.empty() || pair.gt.cells.empty()) throw std::invalid_argument("a mask is empty");
      std::pair<Samples, Samples> found(directed_distances(pair.pred, pair.gt, pair.pieces, threads),
                                        directed_distances(pair.gt, pair.pred, pair.pieces, threads));
      room = std::move(pair.pieces);
      return found;
    });
  }
  return hand_out(std::move(both.first), std::move(both.second));
}

BitVolume subvoxel_band(const BitVolume& mask, const PreparedRule& prepared, double width_mm, int threads) {
  nb::gil_scoped_release release;
  const SubvoxelPair alone = find_subvoxel_cells(mask, nullptr, nullptr, prepared.rule, Patterns(), threads);
  return boundary_band(mask, alone.pred, SurfaceKind::marching_cubes, alone.pieces, width_mm, threads);
}

}  // namespace

void bind_subvoxel(nb::module_& m) {
  nb::class_<PreparedRule>(m, "PreparedRule", "All that decides the sub-voxel surface of a mask on one lattice.");
  m.def(
      "prepare_subvoxel", [](const nb::object& rule) { return std::make_unique<PreparedRule>(read_rule(rule)); },
      nb::arg("rule"));
  m.def("subvoxel_distances", &subvoxel_distances, nb::arg("pred"), nb::arg("gt"), nb::arg("ignore").none(),
        nb::arg("rule"), nb::arg("threads"));
  m.def("subvoxel_band", &subvoxel_band, nb::arg("mask"), nb::arg("rule"), nb::arg("width_mm"), nb::arg("threads"));
}

}  // namespace segauge
