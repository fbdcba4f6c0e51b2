#include "arrays.hpp"

namespace segauge {

void bind_skeleton(nb::module_&) {}

}  // namespace segauge
