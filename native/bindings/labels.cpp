#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/arrays.hpp"
#include "core/bit_volume.hpp"
#include "core/transpose.hpp"
#include "labels/boxes.hpp"

namespace segauge {
namespace {

nb::tuple pair_table(const AnyArray& pred, const AnyArray& gt, int threads) {
  const LabelView p = label_view(pred), g = label_view(gt);
  if (p.shape != g.shape || p.ndim != g.ndim) throw std::invalid_argument("pred and gt differ in shape");
  std::vector<PairStatistics> pairs;
  {
    nb::gil_scoped_release release;
    pairs = tabulate_pairs(p, g, threads);
  }
  const size_t n = pairs.size(), d = static_cast<size_t>(p.ndim), skip = 3 - d;
  std::vector<int64_t> labels(2 * n), counts(n), sums(n * d), boxes(2 * n * d);
  for (size_t i = 0; i < n; ++i) {
    labels[2 * i] = pairs[i].pred_label;
    labels[2 * i + 1] = pairs[i].gt_label;
    counts[i] = pairs[i].count;
    for (size_t axis = 0; axis < d; ++axis) {
      sums[i * d + axis] = pairs[i].index_sum[axis + skip];
      boxes[2 * i * d + axis] = pairs[i].first[axis + skip];
      boxes[2 * i * d + d + axis] = pairs[i].last[axis + skip] + 1;
    }
  }
  return nb::make_tuple(to_numpy(std::move(labels), {n, 2}), to_numpy(std::move(counts), {n}),
                        to_numpy(std::move(sums), {n, d}), to_numpy(std::move(boxes), {n, 2, d}));
}

BitVolume pack(const AnyArray& labels, const std::vector<int64_t>& values, const std::vector<int64_t>& start,
               const std::vector<int64_t>& stop, int threads) {
  const LabelView view = label_view(labels);
  const size_t d = static_cast<size_t>(view.ndim), skip = 3 - d;
  if (start.size() != d || stop.size() != d) throw std::invalid_argument("the box needs one range an axis");
  std::array<int64_t, 3> from{0, 0, 0}, to{1, 1, 1};
  for (size_t axis = 0; axis < d; ++axis) {
    from[axis + skip] = start[axis];
    to[axis + skip] = stop[axis];
    if (start[axis] < 0 || start[axis] >= stop[axis] || stop[axis] > view.shape[axis + skip])
      throw std::invalid_argument("the box leaves the image");
  }
  nb::gil_scoped_release release;
  return pack_labels(view, values, from, to, threads);
}

// Both masks cut to their common box, and the voxels of each; None where both are empty.
nb::object cut_out(const AnyArray& pred, const AnyArray& gt, int threads) {
  const LabelView p = label_view(pred), g = label_view(gt);
  if (p.shape != g.shape || p.ndim != g.ndim) throw std::invalid_argument("pred and gt differ in shape");
  BitVolume pred_mask, gt_mask;
  {
    nb::gil_scoped_release release;
    IndexBox box = foreground_box(p, threads);
    box.include(foreground_box(g, threads));
    if (!box.is_empty()) {
      pred_mask = pack_foreground(p, box.start, box.stop, threads);
      gt_mask = pack_foreground(g, box.start, box.stop, threads);
    }
  }
  if (pred_mask.bits.empty()) return nb::none();
  const int64_t pred_count = pred_mask.count(), gt_count = gt_mask.count();
  return nb::make_tuple(std::move(pred_mask), std::move(gt_mask), pred_count, gt_count);
}

nb::ndarray<nb::numpy, bool> unpack(const BitVolume& mask) {
  auto bytes = std::make_unique<bool[]>(static_cast<size_t>(mask.nz * mask.ny * mask.nx));
  size_t at = 0;
  for (int64_t z = 0; z < mask.nz; ++z)
    for (int64_t y = 0; y < mask.ny; ++y)
      for (int64_t x = 0; x < mask.nx; ++x) bytes[at++] = mask.get(z, y, x);
  bool* data = bytes.release();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  const auto z = static_cast<size_t>(mask.nz), y = static_cast<size_t>(mask.ny), x = static_cast<size_t>(mask.nx);
  if (mask.ndim == 2) return nb::ndarray<nb::numpy, bool>(data, {y, x}, owner);
  return nb::ndarray<nb::numpy, bool>(data, {z, y, x}, owner);
}

template <class Combine>
BitVolume combined(const BitVolume& a, const BitVolume& b, Combine combine) {
  a.require_same_shape(b);
  BitVolume out = a;
  for (size_t i = 0; i < out.bits.size(); ++i) out.bits[i] = combine(a.bits[i], b.bits[i]);
  return out;
}

int64_t count_common(const BitVolume& a, const BitVolume& b) {
  a.require_same_shape(b);
  int64_t total = 0;
  for (size_t i = 0; i < a.bits.size(); ++i) total += count_bits(a.bits[i] & b.bits[i]);
  return total;
}

BitVolume in_order(const BitVolume& mask, const std::vector<size_t>& order) {
  const size_t d = static_cast<size_t>(mask.ndim), skip = 3 - d;
  std::array<size_t, 3> axes{0, 1, 2};
  std::array<bool, 3> is_there{};
  for (size_t i = 0; i < std::min(order.size(), d); ++i) {
    axes[skip + i] = skip + order[i];
    if (order[i] < d) is_there[order[i]] = true;
  }
  if (order.size() != d || std::count(is_there.begin(), is_there.end(), true) != mask.ndim)
    throw std::invalid_argument("the order must name every axis once");
  return transposed(mask, axes);
}

nb::tuple shape(const BitVolume& mask) {
  if (mask.ndim == 2) return nb::make_tuple(mask.ny, mask.nx);
  return nb::make_tuple(mask.nz, mask.ny, mask.nx);
}

}  // namespace

void bind_labels(nb::module_& m) {
  nb::class_<BitVolume>(m, "BitMask", "A binary volume, one bit a voxel.")
      .def_prop_ro("shape", &shape)
      .def("count", &BitVolume::count)
      .def("unpack", &unpack)
      .def("transposed", &in_order, nb::arg("order"))
      .def("without", [](const BitVolume& a, const BitVolume& b) {
        return combined(a, b, [](uint64_t x, uint64_t y) { return x & ~y; });
      });
  m.def("pair_table", &pair_table, nb::arg("pred"), nb::arg("gt"), nb::arg("threads"));
  m.def("pack", &pack, nb::arg("labels"), nb::arg("values"), nb::arg("start"), nb::arg("stop"), nb::arg("threads"));
  m.def("cut_out", &cut_out, nb::arg("pred"), nb::arg("gt"), nb::arg("threads"));
  m.def("count_common", &count_common, nb::arg("a"), nb::arg("b"));
}

}  // namespace segauge
