// Making the pieces of a surface ready for the search.
#pragma once

#include <cmath>

#include "search/bounds.hpp"

namespace segauge {

inline Target prepared_target(const Vec3& corner, const Vec3& u, const Vec3& v, bool is_rectangle) {
  Target t{corner, u, v, is_rectangle, dot(u, u), dot(u, v), dot(v, v), 0, 0, 0, {0, 0, 0}};
  t.per_uu = t.uu > 0 ? 1 / t.uu : 0;
  t.per_vv = t.vv > 0 ? 1 / t.vv : 0;
  const double third = t.uu - 2 * t.uv + t.vv;
  t.per_third = third > 0 ? 1 / third : 0;
  const Vec3 n = cross(u, v);
  const double length = std::sqrt(dot(n, n));
  if (length > 0) t.normal = {n[0] / length, n[1] / length, n[2] / length};
  return t;
}

// Lays the samples of a code side by side, the last one repeated to fill its group; there must be room for them.
inline void write_groups(CellPatterns& patterns, size_t code) {
  constexpr auto kSize = static_cast<int64_t>(SampleGroup::kSize);
  SampleGroup* group = patterns.group.data() + patterns.group_start[code];
  const int64_t last = patterns.sample_start[code + 1] - 1;
  for (int64_t first = patterns.sample_start[code]; first <= last; first += kSize, ++group)
    for (int64_t k = 0; k < kSize; ++k) {
      const Vec3& sample = patterns.sample[static_cast<size_t>(std::min(first + k, last))];
      group->x[k] = sample[0];
      group->y[k] = sample[1];
      group->z[k] = sample[2];
    }
}

}  // namespace segauge
