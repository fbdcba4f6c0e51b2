// What a mask has at given places around each of its voxels, all voxels of a word at once.
#pragma once

#include <algorithm>
#include <array>

#include "core/bit_volume.hpp"

namespace segauge {

using Steps = std::array<int64_t, 3>;

// StructuringElement around a voxel, those of each row side by side.
struct StructuringElement {
  struct Row {
    int64_t z, y, low, high;
  };
  std::vector<Row> rows;
};

// The places within `span` steps along each axis of which `belongs(z, y, x)` holds; along x there must be no gaps.
template <class Belongs>
StructuringElement element_where(const Steps& span, Belongs&& belongs) {
  StructuringElement out;
  for (int64_t z = -span[0]; z <= span[0]; ++z)
    for (int64_t y = -span[1]; y <= span[1]; ++y) {
      int64_t low = -span[2], high = span[2];
      while (low <= high && !belongs(z, y, low)) ++low;
      while (low <= high && !belongs(z, y, high)) --high;
      if (low <= high) out.rows.push_back({z, y, low, high});
    }
  return out;
}

// The rows in which a mask has any voxel; those outside the volume have none.
class OccupiedRows {
 public:
  explicit OccupiedRows(const BitVolume& mask) : nz_(mask.nz), ny_(mask.ny) {
    for (int64_t z = 0; z < nz_; ++z)
      for (int64_t y = 0; y < ny_; ++y)
        is_occupied_.push_back(
            std::any_of(mask.row(z, y), mask.row(z, y) + mask.row_words, [](uint64_t w) { return w != 0; }));
  }
  bool operator()(int64_t z, int64_t y) const {
    return z >= 0 && z < nz_ && y >= 0 && y < ny_ && is_occupied_[static_cast<size_t>(z * ny_ + y)];
  }

 private:
  int64_t nz_, ny_;
  std::vector<char> is_occupied_;
};

struct Dilation {
  static uint64_t joined(uint64_t a, uint64_t b) { return a | b; }
};
struct Erosion {
  static uint64_t joined(uint64_t a, uint64_t b) { return a & b; }
};

// A row in which every bit is joined with those up to some steps away.
template <class Join>
class SweptRow {
 public:
  SweptRow(int64_t words, int64_t low, int64_t high)
      : words_(words),
        length_(high - low + 1),
        before_((std::max<int64_t>(0, -low) + 63) / 64),
        first_(64 * before_ + low),
        buffer_(static_cast<size_t>(before_ + words + (std::max<int64_t>(0, high) + length_) / 64 + 3), 0) {}

  // out[x] joins in[x + low] to in[x + high]; beyond the row there are zeros.
  void sweep(const uint64_t* in, uint64_t* out) {
    std::fill_n(buffer_.data(), before_, 0);
    std::copy_n(in, words_, buffer_.data() + before_);
    int64_t joined = 1;  // how many places from its own on a bit stands for
    for (; 2 * joined <= length_; joined *= 2) join_ahead(joined);
    if (joined < length_) join_ahead(length_ - joined);
    const uint64_t* from = buffer_.data() + first_ / 64;
    for (int64_t w = 0; w < words_; ++w) out[w] = moved(from + w, first_ % 64);
  }

 private:
  void join_ahead(int64_t steps) {
    uint64_t* word = buffer_.data();
    for (const uint64_t* last = word + before_ + words_; word != last; ++word)
      *word = Join::joined(*word, moved(word + steps / 64, steps % 64));
  }
  // The 64 bits that begin so many bits, up to 63, after a word does.
  static uint64_t moved(const uint64_t* word, int64_t bits) { return word[0] >> bits | word[1] << 1 << (63 - bits); }

  int64_t words_, length_, before_, first_;
  std::vector<uint64_t> buffer_;
};

// Joins with `out` what `in` has at the places around every voxel. Both have voxels in the given rows only.
template <class Join>
void combine_over(const BitVolume& in, const OccupiedRows& is_occupied, StructuringElement places, BitVolume& out) {
  auto& rows = places.rows;
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::array{a.low, a.high, a.z, a.y} < std::array{b.low, b.high, b.z, b.y};
  });
  BitVolume swept = in;
  for (size_t first = 0, last = 0; first < rows.size(); first = last) {
    SweptRow<Join> row(in.row_words, rows[first].low, rows[first].high);
    for (int64_t z = 0; z < in.nz; ++z)
      for (int64_t y = 0; y < in.ny; ++y)
        if (is_occupied(z, y)) row.sweep(in.row(z, y), swept.row(z, y));
    for (; last < rows.size() && rows[last].low == rows[first].low && rows[last].high == rows[first].high; ++last)
      for (int64_t z = 0; z < in.nz; ++z)
        for (int64_t y = 0; y < in.ny; ++y) {
          if (!is_occupied(z, y)) continue;
          const int64_t from_z = z + rows[last].z, from_y = y + rows[last].y;
          const uint64_t* from = is_occupied(from_z, from_y) ? swept.row(from_z, from_y) : nullptr;
          uint64_t* to = out.row(z, y);
          for (int64_t w = 0; w < in.row_words; ++w) to[w] = Join::joined(to[w], from == nullptr ? 0 : from[w]);
        }
  }
}

}  // namespace segauge
