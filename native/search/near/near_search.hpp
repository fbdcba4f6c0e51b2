// Searching the cells around a query, whose distances come from the pair cache.
#pragma once

#include <mutex>

#include "search/near/candidate_masks.hpp"
#include "search/near/neighbourhood.hpp"
#include "search/near/reach.hpp"
#include "simd/sample_row.hpp"
#include "surface/cell_shapes.hpp"

namespace segauge {

// The memo tables of a worker about cells near each other, by their codes; filled on demand.
struct NearCaches {
  explicit NearCaches(const CellPatterns& patterns)
      : distances(patterns), reach(patterns, distances), nearer(patterns) {}

  PairCache distances;
  Reach reach;
  CandidateMasks nearer;
};

// Searches the cells within PairCache::kReach steps of those of a brick. Only for patterns with mirror symmetries.
// Entries and distances stand anywhere in memory, and which cells are near can hardly be foretold. So what is to be
// looked up is listed first, for all cells of the brick, then looked up in one loop without dependent loads.
class NearSearch {
 public:
  // The squared distances of the samples of a cell to the nearest piece in the block of cells around it, infinity if
  // the surface does not pass there.
  struct Found {
    double squared[PairCache::kMostSamples];
    const uint8_t* order;  // which of them is each sample's own
    bool is_settled;       // nothing outside the block can be nearer

    double of_sample(size_t i) const { return squared[order[i]]; }
    double& of_sample(size_t i) { return squared[order[i]]; }
  };

  NearSearch(const CellGrid& to, const CellPatterns& patterns, NearCaches& caches)
      : around_(to), patterns_(patterns), reach_(caches.reach), candidates_(caches.nearer), cache_(caches.distances) {}

  // Searches for some cells of one brick.
  void search(const Cell* first, const Cell* last) {
    around_.enter(first->z, first->y, first->x);
    first_ = first;
    list_around(last);
    look_up();
    find_all<1>();
    find_all<2>();
    find_all<PairCache::kMostGroups>();
  }
  // What was found for the i-th of them.
  Found& found(size_t i) { return found_[i]; }

 private:
  using Around = Neighbourhood<CodesOfCells, PairCache::kReach>;
  static constexpr int64_t kNear = PairCache::kReach, kSide = PairCache::kSide;
  static constexpr uint64_t kRow = (uint64_t{1} << kSide) - 1;
  static constexpr size_t kMostCells = 512;
  static_assert(kNear <= Around::kMargin && kSide * kSide <= 64, "a plane of the block is one word");
  // The 3 x 3 cells in the middle of a plane.
  static constexpr uint64_t kLine = uint64_t{7} << (kSide * kNear + kNear - 1),
                            kSquare = kLine | kLine << kSide | kLine >> kSide;
  static constexpr uint64_t kOuterRows = kRow | kRow << (kSide * (kSide - 1));
  using Places = std::array<int16_t, PairCache::kSteps>;

  // Where in the surroundings a cell of the block lies, by the number of the step that leads from there to the query,
  // so the other way round.
  static constexpr Places kPlaces = [] {
    Places places{};
    for (int64_t i = 0; i < PairCache::kSteps; ++i) {
      const int64_t dz = kNear - i / (kSide * kSide), dy = kNear - i / kSide % kSide, dx = kNear - i % kSide;
      places[static_cast<size_t>(i)] = static_cast<int16_t>((dz * Around::kSide + dy) * Around::kWidth + dx);
    }
    return places;
  }();
  // That step of a cell of the block, by plane and bit.
  static constexpr uint32_t step_of(int64_t dz, int bit) {
    return static_cast<uint32_t>((kNear - dz) * kSide * kSide + kSide * kSide - 1 - bit);
  }
  // Where the cell itself and the 26 around it lie.
  static constexpr std::array<int16_t, PairCache::kAround> kPlacesAround = [] {
    std::array<int16_t, PairCache::kAround> places{};
    for (int64_t i = 0; i < PairCache::kAround; ++i)
      places[static_cast<size_t>(i)] = kPlaces[PairCache::step_from_around(i)];
    return places;
  }();

  // A cell of the brick, and the pairs that it makes with the cell there and the 26 around it.
  struct Query {
    uint32_t cell, first, last;
  };
  // By how many groups of samples they have.
  struct Queries {
    size_t count;
    Query query[kMostCells];
  };

  // Lists all pairs of the cells with one of the 27 around them: where two surfaces nearly agree, nothing else is
  // needed.
  void list_around(const Cell* last) {
    for (Queries& each : queries_) each.count = 0;
    uint32_t* entry = entry_.data();
    uint8_t* place = place_.data();
    for (const Cell* cell = first_; cell != last; ++cell) {
      const PairCache::FromCode from = cache_.from(cell->sample_code);
      const uint8_t* here = around_.number(cell->z, cell->y, cell->x);
      Found& found = found_[static_cast<size_t>(cell - first_)];
      found.order = from.order;
      const auto groups =
          static_cast<size_t>(patterns_.group_start[cell->sample_code + 1] - patterns_.group_start[cell->sample_code]);
      found.is_settled = *here == cell->code || groups == 0;  // the very same pieces are part of the other surface
      if (found.is_settled) {
        std::fill_n(found.squared, SampleGroup::kSize * groups, 0.0);
        continue;
      }
      const auto begin = static_cast<uint32_t>(entry - entry_.data());
      for (uint32_t left = occupied_around(*cell) & candidates_.around(cell->sample_code, *here, cache_); left != 0;
           left &= left - 1) {
        const auto bit = static_cast<size_t>(lowest_bit(left));
        *entry++ = from.begin + from.around[bit] + from.kind[here[kPlacesAround[bit]]];
        *place++ = static_cast<uint8_t>(bit);
      }
      Queries& same = queries_[list_of(groups)];
      same.query[same.count++] = {static_cast<uint32_t>(cell - first_), begin,
                                  static_cast<uint32_t>(entry - entry_.data())};
    }
    count_listed_ = static_cast<size_t>(entry - entry_.data());
  }
  static constexpr size_t list_of(size_t groups) { return std::min<size_t>(groups, 3) - 1; }

  // What is known of all pairs.
  void look_up() {
    const PairCache::Entry* entries = cache_.entries();
    uint32_t* entry = entry_.data();
    for (size_t i = 0; i < count_listed_; ++i) entry[i] = entries[entry[i]].number;
  }

  template <size_t kGroups>
  void find_all() {
    const Queries& queries = queries_[list_of(kGroups)];
    for (size_t i = 0; i < queries.count; ++i) find<kGroups>(queries.query[i]);
  }

  template <size_t kGroups>
  void find(const Query& query) {
    using Row = SampleRow<kGroups>;
    const PairCache::Group* groups = cache_.groups();
    const uint32_t* entry = entry_.data();
    Row row = Row::infinite();
    PairCache::Entry least = PairCache::Entry::at_group(0);
    for (uint32_t k = query.first; k < query.last; ++k) {
      const PairCache::Entry each{entry[k]};
      row = row.lowered_by(Row::read(groups[each.group()].squared));
      least.number = std::min(least.number, each.number);
    }
    const Cell& cell = first_[query.cell];
    Found& found = found_[query.cell];
    const size_t number = patterns_.symmetries->canonical[cell.sample_code].number;
    if (!least.is_known() && least.may_reach(cache_.rounded(row.largest()))) row = lowered_by_unknown(row, cell, query);
    if (row.any_above(Row::read(reach_.settled(number).data()))) {
      enter(cell);
      row = lowered_by_rest(row);
    }
    row.write(found.squared);
    found.is_settled = !row.any_above(Row::read(reach_.settled_by_all(number).data()));
  }

  // Makes a cell the query at hand.
  void enter(const Cell& cell) {
    here_ = around_.number(cell.z, cell.y, cell.x);
    row_ = around_.row(cell.z, cell.y);
    shift_ = shift_of(cell);
    code_ = cell.sample_code;
    from_ = cache_.from(code_);
  }
  static int shift_of(const Cell& cell) {
    return static_cast<int>(cell.x & 7) + static_cast<int>(Around::kEdge - kNear);
  }

  // Which of the cell itself and the 26 around it the surface passes.
  uint32_t occupied_around(const Cell& cell) const {
    const uint32_t* row = around_.row(cell.z, cell.y);
    const int shift = shift_of(cell) + static_cast<int>(kNear) - 1;
    uint32_t cells = 0;
    for (int64_t i = 0; i < 9; ++i) cells |= (row[(i / 3 - 1) * Around::kSide + i % 3 - 1] >> shift & 7) << (3 * i);
    return cells;
  }

  // The cells of one plane of the block that the surface passes, in some rows on either side.
  template <int64_t kRows>
  uint64_t occupied(int64_t dz) const {
    uint64_t cells = 0;
    for (int64_t dy = -kRows; dy <= kRows; ++dy)
      cells |= (row_[dz * Around::kSide + dy] >> shift_ & kRow) << (kSide * (dy + kNear));
    return cells;
  }

  template <class Row>
  Row lowered_by_unknown(Row row, const Cell& cell, const Query& query) {
    enter(cell);
    for (uint32_t k = query.first; k < query.last; ++k) {
      waiting_[count_waiting_] = PairCache::step_from_around(place_[k]);
      count_waiting_ += !PairCache::Entry{entry_[k]}.is_known();
    }
    return lowered_by_waiting(row);
  }

  // By all cells of the block beyond the 27 that can be near enough.
  template <class Row>
  Row lowered_by_rest(Row row) {
    // a first guess: where two surfaces run side by side, the nearest piece lies in the same direction as for the query
    // before
    if (here_[kPlaces[hint_]] != 0) row = lowered_by_cell(row, hint_);
    const auto& within = reach_.planes(code_, cache_.rounded(row.largest()));
    for (int64_t dz = -kNear; dz <= kNear; ++dz) {
      const uint64_t wanted = within[static_cast<size_t>(kNear + dz)] & (dz >= -1 && dz <= 1 ? ~kSquare : ~uint64_t{0});
      if (wanted == 0) continue;
      const uint64_t cells = (wanted & kOuterRows) != 0 ? occupied<kNear>(dz) : occupied<kNear - 1>(dz);
      row = lowered_by_plane(row, cells & wanted, dz);
    }
    return count_waiting_ == 0 ? row : lowered_by_waiting(row);
  }

  // By some cells of a plane of the block; those of which nothing is known wait.
  template <class Row>
  Row lowered_by_plane(Row row, uint64_t cells, int64_t dz) {
    const PairCache::Group* groups = cache_.groups();
    const PairCache::Entry* entries = cache_.entries();
    for (; cells != 0; cells &= cells - 1) {
      const uint32_t step = step_of(dz, lowest_bit(cells));
      const PairCache::Entry entry = entries[from_.to(here_[kPlaces[step]], step)];
      waiting_[count_waiting_] = step;
      count_waiting_ += !entry.is_known();
      const auto other = Row::read(groups[entry.group()].squared);
      hint_ = row.any_above(other) ? step : hint_;
      row = row.lowered_by(other);
    }
    return row;
  }

  // Of the cells that wait, by those that can still be near enough; those that may be nearest first, because what is
  // found there excludes others, and computing what is not known takes longest.
  template <class Row>
  Row lowered_by_waiting(Row row) {
    uint16_t most = cache_.rounded(row.largest());
    size_t count = 0;
    for (size_t i = 0; i < count_waiting_; ++i) {
      const uint32_t step = waiting_[i], to = here_[kPlaces[step]];
      const uint32_t least = cache_.least(code_, to, step, cache_.entries()[from_.to(to, step)]);
      waiting_[count] = least << 16 | step;
      count += least <= most;
    }
    if (count > 1) std::sort(waiting_, waiting_ + count);
    for (size_t i = 0; i < count && waiting_[i] >> 16 <= most; ++i) {
      row = lowered_by_cell(row, waiting_[i] & 0xFFFF);
      most = cache_.rounded(row.largest());
    }
    count_waiting_ = 0;
    return row;
  }

  // By a cell whose distances may have to be computed.
  template <class Row>
  Row lowered_by_cell(const Row& row, uint32_t step) {
    const uint32_t to = here_[kPlaces[step]];
    const auto other = Row::read(cache_.groups(code_, to, step, cache_.entries()[from_.to(to, step)])->squared);
    if (row.any_above(other)) hint_ = step;
    return row.lowered_by(other);
  }

  Around around_;
  const CellPatterns& patterns_;
  Reach& reach_;
  CandidateMasks& candidates_;
  PairCache& cache_;
  // the cells at hand, and the pairs of them with cells around: where in the block the other one lies, and the number
  // of the entry, or what is in it
  const Cell* first_ = nullptr;
  size_t count_listed_ = 0;
  Uninitialised<Found> found_ = Uninitialised<Found>(kMostCells);
  Uninitialised<Queries> queries_ = Uninitialised<Queries>(3);
  Uninitialised<uint32_t> entry_ = Uninitialised<uint32_t>(PairCache::kAround * kMostCells);
  Uninitialised<uint8_t> place_ = Uninitialised<uint8_t>(PairCache::kAround * kMostCells);
  // the query at hand
  const uint8_t* here_ = nullptr;
  const uint32_t* row_ = nullptr;
  int shift_ = 0;
  uint32_t code_ = 0;  // of the cell that the points belong to
  PairCache::FromCode from_{};
  uint32_t hint_ = PairCache::kSteps / 2;  // where the last search found something nearer
  size_t count_waiting_ = 0;
  uint32_t waiting_[PairCache::kSteps + 1];  // steps of cells that wait, and room for one that does not
};

// CellPatterns, and for each worker the memo tables of the distances between them; kept from one surface to the next.
class PreparedPatterns {
 public:
  PreparedPatterns(std::shared_ptr<const CellShapes> from, CellPatterns&& on_lattice)
      : patterns(std::move(on_lattice)), shapes_(std::move(from)) {}
  PreparedPatterns(const PreparedPatterns&) = delete;

  const CellPatterns patterns;

  // Runs work with the caches of `workers` workers: the kept one, or a new one if another search is using it.
  template <class Work>
  auto with_caches(int workers, Work&& work) {
    const std::unique_lock<std::mutex> lock(guard_, std::try_to_lock);
    std::vector<NearCaches> fresh;
    std::vector<NearCaches>& caches = lock.owns_lock() ? caches_ : fresh;
    for (auto& each : caches) each.distances.keep_small();
    while (caches.size() < static_cast<size_t>(workers)) caches.emplace_back(patterns);
    return work(caches);
  }

 private:
  std::shared_ptr<const CellShapes> shapes_;  // what the patterns look at
  std::mutex guard_;
  std::vector<NearCaches> caches_;
};

}  // namespace segauge
