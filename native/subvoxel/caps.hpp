// How wide an object is in its last two layers says where its caps end (segauge/geometry/reference/caps.py).
#pragma once

#include "subvoxel/vertices_on_lines.hpp"

namespace segauge {

// Moves the cuts of caps that are not settled. `lines`: as the Gaussians say.
void move_to_caps(EdgeVertices& cuts, const BitVolume& mask, const CellGrid& grid, const VerticesOnLines& lines,
                  const SubvoxelRule& rule, int threads);

}  // namespace segauge
