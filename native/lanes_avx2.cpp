#define SEGAUGE_LANES 4
#include "lanes_of_width.hpp"
#include "fans_of_width.hpp"

namespace segauge {

SquaredDistances squared_distances_avx2() { return squared_distances; }
SquaredToFans squared_to_fans_avx2() { return squared_to_fans; }
WeighByDiscs weigh_by_discs_avx2() { return weigh_by_discs; }
RowSum::Function sum_rows_avx2() { return sum_rows; }

}  // namespace segauge
