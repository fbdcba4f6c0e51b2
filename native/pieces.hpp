// Distances from points to the pieces of a surface, and bounds on them from boxes.
#pragma once

#include <algorithm>
#include <limits>

#include "surface.hpp"

namespace segauge {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline double dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline double clamped(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

inline double squared_at(const Vec3& d, const Target& t, double s, double r) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double gap = d[i] - s * t.u[i] - r * t.v[i];
    sum += gap * gap;
  }
  return sum;
}

// Squared distance from a point to a triangle: the plane's foot point if it lies inside, else the nearest edge.
inline double squared_to_triangle(const Vec3& d, const Target& t) {
  const double du = dot(d, t.u), dv = dot(d, t.v);
  const double s = du * t.vv - dv * t.uv, r = dv * t.uu - du * t.uv, whole = t.uu * t.vv - t.uv * t.uv;
  if (s >= 0 && r >= 0 && s + r <= whole) {
    const double height = dot(d, t.normal);
    return height * height;
  }
  double best = kInfinity;
  if (r < 0) best = squared_at(d, t, clamped(du * t.per_uu), 0);
  if (s < 0) best = std::min(best, squared_at(d, t, 0, clamped(dv * t.per_vv)));
  if (s + r > whole) {
    // along the third edge, from u to v: d - u against v - u
    const double along = (dv - du - t.uv + t.uu) / (t.uu - 2 * t.uv + t.vv);
    const double r3 = clamped(along);
    best = std::min(best, squared_at(d, t, 1 - r3, r3));
  }
  return best;
}

inline double squared_to_rectangle(const Vec3& d, const Target& t) {
  return squared_at(d, t, clamped(dot(d, t.u) * t.per_uu), clamped(dot(d, t.v) * t.per_vv));
}

// The smaller of `best` and the squared distance from a point to a piece. The height over its plane alone is often too
// much already; the margin keeps rounding out of it, so that the answer does not depend on what `best` was before.
inline double nearer(const Vec3& point, const Target& t, double best) {
  const Vec3 d{point[0] - t.corner[0], point[1] - t.corner[1], point[2] - t.corner[2]};
  const double height = dot(d, t.normal);
  if (height * height > best * (1 + 1e-9)) return best;
  return std::min(best, t.is_rectangle ? squared_to_rectangle(d, t) : squared_to_triangle(d, t));
}

inline double squared_between(const Box& a, const Box& b, const Vec3& shift) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double gap = std::max({0.0, b.low[i] - (a.high[i] + shift[i]), (a.low[i] + shift[i]) - b.high[i]});
    sum += gap * gap;
  }
  return sum;
}

inline double squared_to_box(const Vec3& p, const Box& b) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double gap = std::max({0.0, b.low[i] - p[i], p[i] - b.high[i]});
    sum += gap * gap;
  }
  return sum;
}

// A bound that excludes must exclude for certain: rounding in it may never cost the nearest piece, or the answer
// would depend on the way the search went.
inline bool excludes(double lower_bound, double best) { return lower_bound > best * (1 + 1e-9) + 1e-15; }

}  // namespace segauge
