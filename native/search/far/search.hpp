// Finding the nearest piece of a surface. The grid of cells is itself the search structure: a query looks at the cells
// around its own position first, then at the window that the best distance so far can reach, or at blocks of cells
// where that window is large.
#pragma once

#include <cmath>
#include <optional>
#include <utility>

#include "core/parallel.hpp"
#include "search/directed_distances.hpp"
#include "search/far/blocks.hpp"

namespace segauge {

// Calls visit(plane, bit, index) for every cell of a brick inside the window [low, high].
template <class Visit>
void for_cells_in(const CellGrid::Brick& brick, const std::array<int64_t, 3>& low, const std::array<int64_t, 3>& high,
                  Visit&& visit) {
  constexpr int64_t kEdge = CellGrid::kBrickEdge;
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

// A handful of points to search from: samples of one cell, or of a few where the axes are at right angles.
struct Query {
  std::array<int64_t, 3> at;  // the (first) cell
  const SampleGroup* groups;  // in mm from the cell's origin, the last one repeated
  size_t count;
  Box box;                        // around those points that matter
  std::array<int64_t, 3> last{};  // steps from there to the last cell that points may belong to
};

// Searches one surface. Pieces tells what is in its cells:
//   disc(index)                               one that holds the pieces of a cell;
//   squared_distances(query, candidate, out)  those of all points from them, in whole groups; infinity where they
//   cannot
//                                             be near.
template <class Pieces>
class Search {
 public:
  Search(const CellGrid& to, const BrickTree& tree, CellBlocks& blocks, const CellPatterns& lattice,
         const Pieces& pieces)
      : to_(to),
        tree_(tree),
        blocks_(blocks),
        lattice_(lattice),
        pieces_(pieces),
        reach_(lattice.reach()),
        bounds_(lattice) {}

  // Lowers best[i] to the squared distance of the i-th point from the nearest piece. All cells within `searched` steps
  // are in `best` already. Distances of no more than `enough` need not be lowered.
  void improve(const Query& query, double* best, int64_t searched = -1, double enough = 0) {
    query_ = &query;
    searched_ = searched;
    enough_ = enough;
    groups_ = SampleGroup::count_for(query.count);
    std::copy_n(best, query.count, best_.data());
    std::fill(best_.data() + query.count, best_.data() + groups_ * SampleGroup::kSize, best[query.count - 1]);
    worst_ = *std::max_element(best, best + query.count);
    bounds_.enter(query.groups, query.count);
    bounds_.allow(best_.data());
    tried_.fill(-1);
    found_in_ = -1;
    guess();
    if (worst_ > enough_ && !search_window()) search_blocks();
    if (found_in_ >= 0) keep_hint();
    std::copy_n(best_.data(), query.count, best);
  }

  // The cell that holds the piece nearest to a point, given in mm from the lattice position of a cell.
  size_t nearest_cell(const Cell& from, const Vec3& point) {
    SampleGroup group;
    for (size_t k = 0; k < SampleGroup::kSize; ++k) group.x[k] = point[0], group.y[k] = point[1], group.z[k] = point[2];
    double best = kInfinity;
    improve({{from.z, from.y, from.x}, &group, 1, {point, point}}, &best);
    return static_cast<size_t>(found_in_);
  }

  // Whether any piece lies within a squared distance of the lattice position (z, y, x) itself.
  bool reaches(int64_t z, int64_t y, int64_t x, double squared) {
    static const SampleGroup kOrigin{};
    double best = std::nextafter(squared, kInfinity);
    improve({{z, y, x}, &kOrigin, 1, {{0, 0, 0}, {0, 0, 0}}}, &best, -1, squared);
    return best <= squared;
  }

 private:
  static constexpr int64_t kEdge = CellGrid::kBrickEdge;
  static_assert(kEdge == 8, "positions are split into brick and place by shifts of 3");
  // A window that reaches further than this many cells is searched block by block instead.
  static constexpr int64_t kWindowSpan = 8;
  static constexpr size_t kGuesses = 3;        // cells to begin with
  static constexpr double kFarthestFoot = 16;  // cells; further away the surface has turned
  static constexpr size_t kMostInBrick = kEdge * kEdge * kEdge;
  struct Hint {
    std::array<int64_t, 3> at{-9, -9, -9};  // the query's cell
    std::array<int64_t, 3> step{};          // from there to the cell that was found
    int64_t index = -1;                     // of that one
  };

  // A first guess: where two surfaces run side by side, the nearest piece lies in the same direction as for the query
  // before; else it is near the last one. From there to where the points have their feet.
  void guess() {
    const auto& at = query_->at;
    const Hint& hint = hint_for(at);
    int64_t next = to_.index_at(at[0] + hint.step[0], at[1] + hint.step[1], at[2] + hint.step[2]);
    if (next < 0 && !is_beside(hint.at, at)) next = cell_nearby(at);
    if (next < 0) next = hint.index;
    if (next < 0) return;
    const int64_t below = cell_below(next, query_->count / 2);
    if (below >= 0) next = below;
    for (size_t i = 0; i < kGuesses && next >= 0 && !was_tried(next) && !was_searched(next); ++i) {
      tried_[i] = next;
      try_cell({0, next, &pieces_.disc(next), shift_to(next)});
      const auto farthest = std::max_element(best_.begin(), best_.begin() + static_cast<int64_t>(query_->count));
      next = cell_below(next, static_cast<size_t>(farthest - best_.begin()));
    }
  }

  static bool is_beside(const std::array<int64_t, 3>& a, const std::array<int64_t, 3>& b) {
    return std::abs(a[0] - b[0]) <= 2 && std::abs(a[1] - b[1]) <= 2 && std::abs(a[2] - b[2]) <= 2;
  }

  // The nearest cell of the brick of a position, or of one beside it; -1 if there is none.
  int64_t cell_nearby(const std::array<int64_t, 3>& at) const {
    static constexpr int8_t kOutwards[] = {0, -1, 1};
    for (const int8_t z : kOutwards)
      for (const int8_t y : kOutwards)
        for (const int8_t x : kOutwards) {
          const CellGrid::Brick* brick = to_.brick((at[0] >> 3) + z, (at[1] >> 3) + y, (at[2] >> 3) + x);
          if (brick != nullptr) return nearest_of(*brick, at);
        }
    return -1;
  }

  int64_t nearest_of(const CellGrid::Brick& brick, const std::array<int64_t, 3>& at) const {
    int64_t nearest = brick.begin;
    double least = kInfinity;
    for (int64_t i = brick.begin; i < to_.end_of(static_cast<size_t>(&brick - to_.bricks.data())); ++i) {
      const Cell& cell = to_.cells[static_cast<size_t>(i)];
      const Vec3 away = lattice_.offset(at[0] - cell.z, at[1] - cell.y, at[2] - cell.x);
      if (dot(away, away) >= least) continue;
      least = dot(away, away);
      nearest = i;
    }
    return nearest;
  }

  void keep_hint() {
    const Cell& cell = to_.cells[static_cast<size_t>(found_in_)];
    const auto& at = query_->at;
    last_hint_ = hint_place(at);
    hints_[last_hint_] = {at, {cell.z - at[0], cell.y - at[1], cell.x - at[2]}, found_in_};
  }

  // What the query of a neighbouring cell found, or else the last one.
  const Hint& hint_for(const std::array<int64_t, 3>& at) const {
    static constexpr int8_t kBefore[][3] = {{0, 0, -1}, {0, 0, -2},  {0, -1, 0}, {-1, 0, 0},  {0, -1, -1},
                                            {0, -1, 1}, {-1, 0, -1}, {-1, 0, 1}, {-1, -1, 0}, {-1, 1, 0}};
    for (const auto& step : kBefore) {
      const std::array<int64_t, 3> there{at[0] + step[0], at[1] + step[1], at[2] + step[2]};
      const Hint& hint = hints_[hint_place(there)];
      if (hint.at == there) return hint;
    }
    return hints_[last_hint_];
  }
  static size_t hint_place(const std::array<int64_t, 3>& at) {
    return static_cast<size_t>((at[0] & 7) * 64 + (at[1] & 7) * 8 + (at[2] & 7));
  }

  // The cell in which a point of the query has its foot, if the surface goes on as in the cell given; -1 if it does
  // not.
  int64_t cell_below(int64_t index, size_t point) const {
    if (!lattice_.is_orthogonal) return -1;
    const Vec3 foot = foot_on(pieces_.disc(index), shift_to(index), point);
    const Cell& cell = to_.cells[static_cast<size_t>(index)];
    const int64_t from[3] = {cell.z, cell.y, cell.x};
    int64_t at[3];
    for (size_t axis = 0; axis < 3; ++axis) {
      const double steps = std::floor((foot[axis] - lattice_.cell_low[axis]) / lattice_.step[axis][axis]);
      if (!(std::abs(steps) < kFarthestFoot)) return -1;
      at[axis] = from[axis] + static_cast<int64_t>(steps);
    }
    return to_.index_at(at[0], at[1], at[2]);
  }

  // Where on the plane of a disc a point has its foot, in mm from the origin of the disc's cell.
  Vec3 foot_on(const BoundingDisc& disc, const Vec3& shift, size_t point) const {
    const SampleGroup& group = query_->groups[point / SampleGroup::kSize];
    const size_t k = point % SampleGroup::kSize;
    const Vec3 p{group.x[k] + shift[0], group.y[k] + shift[1], group.z[k] + shift[2]};
    double height = 0;
    for (size_t i = 0; i < 3; ++i) height += (p[i] - disc.middle[i]) * disc.normal[i];
    return {p[0] - height * disc.normal[0], p[1] - height * disc.normal[1], p[2] - height * disc.normal[2]};
  }

  bool was_tried(int64_t index) const {
    bool found = false;
    for (const int64_t each : tried_) found |= each == index;
    return found;
  }

  Vec3 shift_to(int64_t index) const {
    const Cell& cell = to_.cells[static_cast<size_t>(index)];
    return lattice_.offset(query_->at[0] - cell.z, query_->at[1] - cell.y, query_->at[2] - cell.x);
  }

  // Whether a cell, so many steps before the query's first one, was searched from the cells of all points. Distances
  // from there may have been computed otherwise, so that their last bits differ. It is never tried again, and one
  // that was searched from some cells only is always tried: else it would depend on the guess, and so on who searched
  // what before, which of the two counts.
  bool was_searched(int64_t dz, int64_t dy, int64_t dx) const {
    const auto& last = query_->last;
    return is_within_searched(dz, dy, dx) && is_within_searched(dz + last[0], dy + last[1], dx + last[2]);
  }
  bool is_within_searched(int64_t dz, int64_t dy, int64_t dx) const {
    return std::abs(dz) <= searched_ && std::abs(dy) <= searched_ && std::abs(dx) <= searched_;
  }
  bool was_searched(int64_t index) const {
    const Cell& cell = to_.cells[static_cast<size_t>(index)];
    return was_searched(query_->at[0] - cell.z, query_->at[1] - cell.y, query_->at[2] - cell.x);
  }

  // Notes a cell, so many steps before the query's, if it is near enough; there must be room for it. Branch-free: the
  // outcome is unpredictable.
  void consider(int64_t index, int64_t dz, int64_t dy, int64_t dx, bool is_near = true) {
    if (was_searched(dz, dy, dx)) return;
    Candidate& cell = considered_[count_considered_];
    cell.index = index;
    cell.disc = &pieces_.disc(index);
    cell.shift = lattice_.offset(dz, dy, dx);
    count_considered_ += static_cast<size_t>(is_near) & static_cast<size_t>(!was_tried(index));
  }

  // Tries the noted cells, the most promising first: what is found there excludes most others.
  void try_considered() {
    bounds_.bound_cells(considered_.data(), considered_.data() + count_considered_);
    size_t kept = 0, first = 0;
    for (size_t i = 0; i < count_considered_; ++i) {
      const double least = considered_[i].least;
      considered_[kept] = considered_[i];
      first = least < considered_[first].least ? kept : first;
      kept += least < kInfinity;
    }
    if (kept > 0) try_cell(considered_[first]);
    for (size_t i = 0; i < kept && worst_ > enough_; ++i) {
      Candidate& cell = considered_[i];
      if (i == first) continue;
      bounds_.bound_cells(&cell, &cell + 1);
      if (cell.least < kInfinity) try_cell(cell);
    }
    count_considered_ = 0;
  }

  void try_cell(const Candidate& cell) {
    pieces_.squared_distances(*query_, cell, found_.data());
    double worst = 0;
    bool improved = false;
    const size_t count = groups_ * SampleGroup::kSize;
    for (size_t i = 0; i < count; ++i) {
      improved |= found_[i] < best_[i];
      best_[i] = std::min(best_[i], found_[i]);
      worst = std::max(worst, best_[i]);
    }
    if (!improved) return;
    worst_ = worst;
    bounds_.allow(best_.data());
    found_in_ = cell.index;
  }

  // Looks at all cells that the present upper bound can reach. False if there is no bound yet, or it reaches too far.
  bool search_window() {
    if (worst_ == kInfinity) return false;
    std::array<int64_t, 3> low, high;
    const int64_t extent[3] = {to_.nz * kEdge, to_.ny * kEdge, to_.nx * kEdge};
    for (size_t axis = 0; axis < 3; ++axis) {
      const int64_t down = steps_in_reach(static_cast<int>(axis), -1), up = steps_in_reach(static_cast<int>(axis), 1);
      if (down > kWindowSpan || up > kWindowSpan) return false;
      low[axis] = std::max<int64_t>(0, query_->at[axis] - down);
      high[axis] = std::min<int64_t>(extent[axis] - 1, query_->at[axis] + up);
    }
    for (int64_t bz = low[0] / kEdge; bz <= high[0] / kEdge; ++bz)
      for (int64_t by = low[1] / kEdge; by <= high[1] / kEdge; ++by)
        for (int64_t bx = low[2] / kEdge; bx <= high[2] / kEdge; ++bx) {
          const CellGrid::Brick* brick = to_.brick(bz, by, bx);
          if (brick != nullptr) consider_brick(*brick, low, high);
        }
    try_considered();
    return true;
  }

  // How many cells away along an axis, in one direction, a nearer piece can lie; on the way, notes how near the points
  // come to a cell k steps away. The squares of the three axes add up where these are at right angles; elsewhere
  // nothing is excluded by them, and a distance reaches as far as the planes of the lattice allow.
  int64_t steps_in_reach(int axis, int64_t direction) {
    double* squared_gap = squared_gap_[axis] + kWindowSpan;
    squared_gap[0] = 0;
    if (!lattice_.is_orthogonal) {
      const double span = std::sqrt(worst_) * (1 + 1e-9) * reach_[axis] + 1 + 1e-9;
      if (span >= kWindowSpan + 1) return kWindowSpan + 1;
      for (int64_t k = 1; k <= static_cast<int64_t>(span); ++k) squared_gap[direction * k] = 0;
      return static_cast<int64_t>(span);
    }
    const double step = lattice_.step[axis][axis];
    // from the points to the far side of the cell itself: what lies k steps away begins k - 1 steps beyond it
    const double rest = direction > 0 ? lattice_.cell_low[axis] + step - query_->box.high[axis]
                                      : query_->box.low[axis] - lattice_.cell_low[axis];
    double gap = rest;
    for (int64_t k = 1; k <= kWindowSpan; ++k, gap += step) {
      squared_gap[direction * k] = gap > 0 ? gap * gap * (1 - 1e-9) : 0;
      if (squared_gap[direction * k] > worst_) return k - 1;
    }
    return kWindowSpan + 1;
  }

  void consider_brick(const CellGrid::Brick& brick, const std::array<int64_t, 3>& low,
                      const std::array<int64_t, 3>& high) {
    considered_.resize(std::max(considered_.size(), count_considered_ + kMostInBrick));
    const double* gap_z = squared_gap_[0] + (brick.z * kEdge - query_->at[0] + kWindowSpan);
    const double* gap_y = squared_gap_[1] + (brick.y * kEdge - query_->at[1] + kWindowSpan);
    const double* gap_x = squared_gap_[2] + (brick.x * kEdge - query_->at[2] + kWindowSpan);
    const auto& at = query_->at;
    const int64_t dz = at[0] - brick.z * kEdge, dy = at[1] - brick.y * kEdge, dx = at[2] - brick.x * kEdge;
    for_cells_in(brick, low, high, [&](int64_t plane, int bit, int64_t index) {
      const bool is_near = gap_z[plane] + gap_y[bit >> 3] + gap_x[bit & 7] <= worst_;
      consider(index, dz - plane, dy - (bit >> 3), dx - (bit & 7), is_near);
    });
  }

  // Through the blocks of cells, nearest first.
  void search_blocks() {
    if (!finder_) finder_.emplace(to_, tree_, blocks_, lattice_);
    auto disc_of = [&](int64_t index) { return pieces_.disc(index); };
    auto visit = [&](int64_t index) {
      const Cell& cell = to_.cells[static_cast<size_t>(index)];
      consider(index, query_->at[0] - cell.z, query_->at[1] - cell.y, query_->at[2] - cell.x);
    };
    finder_->find(query_->at, query_->box, worst_, bounds_, disc_of, visit, [&] {
      try_considered();
      return worst_ > enough_;
    });
  }

  const CellGrid& to_;
  const BrickTree& tree_;
  CellBlocks& blocks_;
  const CellPatterns& lattice_;
  Pieces pieces_;
  const Vec3 reach_;
  // the query at hand
  const Query* query_ = nullptr;
  size_t groups_ = 0;
  int64_t searched_ = -1;                                    // all cells within so many steps were searched
  std::array<double, FloatPoints::kMost> best_{}, found_{};  // of all points, and to the cell at hand
  double worst_ = kInfinity;                                 // the largest of best_
  double enough_ = 0;                                        // the search ends when worst_ is no larger
  double squared_gap_[3][2 * kWindowSpan + 1] = {};
  DiscBounds bounds_;
  std::optional<BlockFinder> finder_;
  std::vector<Candidate> considered_ = std::vector<Candidate>(kMostInBrick);
  size_t count_considered_ = 0;
  // where queries found their nearest pieces: good first guesses for those that follow
  std::vector<Hint> hints_ = std::vector<Hint>(512);
  size_t last_hint_ = 0;
  int64_t found_in_ = -1;
  std::array<int64_t, kGuesses> tried_{};  // the cells that this query began with
};

constexpr int64_t kBricksPerChunk = 16;
inline int64_t chunk_count(const CellGrid& from) {
  return (static_cast<int64_t>(from.bricks.size()) + kBricksPerChunk - 1) / kBricksPerChunk;
}

// The bricks of a chunk, and their cells: the first, and one past the last.
inline std::pair<size_t, size_t> bricks_of_chunk(const CellGrid& from, int64_t chunk) {
  const auto first = static_cast<size_t>(chunk * kBricksPerChunk);
  return {first, std::min(from.bricks.size(), first + static_cast<size_t>(kBricksPerChunk))};
}
inline std::pair<size_t, size_t> cells_of_chunk(const CellGrid& from, int64_t chunk) {
  const auto [first, last] = bricks_of_chunk(from, chunk);
  return {static_cast<size_t>(from.bricks[first].begin), static_cast<size_t>(from.end_of(last - 1))};
}

// From every sample of a surface, the first of each cell at `start`: `searcher_of(worker)` gives what searches a chunk,
// called as searcher(cell, end, squared, area). It writes squared distances and areas of the samples of this cell and
// of as many that follow as it likes, and returns the next one that is left to do.
template <class SearcherOf>
Samples search_chunks(const CellGrid& from, const std::vector<int64_t>& start, int threads, SearcherOf&& searcher_of) {
  Samples out;
  out.distance.resize(static_cast<size_t>(start.back()));
  out.area.resize(static_cast<size_t>(start.back()));
  parallel_for(chunk_count(from), threads, [&](int64_t chunk, int worker) {
    auto searcher = searcher_of(worker);
    auto [cell, end] = cells_of_chunk(from, chunk);
    while (cell < end) {
      const int64_t begin = start[cell];
      double* distance = out.distance.data() + begin;
      cell = start[cell + 1] == begin ? cell + 1 : searcher(cell, end, distance, out.area.data() + begin);
      for (int64_t k = 0; k < start[cell] - begin; ++k) distance[k] = std::sqrt(distance[k]);
    }
  });
  return out;
}

}  // namespace segauge
