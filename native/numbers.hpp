#pragma once

#include <limits>

namespace segauge {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace segauge
