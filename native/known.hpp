// What is known of the distances between the patterns of a binary surface: they consist of the same few patterns over
// and over, so most of what a search needs was worked out before.
#pragma once

#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "lanes.hpp"
#include "pieces.hpp"
#include "rough.hpp"

namespace segauge {

// Squared distances from the samples of one cell code to the pieces of another, at a small offset between the cells.
// Mirrored combinations share an entry, which keeps the table in the processor's cache. What it answers does not depend on
// what was asked before.
class KnownDistances {
 public:
  static constexpr int64_t kReach = 3;  // cells; further away there are too many combinations to meet one again
  static constexpr int64_t kSide = 2 * kReach + 1;
  static constexpr int64_t kOffsets = kSide * kSide * kSide;
  static constexpr size_t kMostSamples = 16;  // of a code

  // Where the values of a combination stand, or what none of them is below, rounded. In four bytes: how many entries share
  // a line of the cache decides the speed of a search.
  class Entry {
   public:
    Entry() = default;
    static Entry of_row(size_t row) { return Entry(static_cast<uint32_t>(row + 1)); }
    static Entry of_least(uint16_t rounded) { return Entry(kIsBound | rounded); }
    bool is_known() const { return static_cast<int32_t>(number_) > 0; }
    size_t row() const { return number_ - 1; }
    bool is_new() const { return number_ == 0; }
    uint16_t least() const { return static_cast<uint16_t>(number_); }

   private:
    static constexpr uint32_t kIsBound = uint32_t{1} << 31;
    explicit Entry(uint32_t number) : number_(number) {}
    uint32_t number_ = 0;
  };

  explicit KnownDistances(const Patterns& patterns)
      : patterns_(patterns), views_(*patterns.views), codes_(patterns.same_as.size()),
        kinds_(static_cast<uint32_t>(views_.kinds)),
        memory_(Memory::of_size(views_.standing.size() * views_.kinds * views_.kinds)) {
    // one step more than those around which no distances are known: not of an axis that a 2-D image does not have
    for (const double mm : patterns.wide_clearance) range_mm_ = std::min(range_mm_, mm * (kReach + 1) / kReach);
    per_quantum_ = kFarthest / (kSquaredRange * range_mm_ * range_mm_);
    for (size_t offset = 0; offset < tables_.size(); ++offset) {
      const LatticeViews::NearOffset& place = views_.near_offset[offset];
      tables_[offset] = {views_.seen_kind.data() + place.view * codes_,
                         memory_.entries.get() + place.number * views_.kinds * views_.kinds,
                         views_.seen_sample.data() + place.view * patterns.sample.size()};
    }
  }
  KnownDistances(KnownDistances&&) = default;
  ~KnownDistances() { Memory::keep(std::move(memory_)); }

  // Starts anew when it has grown large; asked between two surfaces, never while one is searched.
  void keep_small() {
    if (memory_.rough.size() >= kMostKept) memory_.forget();
  }

  // The entry for samples of `from` and pieces of `to`; `offset` is the position of `from` less that of `to`.
  Entry& between(uint32_t from, uint32_t to, uint32_t offset) {
    const Table& table = tables_[offset];
    return table.entries[table.kind[from] * kinds_ + table.kind[to]];
  }

  // A rounded number that no distance of a combination which is not known rounds below, from the boxes around the pieces.
  uint16_t least(uint32_t from, uint32_t to, uint32_t offset, Entry& entry) {
    if (entry.is_new()) {
      const int64_t dz = offset / (kSide * kSide) - kReach, dy = offset / kSide % kSide - kReach, dx = offset % kSide - kReach;
      const double squared = squared_between(patterns_.sample_box[from], patterns_.target_box[to], patterns_.offset(dz, dy, dx));
      list(entry);
      entry = Entry::of_least(rounded(squared * (1 - 1e-9), per_quantum_));
    }
    return entry.least();
  }

  // The values of a known entry, rounded, for codes of no more samples than a row has.
  const RoughRow& rough(const Entry& entry) const { return memory_.rough[entry.row()]; }
  double per_quantum() const { return per_quantum_; }  // one over the squared distance that is rounded away
  // Cells that are further away may have no distances here.
  double range_mm() const { return range_mm_; }
  // The largest squared distance that is told from larger ones, over the square of the range: of all cells around, roughly.
  static constexpr double kSquaredRange = 3;

  // The values of an entry, worked out if nobody asked for it before. They stay until the next call; kMostSamples of them
  // can be read.
  const double* values(uint32_t from, uint32_t to, uint32_t offset, Entry& entry) {
    if (entry.is_known()) return memory_.values.data() + memory_.start[entry.row()];
    const LatticeViews::NearOffset& place = views_.near_offset[offset];
    const uint8_t* seen = views_.seen_code.data() + place.view * codes_;
    return work_out(seen[from], seen[to], views_.standing[place.number], entry);
  }
  // For each sample of `from` which of the values is its own; at least RoughRow::kSize bytes can be read.
  const uint8_t* sample_order(uint32_t from, uint32_t offset) const {
    return tables_[offset].sample + patterns_.sample_start[from];
  }

 private:
  static constexpr size_t kMostKept = size_t{1} << 17;  // some 6 MB; more are worked out whenever they are asked for

  // Entries (all unknown at first) and rows. Handed on from one lattice to the next: asking the system for new memory
  // takes longer than measuring a small structure.
  struct Memory {
    size_t size = 0;
    std::unique_ptr<Entry[], void (*)(Entry*)> entries{nullptr, [](Entry* p) { std::free(p); }};
    // by row
    std::vector<uint32_t> start;    // of its values
    std::vector<RoughRow> rough;    // its values, rounded, if there are no more of them
    std::vector<double> values;     // of all rows, and as many more as can be read beyond a row
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
      start.clear();
      rough.clear();
      values.clear();
    }

   private:
    // Never waited for (memory can be had elsewhere), and never taken down: somebody may still hand some in at the end.
    struct Kept {
      static constexpr size_t kMost = 2, kLargest = size_t{1} << 21;  // memories, and entries of one: 8 MB
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

  const double* work_out(size_t from, size_t to, const std::array<int64_t, 3>& offset, Entry& entry) {
    const Vec3 shift = patterns_.offset(offset[0], offset[1], offset[2]);
    const Target* first = patterns_.target.data() + patterns_.target_start[to];
    const Target* last = patterns_.target.data() + patterns_.target_start[to + 1];
    const auto begin = patterns_.group_start[from], end = patterns_.group_start[from + 1];
    squared_distances_(patterns_.group.data() + begin, static_cast<size_t>(end - begin), shift, first, last, passing_);
    if (memory_.rough.size() < kMostKept)
      keep(static_cast<size_t>(patterns_.sample_start[from + 1] - patterns_.sample_start[from]), entry);
    return passing_;
  }

  void keep(size_t samples, Entry& entry) {
    const size_t row = memory_.rough.size(), start = row == 0 ? 0 : memory_.values.size() - kMostSamples;
    memory_.values.resize(start + samples + kMostSamples);
    std::copy_n(passing_, samples, memory_.values.begin() + static_cast<int64_t>(start));
    memory_.start.push_back(static_cast<uint32_t>(start));
    memory_.rough.push_back(RoughRow::of(passing_, std::min(samples, RoughRow::kSize), per_quantum_));
    if (entry.is_new()) list(entry);
    entry = Entry::of_row(row);
  }

  // Before it is written: what is known must be listed.
  void list(const Entry& entry) { memory_.written.push_back(static_cast<uint32_t>(&entry - memory_.entries.get())); }

  const Patterns& patterns_;
  const LatticeViews& views_;
  size_t codes_;
  uint32_t kinds_;
  SquaredDistances squared_distances_ = squared_distances_here();
  double range_mm_ = kInfinity, per_quantum_;
  Memory memory_;
  struct Table {
    const uint8_t* kind;  // by code: its number, as the view of the offset shows it
    Entry* entries;       // of the step that stands for the offset, by the two numbers
    const uint8_t* sample;  // which sample of the code that the view shows each sample is
  };
  std::array<Table, kOffsets> tables_;
  double passing_[kMostSamples];  // of the combination that was worked out last
};

}  // namespace segauge
