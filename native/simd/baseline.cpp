#define SEGAUGE_SIMD_WIDTH 2
#include "simd/fans_of_width.hpp"

#include <cstdlib>

namespace segauge {

#ifdef SEGAUGE_AVX2
extern const SimdOperations kAvx2Operations;  // simd/avx2.cpp
#endif

const SimdOperations& SimdOperations::here() {
#ifdef SEGAUGE_AVX2
  static const bool has_avx2 = std::getenv("SEGAUGE_NO_AVX2") == nullptr && __builtin_cpu_supports("avx2");
  if (has_avx2) return kAvx2Operations;
#endif
  return kOperationsOfWidth;
}

}  // namespace segauge
