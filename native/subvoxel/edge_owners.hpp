// The cells of a brick, and those that follow it along the axes.
#pragma once

#include "search/near/neighbourhood.hpp"

namespace segauge {

// Edges belong to the cells at their lower ends: the twelve of a cell to the cell itself and to those that follow it.
class EdgeOwners {
 public:
  static constexpr int64_t kEdge = CellGrid::kBrickEdge, kSide = kEdge + 1;

  // By how much the place of a cell changes with steps along the axes.
  static constexpr int64_t places(int64_t z, int64_t y, int64_t x) { return (z * kSide + y) * kSide + x; }

  explicit EdgeOwners(const CellGrid& grid) : grid_(grid) {}

  // Looks at the cells of a brick, and at those in the first planes of the seven bricks that follow it.
  void enter(const CellGrid::Brick& brick) {
    for (int64_t b = 0; b < 8; ++b) {
      const int64_t bz = b >> 2, by = b >> 1 & 1, bx = b & 1;
      const CellGrid::Brick* other = b == 0 ? &brick : grid_.brick(brick.z + bz, brick.y + by, brick.x + bx);
      if (other == nullptr) continue;
      const IndicesOfCells indices(grid_, other);
      for (int64_t plane = 0; plane < (bz == 0 ? kEdge : 1); ++plane) {
        uint32_t* to = &index_[static_cast<size_t>(places(kEdge * bz + plane, kEdge * by, kEdge * bx))];
        if (bx == 0) indices.copy_rows(plane, 0, by == 0 ? kEdge : 1, to, kSide);
        if (bx == 1) indices.copy_first(plane, 0, by == 0 ? kEdge : 1, to, kSide);
      }
    }
  }

  // The index of a cell of the brick, and so many places on of those that follow it; of any cell where the surface does
  // not pass.
  const uint32_t* from(const Cell& cell) const {
    return &index_[static_cast<size_t>(places(cell.z & (kEdge - 1), cell.y & (kEdge - 1), cell.x & (kEdge - 1)))];
  }

 private:
  const CellGrid& grid_;
  std::array<uint32_t, kSide * kSide * kSide> index_{};
};

}  // namespace segauge
