// Where the sub-voxel surface cuts edges across thick slices: on the circle through the outlines of the slices nearby
// (segauge/geometry/reference/profiles.py).
#pragma once

#include "cuts_on_lines.hpp"

namespace segauge {

// Moves the cuts of the edges along thick axes to where the outlines of the slices say, and settles them, where they do.
// `lines`: as the bells say.
void move_to_profiles(EdgeCuts& cuts, const BitVolume& mask, const CellSet& set, const CutsOnLines& lines,
                      const SubvoxelRule& rule, int threads);

}  // namespace segauge
