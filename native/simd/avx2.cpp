#define SEGAUGE_SIMD_WIDTH 4
#include "simd/fans_of_width.hpp"

namespace segauge {

extern const SimdOperations kAvx2Operations;
const SimdOperations kAvx2Operations = kOperationsOfWidth;

}  // namespace segauge
