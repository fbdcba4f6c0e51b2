#define SEGAUGE_LANES 4
#include "lanes_of_width.hpp"

namespace segauge {

SquaredDistances squared_distances_avx2() { return squared_distances; }

}  // namespace segauge
