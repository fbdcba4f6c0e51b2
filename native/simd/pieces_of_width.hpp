// The distances of simd/operations.hpp for registers of SEGAUGE_SIMD_WIDTH doubles. Included by one source file for
// each width, which is compiled for processors that have it; everything stays inside that file, so that no instruction
// of a newer processor can end up in code that older ones run.
#include "simd/operations.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace segauge {
namespace {

typedef double Doubles __attribute__((vector_size(8 * SEGAUGE_SIMD_WIDTH)));
static_assert(SampleGroup::kSize % SEGAUGE_SIMD_WIDTH == 0, "a group fills whole registers");

struct Points {
  Doubles x, y, z;
};

// The smaller and the larger of two; the second one where they cannot be compared. One instruction where a processor
// has it: a compiler would take two where one of them is zero.
inline Doubles lowest(Doubles a, Doubles b) { return a < b ? a : b; }
#if defined(__AVX__) && SEGAUGE_SIMD_WIDTH == 4
inline Doubles highest(Doubles a, Doubles b) { return (Doubles)_mm256_max_pd((__m256d)a, (__m256d)b); }
#elif defined(__SSE2__) && SEGAUGE_SIMD_WIDTH == 2
inline Doubles highest(Doubles a, Doubles b) { return (Doubles)_mm_max_pd((__m128d)a, (__m128d)b); }
#else
inline Doubles highest(Doubles a, Doubles b) { return a > b ? a : b; }
#endif
// Between 0 and 1; 0 for what is no number.
inline Doubles clamped(Doubles x) { return lowest(highest(x, Doubles{}), Doubles{} + 1); }
inline Doubles dot(const Points& p, const Vec3& a) { return p.x * a[0] + p.y * a[1] + p.z * a[2]; }
inline Doubles square(const Points& p) { return p.x * p.x + p.y * p.y + p.z * p.z; }

inline Doubles squared_along(const Points& d, const Vec3& side, Doubles s) {
  return square({d.x - s * side[0], d.y - s * side[1], d.z - s * side[2]});
}
inline Doubles squared_at(const Points& d, const Target& t, Doubles s, Doubles r) {
  return square({d.x - s * t.u[0] - r * t.v[0], d.y - s * t.u[1] - r * t.v[1], d.z - s * t.u[2] - r * t.v[2]});
}

// To a triangle: the plane's foot point where it lies inside, else the nearest of the three edges.
inline Doubles squared_to_triangle(const Points& d, const Target& t) {
  const Doubles du = dot(d, t.u), dv = dot(d, t.v);
  const Doubles s = du * t.vv - dv * t.uv, r = dv * t.uu - du * t.uv, rest = (t.uu * t.vv - t.uv * t.uv) - (s + r);
  const Doubles third = clamped((dv - du + (t.uu - t.uv)) * t.per_third);
  const Doubles two =
      lowest(squared_along(d, t.u, clamped(du * t.per_uu)), squared_along(d, t.v, clamped(dv * t.per_vv)));
  const Doubles edges = lowest(two, squared_at(d, t, 1 - third, third));
  const Doubles height = dot(d, t.normal);
  return (lowest(lowest(s, r), rest) >= 0) ? height * height : edges;
}

inline Doubles squared_to_rectangle(const Points& d, const Target& t) {
  return squared_at(d, t, clamped(dot(d, t.u) * t.per_uu), clamped(dot(d, t.v) * t.per_vv));
}

Doubles load(const double* from) {
  Doubles lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

void squared_distances(const SampleGroup* groups, size_t count, const Vec3& shift, const Target* first,
                       const Target* last, double* squared) {
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < SampleGroup::kSize; k += SEGAUGE_SIMD_WIDTH, squared += SEGAUGE_SIMD_WIDTH) {
      const Points p{load(groups[i].x + k) + shift[0], load(groups[i].y + k) + shift[1],
                     load(groups[i].z + k) + shift[2]};
      Doubles best = p.x * 0 + __builtin_inf();
      for (const Target* t = first; t != last; ++t) {
        const Points d{p.x - t->corner[0], p.y - t->corner[1], p.z - t->corner[2]};
        best = lowest(best, t->is_rectangle ? squared_to_rectangle(d, *t) : squared_to_triangle(d, *t));
      }
      __builtin_memcpy(squared, &best, sizeof best);
    }
}

typedef int64_t Int64s __attribute__((vector_size(8 * SEGAUGE_SIMD_WIDTH)));

// Takes over those weights whose bit is set, 0 for the others.
inline void choose(const double* weight, uint32_t which, double* chosen) {
  Int64s bits;
  for (size_t k = 0; k < SEGAUGE_SIMD_WIDTH; ++k) bits[k] = int64_t{1} << k;
  for (size_t k = 0; k < SimdOperations::kMostSumRows; k += SEGAUGE_SIMD_WIDTH, which >>= SEGAUGE_SIMD_WIDTH) {
    const Int64s is_chosen = (bits & int64_t{which}) != 0, all = is_chosen & (Int64s)load(weight + k);
    __builtin_memcpy(chosen + k, &all, sizeof all);
  }
}

template <size_t kGroups>
void sum_groups(const double* first, size_t stride, const double* weight, size_t rows, double base, double* sum) {
  constexpr size_t kRegisters = kGroups * SimdOperations::kSumGroup / SEGAUGE_SIMD_WIDTH;
  Doubles total[kRegisters];
  for (Doubles& each : total) each = Doubles{} + base;
  for (size_t k = 0; k < rows; ++k, first += stride)
    for (size_t i = 0; i < kRegisters; ++i) total[i] += weight[k] * load(first + i * SEGAUGE_SIMD_WIDTH);
  __builtin_memcpy(sum, total, sizeof total);
}

// Also rows that are not chosen are added up, with no weight: their number never changes, so a processor knows it
// beforehand.
void sum_rows(const double* first, size_t stride, const double* weight, size_t rows, uint32_t which, double base,
              size_t groups, double* sum) {
  double chosen[SimdOperations::kMostSumRows];
  choose(weight, which, chosen);
  static_assert(SimdOperations::kMostSumGroups == 5);
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
