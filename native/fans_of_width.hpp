// The distances of lanes.hpp to fans; included after lanes_of_width.hpp.
#include "subvoxel_fans.hpp"

namespace segauge {
namespace {

// The least of `best` and the squared distances to a fan whose apex is at the origin. Spokes and rims count in any
// case, the plane of a triangle where the foot point lies inside.
inline Lanes squared_to_fan(const LanePoints& d, const FanTable::Fan& fan, const Spoke* spoke, Lanes best) {
  const Lanes first_along = dot(d, spoke->side);
  Lanes along = first_along;
  for (size_t k = 0; k < fan.spokes; ++k) {
    const Spoke& here = spoke[k];
    best = lowest(best, squared_along(d, here.side, clamped(along * here.per_squared)));
    const bool is_last = k + 1 == fan.spokes;
    if (is_last && !fan.is_closed) break;
    const Spoke& next = spoke[is_last ? 0 : k + 1];
    const Lanes along_next = is_last ? first_along : dot(d, next.side);
    const Lanes s = along * next.squared - along_next * here.along_next;
    const Lanes r = along_next * here.squared - along * here.along_next;
    const Lanes rest = (here.squared * next.squared - here.along_next * here.along_next) - (s + r);
    const Lanes rim = clamped((along_next - along + (here.squared - here.along_next)) * here.per_rim), left = 1 - rim;
    const Lanes edge = square({d.x - left * here.side[0] - rim * next.side[0], d.y - left * here.side[1] - rim * next.side[1],
                               d.z - left * here.side[2] - rim * next.side[2]});
    const Lanes height = dot(d, here.normal), plane = height * height;
    best = lowest(best, (lowest(lowest(s, r), rest) >= 0) ? plane : edge);
    along = along_next;
  }
  return best;
}

void squared_to_fans(const SampleGroup* groups, size_t count, uint32_t which, const Vec3& shift,
                     const FanTable::Shape& shape, const Vec3* apex, const Spoke* spoke, double* squared) {
  for (size_t i = 0; i < count; ++i) {
    if ((which >> i & 1) == 0) {
      for (size_t k = 0; k < SampleGroup::kSize; ++k) *squared++ = __builtin_inf();
      continue;
    }
    for (size_t k = 0; k < SampleGroup::kSize; k += SEGAUGE_LANES, squared += SEGAUGE_LANES) {
      const LanePoints p{load(groups[i].x + k) + shift[0], load(groups[i].y + k) + shift[1], load(groups[i].z + k) + shift[2]};
      Lanes best = p.x * 0 + __builtin_inf();
      const Spoke* own = spoke;
      for (size_t f = 0; f < shape.fans; ++f) {
        const LanePoints d{p.x - apex[f][0], p.y - apex[f][1], p.z - apex[f][2]};
        best = squared_to_fan(d, shape.fan[f], own, best);
        own += shape.fan[f].spokes;
      }
      __builtin_memcpy(squared, &best, sizeof best);
    }
  }
}

typedef float Rough __attribute__((vector_size(8 * SEGAUGE_LANES)));
constexpr size_t kRoughs = 2 * SEGAUGE_LANES;

inline Rough load_rough(const float* from) {
  Rough lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
inline Rough positive(Rough a) { return a > Rough{} ? a : Rough{}; }
inline Rough root(Rough a) {
  for (size_t k = 0; k < kRoughs; ++k) a[k] = __builtin_sqrtf(a[k]);
  return a;
}

// A bound on the squared distance of a point from a disc: how far above it, and how far aside. What is left of the
// squared distance from the middle without the height is a small difference of large numbers, so it is lessened by more
// than rounding can add to it.
inline Rough squared_to_disc(Rough x, Rough y, Rough z, const Disc& disc) {
  const Rough height = x * disc.normal[0] + y * disc.normal[1] + z * disc.normal[2], squared_height = height * height;
  const Rough squared_aside = (x * x + y * y + z * z) * (1 - 4e-6f) - squared_height;
  const Rough above = positive((height > -height ? height : -height) - disc.half_thickness);
  const Rough aside = positive(root(positive(squared_aside)) - disc.radius);
  return above * above + aside * aside;
}

void weigh_by_discs(const RoughPoints& points, Candidate* first, Candidate* last) {
  const Rough none = Rough{} + __builtin_inff();
  for (; first != last; ++first) {
    const Disc& disc = *first->disc;
    const auto x = static_cast<float>(first->shift[0] - disc.middle[0]), y = static_cast<float>(first->shift[1] - disc.middle[1]),
               z = static_cast<float>(first->shift[2] - disc.middle[2]);
    float least = __builtin_inff();
    first->groups = 0;
    for (size_t i = 0; i < points.count; i += kRoughs) {
      const Rough bound =
          squared_to_disc(load_rough(points.x + i) + x, load_rough(points.y + i) + y, load_rough(points.z + i) + z, disc);
      const Rough possible = bound <= load_rough(points.allowed + i) ? bound : none;
      for (size_t k = 0; k < kRoughs; k += SampleGroup::kSize) {
        const float one = possible[k] < possible[k + 1] ? possible[k] : possible[k + 1];
        const float other = possible[k + 2] < possible[k + 3] ? possible[k + 2] : possible[k + 3];
        const float both = one < other ? one : other;
        first->groups |= static_cast<uint32_t>(both < __builtin_inff()) << ((i + k) / SampleGroup::kSize);
        least = both < least ? both : least;
      }
    }
    first->least = static_cast<double>(least);
  }
}

}  // namespace
}  // namespace segauge
