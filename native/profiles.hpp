// Where the sub-voxel surface cuts edges across thick slices: on the circle through the outlines of the slices nearby
// (segauge/geometry/reference/profiles.py).
#pragma once

#include "edge_cuts.hpp"

namespace segauge {

// Moves the cuts of the edges along thick axes from where the bells say to where the outlines of the slices do.
void move_to_profiles(EdgeCuts& cuts, const BitVolume& mask, const CellSet& set, const SubvoxelRule& rule, int threads);

}  // namespace segauge
