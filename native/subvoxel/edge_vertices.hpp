// Where the sub-voxel surface of a mask cuts the edges between its voxels.
#pragma once

#include "subvoxel/subvoxel.hpp"

namespace segauge {

struct EdgeVertices {
  int ndim;                      // there are no edges along the first axis of a 2-D image
  std::vector<uint8_t> code;     // by cell: its code as a cell of marching cubes
  std::vector<uint8_t> settled;  // by cell, a bit an axis: which of the edges that begin there no chord moves
  // by cell and axis: of the edge that begins at its lower corner, 0 to 1; of edges that are not cut nothing is known.
  // One more than there are cells: places where the surface does not pass have the index of the next cell that it
  // passes
  Uninitialised<std::array<double, 3>> cut;
  // all edges that are cut, in the order of their cells
  struct Edge {
    uint32_t cell, axis;
  };
  Uninitialised<Edge> edges;
  std::vector<size_t> first_edge;  // by brick of cells, and one more

  // Whether that edge is cut. Bits of a code: the corners, the last axis first.
  bool has(size_t cell, size_t axis) const {
    return (ndim == 3 || axis > 0) && ((code[cell] ^ code[cell] >> (4 >> axis)) & 1);
  }
  bool is_low_inside(size_t cell) const { return code[cell] & 1; }
  bool is_settled(size_t cell, size_t axis) const { return settled[cell] >> axis & 1; }
  void settle(size_t cell, size_t axis, bool is_known = true) {
    settled[cell] |= static_cast<uint8_t>(static_cast<unsigned>(is_known) << axis);
  }
};

// As the Gaussians say. `codes`: of marching cubes, by cell.
EdgeVertices find_edge_vertices(const BitVolume& mask, const CellGrid& grid, std::vector<uint8_t> codes,
                                const SubvoxelRule& rule, int threads);

}  // namespace segauge
