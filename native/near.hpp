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

  NearReach(const Patterns& patterns, const KnownDistances& known)
      : patterns_(patterns), step_mm_(known.range_mm() / kSteps), filled_(patterns.same_as.size()),
        within_(patterns.same_as.size() * kSteps), settled_(patterns.same_as.size()),
        settled_by_all_(patterns.same_as.size()) {
    for (size_t code = 0; code < settled_.size(); ++code) {
      settled_[code] = limits_of(code, patterns.clearance, known.per_quantum());
      settled_by_all_[code] = limits_of(code, patterns.wide_clearance, known.per_quantum());
    }
  }

  // The cells of each plane of the block (bit kSide * row + place) that a rounded distance may reach from a code.
  const std::array<uint64_t, kSide>& planes(uint32_t code, uint16_t rounded) {
    const size_t step = step_of_[rounded / kTogether];
    if ((filled_[code] >> step & 1) == 0) fill(code, step);
    return within_[code * kSteps + step];
  }

  // No cell further away than the 26 around, and none outside the block, can come as near to a sample of the code as this.
  RoughRow settled(uint32_t code) const { return settled_[code]; }
  RoughRow settled_by_all(uint32_t code) const { return settled_by_all_[code]; }

 private:
  static constexpr size_t kTogether = 16;  // rounded distances that count as one
  using StepOf = std::array<uint8_t, (size_t{kFarthest} + 2) / kTogether>;

  static const StepOf& step_of() {
    static const StepOf table = [] {
      StepOf steps{};
      for (size_t i = 0; i < steps.size(); ++i) {
        const double share = static_cast<double>((i + 1) * kTogether) / kFarthest;
        steps[i] = static_cast<uint8_t>(std::min(kSteps * std::sqrt(KnownDistances::kSquaredRange * share), kSteps - 1.0));
      }
      return steps;
    }();
    return table;
  }

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
    const double most = static_cast<double>(step + 1) * step_mm_ * 1.0001;
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

  RoughRow limits_of(size_t code, const std::vector<double>& clearance, double per_quantum) const {
    RoughRow limits{};
    const auto first = static_cast<size_t>(patterns_.sample_start[code]);
    const auto count = static_cast<size_t>(patterns_.sample_start[code + 1]) - first;
    for (size_t i = 0; i < std::min(count, RoughRow::kSize); ++i) {
      const double squared = clearance[first + i] * clearance[first + i];
      // what rounds to one less is smaller for certain
      limits.lanes[i] = static_cast<uint16_t>(std::min(squared * per_quantum, double{kFarthest}) - 1);
    }
    return limits;
  }

  const Patterns& patterns_;
  const double step_mm_;
  std::vector<uint32_t> filled_;  // by code: one bit for each step that is worked out
  Unzeroed<std::array<uint64_t, kSide>> within_;
  std::vector<RoughRow> settled_, settled_by_all_;
  const StepOf& step_of_ = step_of();
};

// What a worker knows of the cells around a cell, by their codes; it grows as it is asked.
struct Knowledge {
  explicit Knowledge(const Patterns& patterns) : distances(patterns), reach(patterns, distances) {}

  KnownDistances distances;
  NearReach reach;
};

// Searches the cells within KnownDistances::kReach steps of a query. Only for patterns that can be viewed mirrored.
// Written for a processor that guesses ahead: how many samples a cell has, and how many cells are near, can hardly be
// guessed, so that all that can be is done for eight samples, and all cells around are one list.
class NearSearch {
 public:
  NearSearch(const CellSet& to, const Patterns& patterns, Knowledge& knowledge)
      : around_(to), patterns_(patterns), reach_(knowledge.reach), known_(knowledge.distances) {}

  // best[i] gets the squared distance of the i-th sample of a cell to the nearest piece in the block of cells around
  // it, infinity if the surface does not pass there. There must be room for KnownDistances::kMostSamples, of which those
  // beyond the cell's own mean nothing. False if something outside the block may be nearer.
  bool search(const Cell& cell, double* best) {
    around_.enter(cell.z, cell.y, cell.x);
    here_ = around_.code(cell.z, cell.y, cell.x);
    from_ = cell.sample_code;
    count_ = static_cast<size_t>(patterns_.sample_start[from_ + 1] - patterns_.sample_start[from_]);
    best_ = best;
    const bool is_same = *here_ == cell.code;  // the very same pieces are part of the other surface
    std::fill_n(best, KnownDistances::kMostSamples, is_same ? 0.0 : kInfinity);
    if (is_same) return true;
    const uint32_t* row = around_.row(cell.z, cell.y);
    const int shift = static_cast<int>(cell.x & 7) + static_cast<int>(Surroundings::kEdge - kNear);
    if (count_ <= RoughRow::kSize) return search_roughly(row, shift);
    search_one_by_one(row, shift);
    return false;
  }

 private:
  static constexpr int64_t kNear = KnownDistances::kReach, kSide = KnownDistances::kSide;
  static constexpr uint64_t kRow = (uint64_t{1} << kSide) - 1;
  static_assert(kNear <= Surroundings::kMargin && kSide * kSide <= 64, "a plane of the block is one word");
  // The 3 x 3 cells in the middle of a plane.
  static constexpr uint64_t kLine = uint64_t{7} << (kSide * kNear + kNear - 1), kSquare = kLine | kLine << kSide | kLine >> kSide;
  static constexpr uint64_t kOuterRows = kRow | kRow << (kSide * (kSide - 1));
  using Offsets = std::array<int16_t, KnownDistances::kOffsets>;

  // Where in the surroundings a cell of the block lies, by the number of its offset among those of KnownDistances, which
  // leads from the other cell to this one, so the other way round.
  static constexpr Offsets kPlaces = [] {
    Offsets places{};
    for (int64_t i = 0; i < KnownDistances::kOffsets; ++i) {
      const int64_t dz = kNear - i / (kSide * kSide), dy = kNear - i / kSide % kSide, dx = kNear - i % kSide;
      places[static_cast<size_t>(i)] = static_cast<int16_t>((dz * Surroundings::kSide + dy) * Surroundings::kWidth + dx);
    }
    return places;
  }();
  // The offset of a cell of the block, by plane and bit.
  static constexpr uint32_t offset_of(int64_t dz, int bit) {
    return static_cast<uint32_t>((kNear - dz) * kSide * kSide + kSide * kSide - 1 - bit);
  }
  // And of the cell itself and the 26 around it, by bit.
  static constexpr std::array<uint16_t, 27> kAround = [] {
    std::array<uint16_t, 27> offsets{};
    for (int64_t i = 0; i < 27; ++i) {
      const int64_t dz = i / 9 - 1, dy = i / 3 % 3 - 1, dx = i % 3 - 1;
      offsets[static_cast<size_t>(i)] = static_cast<uint16_t>(((kNear - dz) * kSide + kNear - dy) * kSide + kNear - dx);
    }
    return offsets;
  }();

  // Weighs all cells that can be near by their rounded distances, then takes the distances of those that cannot be told
  // from the nearest. The cell and the 26 around it first: where two surfaces nearly agree, nothing else is needed.
  bool search_roughly(const uint32_t* row, int shift) {
    rough_ = RoughRow::unknown(count_);
    count_weighed_ = 0;
    weigh(occupied_around(row, shift), [](int bit) { return kAround[static_cast<size_t>(bit)]; });
    weigh_unknown();
    if (!is_within(rough_, reach_.settled(from_))) weigh_rest(row, shift);
    for (size_t first = 0; first < count_weighed_; first += 64) {
      uint64_t nearest = 0;
      for (size_t i = first; i < std::min(count_weighed_, first + 64); ++i)
        nearest |= uint64_t{meet(row_of_[i], rough_, count_)} << (i - first);
      for (; nearest != 0; nearest &= nearest - 1) take(weighed_[first + static_cast<size_t>(lowest_bit(nearest))]);
    }
    return is_within(rough_, reach_.settled_by_all(from_));
  }

  // A first guess: where two surfaces run side by side, the nearest piece lies in the same direction as for the query
  // before. That cell comes up again among the others.
  void guess() {
    if (here_[kPlaces[hint_]] != 0) rough_ = lower(rough_, work_out(hint_));
  }

  void weigh_rest(const uint32_t* row, int shift) {
    guess();
    const auto& within = reach_.planes(from_, largest(rough_));
    for (int64_t dz = -kNear; dz <= kNear; ++dz) {
      const uint64_t wanted = within[static_cast<size_t>(kNear + dz)] & (dz >= -1 && dz <= 1 ? ~kSquare : ~uint64_t{0});
      if (wanted == 0) continue;
      const uint64_t cells = (wanted & kOuterRows) != 0 ? occupied<kNear>(row, shift, dz) : occupied<kNear - 1>(row, shift, dz);
      weigh(cells & wanted, [dz](int bit) { return offset_of(dz, bit); });
    }
    weigh_unknown();
  }

  // Which of the cell itself and the 26 around it the surface passes.
  static uint32_t occupied_around(const uint32_t* row, int shift) {
    uint32_t cells = 0;
    for (int64_t i = 0; i < 9; ++i)
      cells |= (row[(i / 3 - 1) * Surroundings::kSide + i % 3 - 1] >> (shift + kNear - 1) & 7) << (3 * i);
    return cells;
  }

  // The cells of one plane of the block that the surface passes, in some rows on either side.
  template <int64_t kRows>
  static uint64_t occupied(const uint32_t* row, int shift, int64_t dz) {
    uint64_t cells = 0;
    for (int64_t dy = -kRows; dy <= kRows; ++dy)
      cells |= (row[dz * Surroundings::kSide + dy] >> shift & kRow) << (kSide * (dy + kNear));
    return cells;
  }

  // Lowers what is known roughly by some cells; those of which nothing is known wait.
  template <class OffsetOf>
  void weigh(uint64_t cells, OffsetOf&& offset_of_bit) {
    RoughRow least = rough_;
    size_t count = count_weighed_;
    for (; cells != 0; cells &= cells - 1) {
      const uint32_t offset = offset_of_bit(lowest_bit(cells));
      const KnownDistances::Entry& entry = known_.between(from_, here_[kPlaces[offset]], offset);
      if (!entry.is_known()) {
        waiting_[count_waiting_++] = offset;
        continue;
      }
      row_of_[count] = reordered(known_.rough(entry), known_.sample_order(from_, offset));
      least = lower(least, row_of_[count]);
      weighed_[count++] = static_cast<uint16_t>(offset);
    }
    rough_ = least;
    count_weighed_ = count;
  }

  // Of the cells that wait, those that can still be near enough; those that may be nearest first, because what is found
  // there excludes others, and working out what is not known takes longest.
  void weigh_unknown() {
    if (count_waiting_ == 0) return;
    uint16_t most = largest(rough_);
    size_t count = 0;
    for (size_t i = 0; i < count_waiting_; ++i) {
      const uint32_t offset = waiting_[i] & 0xFFFF, to = here_[kPlaces[offset]];
      const uint32_t least = known_.least(from_, to, offset, known_.between(from_, to, offset));
      waiting_[count] = least << 16 | offset;
      count += least <= most;
    }
    if (count > 1) std::sort(waiting_, waiting_ + count);
    for (size_t i = 0; i < count && waiting_[i] >> 16 <= most; ++i) {
      const uint32_t offset = waiting_[i] & 0xFFFF;
      row_of_[count_weighed_] = work_out(offset);
      rough_ = lower(rough_, row_of_[count_weighed_]);
      most = largest(rough_);
      weighed_[count_weighed_++] = static_cast<uint16_t>(offset);
    }
    count_waiting_ = 0;
  }

  // The rounded distances of the samples from a cell.
  RoughRow work_out(uint32_t offset) {
    const uint32_t to = here_[kPlaces[offset]];
    KnownDistances::Entry& entry = known_.between(from_, to, offset);
    const uint8_t* order = known_.sample_order(from_, offset);
    if (entry.is_known()) return reordered(known_.rough(entry), order);
    return reordered(RoughRow::of(known_.values(from_, to, offset, entry), count_, known_.per_quantum()), order);
  }

  // For codes of many samples, which are rare.
  void search_one_by_one(const uint32_t* row, int shift) {
    for (int64_t dz = -kNear; dz <= kNear; ++dz)
      for (uint64_t cells = occupied<kNear>(row, shift, dz); cells != 0; cells &= cells - 1)
        take(offset_of(dz, lowest_bit(cells)));
  }

  void take(uint32_t offset) {
    const uint32_t to = here_[kPlaces[offset]];
    const double* values = known_.values(from_, to, offset, known_.between(from_, to, offset));
    const uint8_t* order = known_.sample_order(from_, offset);
    for (size_t i = 0; i < RoughRow::kSize; ++i) best_[i] = std::min(best_[i], values[order[i] % KnownDistances::kMostSamples]);
    for (size_t i = RoughRow::kSize; i < count_; ++i) best_[i] = std::min(best_[i], values[order[i]]);
    hint_ = offset;
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
  RoughRow rough_{};                              // of each sample, the least so far
  uint32_t hint_ = KnownDistances::kOffsets / 2;  // where the last search found its nearest piece
  // offsets of the cells that were weighed, with what they were found to have, and of those that wait
  size_t count_weighed_ = 0, count_waiting_ = 0;
  uint16_t weighed_[KnownDistances::kOffsets];
  uint32_t waiting_[KnownDistances::kOffsets];
  RoughRow row_of_[KnownDistances::kOffsets];
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
