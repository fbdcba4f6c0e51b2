// A tree over the bricks of a surface.
#pragma once

#include "surface/cell_grid.hpp"

namespace segauge {

// Binary tree over the bricks of a surface, for queries that are far away from it.
class BrickTree {
 public:
  struct Node {
    Box box;
    int32_t left = -1, right = -1;  // children, or
    int32_t brick = -1;             // a leaf's brick
  };
  explicit BrickTree(const CellGrid& cells);
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  int32_t build(std::vector<int32_t>& order, size_t begin, size_t end, const CellGrid& cells);
  std::vector<Node> nodes_;
};

}  // namespace segauge
