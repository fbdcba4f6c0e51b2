#define SEGAUGE_LANES 4
#include "lanes_of_width.hpp"
#include "fans_of_width.hpp"

namespace segauge {

extern const LaneFunctions kLanesAvx2;
const LaneFunctions kLanesAvx2 = kLanesOfWidth;

}  // namespace segauge
