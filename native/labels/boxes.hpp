// Where the foreground of label arrays is.
#pragma once

#include <optional>

#include "labels/label_view.hpp"

namespace segauge {

// First and one past the last index along each axis.
struct IndexBox {
  std::array<int64_t, 3> start{INT64_MAX, INT64_MAX, INT64_MAX}, stop{0, 0, 0};

  bool is_empty() const { return stop[0] == 0; }
  void include(const IndexBox& other) {
    for (size_t axis = 0; axis < 3; ++axis) {
      start[axis] = std::min(start[axis], other.start[axis]);
      stop[axis] = std::max(stop[axis], other.stop[axis]);
    }
  }
};

// The box of all voxels whose label is not 0; empty if there is none.
IndexBox foreground_box(const LabelView& labels, int threads);

}  // namespace segauge
