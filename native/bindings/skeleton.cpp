#include <nanobind/stl/pair.h>

#include "bindings/arrays.hpp"
#include "topology/skeleton.hpp"

namespace segauge {

void bind_skeleton(nb::module_& m) {
  m.def("skeletonize", &skeletonize, nb::arg("mask"), nb::call_guard<nb::gil_scoped_release>());
  m.def("skeletonize_pair", &skeletonize_pair, nb::arg("a"), nb::arg("b"), nb::arg("threads"),
        nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace segauge
