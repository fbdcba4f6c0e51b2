// The cells of a surface in blocks of 4 x 4 x 4, with boxes around their pieces: for queries that are far from all of
// them, where most blocks are excluded at a glance.
#pragma once

#include <atomic>
#include <cmath>
#include <memory>

#include "search/far/brick_tree.hpp"
#include "search/far/disc_bounds.hpp"

namespace segauge {

// Boxes side by side, as vector registers take them, in mm from a common origin.
class BoxList {
 public:
  size_t size() const { return side_[0].size(); }
  void clear() {
    for (auto& side : side_) side.clear();
  }
  void push(const Box& box) {
    for (size_t axis = 0; axis < 3; ++axis) {
      side_[axis].push_back(static_cast<float>((box.low[axis] + box.high[axis]) / 2));
      side_[axis + 3].push_back(static_cast<float>((box.high[axis] - box.low[axis]) / 2));
    }
  }
  void reserve(size_t count) {
    for (auto& side : side_) side.reserve(count);
  }

  // Squared distances between a box and those numbered [begin, end); up to `slack` mm per axis too short.
  void squared_gaps(const Box& from, double slack, size_t begin, size_t end, float* squared) const {
    float middle[3], reach[3];
    for (size_t axis = 0; axis < 3; ++axis) {
      middle[axis] = static_cast<float>((from.low[axis] + from.high[axis]) / 2);
      reach[axis] = static_cast<float>((from.high[axis] - from.low[axis]) / 2 + slack);
    }
    const float *z = side_[0].data(), *y = side_[1].data(), *x = side_[2].data();
    const float *depth = side_[3].data(), *height = side_[4].data(), *width = side_[5].data();
    for (size_t i = begin; i < end; ++i) {
      const float dz = doubled_gap(z[i] - middle[0], depth[i] + reach[0]);
      const float dy = doubled_gap(y[i] - middle[1], height[i] + reach[1]);
      const float dx = doubled_gap(x[i] - middle[2], width[i] + reach[2]);
      squared[i - begin] = 0.25f * (dz * dz + dy * dy + dx * dx);
    }
  }

 private:
  // Twice the gap, 0 where the boxes overlap; without a branch or a maximum, which compilers do not take side by side.
  static float doubled_gap(float between, float reach) {
    const float gap = std::abs(between) - reach;
    return gap + std::abs(gap);
  }
  std::array<std::vector<float>, 6> side_;  // the middle of each box, and half its extent
};

// The blocks of a brick.
struct BrickBlocks {
  static constexpr size_t kMostBlocks = 8, kMostCells = 64;  // of a block

  size_t count = 0;
  std::array<Box, kMostBlocks> box;               // around each
  std::array<BoundingDisc, kMostBlocks> disc;     // the same
  std::array<uint32_t, kMostBlocks + 1> begin{};  // of its cells, and one more
  BoxList cells;                                  // block by block
  std::vector<int32_t> cell;                      // their indices in the surface
};

// The blocks of a surface, made brick by brick as they are asked for, and shared by all who search it.
class CellBlocks {
 public:
  Vec3 to_origin;  // what takes a place in mm to where the boxes are counted from
  double slack;    // mm that outweigh rounding to float

  CellBlocks(const CellGrid& grid, const CellPatterns& lattice)
      : grid_(grid), lattice_(lattice), of_brick_(grid.bricks.size()) {
    Box whole;
    for (const auto& brick : grid.bricks) whole.include(brick.box);
    double widest = 0;
    for (size_t axis = 0; axis < 3; ++axis) {
      to_origin[axis] = -(whole.low[axis] + whole.high[axis]) / 2;
      widest = std::max(widest, whole.high[axis] - whole.low[axis]);
    }
    slack = widest * 1e-6;
  }
  CellBlocks(const CellBlocks&) = delete;
  ~CellBlocks() {
    for (const auto& made : of_brick_) delete made.load();
  }

  // Those of a brick. `disc_of(index)`: around the pieces of a cell.
  template <class DiscOf>
  const BrickBlocks& of_brick(size_t brick, DiscOf&& disc_of) {
    const BrickBlocks* made = of_brick_[brick].load(std::memory_order_acquire);
    if (made != nullptr) return *made;
    auto own = make(grid_.bricks[brick].begin, grid_.end_of(brick), disc_of);
    // where two make the same at once, the first one counts
    if (!of_brick_[brick].compare_exchange_strong(made, own.get(), std::memory_order_acq_rel)) return *made;
    return *own.release();
  }

 private:
  template <class DiscOf>
  std::unique_ptr<BrickBlocks> make(int64_t first, int64_t last, DiscOf&& disc_of) const {
    std::array<std::array<int32_t, BrickBlocks::kMostCells>, BrickBlocks::kMostBlocks> part;
    std::array<size_t, BrickBlocks::kMostBlocks> count{};
    for (int64_t i = first; i < last; ++i) {
      const Cell& at = grid_.cells[static_cast<size_t>(i)];
      const auto p = static_cast<size_t>((at.z >> 2 & 1) << 2 | (at.y >> 2 & 1) << 1 | (at.x >> 2 & 1));
      part[p][count[p]++] = static_cast<int32_t>(i);
    }
    auto out = std::make_unique<BrickBlocks>();
    out->cells.reserve(static_cast<size_t>(last - first));
    out->cell.reserve(static_cast<size_t>(last - first));
    for (size_t p = 0; p < part.size(); ++p)
      if (count[p] > 0) add_block(part[p].data(), count[p], disc_of, *out);
    return out;
  }

  template <class DiscOf>
  void add_block(const int32_t* index, size_t count, DiscOf&& disc_of, BrickBlocks& out) const {
    std::array<BoundingDisc, BrickBlocks::kMostCells> own;
    std::array<Vec3, BrickBlocks::kMostCells> place;
    Box& around = out.box[out.count];
    for (size_t k = 0; k < count; ++k) {
      const Cell& at = grid_.cells[static_cast<size_t>(index[k])];
      place[k] = lattice_.offset(at.z, at.y, at.x);
      for (size_t i = 0; i < 3; ++i) place[k][i] += to_origin[i];
      own[k] = disc_of(index[k]);
      const Box box = own[k].box().moved(place[k]);
      out.cells.push(box);
      out.cell.push_back(index[k]);
      around.include(box);
    }
    out.disc[out.count] = BoundingDisc(own.data(), place.data(), count, slack);
    out.begin[++out.count] = static_cast<uint32_t>(out.cell.size());
  }

  const CellGrid& grid_;
  const CellPatterns& lattice_;
  std::vector<std::atomic<const BrickBlocks*>> of_brick_;
};

// Finds the cells that may be near a query. The blocks that any query from the same brick may be nearest to are
// collected once, through the tree over the bricks; queries come brick by brick.
class BlockFinder {
 public:
  BlockFinder(const CellGrid& grid, const BrickTree& tree, CellBlocks& blocks, const CellPatterns& lattice)
      : grid_(grid), tree_(tree), all_(blocks), lattice_(lattice) {}

  // Calls visit(index) for cells whose boxes come no further than `worst`, squared, to the box of a query's points (in
  // mm from its position), and after each block go_on(), which may lower `worst`, or end it. Nearest block first, and
  // only those whose discs may be near enough by `bounds`. `disc_of(index)`: around the pieces of a cell.
  template <class DiscOf, class Visit, class GoOn>
  void find(const std::array<int64_t, 3>& at, const Box& points, const double& worst, const DiscBounds& bounds,
            DiscOf&& disc_of, Visit&& visit, GoOn&& go_on) {
    Vec3 place = lattice_.offset(at[0], at[1], at[2]);
    enter_brick({at[0] >> 3, at[1] >> 3, at[2] >> 3}, points.moved(place), disc_of);
    for (size_t i = 0; i < 3; ++i) place[i] += all_.to_origin[i];
    const Box from = points.moved(place);
    gaps_.resize(nearby_.size());
    nearby_.squared_gaps(from, all_.slack, 0, nearby_.size(), gaps_.data());
    reached_.clear();
    for (size_t i = 0; i < nearby_.size(); ++i)
      if (reaches(gaps_[i], worst)) reached_.push_back({gaps_[i], i});
    std::sort(reached_.begin(), reached_.end());
    for (const auto& [gap, i] : reached_) {
      if (!reaches(gap, worst)) return;
      const auto& [brick, block] = block_[i];
      Candidate whole{0, 0, &brick->disc[block], place};
      bounds.bound_cells(&whole, &whole + 1);
      if (whole.least == kInfinity) continue;
      const size_t begin = brick->begin[block], end = brick->begin[block + 1];
      float gaps[BrickBlocks::kMostCells];
      brick->cells.squared_gaps(from, all_.slack, begin, end, gaps);
      for (size_t k = begin; k < end; ++k)
        if (reaches(gaps[k - begin], worst)) visit(static_cast<int64_t>(brick->cell[k]));
      if (!go_on()) return;
    }
  }

 private:
  // what `slack` leaves of rounding is less than this
  static bool reaches(float gap, double worst) { return static_cast<double>(gap) * (1 - 1e-6) <= worst; }

  template <class DiscOf>
  void enter_brick(const std::array<int64_t, 3>& brick, const Box& points, DiscOf&& disc_of) {
    if (brick == brick_ && around_.holds(points)) return;
    brick_ = brick;
    constexpr int64_t kEdge = CellGrid::kBrickEdge;
    around_ = points;
    for (int corner = 0; corner < 8; ++corner) {
      int64_t at[3];
      for (size_t axis = 0; axis < 3; ++axis) at[axis] = (brick[axis] + (corner >> axis & 1)) * kEdge;
      around_.include(lattice_.offset(at[0], at[1], at[2]));
    }
    double enough = kInfinity;  // no point in there is further from the surface
    for_bricks_within(around_, enough, [&](size_t index) {
      enough = std::min(enough, squared_to_farthest(around_, grid_.bricks[index].box));
    });
    nearby_.clear();
    block_.clear();
    for_bricks_within(around_, enough, [&](size_t index) {
      const BrickBlocks& own = all_.of_brick(index, disc_of);
      for (size_t block = 0; block < own.count; ++block) {
        nearby_.push(own.box[block]);
        block_.push_back({&own, block});
      }
    });
  }

  static double squared_to_farthest(const Box& a, const Box& b) {
    double sum = 0;
    for (size_t axis = 0; axis < 3; ++axis) {
      const double most = std::max(b.high[axis] - a.low[axis], a.high[axis] - b.low[axis]);
      sum += most * most;
    }
    return sum;
  }

  // Calls visit(brick) for all bricks no further from a box than `enough`, squared, which it may lower; nearest first.
  template <class Visit>
  void for_bricks_within(const Box& from, const double& enough, Visit&& visit) const {
    constexpr Vec3 kHere{0, 0, 0};
    const auto& nodes = tree_.nodes();
    std::pair<double, int32_t> stack[128];  // the tree halves at each level, so its depth stays far below
    int depth = 0;
    stack[depth++] = {squared_between(from, nodes[0].box, kHere), 0};
    while (depth > 0) {
      const auto [bound, index] = stack[--depth];
      if (excludes(bound, enough)) continue;
      const BrickTree::Node& node = nodes[static_cast<size_t>(index)];
      if (node.brick >= 0) {
        visit(static_cast<size_t>(node.brick));
        continue;
      }
      const double left = squared_between(from, nodes[static_cast<size_t>(node.left)].box, kHere);
      const double right = squared_between(from, nodes[static_cast<size_t>(node.right)].box, kHere);
      const bool left_first = left <= right;
      stack[depth++] = left_first ? std::pair(right, node.right) : std::pair(left, node.left);
      stack[depth++] = left_first ? std::pair(left, node.left) : std::pair(right, node.right);
    }
  }

  const CellGrid& grid_;
  const BrickTree& tree_;
  CellBlocks& all_;
  const CellPatterns& lattice_;
  std::array<int64_t, 3> brick_{INT64_MIN, 0, 0};             // that the last query came from
  Box around_;                                                // the places that it may come from
  BoxList nearby_;                                            // blocks that queries from there may be nearest to
  std::vector<std::pair<const BrickBlocks*, size_t>> block_;  // and which they are
  std::vector<float> gaps_;
  std::vector<std::pair<float, size_t>> reached_;
};

}  // namespace segauge
