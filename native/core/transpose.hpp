// A binary volume with its axes in another order.
#pragma once

#include <array>

#include "core/bit_volume.hpp"

namespace segauge {

// Axis i of what is returned is axis order[i] of the mask; of a 2-D image the first axis stays.
BitVolume transposed(const BitVolume& mask, const std::array<size_t, 3>& order);

}  // namespace segauge
