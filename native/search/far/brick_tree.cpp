#include "search/far/brick_tree.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace segauge {

BrickTree::BrickTree(const CellGrid& cells) {
  std::vector<int32_t> order(cells.bricks.size());
  std::iota(order.begin(), order.end(), 0);
  nodes_.reserve(2 * order.size());
  if (!order.empty()) build(order, 0, order.size(), cells);
}

int32_t BrickTree::build(std::vector<int32_t>& order, size_t begin, size_t end, const CellGrid& cells) {
  const auto index = static_cast<int32_t>(nodes_.size());
  nodes_.emplace_back();
  Box box;
  for (size_t i = begin; i < end; ++i) box.include(cells.bricks[static_cast<size_t>(order[i])].box);
  nodes_[static_cast<size_t>(index)].box = box;
  if (end - begin == 1) {
    nodes_[static_cast<size_t>(index)].brick = order[begin];
    return index;
  }
  int axis = 0;
  for (int i = 1; i < 3; ++i)
    if (box.high[i] - box.low[i] > box.high[axis] - box.low[axis]) axis = i;
  const size_t middle = begin + (end - begin) / 2;
  auto centre = [&](int32_t b) {
    const Box& own = cells.bricks[static_cast<size_t>(b)].box;
    return std::pair(own.low[axis] + own.high[axis], b);
  };
  std::nth_element(order.begin() + static_cast<int64_t>(begin), order.begin() + static_cast<int64_t>(middle),
                   order.begin() + static_cast<int64_t>(end),
                   [&](int32_t a, int32_t b) { return centre(a) < centre(b); });
  const int32_t left = build(order, begin, middle, cells);
  const int32_t right = build(order, middle, end, cells);
  nodes_[static_cast<size_t>(index)].left = left;
  nodes_[static_cast<size_t>(index)].right = right;
  return index;
}

}  // namespace segauge
