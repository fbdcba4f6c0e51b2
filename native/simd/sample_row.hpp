// The squared distances of all samples of a cell, as many side by side as the registers of every processor take.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/vectors.hpp"
#include "surface/cell_patterns.hpp"

#if defined(__SSE4_1__)
#include <smmintrin.h>
#endif

namespace segauge {

// Of so many groups of samples. What is beyond the last sample repeats it.
template <size_t kGroups>
struct SampleRow {
  static constexpr size_t kPairs = kGroups * SampleGroup::kSize / 2;
  typedef double Pair __attribute__((vector_size(16)));

  Pair pair[kPairs];

  static SampleRow infinite() {
    SampleRow row;
    for (Pair& each : row.pair) each = Pair{} + kInfinity;
    return row;
  }
  static SampleRow read(const double* squared) {
    SampleRow row;
    for (size_t i = 0; i < kPairs; ++i) __builtin_memcpy(&row.pair[i], squared + 2 * i, sizeof(Pair));
    return row;
  }
  void write(double* squared) const { __builtin_memcpy(squared, pair, sizeof pair); }

  SampleRow lowered_by(const SampleRow& other) const {
    SampleRow row;
    for (size_t i = 0; i < kPairs; ++i) {
#if defined(__SSE4_1__)
      row.pair[i] = (Pair)_mm_min_pd((__m128d)other.pair[i], (__m128d)pair[i]);
#else
      row.pair[i] = other.pair[i] < pair[i] ? other.pair[i] : pair[i];
#endif
    }
    return row;
  }

  double largest() const {
    Pair most = pair[0];
    for (size_t i = 1; i < kPairs; ++i) most = most < pair[i] ? pair[i] : most;
    return std::max(most[0], most[1]);
  }

  // Whether any is larger than that of the other row.
  bool any_above(const SampleRow& other) const {
    typedef decltype(pair[0] > pair[0]) Truth;
    Truth any{};
    for (size_t i = 0; i < kPairs; ++i) any |= pair[i] > other.pair[i];
#if defined(__SSE4_1__)
    return _mm_movemask_pd((__m128d)any) != 0;
#else
    return (any[0] | any[1]) != 0;
#endif
  }
};

}  // namespace segauge
