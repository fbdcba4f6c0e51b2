// The largest distance from any point of one surface to another: the directed Hausdorff distance, not that of its
// samples.
//
// From a point p the distance to one piece of the other surface is a convex function of p. So over a convex polygon it
// is largest at a corner, and for any piece P
//     max over the polygon of the distance to the surface <= max over its corners of the distance to P.
// Where the least of these bounds exceeds what was found by more than the tolerance, the polygon is cut where two
// pieces are equally near, or in halves, and both parts are looked at again. A part that is smaller than the tolerance
// cannot exceed it, since the distance grows no faster than p moves: so the search ends.
#pragma once

#include <functional>
#include <vector>

#include "search/far/brick_tree.hpp"

namespace segauge {

// Appends the pieces in a cell, in mm from its lattice position.
using ListPieces = std::function<void(size_t cell, std::vector<Target>& out)>;

// The cell that holds the piece nearest to a point, which is given in mm from the lattice position of a cell.
using NearestCell = std::function<size_t(const Cell& cell, const Vec3& point)>;

// A surface as its cells, and what lists the pieces in them.
struct ListedSurface {
  const CellGrid& grid;
  ListPieces pieces;
};

// A cell, and what no distance from its pieces exceeds, in mm.
struct CellBound {
  double bound;
  size_t cell;
};

// The largest distance from the pieces of some cells of `from` to `to`, if it exceeds `found` by more than the
// tolerance; else `found`. No more than the tolerance below the exact maximum of both, and never above it.
double largest_distance(const ListedSurface& from, std::vector<CellBound> cells, const ListedSurface& to,
                        const NearestCell& nearest, const BrickTree& tree, const CellPatterns& lattice, double found);

}  // namespace segauge
