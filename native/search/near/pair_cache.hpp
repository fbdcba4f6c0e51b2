// The pair cache: a memo table of the distances between the cell patterns of a binary surface. Surfaces consist of the
// same few patterns, so most of what a search needs was computed before.
#pragma once

#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "search/bounds.hpp"
#include "simd/operations.hpp"

namespace segauge {

// Squared distances from the samples of one cell code to the pieces of another, at a small step between the cells.
// Combinations that a symmetry maps to each other share an entry, in which the code of the samples is canonical: what a
// search looks up for one cell then lies together in memory, and in one order of the samples. The answers do not depend
// on what was asked before.
class PairCache {
 public:
  static constexpr int64_t kReach = 3;  // cells; further away there are too many combinations to meet one again
  static constexpr int64_t kSide = 2 * kReach + 1;
  static constexpr int64_t kSteps = kSide * kSide * kSide;
  static constexpr int64_t kAround = 27;      // a cell itself, and those that touch it
  static constexpr size_t kMostSamples = 16;  // of a code
  static constexpr size_t kMostGroups = SampleGroup::count_for(kMostSamples);
  // How many groups are read at once: what is beyond its own repeats them.
  static constexpr size_t groups_read(size_t count) { return count > 2 ? kMostGroups : count; }

  static constexpr uint32_t number_of_step(int64_t z, int64_t y, int64_t x) {
    return static_cast<uint32_t>(((z + kReach) * kSide + y + kReach) * kSide + x + kReach);
  }

  // The step from one of the cells around to the one in the middle.
  static constexpr uint32_t step_from_around(int64_t place) {
    return number_of_step(1 - place / 9, 1 - place / 3 % 3, 1 - place % 3);
  }

  // The place of the cell from which a step leads to the one in the middle.
  static constexpr uint8_t place_around(size_t step) {
    const auto number = static_cast<int64_t>(step);
    const int64_t z = number / (kSide * kSide) - kReach, y = number / kSide % kSide - kReach,
                  x = number % kSide - kReach;
    return static_cast<uint8_t>(9 * (1 - z) + 3 * (1 - y) + 1 - x);
  }

  // The squared distances of a group of samples, in the order of the code that stands for theirs; what is beyond the
  // last sample repeats it.
  struct alignas(8 * SampleGroup::kSize) Group {
    double squared[SampleGroup::kSize];
  };

  // Where the groups of a combination stand, or what none of their values is below, rounded. In four bytes: how many
  // entries share a line of the cache decides the speed of a search. Of several entries the least number tells whether
  // any of them may have to be computed: those of which nothing is known come first, then bounds, then what is known.
  struct Entry {
    static Entry at_group(size_t group) { return {kIsKnown | static_cast<uint32_t>(group)}; }
    static Entry of_least(uint16_t rounded) { return {uint32_t{rounded} + 1}; }
    bool is_new() const { return number == 0; }
    bool is_known() const { return number >= kIsKnown; }
    // The first group; that of infinite distances if they are not known. Branch-free.
    size_t group() const { return number & (0u - (number >> 31)) & ~kIsKnown; }
    // Whether its distances are not known, and some of them may not be above a rounded one.
    bool may_reach(uint16_t rounded) const { return number <= uint32_t{rounded} + 1; }

    static constexpr uint32_t kIsKnown = uint32_t{1} << 31;
    uint32_t number = 0;
  };

  // What is known of the distances from the samples of one code.
  struct FromCode {
    uint32_t begin;          // of its entries, by the images of the step and of the other code
    const uint8_t* kind;     // by code
    const uint32_t* step;    // by step, times the number of kinds
    const uint32_t* around;  // the same, of the steps from the 27 cells around, by place
    const uint8_t* order;    // of each sample: which of the values is its own; whole groups can be read
    size_t number;           // of the code that stands for this one

    uint32_t to(uint32_t code, uint32_t offset) const { return begin + step[offset] + kind[code]; }
  };

  explicit PairCache(const CellPatterns& patterns)
      : patterns_(patterns),
        symmetries_(*patterns.symmetries),
        codes_(patterns.same_as.size()),
        memory_(Memory::of_size(symmetries_.canonical_code.size() * kSteps * symmetries_.kinds)) {
    // one step more than those around which no distances are known: not of an axis that a 2-D image does not have
    for (const double mm : patterns.wide_clearance) range_mm_ = std::min(range_mm_, mm * (kReach + 1) / kReach);
    per_quantum_ = kFarthest / (kSquaredRange * range_mm_ * range_mm_);
  }
  PairCache(PairCache&&) = default;
  ~PairCache() { Memory::keep(std::move(memory_)); }

  // Starts anew when it has grown large; asked between two surfaces, never while one is searched.
  void keep_small() {
    if (memory_.groups.size() >= kMostKept) memory_.forget();
  }

  FromCode from(uint32_t code) const {
    const Symmetries::Canonical& canonical = symmetries_.canonical[code];
    return {
        static_cast<uint32_t>(canonical.number * kSteps * symmetries_.kinds),
        symmetries_.image_kind.data() + canonical.symmetry * codes_,
        symmetries_.image_step.data() + canonical.symmetry * kSteps,
        symmetries_.image_around.data() + canonical.symmetry * kAround,
        symmetries_.image_sample.data() + canonical.symmetry * patterns_.sample.size() + patterns_.sample_start[code],
        canonical.number};
  }

  // A rounded number that no distance of a combination rounds below, from the boxes around the pieces; 0 if the
  // distances are known. `offset`: the step from the cell of `to` to that of `from`.
  uint32_t least(uint32_t from, uint32_t to, uint32_t offset, Entry& entry) {
    if (entry.is_known()) return 0;
    if (entry.is_new()) {
      const double squared = squared_between(patterns_.sample_box[from], patterns_.target_box[to], mm_of(offset));
      list(entry);
      entry = Entry::of_least(rounded(squared * (1 - 1e-9)));
    }
    return entry.number - 1;
  }
  // A smaller distance never rounds to a larger number.
  uint16_t rounded(double squared) const {
    return static_cast<uint16_t>(std::min(squared * per_quantum_, static_cast<double>(kFarthest)));
  }
  static constexpr uint16_t kFarthest = 0xFFFE;  // rounded: this distance or any larger one
  // Cells that are further away may have no distances here.
  double range_mm() const { return range_mm_; }
  // The largest squared distance that is told from larger ones, over the square of the range: of all cells around,
  // roughly.
  static constexpr double kSquaredRange = 3;

  // By number, as FromCode tells it.
  Entry* entries() const { return memory_.entries.get(); }
  // By number, those of entries; the first ones are infinite. They stay until something is computed.
  const Group* groups() const { return memory_.groups.data(); }
  // The groups of an entry, computed on first use.
  const Group* groups(uint32_t from, uint32_t to, uint32_t offset, Entry& entry) {
    if (entry.is_known()) return memory_.groups.data() + entry.group();
    const uint16_t symmetry = symmetries_.canonical[from].symmetry;
    const uint8_t* image = symmetries_.image_code.data() + symmetry * codes_;
    const size_t step = symmetries_.image_step[static_cast<size_t>(symmetry * kSteps) + offset] / symmetries_.kinds;
    return work_out(image[from], image[to], static_cast<uint32_t>(step), entry);
  }

 private:
  static constexpr size_t kMostKept = size_t{1} << 18;  // groups: 8 MB; more are computed whenever they are asked for

  // Entries (all unknown at first) and groups. Handed on from one lattice to the next: asking the system for new memory
  // takes longer than measuring a small structure.
  struct Memory {
    size_t size = 0;
    std::unique_ptr<Entry[], void (*)(Entry*)> entries{nullptr, [](Entry* p) { std::free(p); }};
    std::vector<Group> groups;
    std::vector<uint32_t> written;  // the entries of which anything is known

    static Memory of_size(size_t size) {
      Memory found;
      Kept& kept = Kept::all();
      {
        const std::unique_lock<std::mutex> lock(kept.guard, std::try_to_lock);
        for (size_t i = 0; lock.owns_lock() && i < kept.memories.size(); ++i)
          if (kept.memories[i].size == size) {
            found = std::move(kept.memories[i]);
            kept.memories.erase(kept.memories.begin() + static_cast<int64_t>(i));
            return found;
          }
      }
      found.size = size;
      // zeroed pages come from the system as they are touched: most combinations never occur
      found.entries.reset(static_cast<Entry*>(std::calloc(size, sizeof(Entry))));
      if (!found.entries) throw std::bad_alloc();
      found.forget();
      return found;
    }

    static void keep(Memory&& memory) noexcept {
      if (memory.entries == nullptr || memory.size > Kept::kLargest) return;
      memory.forget();
      Kept& kept = Kept::all();
      const std::unique_lock<std::mutex> lock(kept.guard, std::try_to_lock);
      if (!lock.owns_lock()) return;
      if (kept.memories.size() == Kept::kMost) kept.memories.erase(kept.memories.begin());
      kept.memories.push_back(std::move(memory));
    }

    void forget() {
      for (const uint32_t index : written) entries[index] = Entry();
      written.clear();
      Group infinite;
      std::fill_n(infinite.squared, SampleGroup::kSize, kInfinity);
      groups.assign(kMostGroups, infinite);
    }

   private:
    // Never waited for (memory can be had elsewhere), and never taken down: destructors may still run at exit.
    struct Kept {
      static constexpr size_t kMost = 2, kLargest = size_t{1} << 22;  // memories, and entries of one: 16 MB
      std::mutex guard;
      std::vector<Memory> memories;

      static Kept& all() {
        static Kept* kept = [] {
          auto* made = new Kept;
          made->memories.reserve(kMost);
          return made;
        }();
        return *kept;
      }
    };
  };

  const Group* work_out(size_t from, size_t to, uint32_t offset, Entry& entry) {
    const Target* first = patterns_.target.data() + patterns_.target_start[to];
    const Target* last = patterns_.target.data() + patterns_.target_start[to + 1];
    const auto begin = patterns_.group_start[from], end = patterns_.group_start[from + 1];
    const auto count = static_cast<size_t>(end - begin);
    simd_.squared_distances(patterns_.group.data() + begin, count, mm_of(offset), first, last, passing_[0].squared);
    for (size_t i = count; i < groups_read(count); ++i) passing_[i] = passing_[count - 1];
    if (memory_.groups.size() < kMostKept) keep(groups_read(count), entry);
    return passing_;
  }

  void keep(size_t count, Entry& entry) {
    if (entry.is_new()) list(entry);
    entry = Entry::at_group(memory_.groups.size());
    memory_.groups.insert(memory_.groups.end(), passing_, passing_ + count);
  }

  Vec3 mm_of(uint32_t offset) const {
    return patterns_.offset(offset / (kSide * kSide) - kReach, offset / kSide % kSide - kReach,
                            offset % kSide - kReach);
  }

  // Before it is written: what is known must be listed.
  void list(const Entry& entry) { memory_.written.push_back(static_cast<uint32_t>(&entry - memory_.entries.get())); }

  const CellPatterns& patterns_;
  const Symmetries& symmetries_;
  size_t codes_;
  const SimdOperations& simd_ = SimdOperations::here();
  double range_mm_ = kInfinity, per_quantum_;
  Memory memory_;
  Group passing_[kMostGroups];  // of the combination that was computed last
};

}  // namespace segauge
