// The cuts of a sub-voxel surface along the lines of voxels, and across thick slices along their diagonals.
#pragma once

#include <optional>

#include "cut_diagonals.hpp"

namespace segauge {

// As the bells say.
struct CutsOnLines {
  std::array<CutLines, 3> along;                         // by axis
  std::array<std::optional<CutDiagonals>, 3> diagonals;  // of the layers across an axis

  CutsOnLines(const EdgeCuts& cuts, const CellSet& set, const Place& size, const SubvoxelRule& rule)
      : along(find_cut_lines(cuts, set, size)) {
    for (size_t axis = 0; axis < 3 && rule.ndim == 3; ++axis)
      if (rule.is_thick[axis]) diagonals[axis].emplace(cuts, set, size, axis);
  }
};

}  // namespace segauge
