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

  static constexpr int64_t kReach = 2;  // cells; further away there are too many combinations to meet one again

  static constexpr int64_t kSide = 2 * kReach + 1;

  bool is_useful() const { return is_useful_; }

  // Has the memory ready in which `between` will look: the table is larger than the processor's caches.
  void announce(uint32_t from, uint32_t to, int64_t dz, int64_t dy, int64_t dx) const {
    __builtin_prefetch(&entries_[spread(key_of(from, to, dz, dy, dx))]);
  }
  void announce_values(uint32_t from, uint32_t to, int64_t dz, int64_t dy, int64_t dx) const {
    const Entry& entry = entries_[spread(key_of(from, to, dz, dy, dx))];
    if (entry.row < values_.size()) __builtin_prefetch(values_.data() + entry.row);
  }

  // Starts anew when it has grown large; asked between two surfaces, never while one is searched.
  void keep_small() {
    if (used_ > kMostKept) forget();
  }

  // One value for each sample of `from`; null where the combination is met for the first time. Many never come again,
  // and to work out one for a search that has a good bound already costs less than to work out all.
  const double* between(uint32_t from, uint32_t to, int64_t dz, int64_t dy, int64_t dx) {
    const uint32_t key = key_of(from, to, dz, dy, dx);
    size_t slot = spread(key);
    while (entries_[slot].key != key) {
      if (entries_[slot].key == kFree) {
        add(key);
        return nullptr;
      }
      slot = (slot + 1) & (entries_.size() - 1);
    }
    if (entries_[slot].row == kMetOnce) entries_[slot].row = worked_out(from, to, patterns_.offset(dz, dy, dx));
    return values_.data() + entries_[slot].row;
  }

 private:
  static uint32_t key_of(uint32_t from, uint32_t to, int64_t dz, int64_t dy, int64_t dx) {
    const auto offset = static_cast<uint32_t>(((dz + kReach) * kSide + dy + kReach) * kSide + dx + kReach);
    return offset << 16 | from << 8 | to;
  }

  struct Entry {
    uint32_t key, row;  // where the values of a combination begin
  };
  static constexpr uint32_t kFree = ~uint32_t{0}, kMetOnce = ~uint32_t{0};
  static constexpr size_t kMostKept = 300000;  // combinations, of some 50 bytes each

  void forget() {
    used_ = 0;
    entries_.assign(size_t{1} << 10, {kFree, 0});
    values_.clear();
  }

  size_t spread(uint32_t key) const { return (key * 0x9E3779B1u >> 8) & (entries_.size() - 1); }

  void add(uint32_t key) {
    if (2 * ++used_ > entries_.size()) grow();
    entries_[free_slot(key)] = {key, kMetOnce};
  }

  uint32_t worked_out(uint32_t from, uint32_t to, const Vec3& shift) {
    const auto row = static_cast<uint32_t>(values_.size());
    for (int64_t i = patterns_.sample_start[from]; i < patterns_.sample_start[from + 1]; ++i) {
      const Vec3& sample = patterns_.sample[static_cast<size_t>(i)];
      const Vec3 p{sample[0] + shift[0], sample[1] + shift[1], sample[2] + shift[2]};
      double best = kInfinity;
      for (int64_t t = patterns_.target_start[to]; t < patterns_.target_start[to + 1]; ++t)
        best = nearer(p, patterns_.target[static_cast<size_t>(t)], best);
      values_.push_back(best);
    }
    return row;
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
  Search(const CellSet& to, const BrickTree& tree, const Patterns& patterns, KnownDistances& known)
      : to_(to), tree_(tree), patterns_(patterns), known_(known), reach_(patterns.reach()) {}

  // best[i] gets the squared distance of the i-th sample of a cell to the nearest piece.
  void nearest(const Cell& cell, double* best) {
    const uint32_t code = cell.sample_code;
    const auto first = static_cast<size_t>(patterns_.sample_start[code]);
    count_ = static_cast<size_t>(patterns_.sample_start[code + 1]) - first;
    const int64_t same = cell_index(cell.z, cell.y, cell.x);
    if (same >= 0 && to_.cells[static_cast<size_t>(same)].code == cell.code) {
      std::fill_n(best, count_, 0.0);  // the very same pieces are part of the other surface
      hint_ = same;
      hint_step_ = {0, 0, 0};
      return;
    }
    points_ = patterns_.sample.data() + first;
    clearance_ = patterns_.clearance.data() + first;
    box_ = &patterns_.sample_box[code];
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
    static const double kNone = 0;
    double best = std::nextafter(squared, kInfinity);
    points_ = &kOrigin;
    count_ = 1;
    box_ = &kPoint;
    clearance_ = &kNone;
    use_known_ = false;
    best_ = &best;
    at_ = {z, y, x};
    worst_ = best;
    enough_ = squared;
    search();
    return best <= squared;
  }

  // The index of the surface's cell at a position, -1 if the surface does not pass there.
  int64_t cell_index(int64_t z, int64_t y, int64_t x) const {
    const CellSet::Brick* brick = brick_at(z >> 3, y >> 3, x >> 3);
    if (brick == nullptr) return -1;
    const uint64_t word = brick->occupied[z & 7], bit = uint64_t{1} << (8 * (y & 7) + (x & 7));
    if ((word & bit) == 0) return -1;
    return brick->begin + brick->before[z & 7] + count_bits(word & (bit - 1));
  }

 private:
  static constexpr int64_t kEdge = CellSet::kBrickEdge;
  static_assert(kEdge == 8, "positions are split into brick and place by shifts of 3");
  // A window that reaches further than this many cells is searched through the tree instead.
  static constexpr int64_t kWindowSpan = 16;

  void search() {
    tried_[0] = tried_[1] = -1;
    if (hint_ >= 0) guess();
    if (worst_ > enough_) search_neighbours();
    if (worst_ <= enough_ || !narrow_to_unsettled()) return;
    if (!search_window()) search_tree();
  }

  // A first guess: where two surfaces run side by side, the nearest piece lies in the same direction as for the query
  // before; else it is near the last one.
  void guess() {
    tried_[0] = hint_;
    tried_[1] = cell_index(at_[0] + hint_step_[0], at_[1] + hint_step_[1], at_[2] + hint_step_[2]);
    if (tried_[1] >= 0) try_cell(to_.cells[static_cast<size_t>(tried_[1])], tried_[1]);
    if (tried_[0] != tried_[1]) try_cell(to_.cells[static_cast<size_t>(tried_[0])], tried_[0]);
  }

  // Goes on with the points that something outside the 27 cells may be nearer to; false if there is none.
  bool narrow_to_unsettled() {
    unsettled_ = Box();
    bool any = false;
    for (size_t i = 0; i < count_; ++i) {
      if (best_[i] <= clearance_[i] * clearance_[i]) continue;
      unsettled_.include(points_[i]);
      any = true;
    }
    box_ = &unsettled_;
    return any;
  }

  // The cell itself and the 26 around it, those that share a face first: where two surfaces nearly agree, the nearest
  // piece is almost always here.
  void search_neighbours() {
    // positions 9 (dz + 1) + 3 (dy + 1) + dx + 1: the cell, then across its faces, its edges, its corners
    static constexpr uint8_t kOrder[27] = {13, 12, 14, 10, 16, 4, 22, 9,  11, 15, 17, 3,  5, 1,
                                           7,  21, 23, 19, 25, 0, 2,  6,  8,  18, 20, 24, 26};
    enter_brick();
    const uint32_t occupied = neighbours();
    if (occupied == 0) return;
    for (const uint8_t position : kOrder) {
      if ((occupied >> position & 1) == 0) continue;
      consider(neighbour_index(position / 9 - 1, position / 3 % 3 - 1, position % 3 - 1));
    }
    try_considered();
  }

  // Notes a cell that may hold a nearer piece, with the least distance at which it could.
  void consider(int64_t index) {
    if (index == tried_[0] || index == tried_[1]) return;
    const Cell& cell = to_.cells[static_cast<size_t>(index)];
    const int64_t dz = at_[0] - cell.z, dy = at_[1] - cell.y, dx = at_[2] - cell.x;
    const double bound = squared_between(*box_, patterns_.target_box[cell.code], patterns_.offset(dz, dy, dx));
    if (excludes(bound, worst_)) return;
    considered_.push_back({bound, index});
    if (use_known_ && is_near(dz, dy, dx)) known_.announce(from_, cell.code, dz, dy, dx);
  }

  // Tries the noted cells, the most promising first: what is found soon excludes the rest.
  void try_considered() {
    if (use_known_) announce_values();
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

  void announce_values() const {
    for (size_t i = 0; i < std::min<size_t>(considered_.size(), 8); ++i) {
      const Cell& cell = to_.cells[static_cast<size_t>(considered_[i].index)];
      const int64_t dz = at_[0] - cell.z, dy = at_[1] - cell.y, dx = at_[2] - cell.x;
      if (is_near(dz, dy, dx)) known_.announce_values(from_, cell.code, dz, dy, dx);
    }
  }

  static bool is_near(int64_t dz, int64_t dy, int64_t dx) {
    constexpr int64_t kNear = KnownDistances::kReach;
    return std::abs(dz) <= kNear && std::abs(dy) <= kNear && std::abs(dx) <= kNear;
  }

  // Looks up the 27 bricks around the query once for all queries in one brick.
  void enter_brick() {
    const std::array<int64_t, 3> here{at_[0] >> 3, at_[1] >> 3, at_[2] >> 3};
    if (here == brick_) return;
    brick_ = here;
    size_t i = 0;
    for (int64_t z = here[0] - 1; z <= here[0] + 1; ++z)
      for (int64_t y = here[1] - 1; y <= here[1] + 1; ++y)
        for (int64_t x = here[2] - 1; x <= here[2] + 1; ++x) around_[i++] = brick_at(z, y, x);
  }

  const CellSet::Brick* brick_at(int64_t z, int64_t y, int64_t x) const {
    if (z < 0 || y < 0 || x < 0 || z >= to_.nz || y >= to_.ny || x >= to_.nx) return nullptr;
    const int32_t brick = to_.brick_at[static_cast<size_t>((z * to_.ny + y) * to_.nx + x)];
    return brick < 0 ? nullptr : &to_.bricks[static_cast<size_t>(brick)];
  }

  // One bit for each of the 27 cells that the surface passes.
  uint32_t neighbours() const {
    const int64_t x = at_[2] & 7;
    uint32_t found = 0;
    for (int64_t dz = -1; dz <= 1; ++dz) {
      const int64_t z = (at_[0] & 7) + dz;
      for (int64_t dy = -1; dy <= 1; ++dy) {
        const int64_t y = (at_[1] & 7) + dy;
        const CellSet::Brick* const* row = &around_[static_cast<size_t>(9 * ((z >> 3) + 1) + 3 * ((y >> 3) + 1))];
        auto cells = [&](const CellSet::Brick* brick) -> uint32_t {
          return brick == nullptr ? 0 : static_cast<uint32_t>(brick->occupied[z & 7] >> (8 * (y & 7)) & 0xFF);
        };
        uint32_t bits = cells(row[1]) << 1;
        if (x == 0) bits |= cells(row[0]) >> 7;
        if (x == 7) bits |= (cells(row[2]) & 1) << 9;
        found |= (bits >> x & 7) << (9 * (dz + 1) + 3 * (dy + 1));
      }
    }
    return found;
  }

  int64_t neighbour_index(int64_t dz, int64_t dy, int64_t dx) const {
    const int64_t z = (at_[0] & 7) + dz, y = (at_[1] & 7) + dy, x = (at_[2] & 7) + dx;
    const auto place = static_cast<size_t>(9 * ((z >> 3) + 1) + 3 * ((y >> 3) + 1) + (x >> 3) + 1);
    const CellSet::Brick& brick = *around_[place];
    const uint64_t below = (uint64_t{1} << (8 * (y & 7) + (x & 7))) - 1;
    return brick.begin + brick.before[static_cast<size_t>(z & 7)] + count_bits(brick.occupied[z & 7] & below);
  }

  bool is_neighbour(const Cell& cell) const {
    return std::abs(cell.z - at_[0]) <= 1 && std::abs(cell.y - at_[1]) <= 1 && std::abs(cell.x - at_[2]) <= 1;
  }

  void try_cell(const Cell& cell, int64_t index) {
    const int64_t dz = at_[0] - cell.z, dy = at_[1] - cell.y, dx = at_[2] - cell.x;
    const double* known = use_known_ && is_near(dz, dy, dx) ? known_.between(from_, cell.code, dz, dy, dx) : nullptr;
    const bool improved = known != nullptr ? take(known) : work_out(cell, dz, dy, dx);
    if (improved) {
      hint_ = index;
      hint_step_ = {-dz, -dy, -dx};
    }
  }

  bool take(const double* known) {
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
      if (!is_neighbour(to_.cells[static_cast<size_t>(index)])) consider(index);
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
  KnownDistances& known_;
  const Vec3 reach_;
  // the query at hand
  const Vec3* points_ = nullptr;
  size_t count_ = 0;
  const Box* box_ = nullptr;
  const double* clearance_ = nullptr;  // nothing outside the 27 cells is nearer to a point than this
  Box unsettled_;              // around the points that are not settled by the 27 cells
  uint32_t from_ = 0;          // code of the cell that the points belong to
  bool use_known_ = false;
  double* best_ = nullptr;
  std::array<int64_t, 3> at_{};
  double squared_gap_[3][2 * kWindowSpan + 1];
  struct Candidate {
    double bound;
    int64_t index;
  };
  std::vector<Candidate> considered_;
  double worst_ = kInfinity;   // the largest of best_
  double enough_ = 0;          // the search ends when worst_ is no larger
  // the bricks around the query, null where the surface does not pass; kept while queries stay in one brick
  std::array<int64_t, 3> brick_{-9, -9, -9};
  std::array<const CellSet::Brick*, 27> around_{};
  // the cell in which the last search found its nearest piece: a good first guess for the next
  int64_t hint_ = -1;
  std::array<int64_t, 3> hint_step_{};  // from the query's position to it
  int64_t tried_[2] = {-1, -1};         // cells that this query began with
};

}  // namespace segauge
