// What is known of the distances between the patterns of a binary surface: they consist of the same few patterns over
// and over, so most of what a search needs was worked out before.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "lanes.hpp"
#include "pieces.hpp"

namespace segauge {

// Squared distances from the samples of one cell code to the pieces of another, at a small offset between the cells.
// Mirrored combinations share an entry, which keeps the table in the processor's cache. What it answers does not depend on what was asked before.
class KnownDistances {
 public:
  static constexpr int64_t kReach = 3;  // cells; further away there are too many combinations to meet one again
  static constexpr int64_t kSide = 2 * kReach + 1;
  static constexpr int64_t kOffsets = kSide * kSide * kSide;

  // Where the values of a combination stand, and the least of them, rounded down: in four bytes, because how many
  // entries share a line of the cache decides the speed of a search.
  class Entry {
   public:
    Entry(size_t row, double least) {
      const auto rounded = std::nextafterf(static_cast<float>(least), 0.0f);
      uint32_t bits;
      std::memcpy(&bits, &rounded, sizeof bits);
      packed_ = (bits >> kDropped) << kRowBits | static_cast<uint32_t>(row + 1);
    }
    bool is_known() const { return packed_ != 0; }
    size_t row() const { return (packed_ & ((1u << kRowBits) - 1)) - 1; }
    double least() const {
      const uint32_t bits = packed_ >> kRowBits << kDropped;
      float value;
      std::memcpy(&value, &bits, sizeof value);
      return static_cast<double>(value);
    }

   private:
    static constexpr uint32_t kRowBits = 20, kDropped = 19;  // a float has no sign here: 8 bits of exponent, 4 of mantissa
    uint32_t packed_;  // 0: not worked out yet
  };

  explicit KnownDistances(const Patterns& patterns) : patterns_(patterns), codes_(patterns.same_as.size()) {
    forget();
  }

  // Starts anew when it has grown large; asked between two surfaces, never while one is searched.
  void keep_small() {
    if (rows_.size() >= kMostKept) forget();
  }

  // The entry for samples of `from` and pieces of `to`; `offset` is the position of `from` less that of `to`.
  Entry& between(uint32_t from, uint32_t to, uint32_t offset) {
    const Patterns::NearOffset& place = patterns_.near_offset[offset];
    const uint8_t* kind = patterns_.seen_kind.data() + place.view * codes_;
    return entries_[(place.number * patterns_.kinds + kind[from]) * patterns_.kinds + kind[to]];
  }

  // The values of an entry, worked out if nobody asked for it before. They stay until the next call.
  const double* values(uint32_t from, uint32_t to, uint32_t offset, Entry& entry) {
    if (entry.is_known()) return rows_[entry.row()].value;
    const Patterns::NearOffset& place = patterns_.near_offset[offset];
    const uint8_t* seen = patterns_.seen_code.data() + place.view * codes_;
    return work_out(seen[from], seen[to], patterns_.standing[place.number], entry);
  }
  // For each sample of `from` which of the values is its own.
  const uint8_t* sample_order(uint32_t from, uint32_t offset) const {
    const size_t view = patterns_.near_offset[offset].view;
    return patterns_.seen_sample.data() + view * patterns_.sample.size() + patterns_.sample_start[from];
  }

 private:
  struct alignas(64) Row {  // one line of the cache; codes with more samples take two
    double value[8];
  };
  static constexpr size_t kMostKept = size_t{1} << 17;  // 8 MB; more are worked out whenever they are asked for

  void forget() {
    const size_t size = patterns_.standing.size() * patterns_.kinds * patterns_.kinds;
    // zeroed pages come from the system as they are touched: most combinations never occur
    entries_.reset(static_cast<Entry*>(std::calloc(size, sizeof(Entry))));
    if (!entries_) throw std::bad_alloc();
    rows_.clear();
  }

  const double* work_out(size_t from, size_t to, const std::array<int64_t, 3>& offset, Entry& entry) {
    const Vec3 shift = patterns_.offset(offset[0], offset[1], offset[2]);
    const Target* first = patterns_.target.data() + patterns_.target_start[to];
    const Target* last = patterns_.target.data() + patterns_.target_start[to + 1];
    const int64_t samples = patterns_.sample_start[from + 1] - patterns_.sample_start[from];
    const size_t row = rows_.size(), lines = static_cast<size_t>(samples + 7) / 8;
    const bool is_kept = row + lines <= kMostKept;
    std::vector<Row>& where = is_kept ? rows_ : passing_;
    where.resize(is_kept ? row + lines : lines);
    double* values = where[is_kept ? row : 0].value;
    const auto begin = patterns_.group_start[from], end = patterns_.group_start[from + 1];
    squared_distances_(patterns_.group.data() + begin, static_cast<size_t>(end - begin), shift, first, last, values);
    if (is_kept) entry = Entry(row, *std::min_element(values, values + samples));
    return values;
  }

  struct Free {
    void operator()(Entry* entries) const { std::free(entries); }
  };
  const Patterns& patterns_;
  size_t codes_;
  SquaredDistances squared_distances_ = squared_distances_here();
  std::unique_ptr<Entry[], Free> entries_;
  std::vector<Row> rows_, passing_;  // passing: of the combination at hand, where there is no more room
};

}  // namespace segauge
