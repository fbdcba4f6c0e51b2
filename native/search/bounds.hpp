// Bounds on the distance between points and the pieces of a surface, from boxes.
#pragma once

#include <algorithm>

#include "core/vectors.hpp"
#include "surface/cell_patterns.hpp"

namespace segauge {

inline double squared_between(const Box& a, const Box& b, const Vec3& shift) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double gap = std::max({0.0, b.low[i] - (a.high[i] + shift[i]), (a.low[i] + shift[i]) - b.high[i]});
    sum += gap * gap;
  }
  return sum;
}

// A bound that excludes must exclude for certain: rounding in it may never cost the nearest piece, or the answer
// would depend on the way the search went.
inline bool excludes(double lower_bound, double best) { return lower_bound > best * (1 + 1e-9) + 1e-15; }

}  // namespace segauge
