// A binary volume, one bit a voxel, rows along the last axis. A 2-D image is a volume with a single plane.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace segauge {

inline int count_bits(uint64_t word) { return __builtin_popcountll(word); }
inline int lowest_bit(uint64_t word) { return __builtin_ctzll(word); }

struct BitVolume {
  int ndim = 3;                    // 2 or 3; nz is 1 in 2-D
  int64_t nz = 1, ny = 1, nx = 1;  // the axes of the array, in its own order
  int64_t row_words = 1;           // 64-bit words a row; the bits past nx are zero
  std::vector<uint64_t> bits;

  BitVolume() = default;
  BitVolume(int dimensions, int64_t z, int64_t y, int64_t x)
      : ndim(dimensions),
        nz(z),
        ny(y),
        nx(x),
        row_words((x + 63) / 64),
        bits(static_cast<size_t>(z * y * ((x + 63) / 64)), 0) {}

  const uint64_t* row(int64_t z, int64_t y) const { return bits.data() + (z * ny + y) * row_words; }
  uint64_t* row(int64_t z, int64_t y) { return bits.data() + (z * ny + y) * row_words; }

  bool get(int64_t z, int64_t y, int64_t x) const { return row(z, y)[x >> 6] >> (x & 63) & 1; }
  void set(int64_t z, int64_t y, int64_t x) { row(z, y)[x >> 6] |= uint64_t{1} << (x & 63); }
  void clear(int64_t z, int64_t y, int64_t x) { row(z, y)[x >> 6] &= ~(uint64_t{1} << (x & 63)); }

  int64_t count() const {
    int64_t total = 0;
    for (const uint64_t word : bits) total += count_bits(word);
    return total;
  }

  void require_same_shape(const BitVolume& other) const {
    if (ndim != other.ndim || nz != other.nz || ny != other.ny || nx != other.nx)
      throw std::invalid_argument("two bit volumes of different shape");
  }
};

}  // namespace segauge
