// Thinning of a mask to its curve skeleton, without changing its topology.
#pragma once

#include <utility>

#include "core/bit_volume.hpp"

namespace segauge {

// The curve skeleton: components, tunnels and cavities as in the mask (26-connected foreground, 6-connected
// background; 8 and 4 in a 2-D image), thin, centered, ends of curves kept. segauge.geometry.reference.skeleton
// defines it step by step. What lies outside the image counts as background.
BitVolume skeletonize(const BitVolume& mask);

// Those of two masks, each on a thread of its own unless they are very large.
std::pair<BitVolume, BitVolume> skeletonize_pair(const BitVolume& a, const BitVolume& b, int threads);

}  // namespace segauge
