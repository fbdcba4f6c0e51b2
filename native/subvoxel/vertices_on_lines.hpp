// The cuts of a sub-voxel surface along the lines of voxels, and across thick slices along their diagonals.
#pragma once

#include <optional>

#include "subvoxel/vertex_diagonals.hpp"

namespace segauge {

// As the Gaussians say.
struct VerticesOnLines {
  std::array<VertexLines, 3> along;                         // by axis
  std::array<std::optional<VertexDiagonals>, 3> diagonals;  // of the layers across an axis

  VerticesOnLines(const EdgeVertices& cuts, const CellGrid& grid, const Place& size, const SubvoxelRule& rule)
      : along(find_vertex_lines(cuts, grid, size)) {
    for (size_t axis = 0; axis < 3 && rule.ndim == 3; ++axis)
      if (rule.is_thick[axis]) diagonals[axis].emplace(cuts, grid, size, axis);
  }
};

}  // namespace segauge
