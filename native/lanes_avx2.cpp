#define SEGAUGE_LANES 4
#include "lanes_of_width.hpp"
#include "fans_of_width.hpp"

namespace segauge {

SquaredDistances squared_distances_avx2() { return squared_distances; }
SquaredToFans squared_to_fans_avx2() { return squared_to_fans; }
RowSum::Function sum_rows_avx2() { return sum_rows; }

}  // namespace segauge
