// Where the sub-voxel surface of a mask cuts the edges between its voxels.
#pragma once

#include "subvoxel.hpp"

namespace segauge {

struct EdgeCuts {
  int ndim;  // there are no edges along the first axis of a 2-D image
  std::vector<uint8_t> code;            // by cell: its code as a cell of marching cubes
  // of edges that are not cut nothing is known
  Unzeroed<std::array<double, 3>> cut;  // by cell and axis: of the edge that begins at its lower corner, 0 to 1

  // Whether that edge is cut. Bits of a code: the corners, the last axis first.
  bool has(size_t cell, size_t axis) const {
    return (ndim == 3 || axis > 0) && ((code[cell] ^ code[cell] >> (4 >> axis)) & 1);
  }
  bool is_low_inside(size_t cell) const { return code[cell] & 1; }
};

// The cell whose lower corner is the voxel with a place counted from the first one of a brick, up to one beyond it.
inline size_t cell_from(const CellSet& set, const CellSet::Brick& brick, std::array<int64_t, 3> low) {
  constexpr int64_t kEdge = CellSet::kBrickEdge;
  const CellSet::Brick* at = &brick;
  if (low[0] == kEdge || low[1] == kEdge || low[2] == kEdge) {
    const int64_t z = brick.z + low[0] / kEdge, y = brick.y + low[1] / kEdge, x = brick.x + low[2] / kEdge;
    at = &set.bricks[static_cast<size_t>(set.brick_at[static_cast<size_t>((z * set.ny + y) * set.nx + x)])];
    for (int64_t& place : low) place %= kEdge;
  }
  const auto plane = static_cast<size_t>(low[0]);
  const uint64_t earlier = at->occupied[plane] & ((uint64_t{1} << (low[1] * kEdge + low[2])) - 1);
  return static_cast<size_t>(at->begin + at->before[plane] + count_bits(earlier));
}

// As the bells say. `codes`: of marching cubes, by cell.
EdgeCuts find_cuts(const BitVolume& mask, const CellSet& set, std::vector<uint8_t> codes, const SubvoxelRule& rule,
                   int threads);

}  // namespace segauge
