// How wide an object is in its last two layers says where its caps end (segauge/geometry/reference/chords.py).
#pragma once

#include "cuts_on_lines.hpp"

namespace segauge {

// Moves the cuts of caps that are not settled. `lines`: as the bells say.
void move_to_chords(EdgeCuts& cuts, const BitVolume& mask, const CellSet& set, const CutsOnLines& lines,
                    const SubvoxelRule& rule, int threads);

}  // namespace segauge
