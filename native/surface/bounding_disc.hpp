// Thin discs around the pieces of a cell: bounds on distances that follow the surface however it is inclined.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/vectors.hpp"

namespace segauge {

// Holds all pieces of a cell, in mm from the cell's origin. Where there is no normal it is a ball.
struct BoundingDisc {
  float middle[3], radius;
  float normal[3], half_thickness;

  // The one around some points. `slack`: mm that outweigh rounding to float.
  BoundingDisc() = default;
  BoundingDisc(const Vec3* points, size_t count, Vec3 along, double slack) {
    const double length = std::sqrt(dot(along, along)), per_length = length > 0 ? 1 / length : 0;
    for (double& each : along) each *= per_length;
    Vec3 centre{0, 0, 0};
    for (size_t k = 0; k < count; ++k)
      for (size_t i = 0; i < 3; ++i) centre[i] += points[k][i] / static_cast<double>(count);
    double low = 0, high = 0, aside = 0;
    for (size_t k = 0; k < count; ++k) {
      const Vec3 d{points[k][0] - centre[0], points[k][1] - centre[1], points[k][2] - centre[2]};
      const double height = dot(d, along);
      low = std::min(low, height);
      high = std::max(high, height);
      aside = std::max(aside, dot(d, d) - height * height);
    }
    for (size_t i = 0; i < 3; ++i) {
      middle[i] = static_cast<float>(centre[i] + along[i] * (low + high) / 2);
      normal[i] = static_cast<float>(along[i]);
    }
    radius = static_cast<float>(std::sqrt(aside) + slack);
    half_thickness = static_cast<float>((high - low) / 2 + slack);
  }

  // The one around a point of which it is known how far everything lies aside and along a direction.
  BoundingDisc(const Vec3& centre, Vec3 along, double aside, double above, double slack) {
    const double length = std::sqrt(dot(along, along)), per_length = length > 0 ? 1 / length : 0;
    for (size_t i = 0; i < 3; ++i) {
      middle[i] = static_cast<float>(centre[i]);
      normal[i] = static_cast<float>(along[i] * per_length);
    }
    radius = static_cast<float>(aside + slack);
    half_thickness = static_cast<float>(above + slack);
  }

  // The one around others, moved by `place[k]` each.
  BoundingDisc(const BoundingDisc* others, const Vec3* place, size_t count, double slack) {
    Vec3 along{0, 0, 0}, centre{0, 0, 0};
    for (size_t k = 0; k < count; ++k) {
      const Vec3 own = others[k].direction(), at = others[k].centre(place[k]);
      const double sign = dot(own, along) < 0 ? -1 : 1;
      for (size_t i = 0; i < 3; ++i) {
        along[i] += sign * own[i];
        centre[i] += at[i] / static_cast<double>(count);
      }
    }
    const double length = std::sqrt(dot(along, along)), per_length = length > 0 ? 1 / length : 0;
    for (double& each : along) each *= per_length;
    double thick = 0, wide = 0;
    for (size_t k = 0; k < count; ++k) {
      const Vec3 at = others[k].centre(place[k]), d{at[0] - centre[0], at[1] - centre[1], at[2] - centre[2]};
      const Vec3 turned = cross(others[k].direction(), along);  // not from the cosine, which hides a small angle
      const double height = dot(d, along), cosine = std::abs(dot(others[k].direction(), along));
      const double r = others[k].radius, h = others[k].half_thickness;
      const double sine = others[k].is_ball() || length == 0 ? 1 : std::sqrt(dot(turned, turned));
      thick = std::max(thick, std::abs(height) + r * sine + h * cosine);
      wide = std::max(wide, std::sqrt(std::max(0.0, dot(d, d) - height * height)) + r + h * sine);
    }
    for (size_t i = 0; i < 3; ++i) {
      middle[i] = static_cast<float>(centre[i]);
      normal[i] = static_cast<float>(along[i]);
    }
    // so wide that what rounding takes from their own bounds counts, too
    radius = static_cast<float>(wide * (1 + 1e-5) + slack);
    half_thickness = static_cast<float>(thick + wide * 1e-5 + slack);
  }

  bool is_ball() const { return normal[0] == 0 && normal[1] == 0 && normal[2] == 0; }
  Vec3 direction() const { return {normal[0], normal[1], normal[2]}; }
  Vec3 centre(const Vec3& moved) const { return {middle[0] + moved[0], middle[1] + moved[1], middle[2] + moved[2]}; }

  Box box() const {
    Box out;
    for (size_t i = 0; i < 3; ++i) {
      const double n = normal[i], a = normal[(i + 1) % 3], b = normal[(i + 2) % 3];
      const double reach = is_ball() ? radius : radius * std::sqrt(a * a + b * b) + half_thickness * std::abs(n);
      out.low[i] = middle[i] - reach;
      out.high[i] = middle[i] + reach;
    }
    return out;
  }
};

}  // namespace segauge
