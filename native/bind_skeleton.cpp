#include "arrays.hpp"
#include "skeleton.hpp"

namespace segauge {

void bind_skeleton(nb::module_& m) {
  m.def("skeletonize", &skeletonize, nb::arg("mask"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace segauge
