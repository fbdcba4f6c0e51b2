// The voxels of some labels as bits.
#pragma once

#include <vector>

#include "core/bit_volume.hpp"
#include "labels/label_view.hpp"

namespace segauge {

// The voxels of the box [start, stop) whose label is one of `values` (or, for pack_foreground, not 0), as bits in the
// array's own axis order.
BitVolume pack_labels(const LabelView& labels, const std::vector<int64_t>& values, const std::array<int64_t, 3>& start,
                      const std::array<int64_t, 3>& stop, int threads);
BitVolume pack_foreground(const LabelView& labels, const std::array<int64_t, 3>& start,
                          const std::array<int64_t, 3>& stop, int threads);

}  // namespace segauge
