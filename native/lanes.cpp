#define SEGAUGE_LANES 2
#include "lanes_of_width.hpp"

#include <cstdlib>

namespace segauge {

#ifdef SEGAUGE_AVX2
SquaredDistances squared_distances_avx2();  // lanes_avx2.cpp
#endif

SquaredDistances squared_distances_here() {
#ifdef SEGAUGE_AVX2
  if (std::getenv("SEGAUGE_NO_AVX2") == nullptr && __builtin_cpu_supports("avx2")) return squared_distances_avx2();
#endif
  return squared_distances;
}

}  // namespace segauge
