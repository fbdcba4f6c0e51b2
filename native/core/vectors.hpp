// Places and directions in mm, and boxes along the axes.
#pragma once

#include <array>
#include <limits>

namespace segauge {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Vec3 = std::array<double, 3>;

struct Box {
  Vec3 low{1e300, 1e300, 1e300}, high{-1e300, -1e300, -1e300};

  void include(const Vec3& p) {
    for (int i = 0; i < 3; ++i) {
      if (p[i] < low[i]) low[i] = p[i];
      if (p[i] > high[i]) high[i] = p[i];
    }
  }
  void include(const Box& b) {
    include(b.low);
    include(b.high);
  }
  bool holds(const Box& b) const {
    bool inside = true;
    for (int i = 0; i < 3; ++i) inside &= low[i] <= b.low[i] && b.high[i] <= high[i];
    return inside;
  }
  Box moved(const Vec3& by) const {
    Box out;
    for (int i = 0; i < 3; ++i) {
      out.low[i] = low[i] + by[i];
      out.high[i] = high[i] + by[i];
    }
    return out;
  }
};

inline double dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

inline Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

}  // namespace segauge
