// The distances of lanes.hpp for registers of SEGAUGE_LANES doubles. Included by one source file for each width, which
// is compiled for processors that have it; everything stays inside that file, so that no instruction of a newer
// processor can end up in code that older ones run.
#include "lanes.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace segauge {
namespace {

typedef double Lanes __attribute__((vector_size(8 * SEGAUGE_LANES)));
static_assert(SampleGroup::kSize % SEGAUGE_LANES == 0, "a group fills whole registers");

struct LanePoints {
  Lanes x, y, z;
};

// The smaller and the larger of two; the second one where they cannot be compared. One instruction where a processor has it:
// a compiler would take two where one of them is zero.
inline Lanes lowest(Lanes a, Lanes b) { return a < b ? a : b; }
#if defined(__AVX__) && SEGAUGE_LANES == 4
inline Lanes highest(Lanes a, Lanes b) { return (Lanes)_mm256_max_pd((__m256d)a, (__m256d)b); }
#elif defined(__SSE2__) && SEGAUGE_LANES == 2
inline Lanes highest(Lanes a, Lanes b) { return (Lanes)_mm_max_pd((__m128d)a, (__m128d)b); }
#else
inline Lanes highest(Lanes a, Lanes b) { return a > b ? a : b; }
#endif
// Between 0 and 1; 0 for what is no number.
inline Lanes clamped(Lanes x) { return lowest(highest(x, Lanes{}), Lanes{} + 1); }
inline Lanes dot(const LanePoints& p, const Vec3& a) { return p.x * a[0] + p.y * a[1] + p.z * a[2]; }
inline Lanes square(const LanePoints& p) { return p.x * p.x + p.y * p.y + p.z * p.z; }

inline Lanes squared_along(const LanePoints& d, const Vec3& side, Lanes s) {
  return square({d.x - s * side[0], d.y - s * side[1], d.z - s * side[2]});
}
inline Lanes squared_at(const LanePoints& d, const Target& t, Lanes s, Lanes r) {
  return square({d.x - s * t.u[0] - r * t.v[0], d.y - s * t.u[1] - r * t.v[1], d.z - s * t.u[2] - r * t.v[2]});
}

// To a triangle: the plane's foot point where it lies inside, else the nearest of the three edges.
inline Lanes squared_to_triangle(const LanePoints& d, const Target& t) {
  const Lanes du = dot(d, t.u), dv = dot(d, t.v);
  const Lanes s = du * t.vv - dv * t.uv, r = dv * t.uu - du * t.uv, rest = (t.uu * t.vv - t.uv * t.uv) - (s + r);
  const Lanes third = clamped((dv - du + (t.uu - t.uv)) * t.per_third);
  const Lanes two = lowest(squared_along(d, t.u, clamped(du * t.per_uu)), squared_along(d, t.v, clamped(dv * t.per_vv)));
  const Lanes edges = lowest(two, squared_at(d, t, 1 - third, third));
  const Lanes height = dot(d, t.normal);
  return (lowest(lowest(s, r), rest) >= 0) ? height * height : edges;
}

inline Lanes squared_to_rectangle(const LanePoints& d, const Target& t) {
  return squared_at(d, t, clamped(dot(d, t.u) * t.per_uu), clamped(dot(d, t.v) * t.per_vv));
}

Lanes load(const double* from) {
  Lanes lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

void squared_distances(const SampleGroup* groups, size_t count, const Vec3& shift, const Target* first,
                       const Target* last, double* squared) {
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < SampleGroup::kSize; k += SEGAUGE_LANES, squared += SEGAUGE_LANES) {
      const LanePoints p{load(groups[i].x + k) + shift[0], load(groups[i].y + k) + shift[1], load(groups[i].z + k) + shift[2]};
      Lanes best = p.x * 0 + __builtin_inf();
      for (const Target* t = first; t != last; ++t) {
        const LanePoints d{p.x - t->corner[0], p.y - t->corner[1], p.z - t->corner[2]};
        best = lowest(best, t->is_rectangle ? squared_to_rectangle(d, *t) : squared_to_triangle(d, *t));
      }
      __builtin_memcpy(squared, &best, sizeof best);
    }
}

typedef int64_t LaneBits __attribute__((vector_size(8 * SEGAUGE_LANES)));

// Takes over those weights whose bit is set, 0 for the others.
inline void choose(const double* weight, uint32_t which, double* chosen) {
  LaneBits bits;
  for (size_t k = 0; k < SEGAUGE_LANES; ++k) bits[k] = int64_t{1} << k;
  for (size_t k = 0; k < LaneFunctions::kMostSumRows; k += SEGAUGE_LANES, which >>= SEGAUGE_LANES) {
    const LaneBits is_chosen = (bits & int64_t{which}) != 0, all = is_chosen & (LaneBits)load(weight + k);
    __builtin_memcpy(chosen + k, &all, sizeof all);
  }
}

template <size_t kGroups>
void sum_groups(const double* first, size_t stride, const double* weight, size_t rows, double base, double* sum) {
  constexpr size_t kRegisters = kGroups * LaneFunctions::kSumGroup / SEGAUGE_LANES;
  Lanes total[kRegisters];
  for (Lanes& each : total) each = Lanes{} + base;
  for (size_t k = 0; k < rows; ++k, first += stride)
    for (size_t i = 0; i < kRegisters; ++i) total[i] += weight[k] * load(first + i * SEGAUGE_LANES);
  __builtin_memcpy(sum, total, sizeof total);
}

// Also rows that are not chosen are added up, with no weight: their number never changes, so a processor knows it beforehand.
void sum_rows(const double* first, size_t stride, const double* weight, size_t rows, uint32_t which, double base, size_t groups,
              double* sum) {
  double chosen[LaneFunctions::kMostSumRows];
  choose(weight, which, chosen);
  static_assert(LaneFunctions::kMostSumGroups == 5);
  switch (groups) {
    case 1: return sum_groups<1>(first, stride, chosen, rows, base, sum);
    case 2: return sum_groups<2>(first, stride, chosen, rows, base, sum);
    case 3: return sum_groups<3>(first, stride, chosen, rows, base, sum);
    case 4: return sum_groups<4>(first, stride, chosen, rows, base, sum);
    default: return sum_groups<5>(first, stride, chosen, rows, base, sum);
  }
}

}  // namespace
}  // namespace segauge
