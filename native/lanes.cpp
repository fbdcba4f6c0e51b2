#define SEGAUGE_LANES 2
#include "lanes_of_width.hpp"
#include "fans_of_width.hpp"

#include <cstdlib>

namespace segauge {

#ifdef SEGAUGE_AVX2
extern const LaneFunctions kLanesAvx2;  // lanes_avx2.cpp
#endif

const LaneFunctions& LaneFunctions::here() {
#ifdef SEGAUGE_AVX2
  static const bool has_avx2 = std::getenv("SEGAUGE_NO_AVX2") == nullptr && __builtin_cpu_supports("avx2");
  if (has_avx2) return kLanesAvx2;
#endif
  return kLanesOfWidth;
}

}  // namespace segauge
