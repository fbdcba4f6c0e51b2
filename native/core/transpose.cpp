#include "core/transpose.hpp"

#include <algorithm>

namespace segauge {
namespace {

using Square = std::array<uint64_t, 64>;  // 64 rows of 64 bits

// Swaps rows and columns: squares of half the size beside each other, then those within them, down to single bits.
void swap_rows_and_columns(Square& square) {
  uint64_t low = 0x00000000FFFFFFFFull;
  for (size_t half = 32; half > 0; half /= 2, low ^= low << half)
    for (size_t row = 0; row < 64; row = ((row | half) + 1) & ~half) {
      const uint64_t swapped = (square[row] >> half ^ square[row | half]) & low;
      square[row | half] ^= swapped;
      square[row] ^= swapped << half;
    }
}

int64_t extent(const BitVolume& mask, size_t axis) { return axis == 0 ? mask.nz : axis == 1 ? mask.ny : mask.nx; }

// The place of a row in a volume, from what its first two places are in another one, whose axes these are.
std::array<int64_t, 3> place_of(size_t axis_a, int64_t a, size_t axis_b, int64_t b) {
  std::array<int64_t, 3> at{0, 0, 0};
  at[axis_a] = a;
  at[axis_b] = b;
  return at;
}

}  // namespace

BitVolume transposed(const BitVolume& mask, const std::array<size_t, 3>& order) {
  BitVolume out(mask.ndim, extent(mask, order[0]), extent(mask, order[1]), extent(mask, order[2]));
  if (order[2] == 2) {  // the rows stay what they are
    for (int64_t z = 0; z < out.nz; ++z)
      for (int64_t y = 0; y < out.ny; ++y) {
        const auto from = place_of(order[0], z, order[1], y);
        std::copy_n(mask.row(from[0], from[1]), mask.row_words, out.row(z, y));
      }
    return out;
  }
  // the new rows run along an axis that numbered the old ones; the third axis numbers both
  const size_t along = order[2], third = 1 - along;
  const size_t third_in_out = order[0] == third ? 0 : 1, old_rows_in_out = 1 - third_in_out;
  Square square;
  for (int64_t k = 0; k < extent(mask, third); ++k)
    for (int64_t word = 0; word < mask.row_words; ++word)
      for (int64_t first = 0; first < out.nx; first += 64) {
        const int64_t rows = std::min<int64_t>(64, out.nx - first),
                      columns = std::min<int64_t>(64, mask.nx - 64 * word);
        uint64_t any = 0;
        for (int64_t i = 0; i < 64; ++i) {
          const auto at = place_of(along, first + i, third, k);
          square[static_cast<size_t>(i)] = i < rows ? mask.row(at[0], at[1])[word] : 0;
          any |= square[static_cast<size_t>(i)];
        }
        if (any == 0) continue;
        swap_rows_and_columns(square);
        for (int64_t i = 0; i < columns; ++i) {
          const auto at = place_of(third_in_out, k, old_rows_in_out, 64 * word + i);
          out.row(at[0], at[1])[first / 64] = square[static_cast<size_t>(i)];
        }
      }
  return out;
}

}  // namespace segauge
