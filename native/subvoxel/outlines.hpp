// Where the sub-voxel surface cuts edges across thick slices: on the circle through the outlines of the slices nearby
// (segauge/geometry/reference/outlines.py).
#pragma once

#include "subvoxel/vertices_on_lines.hpp"

namespace segauge {

// Moves the cuts of the edges along thick axes to where the outlines of the slices say, and settles them, where they
// do. `lines`: as the Gaussians say.
void move_to_outlines(EdgeVertices& cuts, const BitVolume& mask, const CellGrid& grid, const VerticesOnLines& lines,
                      const SubvoxelRule& rule, int threads);

}  // namespace segauge
