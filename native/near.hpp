// Searching the cells around a query, of which all distances are known beforehand.
#pragma once

#include <mutex>

#include "known.hpp"
#include "shapes.hpp"
#include "surroundings.hpp"

namespace segauge {

// For a code: which of the cells around can come within a distance of its samples.
class NearReach {
 public:
  static constexpr int64_t kNear = KnownDistances::kReach, kSide = KnownDistances::kSide;
  static constexpr size_t kSteps = 32;  // distances told apart

  explicit NearReach(const Patterns& patterns)
      : patterns_(patterns), filled_(patterns.same_as.size()), within_(patterns.same_as.size() * kSteps) {
    double finest = kInfinity;
    for (size_t axis = 0; axis < 3; ++axis) finest = std::min(finest, 1 / patterns.reach()[axis]);
    per_mm_ = static_cast<float>(kSteps / ((kNear + 1) * finest));
  }

  // The cells of each plane of the block (bit kSide * row + place) that a squared distance may reach from a code.
  const std::array<uint64_t, kSide>& planes(uint32_t code, double squared) {
    const float reached = std::sqrt(static_cast<float>(squared)) * per_mm_;
    const size_t step = reached < static_cast<float>(kSteps - 1) ? static_cast<size_t>(reached) : kSteps - 1;
    if ((filled_[code] >> step & 1) == 0) fill(code, step);
    return within_[code * kSteps + step];
  }

 private:
  void fill(size_t code, size_t step) {
    double gap[3][kSide] = {};  // squares of how near the samples come to a cell so many steps away along each axis
    for (size_t axis = 0; axis < 3 && patterns_.is_orthogonal; ++axis) {
      const double step = patterns_.step[axis][axis], low = patterns_.cell_low[axis];
      for (int64_t k = 1; k <= kNear; ++k) {
        const double up = low + step * static_cast<double>(k) - patterns_.sample_box[code].high[axis];
        const double down = patterns_.sample_box[code].low[axis] - low + step * static_cast<double>(k - 1);
        gap[axis][kNear + k] = up > 0 ? up * up : 0;
        gap[axis][kNear - k] = down > 0 ? down * down : 0;
      }
    }
    // a little more than the step: rounding may never cost the nearest piece
    const double most = static_cast<double>(step + 1) / static_cast<double>(per_mm_) * 1.0001;
    const double limit = step + 1 < kSteps ? most * most : kInfinity;
    auto& within = within_[code * kSteps + step];
    for (size_t z = 0; z < kSide; ++z) {
      within[z] = 0;
      for (size_t y = 0; y < kSide; ++y) {
        uint64_t row = 0;
        for (size_t x = 0; x < kSide; ++x) row |= uint64_t{gap[0][z] + gap[1][y] + gap[2][x] <= limit} << x;
        within[z] |= row << (kSide * static_cast<int64_t>(y));
      }
    }
    filled_[code] |= 1u << step;
  }

  const Patterns& patterns_;
  std::vector<uint32_t> filled_;  // by code: one bit for each step that is worked out
  Unzeroed<std::array<uint64_t, kSide>> within_;
  float per_mm_;
};

// What a worker knows of the cells around a cell, by their codes; it grows as it is asked.
struct Knowledge {
  explicit Knowledge(const Patterns& patterns) : distances(patterns), reach(patterns) {}

  KnownDistances distances;
  NearReach reach;
};

// Searches the cells within KnownDistances::kReach steps of a query. Only for patterns that can be viewed mirrored.
class NearSearch {
 public:
  NearSearch(const CellSet& to, const Patterns& patterns, Knowledge& knowledge)
      : around_(to), patterns_(patterns), reach_(knowledge.reach), known_(knowledge.distances) {}

  // best[i] gets the squared distance of the i-th sample of a cell to the nearest piece in the block of cells around
  // it, infinity if the surface does not pass there. Returns the largest of them.
  double search(const Cell& cell, double* best) {
    around_.enter(cell.z, cell.y, cell.x);
    here_ = around_.code(cell.z, cell.y, cell.x);
    from_ = cell.sample_code;
    const auto first = static_cast<size_t>(patterns_.sample_start[from_]);
    count_ = static_cast<size_t>(patterns_.sample_start[from_ + 1]) - first;
    best_ = best;
    if (*here_ == cell.code) {
      std::fill_n(best, count_, 0.0);  // the very same pieces are part of the other surface
      return 0;
    }
    std::fill_n(best, count_, kInfinity);
    worst_ = kInfinity;
    guess();
    const uint32_t* row = around_.row(cell.z, cell.y);
    const int shift = static_cast<int>(cell.x & 7) + static_cast<int>(Surroundings::kEdge - kNear);
    search_neighbours(row, shift);
    if (!is_settled(patterns_.clearance.data() + first)) search_rest(row, shift);
    return worst_;
  }

 private:
  static constexpr int64_t kNear = KnownDistances::kReach, kSide = KnownDistances::kSide;
  static constexpr uint64_t kRow = (uint64_t{1} << kSide) - 1;
  static_assert(kNear <= Surroundings::kMargin && kSide * kSide <= 64, "a plane of the block is one word");

  // Where in the surroundings the cells of a plane of the block lie, by their bit.
  static constexpr std::array<int32_t, kSide * kSide> kPlaces = [] {
    std::array<int32_t, kSide * kSide> places{};
    for (int64_t bit = 0; bit < kSide * kSide; ++bit)
      places[static_cast<size_t>(bit)] =
          static_cast<int32_t>((bit / kSide - kNear) * Surroundings::kWidth + bit % kSide - kNear);
    return places;
  }();

  struct Step {
    int32_t place;    // of the other cell, from here_
    uint32_t offset;  // its number among the offsets of KnownDistances
  };
  struct Considered {
    KnownDistances::Entry* entry;
    double least;
    uint32_t code;
    Step step;
  };

  // A first guess: where two surfaces run side by side, the nearest piece lies in the same direction as for the query
  // before.
  void guess() {
    const uint32_t code = here_[hint_.place];
    if (code == 0) return;
    KnownDistances::Entry& entry = known_.between(from_, code, hint_.offset);
    take({&entry, 0, code, hint_});
  }

  bool is_settled(const double* clearance) const {
    bool settled = true;
    for (size_t i = 0; i < count_; ++i) settled &= best_[i] <= clearance[i] * clearance[i];
    return settled;
  }

  // The cells of one plane of the block that the surface passes, in `rows` rows on either side.
  static uint64_t occupied(const uint32_t* row, int shift, int64_t dz, int64_t rows) {
    uint64_t cells = 0;
    for (int64_t dy = -rows; dy <= rows; ++dy)
      cells |= (row[dz * Surroundings::kSide + dy] >> shift & kRow) << (kSide * (dy + kNear));
    return cells;
  }

  // The cell and the 26 around it, those across its faces first: where two surfaces nearly agree, the nearest piece is
  // almost always here.
  void search_neighbours(const uint32_t* row, int shift) {
    constexpr uint64_t kMiddle = uint64_t{1} << (kSide * kNear + kNear);
    constexpr uint64_t kCross = kMiddle | kMiddle << 1 | kMiddle >> 1 | kMiddle << kSide | kMiddle >> kSide;
    constexpr uint64_t kLine = kMiddle | kMiddle << 1 | kMiddle >> 1, kSquare = kLine | kLine << kSide | kLine >> kSide;
    uint64_t plane[3];
    for (int64_t dz = -1; dz <= 1; ++dz) plane[dz + 1] = occupied(row, shift, dz, 1) & kSquare;
    if (worst_ == kInfinity) {
      consider(plane[1] & kCross, 0);
      consider(plane[0] & kMiddle, -1);
      consider(plane[2] & kMiddle, 1);
      take_considered();
    }
    const auto& within = reach_.planes(from_, worst_);
    for (int64_t dz = -1; dz <= 1; ++dz) consider(plane[dz + 1] & within[static_cast<size_t>(kNear + dz)], dz);
    take_considered();
  }

  // The rest of the block.
  void search_rest(const uint32_t* row, int shift) {
    constexpr uint64_t kLine = uint64_t{7} << (kSide * kNear + kNear - 1), kSquare = kLine | kLine << kSide | kLine >> kSide;
    const auto& within = reach_.planes(from_, worst_);
    for (int64_t dz = -kNear; dz <= kNear; ++dz) {
      const uint64_t wanted = within[static_cast<size_t>(kNear + dz)] & (dz >= -1 && dz <= 1 ? ~kSquare : ~uint64_t{0});
      if (wanted != 0) consider(occupied(row, shift, dz, kNear) & wanted, dz);
    }
    take_considered();
  }

  // Notes cells of one plane. What is known of them is fetched meanwhile: it often lies outside the nearest cache.
  void consider(uint64_t cells, int64_t dz) {
    const auto plane = static_cast<int32_t>(dz * Surroundings::kSide * Surroundings::kWidth);
    // from the other cell to this one, so the other way round
    const auto last = static_cast<int32_t>((kNear - dz) * kSide * kSide + kSide * kSide - 1);
    for (; cells != 0; cells &= cells - 1) {
      const int bit = lowest_bit(cells);
      const int32_t place = plane + kPlaces[static_cast<size_t>(bit)];
      const uint32_t to = here_[place];
      const auto offset = static_cast<uint32_t>(last - bit);
      KnownDistances::Entry& entry = known_.between(from_, to, offset);
      __builtin_prefetch(&entry);
      considered_[count_considered_++] = {&entry, 0, to, {place, offset}};
    }
  }

  // Keeps of the noted cells those that can be near enough, with the least distance at which each can be.
  void weigh_considered() {
    size_t kept = 0;
    first_ = 0;
    for (size_t i = 0; i < count_considered_; ++i) {
      Considered cell = considered_[i];
      cell.least = cell.entry->is_known() ? cell.entry->least() : least_of_boxes(cell);
      known_.fetch(*cell.entry);
      considered_[kept] = cell;
      first_ = cell.least < considered_[first_].least ? kept : first_;
      kept += cell.least < worst_;
    }
    count_considered_ = kept;
  }

  double least_of_boxes(const Considered& cell) const {
    const auto offset = static_cast<int64_t>(cell.step.offset);
    const int64_t dz = offset / (kSide * kSide) - kNear, dy = offset / kSide % kSide - kNear, dx = offset % kSide - kNear;
    return squared_between(patterns_.sample_box[from_], patterns_.target_box[cell.code], patterns_.offset(dz, dy, dx)) * (1 - 1e-9);
  }

  // Takes the distances to the noted cells, the most promising first: what is found soon excludes most others.
  void take_considered() {
    weigh_considered();
    if (count_considered_ == 0) return;
    take(considered_[first_]);
    considered_[first_].least = kInfinity;
    for (size_t i = 0; i < count_considered_; ++i)
      if (considered_[i].least < worst_) take(considered_[i]);
    count_considered_ = 0;
  }

  void take(const Considered& cell) {
    const double* values = known_.values(from_, cell.code, cell.step.offset, *cell.entry);
    const uint8_t* order = known_.sample_order(from_, cell.step.offset);
    double worst = 0;
    bool improved = false;
    for (size_t i = 0; i < count_; ++i) {
      const double value = values[order[i]];
      improved |= value < best_[i];
      best_[i] = std::min(best_[i], value);
      worst = std::max(worst, best_[i]);
    }
    worst_ = worst;
    hint_ = improved ? cell.step : hint_;
  }

  Surroundings around_;
  const Patterns& patterns_;
  NearReach& reach_;
  KnownDistances& known_;
  // the query at hand
  const uint8_t* here_ = nullptr;
  uint32_t from_ = 0;  // code of the cell that the points belong to
  size_t count_ = 0;
  double* best_ = nullptr;
  double worst_ = kInfinity;
  Step hint_{0, static_cast<uint32_t>(KnownDistances::kOffsets / 2)};  // where the last search found its nearest piece
  size_t count_considered_ = 0, first_ = 0;  // the first is the most promising one
  Considered considered_[KnownDistances::kOffsets];
};

// Patterns, and for each worker what is known of the distances between them; kept from one surface to the next.
class PreparedPatterns {
 public:
  PreparedPatterns(std::shared_ptr<const CellShapes> from, Patterns&& on_lattice)
      : patterns(std::move(on_lattice)), shapes_(std::move(from)) {}
  PreparedPatterns(const PreparedPatterns&) = delete;

  const Patterns patterns;

  // Runs work with the knowledge of `workers` workers: the kept one, or a new one if somebody else is using that.
  template <class Work>
  auto with_knowledge(int workers, Work&& work) {
    const std::unique_lock<std::mutex> lock(guard_, std::try_to_lock);
    std::vector<Knowledge> fresh;
    std::vector<Knowledge>& known = lock.owns_lock() ? known_ : fresh;
    for (auto& each : known) each.distances.keep_small();
    while (known.size() < static_cast<size_t>(workers)) known.emplace_back(patterns);
    return work(known);
  }

 private:
  std::shared_ptr<const CellShapes> shapes_;  // what the patterns look at
  std::mutex guard_;
  std::vector<Knowledge> known_;
};

}  // namespace segauge
