// The joint histogram of two label arrays: what every pair of labels adds up to, in one pass.
#pragma once

#include <vector>

#include "labels/label_view.hpp"

namespace segauge {

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

}  // namespace segauge
