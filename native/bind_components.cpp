#include "arrays.hpp"

namespace segauge {

void bind_components(nb::module_&) {}

}  // namespace segauge
