// Finding the nearest piece of a surface. The grid of cells is itself the search structure: a query looks at the cells
// around its own position first, then at the window that the best distance so far can reach, and walks the tree over
// the bricks only when that window is large.
#pragma once

#include "near.hpp"

namespace segauge {

// Calls visit(plane, bit, index) for every cell of a brick inside the window [low, high].
template <class Visit>
void for_cells_in(const CellSet::Brick& brick, const std::array<int64_t, 3>& low, const std::array<int64_t, 3>& high,
                  Visit&& visit) {
  constexpr int64_t kEdge = CellSet::kBrickEdge;
  const int64_t corner[3] = {brick.z * kEdge, brick.y * kEdge, brick.x * kEdge};
  int64_t from[3], to[3];
  for (size_t axis = 0; axis < 3; ++axis) {
    from[axis] = std::max<int64_t>(0, low[axis] - corner[axis]);
    to[axis] = std::min<int64_t>(kEdge - 1, high[axis] - corner[axis]);
    if (from[axis] > to[axis]) return;
  }
  const uint64_t columns = (uint64_t{0xFF} >> (7 - to[2]) & (uint64_t{0xFF} << from[2])) * 0x0101010101010101ull;
  const uint64_t rows = (~uint64_t{0} >> (8 * (7 - to[1]))) & (~uint64_t{0} << (8 * from[1]));
  for (int64_t plane = from[0]; plane <= to[0]; ++plane) {
    const uint64_t word = brick.occupied[static_cast<size_t>(plane)];
    for (uint64_t left = word & rows & columns; left != 0; left &= left - 1) {
      const int bit = lowest_bit(left);
      const uint64_t below = (uint64_t{1} << bit) - 1;
      visit(plane, bit, brick.begin + brick.before[static_cast<size_t>(plane)] + count_bits(word & below));
    }
  }
}

// Searches one surface for a handful of nearby points at once: the samples of one cell.
class Search {
 public:
  // Without `near` every query goes straight to the search of what may be far.
  Search(const CellSet& to, const BrickTree& tree, const Patterns& patterns, NearSearch* near = nullptr)
      : to_(to), tree_(tree), patterns_(patterns), near_(near), reach_(patterns.reach()) {}

  // best[i] gets the squared distance of the i-th sample of a cell to the nearest piece.
  void nearest(const Cell& cell, double* best) {
    const uint32_t code = cell.sample_code;
    const auto first = static_cast<size_t>(patterns_.sample_start[code]);
    count_ = static_cast<size_t>(patterns_.sample_start[code + 1]) - first;
    at_ = {cell.z, cell.y, cell.x};
    points_ = patterns_.sample.data() + first;
    groups_ = patterns_.group.data() + patterns_.group_start[code];
    box_ = &patterns_.sample_box[code];
    best_ = best;
    enough_ = 0;
    searched_ = -1;
    if (near_ != nullptr) {
      worst_ = near_->search(cell, best);
      if (!narrow_to_unsettled(patterns_.wide_clearance.data() + first)) return;
      searched_ = KnownDistances::kReach;
    } else {
      worst_ = is_same_as(cell_index(cell.z, cell.y, cell.x)) ? 0 : kInfinity;
      std::fill(best, best + count_, worst_);
    }
    if (worst_ > 0) search_far();
  }

  // Whether any piece lies within a squared distance of the lattice position (z, y, x) itself.
  bool reaches(int64_t z, int64_t y, int64_t x, double squared) {
    static const Vec3 kOrigin{0, 0, 0};
    static const Box kPoint{{0, 0, 0}, {0, 0, 0}};
    static const SampleGroup kOriginGroup{};
    double best = std::nextafter(squared, kInfinity);
    points_ = &kOrigin;
    count_ = 1;
    box_ = &kPoint;
    groups_ = &kOriginGroup;
    searched_ = -1;
    best_ = &best;
    at_ = {z, y, x};
    worst_ = best;
    enough_ = squared;
    search_far();
    return best <= squared;
  }

 private:
  static constexpr int64_t kEdge = CellSet::kBrickEdge;
  static_assert(kEdge == 8, "positions are split into brick and place by shifts of 3");
  // A window that reaches further than this many cells is searched through the tree instead.
  static constexpr int64_t kWindowSpan = 16;

  // Whether a cell of the other surface has the very points of this query on its pieces.
  bool is_same_as(int64_t index) const {
    if (index < 0) return false;
    const uint32_t code = to_.cells[static_cast<size_t>(index)].code;
    const auto other = static_cast<size_t>(patterns_.sample_start[code]);
    return static_cast<size_t>(patterns_.sample_start[code + 1]) - other == count_ &&
           std::equal(points_, points_ + count_, patterns_.sample.data() + other);
  }

  // Goes on with the points that something further away may be nearer to; false if there is none.
  bool narrow_to_unsettled(const double* clearance) {
    unsettled_ = Box();
    bool any = false;
    for (size_t i = 0; i < count_; ++i) {
      if (best_[i] <= clearance[i] * clearance[i]) continue;
      unsettled_.include(points_[i]);
      any = true;
    }
    box_ = &unsettled_;
    return any;
  }

  // Beyond what was searched already: from a first guess, through the window that it leaves, or through the tree.
  void search_far() {
    tried_[0] = tried_[1] = -1;
    if (hint_ >= 0) guess();
    if (worst_ > enough_ && !search_window()) search_tree();
  }

  // A first guess: where two surfaces run side by side, the nearest piece lies in the same direction as for the query
  // before; else it is near the last one.
  void guess() {
    tried_[0] = hint_;
    tried_[1] = cell_index(at_[0] + hint_step_[0], at_[1] + hint_step_[1], at_[2] + hint_step_[2]);
    if (tried_[1] >= 0) try_cell(to_.cells[static_cast<size_t>(tried_[1])], tried_[1]);
    if (tried_[0] != tried_[1]) try_cell(to_.cells[static_cast<size_t>(tried_[0])], tried_[0]);
  }

  bool was_searched(int64_t dz, int64_t dy, int64_t dx) const {
    return std::abs(dz) <= searched_ && std::abs(dy) <= searched_ && std::abs(dx) <= searched_;
  }

  // Notes a cell that may hold a nearer piece, with the least distance at which it could.
  void consider(int64_t index) {
    if (index == tried_[0] || index == tried_[1]) return;
    const Cell& cell = to_.cells[static_cast<size_t>(index)];
    const int64_t dz = at_[0] - cell.z, dy = at_[1] - cell.y, dx = at_[2] - cell.x;
    if (was_searched(dz, dy, dx)) return;
    const double bound = squared_between(*box_, patterns_.target_box[cell.code], patterns_.offset(dz, dy, dx));
    if (!excludes(bound, worst_)) considered_.push_back({bound, index});
  }

  // Tries the noted cells, the most promising first: what is found soon excludes the rest.
  void try_considered() {
    while (!considered_.empty() && worst_ > enough_) {
      size_t first = 0;
      for (size_t i = 1; i < considered_.size(); ++i)
        if (considered_[i].bound < considered_[first].bound) first = i;
      if (excludes(considered_[first].bound, worst_)) break;
      const int64_t index = considered_[first].index;
      considered_[first] = considered_.back();
      considered_.pop_back();
      try_cell(to_.cells[static_cast<size_t>(index)], index);
    }
    considered_.clear();
  }

  // The index of the surface's cell at a position, -1 if the surface does not pass there.
  int64_t cell_index(int64_t z, int64_t y, int64_t x) const {
    const CellSet::Brick* brick = brick_at(z >> 3, y >> 3, x >> 3);
    if (brick == nullptr) return -1;
    const uint64_t word = brick->occupied[z & 7], bit = uint64_t{1} << (8 * (y & 7) + (x & 7));
    if ((word & bit) == 0) return -1;
    return brick->begin + brick->before[z & 7] + count_bits(word & (bit - 1));
  }

  const CellSet::Brick* brick_at(int64_t z, int64_t y, int64_t x) const {
    if (z < 0 || y < 0 || x < 0 || z >= to_.nz || y >= to_.ny || x >= to_.nx) return nullptr;
    const int32_t brick = to_.brick_at[static_cast<size_t>((z * to_.ny + y) * to_.nx + x)];
    return brick < 0 ? nullptr : &to_.bricks[static_cast<size_t>(brick)];
  }

  void try_cell(const Cell& cell, int64_t index) {
    const int64_t dz = at_[0] - cell.z, dy = at_[1] - cell.y, dx = at_[2] - cell.x;
    const Vec3 shift = patterns_.offset(dz, dy, dx);
    const Target* first = patterns_.target.data() + patterns_.target_start[cell.code];
    const Target* last = patterns_.target.data() + patterns_.target_start[cell.code + 1];
    const size_t groups = (count_ + SampleGroup::kSize - 1) / SampleGroup::kSize;
    found_.resize(std::max(found_.size(), groups * SampleGroup::kSize));
    squared_distances_(groups_, groups, shift, first, last, found_.data());
    double worst = 0;
    bool improved = false;
    for (size_t i = 0; i < count_; ++i) {
      improved |= found_[i] < best_[i];
      best_[i] = std::min(best_[i], found_[i]);
      worst = std::max(worst, best_[i]);
    }
    worst_ = worst;
    if (improved) {
      hint_ = index;
      hint_step_ = {-dz, -dy, -dx};
    }
  }

  // Looks at all cells that the present upper bound can reach. False if there is no bound yet, or it reaches too far.
  bool search_window() {
    if (worst_ == kInfinity) return false;
    std::array<int64_t, 3> low, high;
    const int64_t extent[3] = {to_.nz * kEdge, to_.ny * kEdge, to_.nx * kEdge};
    for (size_t axis = 0; axis < 3; ++axis) {
      const int64_t down = steps_in_reach(static_cast<int>(axis), -1), up = steps_in_reach(static_cast<int>(axis), 1);
      if (down > kWindowSpan || up > kWindowSpan) return false;
      low[axis] = std::max<int64_t>(0, at_[axis] - down);
      high[axis] = std::min<int64_t>(extent[axis] - 1, at_[axis] + up);
    }
    for (int64_t bz = low[0] / kEdge; bz <= high[0] / kEdge; ++bz)
      for (int64_t by = low[1] / kEdge; by <= high[1] / kEdge; ++by)
        for (int64_t bx = low[2] / kEdge; bx <= high[2] / kEdge; ++bx) {
          const CellSet::Brick* brick = brick_at(bz, by, bx);
          if (brick != nullptr) consider_brick(*brick, low, high);
        }
    try_considered();
    return true;
  }

  // How many cells away along an axis, in one direction, a nearer piece can lie; on the way, notes how near the points
  // come to a cell so many steps away. The squares of the three axes add up where these are at right angles; elsewhere
  // nothing is excluded by them, and a distance reaches as far as the planes of the lattice allow.
  int64_t steps_in_reach(int axis, int64_t direction) {
    double* squared_gap = squared_gap_[axis] + kWindowSpan;
    squared_gap[0] = 0;
    if (!patterns_.is_orthogonal) {
      const double span = std::sqrt(worst_) * (1 + 1e-9) * reach_[axis] + 1 + 1e-9;
      if (span >= kWindowSpan + 1) return kWindowSpan + 1;
      for (int64_t k = 1; k <= static_cast<int64_t>(span); ++k) squared_gap[direction * k] = 0;
      return static_cast<int64_t>(span);
    }
    const double step = patterns_.step[axis][axis];
    // from the points to the far side of the cell itself: what lies k steps away begins k - 1 steps beyond it
    const double rest = direction > 0 ? patterns_.cell_low[axis] + step - box_->high[axis]
                                      : box_->low[axis] - patterns_.cell_low[axis];
    for (int64_t k = 1; k <= kWindowSpan; ++k) {
      const double gap = std::max(0.0, rest + static_cast<double>(k - 1) * step);
      squared_gap[direction * k] = gap * gap * (1 - 1e-9);
      if (squared_gap[direction * k] > worst_) return k - 1;
    }
    return kWindowSpan + 1;
  }

  void consider_brick(const CellSet::Brick& brick, const std::array<int64_t, 3>& low, const std::array<int64_t, 3>& high) {
    const double* gap_z = squared_gap_[0] + (brick.z * kEdge - at_[0] + kWindowSpan);
    const double* gap_y = squared_gap_[1] + (brick.y * kEdge - at_[1] + kWindowSpan);
    const double* gap_x = squared_gap_[2] + (brick.x * kEdge - at_[2] + kWindowSpan);
    for_cells_in(brick, low, high, [&](int64_t plane, int bit, int64_t index) {
      if (gap_z[plane] + gap_y[bit >> 3] + gap_x[bit & 7] > worst_) return;
      consider(index);
    });
  }

  void search_tree() {
    const Vec3 origin = patterns_.offset(at_[0], at_[1], at_[2]);
    const auto& nodes = tree_.nodes();
    std::pair<double, int32_t> stack[128];  // the tree halves at each level, so its depth stays far below
    int depth = 0;
    stack[depth++] = {squared_between(*box_, nodes[0].box, origin), 0};
    while (depth > 0) {
      const auto [bound, index] = stack[--depth];
      if (worst_ <= enough_) return;
      if (excludes(bound, worst_)) continue;
      const BrickTree::Node& node = nodes[static_cast<size_t>(index)];
      if (node.brick >= 0) {
        const auto brick = static_cast<size_t>(node.brick);
        for (int64_t i = to_.bricks[brick].begin; i < to_.end_of(brick); ++i) consider(i);
        try_considered();
        continue;
      }
      const double left = squared_between(*box_, nodes[static_cast<size_t>(node.left)].box, origin);
      const double right = squared_between(*box_, nodes[static_cast<size_t>(node.right)].box, origin);
      const bool left_first = left <= right;
      stack[depth++] = left_first ? std::pair(right, node.right) : std::pair(left, node.left);
      stack[depth++] = left_first ? std::pair(left, node.left) : std::pair(right, node.right);
    }
  }

  const CellSet& to_;
  const BrickTree& tree_;
  const Patterns& patterns_;
  NearSearch* near_;
  SquaredDistances squared_distances_ = squared_distances_here();
  const Vec3 reach_;
  // the query at hand
  const Vec3* points_ = nullptr;
  const SampleGroup* groups_ = nullptr;
  size_t count_ = 0;
  const Box* box_ = nullptr;
  Box unsettled_;              // around the points that are not settled by what was searched
  int64_t searched_ = -1;      // all cells within so many steps were searched
  double* best_ = nullptr;
  std::array<int64_t, 3> at_{};
  double squared_gap_[3][2 * kWindowSpan + 1];
  struct Candidate {
    double bound;
    int64_t index;
  };
  std::vector<Candidate> considered_;
  std::vector<double> found_;  // what the cell at hand has
  double worst_ = kInfinity;   // the largest of best_
  double enough_ = 0;          // the search ends when worst_ is no larger
  // the cell in which the last search found its nearest piece: a good first guess for the next
  int64_t hint_ = -1;
  std::array<int64_t, 3> hint_step_{};  // from the query's position to it
  int64_t tried_[2] = {-1, -1};         // cells that this query began with
};

}  // namespace segauge
