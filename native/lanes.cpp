#define SEGAUGE_LANES 2
#include "lanes_of_width.hpp"
#include "fans_of_width.hpp"

#include <cstdlib>

namespace segauge {

#ifdef SEGAUGE_AVX2
namespace {
bool has_avx2() { return std::getenv("SEGAUGE_NO_AVX2") == nullptr && __builtin_cpu_supports("avx2"); }
}  // namespace

SquaredDistances squared_distances_avx2();  // lanes_avx2.cpp
SquaredToFans squared_to_fans_avx2();
WeighByDiscs weigh_by_discs_avx2();
RowSum::Function sum_rows_avx2();

SquaredDistances squared_distances_here() { return has_avx2() ? squared_distances_avx2() : squared_distances; }
SquaredToFans squared_to_fans_here() { return has_avx2() ? squared_to_fans_avx2() : squared_to_fans; }
WeighByDiscs weigh_by_discs_here() { return has_avx2() ? weigh_by_discs_avx2() : weigh_by_discs; }
RowSum::Function RowSum::here() { return has_avx2() ? sum_rows_avx2() : sum_rows; }
#else
SquaredDistances squared_distances_here() { return squared_distances; }
SquaredToFans squared_to_fans_here() { return squared_to_fans; }
WeighByDiscs weigh_by_discs_here() { return weigh_by_discs; }
RowSum::Function RowSum::here() { return sum_rows; }
#endif

}  // namespace segauge
