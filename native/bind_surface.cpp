#include "arrays.hpp"

namespace segauge {

void bind_surface(nb::module_&) {}

}  // namespace segauge
