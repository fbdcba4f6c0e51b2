#include "topology/squared_edt.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace segauge {
namespace {

// Calls visit(first, length) for each run of set bits of a word, from the lowest.
template <class Visit>
void for_runs(uint64_t word, Visit&& visit) {
  while (word != 0) {
    const int first = lowest_bit(word);
    const uint64_t rest = ~(word >> first);
    const int length = rest == 0 ? 64 : lowest_bit(rest);
    visit(first, length);
    if (first + length == 64) return;
    word &= ~uint64_t{0} << (first + length);
  }
}

// One number for each voxel of a mask, in the order of addresses.
class SquaredEdt {
 public:
  SquaredEdt(const std::vector<uint64_t>& mask, const PaddedLayout& layout, int ndim) : mask_(mask), layout_(layout) {
    before_.reserve(mask.size());
    size_t total = 0;
    for (const uint64_t word : mask) {
      before_.push_back(total);
      total += static_cast<size_t>(count_bits(word));
    }
    squares_.resize(total);
    along_rows();
    along(layout.row, layout.ny, layout.plane, layout.nz);
    // a flat image has no depth: what is above it is no background
    if (ndim == 3) along(layout.plane, layout.nz, layout.row, layout.ny);
  }

  static constexpr size_t kDeepest = 46340;  // steps; twice its square is still a number of 32 bits

  const std::vector<uint32_t>& squares() const { return squares_; }

  // Writes the depths of the 64 voxels of a word, 0 in the background.
  void spread(int64_t word, uint32_t* out) const {
    const uint64_t bits = mask_[static_cast<size_t>(word)];
    const uint32_t* from = squares_.data() + before_[static_cast<size_t>(word)];
    if (bits != ~uint64_t{0}) std::fill_n(out, 64, 0);
    for_runs(bits, [&](int first, int length) {
      std::copy_n(from, length, out + first);
      from += length;
    });
  }

 private:
  static constexpr int64_t kLanes = 64;  // columns that are shortened together: those of a word

  static uint32_t square(size_t steps) { return static_cast<uint32_t>(steps * steps); }

  // Rows end in an empty voxel, so that no run goes on into the next row.
  void along_rows() {
    size_t first = 0, length = 0;  // of the run at hand
    auto end_run = [&] {
      for (size_t i = 0; i < length; ++i) squares_[first + i] = square(std::min({i + 1, length - i, kDeepest}));
      first += length;
      length = 0;
    };
    for (const uint64_t word : mask_) {
      for_runs(word, [&](int from, int count) {
        if (from > 0) end_run();
        length += static_cast<size_t>(count);
        if (from + count < 64) end_run();
      });
      if (word >> 63 == 0) end_run();
    }
  }

  // Shortens all columns along one axis: `steps` places, `step` bits apart; such lines of words lie `across` apart.
  void along(int64_t step, int64_t steps, int64_t across, int64_t lines) {
    const int64_t row_words = layout_.row / 64;
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t w = 0; w < row_words; ++w) shorten(line * across / 64 + w, step / 64, steps);
  }

  // The columns of a word, piece by piece between places where all 64 are background.
  void shorten(int64_t word, int64_t step, int64_t steps) {
    for (int64_t i = 0; i < steps; ++i, word += step) {
      if (mask_[static_cast<size_t>(word)] == 0) continue;
      old_.clear();
      const int64_t first = word;
      for (; i < steps && mask_[static_cast<size_t>(word)] != 0; ++i, word += step) {
        old_.resize(old_.size() + kLanes);
        spread(word, old_.data() + (old_.size() - kLanes));
      }
      shorten_piece(first, step);
    }
  }

  // The least of what the voxels of a column have and the squared way to them; background has 0.
  void shorten_piece(int64_t word, int64_t step) {
    const auto places = static_cast<int64_t>(old_.size()) / kLanes;
    for (int64_t i = 0; i < places; ++i, word += step) {
      std::array<uint32_t, kLanes> best;
      std::copy_n(old_.data() + i * kLanes, kLanes, best.data());
      const int64_t to_end = std::min(i + 1, places - i);
      uint32_t largest = lower(best, square(std::min(static_cast<size_t>(to_end), kDeepest)));
      for (int64_t k = 1; k < to_end && static_cast<uint64_t>(k * k) < largest; ++k)
        largest =
            lower(best, old_.data() + (i - k) * kLanes, old_.data() + (i + k) * kLanes, square(static_cast<size_t>(k)));
      gather(word, best.data());
    }
  }

  static uint32_t lower(std::array<uint32_t, kLanes>& best, uint32_t to) {
    uint32_t largest = 0;
    for (uint32_t& value : best) {
      value = std::min(value, to);
      largest = std::max(largest, value);
    }
    return largest;
  }

  static uint32_t lower(std::array<uint32_t, kLanes>& best, const uint32_t* before, const uint32_t* after,
                        uint32_t away) {
    uint32_t largest = 0;
    for (size_t k = 0; k < kLanes; ++k) {
      best[k] = std::min(best[k], std::min(before[k], after[k]) + away);
      largest = std::max(largest, best[k]);
    }
    return largest;
  }

  void gather(int64_t word, const uint32_t* from) {
    uint32_t* out = squares_.data() + before_[static_cast<size_t>(word)];
    for_runs(mask_[static_cast<size_t>(word)], [&](int first, int length) {
      std::copy_n(from + first, length, out);
      out += length;
    });
  }

  const std::vector<uint64_t>& mask_;
  const PaddedLayout layout_;
  std::vector<size_t> before_;  // by word: how many voxels have a smaller address
  std::vector<uint32_t> squares_;
  std::vector<uint32_t> old_;  // of a word's columns
};

// Sums over the 27 voxels around, plane after plane: three planes are spread out at a time.
class Neighbourhood {
 public:
  Neighbourhood(const std::vector<uint64_t>& mask, const PaddedLayout& layout, const SquaredEdt& depths)
      : mask_(mask), layout_(layout), depths_(depths) {
    for (auto& plane : planes_) plane.depth.assign(static_cast<size_t>(layout.plane) + 2 * kBeside, 0);
    load(0);
    load(1);
  }

  // Planes must be asked for one after the other, from 1.
  void enter(int64_t z) {
    load(z + 1);
    z_ = z;
  }

  // The sums of the 64 voxels of a word of the plane.
  void sums(int64_t word, uint32_t* out) const {
    std::array<uint32_t, 66> column{};
    const int64_t at = word * 64 - z_ * layout_.plane - 1;
    for (const auto& plane : planes_)
      for (int64_t y = -1; y <= 1; ++y) {
        const uint32_t* from = plane.depth.data() + kBeside + at + y * layout_.row;
        for (size_t k = 0; k < column.size(); ++k) column[k] += from[k];
      }
    for (size_t k = 0; k < 64; ++k) out[k] = column[k] + column[k + 1] + column[k + 2];
  }

 private:
  static constexpr size_t kBeside =
      1;  // before the first and after the last of a plane: words are read with what is beside them
  struct Plane {
    std::vector<uint32_t> depth;
    std::vector<int64_t> filled;  // where words of it begin
  };

  void load(int64_t z) {
    Plane& plane = planes_[static_cast<size_t>(z % 3)];
    for (const int64_t at : plane.filled) std::fill_n(plane.depth.data() + kBeside + at, 64, 0);
    plane.filled.clear();
    const int64_t first = z * layout_.plane / 64;
    for (int64_t w = 0; w < layout_.plane / 64; ++w) {
      if (mask_[static_cast<size_t>(first + w)] == 0) continue;
      plane.filled.push_back(w * 64);
      depths_.spread(first + w, plane.depth.data() + kBeside + w * 64);
    }
  }

  const std::vector<uint64_t>& mask_;
  const PaddedLayout layout_;
  const SquaredEdt& depths_;
  std::array<Plane, 3> planes_;
  int64_t z_ = 0;
};

// Calls visit(address, sum) for every voxel, in the order of addresses.
template <class Visit>
void for_sums_around(const std::vector<uint64_t>& mask, const PaddedLayout& layout, const SquaredEdt& depths,
                     Visit&& visit) {
  Neighbourhood surroundings(mask, layout, depths);
  std::array<uint32_t, 64> sums;
  const int64_t plane_words = layout.plane / 64;
  for (int64_t z = 1; z + 1 < layout.nz; ++z) {
    surroundings.enter(z);
    for (int64_t word = z * plane_words; word < (z + 1) * plane_words; ++word) {
      uint64_t left = mask[static_cast<size_t>(word)];
      if (left == 0) continue;
      surroundings.sums(word, sums.data());
      for (; left != 0; left &= left - 1)
        visit(word * 64 + lowest_bit(left), sums[static_cast<size_t>(lowest_bit(left))]);
    }
  }
}

// Ascending, by the bits above `from` alone. What is of one depth has sums that lie near each other: a pass or two over
// what they differ by is quicker than comparing.
void sort_by_upper_bits(uint64_t* first, uint64_t* last, int from, std::vector<uint64_t>& spare) {
  constexpr int kDigit = 6;
  const auto n = static_cast<size_t>(last - first);
  if (n < 32) {
    std::sort(first, last);
    return;
  }
  const auto [least, largest] = std::minmax_element(first, last);
  const uint64_t base = *least >> from, range = (*largest >> from) - base;
  for (int shift = 0; shift < 64 && range >> shift != 0; shift += kDigit) {
    std::array<size_t, (1 << kDigit) + 1> place{};
    auto digit = [&](uint64_t value) {
      return static_cast<size_t>(((value >> from) - base) >> shift & ((1 << kDigit) - 1));
    };
    for (const uint64_t* value = first; value != last; ++value) ++place[digit(*value) + 1];
    for (size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
    spare.assign(first, last);
    for (const uint64_t value : spare) first[place[digit(value)]++] = value;
  }
}

}  // namespace

std::vector<uint64_t> padded_words(const BitVolume& mask, const PaddedLayout& layout) {
  std::vector<uint64_t> words(static_cast<size_t>(layout.size() / 64 + 1), 0);
  for (int64_t z = 0; z < mask.nz; ++z)
    for (int64_t y = 0; y < mask.ny; ++y) {
      uint64_t* to = words.data() + layout.address(z, y) / 64;
      for (int64_t i = 0; i < mask.row_words; ++i) {
        to[i] |= mask.row(z, y)[i] << 1;
        to[i + 1] |= mask.row(z, y)[i] >> 63;
      }
    }
  return words;
}

DepthOrder::DepthOrder(const BitVolume& mask, const PaddedLayout& layout) {
  const std::vector<uint64_t> words = padded_words(mask, layout);
  const SquaredEdt depths(words, layout, mask.ndim);
  const std::vector<uint32_t>& squares = depths.squares();
  const uint32_t largest = squares.empty() ? 0 : *std::max_element(squares.begin(), squares.end());
  while (layout.size() >> address_bits != 0) ++address_bits;
  const uint64_t largest_sum = (mask.ndim == 3 ? 27 : 9) * uint64_t{largest};
  if (largest_sum > std::numeric_limits<uint32_t>::max() || largest_sum >> (64 - address_bits) != 0)
    throw std::length_error("the mask is too deep");
  // A voxel this deep has a disk of such voxels around it, so the table is no longer than the list of voxels.
  begin.assign(largest + size_t{2}, 0);
  for (const uint32_t square : squares) ++begin[square + size_t{1}];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  voxels.resize(squares.size());
  std::vector<size_t> next(begin.begin(), begin.end() - 1);
  size_t voxel = 0;
  for_sums_around(words, layout, depths, [&](int64_t address, uint32_t sum) {
    const uint32_t square = squares[voxel++];
    voxels[next[square]++] = (square > 1 ? uint64_t{sum} : 0) << address_bits | static_cast<uint64_t>(address);
  });
  std::vector<uint64_t> spare;
  for (size_t i = 2; i + 1 < begin.size(); ++i)
    sort_by_upper_bits(voxels.data() + begin[i], voxels.data() + begin[i + 1], address_bits, spare);
}

}  // namespace segauge
