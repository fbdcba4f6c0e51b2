// Finding the nearest piece of a surface. The grid of cells is itself the search structure: a query looks at the cells
// around its own position first, then at the window that the best distance so far can reach, and walks the tree over
// the bricks only when that window is large.
#pragma once

#include <cmath>
#include <cstdlib>
#include <mutex>

#include "pieces.hpp"

namespace segauge {

// Squared distances from the samples of one cell code to the pieces of another, at a small offset between the cells.
// Surfaces of binary masks consist of the same few patterns over and over, so most of what a search needs was worked
// out before. Of no use where each cell has a code of its own. What it answers does not depend on what was asked before.
class KnownDistances {
 public:
  explicit KnownDistances(const Patterns& patterns) : patterns_(patterns), is_useful_(patterns.sample_box.size() <= 256) {
    forget();
  }

  static constexpr int64_t kReach = 1;  // cells; further away there are too many combinations to meet one again

  bool is_useful() const { return is_useful_; }

  // Starts anew when it has grown large; asked between two surfaces, never while one is searched.
  void keep_small() {
    if (used_ > kMostKept) forget();
  }

  // One value for each sample of `from`.
  const double* between(uint32_t from, uint32_t to, int64_t dz, int64_t dy, int64_t dx) {
    const auto offset = static_cast<uint32_t>(((dz + kReach) * 3 + dy + kReach) * 3 + dx + kReach);
    const uint32_t key = offset << 16 | from << 8 | to;
    size_t slot = spread(key);
    while (entries_[slot].key != key) {
      if (entries_[slot].key == kFree) {
        slot = add(key, from, to, dz, dy, dx);
        break;
      }
      slot = (slot + 1) & (entries_.size() - 1);
    }
    return values_.data() + entries_[slot].row;
  }

 private:
  struct Entry {
    uint32_t key, row;  // where the values of a combination begin
  };
  static constexpr uint32_t kFree = ~uint32_t{0};
  static constexpr size_t kMostKept = 300000;  // combinations, of some 50 bytes each

  void forget() {
    used_ = 0;
    entries_.assign(size_t{1} << 10, {kFree, 0});
    values_.clear();
  }

  size_t spread(uint32_t key) const { return (key * 0x9E3779B1u >> 8) & (entries_.size() - 1); }

  size_t add(uint32_t key, uint32_t from, uint32_t to, int64_t dz, int64_t dy, int64_t dx) {
    if (2 * ++used_ > entries_.size()) grow();
    const size_t slot = free_slot(key);
    entries_[slot] = {key, static_cast<uint32_t>(values_.size())};
    const Vec3 shift = patterns_.offset(dz, dy, dx);
    for (int64_t i = patterns_.sample_start[from]; i < patterns_.sample_start[from + 1]; ++i) {
      const Vec3& sample = patterns_.sample[static_cast<size_t>(i)];
      const Vec3 p{sample[0] + shift[0], sample[1] + shift[1], sample[2] + shift[2]};
      double best = kInfinity;
      for (int64_t t = patterns_.target_start[to]; t < patterns_.target_start[to + 1]; ++t)
        best = nearer(p, patterns_.target[static_cast<size_t>(t)], best);
      values_.push_back(best);
    }
    return slot;
  }

  size_t free_slot(uint32_t key) const {
    size_t slot = spread(key);
    while (entries_[slot].key != kFree) slot = (slot + 1) & (entries_.size() - 1);
    return slot;
  }

  void grow() {
    std::vector<Entry> old(2 * entries_.size(), {kFree, 0});
    entries_.swap(old);
    for (const Entry& entry : old)
      if (entry.key != kFree) entries_[free_slot(entry.key)] = entry;
  }

  const Patterns& patterns_;
  bool is_useful_;
  size_t used_ = 0;
  std::vector<Entry> entries_;
  std::vector<double> values_;
};

// Patterns, and for each worker what is known of the distances between them; kept from one surface to the next.
class PreparedPatterns {
 public:
  explicit PreparedPatterns(Patterns&& from) : patterns(std::move(from)) {}
  PreparedPatterns(const PreparedPatterns&) = delete;

  const Patterns patterns;

  // Runs work with the knowledge of `workers` workers: the kept one, or a new one if somebody else is using that.
  template <class Work>
  auto with_knowledge(int workers, Work&& work) {
    const std::unique_lock<std::mutex> lock(guard_, std::try_to_lock);
    std::vector<KnownDistances> fresh;
    std::vector<KnownDistances>& known = lock.owns_lock() ? known_ : fresh;
    for (auto& each : known) each.keep_small();
    while (known.size() < static_cast<size_t>(workers)) known.emplace_back(patterns);
    return work(known);
  }

 private:
  std::mutex guard_;
  std::vector<KnownDistances> known_;
};

// Searches one surface for a handful of nearby points at once: the samples of one cell.
class Search {
 public:
  Search(const CellSet& to, const BrickTree& tree, const Patterns& patterns, KnownDistances& known)
      : to_(to), tree_(tree), patterns_(patterns), known_(known), reach_(patterns.reach()) {}

  // best[i] gets the squared distance of the i-th sample of a cell to the nearest piece.
  void nearest(const Cell& cell, double* best) {
    const uint32_t code = cell.sample_code;
    const auto first = static_cast<size_t>(patterns_.sample_start[code]);
    points_ = patterns_.sample.data() + first;
    count_ = static_cast<size_t>(patterns_.sample_start[code + 1]) - first;
    box_ = &patterns_.sample_box[code];
    clearance_ = patterns_.clearance[code];
    from_ = code;
    use_known_ = known_.is_useful();
    best_ = best;
    at_ = {cell.z, cell.y, cell.x};
    std::fill(best, best + count_, kInfinity);
    worst_ = kInfinity;
    enough_ = 0;
    search();
  }

  // Whether any piece lies within a squared distance of the lattice position (z, y, x) itself.
  bool reaches(int64_t z, int64_t y, int64_t x, double squared) {
    static const Vec3 kOrigin{0, 0, 0};
    static const Box kPoint{{0, 0, 0}, {0, 0, 0}};
    double best = std::nextafter(squared, kInfinity);
    points_ = &kOrigin;
    count_ = 1;
    box_ = &kPoint;
    clearance_ = 0;
    use_known_ = false;
    best_ = &best;
    at_ = {z, y, x};
    worst_ = best;
    enough_ = squared;
    search();
    return best <= squared;
  }

  void hint(int64_t cell) { hint_ = cell; }

  // The index of the surface's cell at a position, -1 if the surface does not pass there.
  int64_t cell_index(int64_t z, int64_t y, int64_t x) const {
    if (z < 0 || y < 0 || x < 0) return -1;
    const int64_t bz = z / kEdge, by = y / kEdge, bx = x / kEdge;
    if (bz >= to_.nz || by >= to_.ny || bx >= to_.nx) return -1;
    const int32_t b = to_.brick_at[static_cast<size_t>((bz * to_.ny + by) * to_.nx + bx)];
    if (b < 0) return -1;
    const CellSet::Brick& brick = to_.bricks[static_cast<size_t>(b)];
    const uint64_t word = brick.occupied[static_cast<size_t>(z % kEdge)];
    const uint64_t bit = uint64_t{1} << (y % kEdge * kEdge + x % kEdge);
    if ((word & bit) == 0) return -1;
    return brick.begin + brick.before[static_cast<size_t>(z % kEdge)] + count_bits(word & (bit - 1));
  }

 private:
  static constexpr int64_t kEdge = CellSet::kBrickEdge;
  // A window of more bricks than this is searched through the tree instead.
  static constexpr int64_t kMostBricksInWindow = 64;

  void search() {
    search_neighbours();
    if (worst_ <= enough_ || worst_ <= clearance_ * clearance_) return;
    if (hint_ >= 0) try_unless_neighbour(hint_);
    if (worst_ <= enough_) return;
    if (!search_window()) search_tree();
  }

  // The cell itself and the 26 around it, those that share a face first: where two surfaces nearly agree, the nearest
  // piece is almost always here.
  void search_neighbours() {
    static constexpr int8_t kOrder[27][3] = {
        {0, 0, 0},    {0, 0, -1},  {0, 0, 1},   {0, -1, 0}, {0, 1, 0},   {-1, 0, 0},   {1, 0, 0},
        {0, -1, -1},  {0, -1, 1},  {0, 1, -1},  {0, 1, 1},  {-1, 0, -1}, {-1, 0, 1},   {-1, -1, 0}, {-1, 1, 0},
        {1, 0, -1},   {1, 0, 1},   {1, -1, 0},  {1, 1, 0},  {-1, -1, -1}, {-1, -1, 1}, {-1, 1, -1}, {-1, 1, 1},
        {1, -1, -1},  {1, -1, 1},  {1, 1, -1},  {1, 1, 1}};
    for (const auto& step : kOrder) {
      const int64_t index = cell_index(at_[0] + step[0], at_[1] + step[1], at_[2] + step[2]);
      if (index < 0) continue;
      try_cell(to_.cells[static_cast<size_t>(index)], index);
      if (worst_ <= enough_) return;
    }
  }

  void try_unless_neighbour(int64_t index) {
    const Cell& cell = to_.cells[static_cast<size_t>(index)];
    const bool is_neighbour =
        std::abs(cell.z - at_[0]) <= 1 && std::abs(cell.y - at_[1]) <= 1 && std::abs(cell.x - at_[2]) <= 1;
    if (!is_neighbour) try_cell(cell, index);
  }

  void try_cell(const Cell& cell, int64_t index) {
    const int64_t dz = at_[0] - cell.z, dy = at_[1] - cell.y, dx = at_[2] - cell.x;
    if (excludes(squared_between(*box_, patterns_.target_box[cell.code], patterns_.offset(dz, dy, dx)), worst_)) return;
    constexpr int64_t kNear = KnownDistances::kReach;
    const bool is_near = std::abs(dz) <= kNear && std::abs(dy) <= kNear && std::abs(dx) <= kNear;
    const bool improved = use_known_ && is_near ? take_known(cell, dz, dy, dx) : work_out(cell, dz, dy, dx);
    if (improved) hint_ = index;
  }

  bool take_known(const Cell& cell, int64_t dz, int64_t dy, int64_t dx) {
    const double* known = known_.between(from_, cell.code, dz, dy, dx);
    double worst = 0;
    bool improved = false;
    for (size_t i = 0; i < count_; ++i) {
      if (known[i] < best_[i]) {
        best_[i] = known[i];
        improved = true;
      }
      worst = std::max(worst, best_[i]);
    }
    worst_ = worst;
    return improved;
  }

  bool work_out(const Cell& cell, int64_t dz, int64_t dy, int64_t dx) {
    const Vec3 shift = patterns_.offset(dz, dy, dx);
    const Box& there = patterns_.target_box[cell.code];
    const Target* first = patterns_.target.data() + patterns_.target_start[cell.code];
    const Target* last = patterns_.target.data() + patterns_.target_start[cell.code + 1];
    double worst = 0;
    bool improved = false;
    for (size_t i = 0; i < count_; ++i) {
      const Vec3 p{points_[i][0] + shift[0], points_[i][1] + shift[1], points_[i][2] + shift[2]};
      double best = best_[i];
      if (!excludes(squared_to_box(p, there), best)) {
        for (const Target* t = first; t != last; ++t) best = nearer(p, *t, best);
        if (best < best_[i]) {
          best_[i] = best;
          improved = true;
        }
      }
      worst = std::max(worst, best);
    }
    worst_ = worst;
    return improved;
  }

  // Looks at all cells that the present upper bound can reach. False if there is no bound yet, or it reaches too far.
  bool search_window() {
    if (worst_ == kInfinity) return false;
    const double radius = std::sqrt(worst_) * (1 + 1e-9);
    int64_t low[3], high[3];
    const int64_t extent[3] = {to_.nz * kEdge, to_.ny * kEdge, to_.nx * kEdge};
    int64_t bricks = 1;
    for (int axis = 0; axis < 3; ++axis) {
      // samples and targets lie inside their cells, so two of them can be nearer than their cells by one step
      const double span = std::min(radius * reach_[axis] + 1 + 1e-9, 1e9);
      low[axis] = std::max<int64_t>(0, at_[axis] - static_cast<int64_t>(span));
      high[axis] = std::min<int64_t>(extent[axis] - 1, at_[axis] + static_cast<int64_t>(span));
      if (high[axis] < low[axis]) return true;
      bricks *= high[axis] / kEdge - low[axis] / kEdge + 1;
    }
    if (bricks > kMostBricksInWindow) return false;
    for (int64_t bz = low[0] / kEdge; bz <= high[0] / kEdge; ++bz)
      for (int64_t by = low[1] / kEdge; by <= high[1] / kEdge; ++by)
        for (int64_t bx = low[2] / kEdge; bx <= high[2] / kEdge; ++bx) {
          const int32_t b = to_.brick_at[static_cast<size_t>((bz * to_.ny + by) * to_.nx + bx)];
          if (b >= 0) search_brick(to_.bricks[static_cast<size_t>(b)], low, high);
          if (worst_ <= enough_) return true;
        }
    return true;
  }

  void search_brick(const CellSet::Brick& brick, const int64_t low[3], const int64_t high[3]) {
    const int64_t corner[3] = {brick.z * kEdge, brick.y * kEdge, brick.x * kEdge};
    int64_t from[3], to[3];
    for (int axis = 0; axis < 3; ++axis) {
      from[axis] = std::max<int64_t>(0, low[axis] - corner[axis]);
      to[axis] = std::min<int64_t>(kEdge - 1, high[axis] - corner[axis]);
    }
    const uint64_t columns = (uint64_t{0xFF} >> (7 - to[2]) & (uint64_t{0xFF} << from[2])) * 0x0101010101010101ull;
    const uint64_t rows = (~uint64_t{0} >> (8 * (7 - to[1]))) & (~uint64_t{0} << (8 * from[1]));
    for (int64_t plane = from[0]; plane <= to[0]; ++plane) {
      const uint64_t word = brick.occupied[static_cast<size_t>(plane)];
      for (uint64_t left = word & rows & columns; left != 0; left &= left - 1) {
        const uint64_t below = (left & (~left + 1)) - 1;
        try_unless_neighbour(brick.begin + brick.before[static_cast<size_t>(plane)] + count_bits(word & below));
      }
    }
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
        for (int64_t i = to_.bricks[brick].begin; i < to_.end_of(brick); ++i) try_unless_neighbour(i);
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
  KnownDistances& known_;
  const Vec3 reach_;
  // the query at hand
  const Vec3* points_ = nullptr;
  size_t count_ = 0;
  const Box* box_ = nullptr;
  double clearance_ = 0;       // nothing outside the 27 cells is nearer than this
  uint32_t from_ = 0;          // code of the cell that the points belong to
  bool use_known_ = false;
  double* best_ = nullptr;
  std::array<int64_t, 3> at_{};
  double worst_ = kInfinity;   // the largest of best_
  double enough_ = 0;          // the search ends when worst_ is no larger
  // the cell in which the last search found its nearest piece: a good first guess for the next
  int64_t hint_ = -1;
};

}  // namespace segauge
