// The pieces of a binary surface in cell units, computed once, and put on a lattice for every spacing.
#pragma once

#include "search/near/neighbour_bounds.hpp"
#include "surface/cell_patterns.hpp"

namespace segauge {

// Lengths of samples and targets are counted in steps of the lattice. Of the codes that look the same only the first
// one has any.
struct CellShapes {
  int ndim = 3;
  Vec3 cell_low{};  // where a cell begins along each axis, from its lattice position
  std::vector<int64_t> same_as, sample_start, target_start;
  std::vector<Vec3> sample, extent;  // the extent of a sample: its normal as long as its area; in 2-D its segment
  // A flat piece with parallel sides is listed twice, whole and as triangles.
  struct Piece {
    Vec3 corner, u, v;
    bool is_flat;
    int64_t number;  // what is listed twice has the same
  };
  std::vector<Piece> target;
  Symmetries symmetries;
  NeighbourBounds beside;
};

// Computes what the symmetries show of steps and codes; the rest of `shapes` must be there.
void number_distinct_codes(CellShapes& shapes);
void find_canonical_codes(CellShapes& shapes);
void find_image_steps(CellShapes& shapes);

// Puts the shapes on the lattice whose steps `out` has; `shapes` must outlive it.
void put_on_lattice(const CellShapes& shapes, CellPatterns& out);

}  // namespace segauge
