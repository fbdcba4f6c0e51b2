// Distances between the surface cells of two masks. A cell is a block of 2x2x2 neighbouring voxel centres (2x2 in 2-D),
// also beyond the border of the volume; it belongs to the surface if it holds both classes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/bit_volume.hpp"

namespace segauge {

// The surface cells of one mask in raster order: the area of each, and its distance to the nearest surface cell of the
// other mask, centre to centre (infinite where the other mask has none).
struct CellSurface {
  std::vector<double> areas, distances;
};

// `areas[code]` is the area of a cell whose corner (dz, dy, dx) is set for bit 4 dz + 2 dy + dx of its code.
std::array<CellSurface, 2> cell_distances(const BitVolume& a, const BitVolume& b, const std::array<double, 3>& spacing,
                                          const double* areas, int threads);

}  // namespace segauge
