// The compiled module segauge.geometry._kernel. Its functions mirror segauge.geometry.reference one by one.
#include "bindings/arrays.hpp"

NB_MODULE(_kernel, m) {
  m.doc() = "Compiled geometry kernel of segauge; segauge.geometry.reference defines what it computes.";
  segauge::bind_labels(m);
  segauge::bind_surface(m);
  segauge::bind_topology(m);
  segauge::bind_skeleton(m);
  segauge::bind_subvoxel(m);
  segauge::bind_summaries(m);
}
