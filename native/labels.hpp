// Label arrays as they come: any integer type, any strides. Counting all label pairs, and packing labels into bits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bitvolume.hpp"

namespace segauge {

// A 2-D array is seen as one plane: shape[0] == 1.
struct LabelView {
  const void* data = nullptr;
  int item_bytes = 1;
  bool is_signed = false;
  int ndim = 3;
  std::array<int64_t, 3> shape{1, 1, 1};
  std::array<int64_t, 3> stride{0, 0, 0};  // in items; may be negative
};

// Everything that the voxels with one (pred, gt) pair of labels add up to.
struct PairStatistics {
  int64_t pred_label = 0, gt_label = 0;
  int64_t count = 0;
  std::array<int64_t, 3> index_sum{0, 0, 0};
  std::array<int64_t, 3> first{INT64_MAX, INT64_MAX, INT64_MAX};
  std::array<int64_t, 3> last{-1, -1, -1};
};

// One pass over both arrays: the joint histogram with index sums and bounding boxes, sorted by labels.
std::vector<PairStatistics> tabulate_pairs(const LabelView& pred, const LabelView& gt, int threads);

// Axes ordered so that the last one walks through memory in the smallest steps.
std::array<int, 3> walking_order(const LabelView& view);

// The voxels of the box [start, stop) whose label is one of `values` (or, for pack_foreground, not 0), as bits in the array's own axis order.
BitVolume pack_labels(const LabelView& labels, const std::vector<int64_t>& values, const std::array<int64_t, 3>& start,
                      const std::array<int64_t, 3>& stop, int threads);
BitVolume pack_foreground(const LabelView& labels, const std::array<int64_t, 3>& start, const std::array<int64_t, 3>& stop,
                          int threads);

}  // namespace segauge
