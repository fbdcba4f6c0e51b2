// Squared distances of up to eight samples at once, rounded down to 16 bits each: enough to see which few of many cells can
// hold the nearest piece, at a fraction of what it costs to compare the distances themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#if defined(__SSE4_1__)
#include <smmintrin.h>
#endif

namespace segauge {

constexpr uint16_t kFarthest = 0xFFFE;  // rounded: this distance or any larger one

// A smaller distance never rounds to a larger number: whatever is nearest is nearest (or level) among rounded ones, too.
inline uint16_t rounded(double squared, double per_quantum) {
  return static_cast<uint16_t>(std::min(squared * per_quantum, static_cast<double>(kFarthest)));
}

// One register of the processor: going through memory would cost more than all that is done with it.
struct RoughRow {
  static constexpr size_t kSize = 8;
  typedef uint16_t Lanes __attribute__((vector_size(2 * kSize)));

  Lanes lanes;

  static RoughRow of(const double* squared, size_t count, double per_quantum) {
    RoughRow row{};
    for (size_t i = 0; i < count; ++i) row.lanes[i] = rounded(squared[i], per_quantum);
    return row;
  }
  // Nothing known yet of the first `count`; the others are 0, which nothing can lower.
  static RoughRow unknown(size_t count) {
    constexpr Lanes kPlace{0, 1, 2, 3, 4, 5, 6, 7};
    return {(Lanes)(kPlace < static_cast<uint16_t>(count))};
  }
};

inline RoughRow lower(RoughRow a, RoughRow b) { return {a.lanes < b.lanes ? a.lanes : b.lanes}; }

#if defined(__SSE4_1__)

// The row in another order: its place order[i] comes to place i. Eight places of `order` are read.
inline RoughRow reordered(RoughRow row, const uint8_t* order) {
  const __m128i place = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(order)), twice = _mm_add_epi8(place, place);
  const __m128i bytes = _mm_or_si128(_mm_unpacklo_epi8(twice, twice), _mm_set1_epi16(0x0100));
  return {(RoughRow::Lanes)_mm_shuffle_epi8((__m128i)row.lanes, bytes)};
}
inline uint16_t largest(RoughRow row) {
  return static_cast<uint16_t>(~_mm_extract_epi16(_mm_minpos_epu16((__m128i)~row.lanes), 0));
}
// Whether any of the first `count` is the same in both.
inline bool meet(RoughRow a, RoughRow b, size_t count) {
  const int same = _mm_movemask_epi8((__m128i)(a.lanes == b.lanes));
  return (same & ((1 << 2 * count) - 1)) != 0;
}
// Whether none is larger than its limit.
inline bool is_within(RoughRow row, RoughRow limit) { return _mm_movemask_epi8((__m128i)(row.lanes > limit.lanes)) == 0; }

#else

inline RoughRow reordered(RoughRow row, const uint8_t* order) {
  RoughRow out;
  for (size_t i = 0; i < RoughRow::kSize; ++i) out.lanes[i] = row.lanes[order[i] & 7];
  return out;
}
inline uint16_t largest(RoughRow row) {
  uint16_t most = 0;
  for (size_t i = 0; i < RoughRow::kSize; ++i) most = std::max<uint16_t>(most, row.lanes[i]);
  return most;
}
inline bool meet(RoughRow a, RoughRow b, size_t count) {
  bool any = false;
  for (size_t i = 0; i < count; ++i) any |= a.lanes[i] == b.lanes[i];
  return any;
}
inline bool is_within(RoughRow row, RoughRow limit) {
  bool all = true;
  for (size_t i = 0; i < RoughRow::kSize; ++i) all &= row.lanes[i] <= limit.lanes[i];
  return all;
}

#endif

}  // namespace segauge
