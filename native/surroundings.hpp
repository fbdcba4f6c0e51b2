// What one surface looks like around a brick of cells: codes and occupied cells of the brick and the 26 around it.
#pragma once

#include <cstring>

#include "surface.hpp"

namespace segauge {

class Surroundings {
 public:
  static constexpr int64_t kMargin = 3;  // how many cells outside the brick may be asked for
  static constexpr int64_t kEdge = CellSet::kBrickEdge;
  static constexpr int64_t kSide = kEdge + 2 * kMargin;
  static constexpr int64_t kWidth = 3 * kEdge;  // a row holds the whole rows of three bricks: simpler, so faster

  explicit Surroundings(const CellSet& cells) : cells_(cells) {}

  // Looks around the brick that holds a position; kept while queries stay in one brick.
  void enter(int64_t z, int64_t y, int64_t x) {
    const std::array<int64_t, 3> here{z >> 3, y >> 3, x >> 3};
    if (here == brick_) return;
    brick_ = here;
    for (int64_t bz = -1; bz <= 1; ++bz)
      for (int64_t by = -1; by <= 1; ++by) copy_row(bz, by);
  }

  // The code of the cell at a position, 0 where the surface does not pass; its neighbour in the next row is kWidth
  // further, in the next plane kSide rows further.
  const uint8_t* code(int64_t z, int64_t y, int64_t x) const {
    return &code_[(z & 7) + kMargin][(y & 7) + kMargin][(x & 7) + kEdge];
  }
  // Which cells of a row the surface passes; the next row, the next plane as above. Bit x & 7 is the cell kEdge before x.
  const uint32_t* row(int64_t z, int64_t y) const { return &row_[(z & 7) + kMargin][(y & 7) + kMargin]; }

 private:
  static_assert(kEdge == 8, "positions are split into brick and place by shifts of 3");

  struct View {
    const uint64_t* cells;  // a word a plane
    const uint8_t* codes;
  };
  // What is in the brick at these steps.
  View view(int64_t bz, int64_t by, int64_t bx) const {
    static constexpr std::array<uint8_t, 512> kNoCodes{};
    static constexpr std::array<uint64_t, 8> kNoCells{};
    const int64_t z = brick_[0] + bz, y = brick_[1] + by, x = brick_[2] + bx;
    const bool is_inside = z >= 0 && y >= 0 && x >= 0 && z < cells_.nz && y < cells_.ny && x < cells_.nx;
    const int32_t index = is_inside ? cells_.brick_at[static_cast<size_t>((z * cells_.ny + y) * cells_.nx + x)] : -1;
    if (index < 0) return {kNoCells.data(), kNoCodes.data()};
    return {cells_.bricks[static_cast<size_t>(index)].occupied.data(), cells_.codes[static_cast<size_t>(index)].data()};
  }

  // Takes over what the three bricks in a row have within the margin.
  void copy_row(int64_t bz, int64_t by) {
    const View before = view(bz, by, -1), here = view(bz, by, 0), after = view(bz, by, 1);
    const int64_t first_z = bz < 0 ? kEdge - kMargin : 0, last_z = bz > 0 ? kMargin : kEdge;
    const int64_t first_y = by < 0 ? kEdge - kMargin : 0, last_y = by > 0 ? kMargin : kEdge;
    for (int64_t plane = first_z; plane < last_z; ++plane) {
      const auto to_z = static_cast<size_t>(kMargin + kEdge * bz + plane);
      for (int64_t line = first_y; line < last_y; ++line) {
        const auto to_y = static_cast<size_t>(kMargin + kEdge * by + line);
        auto bits = [&](const View& brick) { return static_cast<uint32_t>(brick.cells[plane] >> (kEdge * line) & 0xFF); };
        row_[to_z][to_y] = bits(before) | bits(here) << kEdge | bits(after) << (2 * kEdge);
        uint8_t* to = code_[to_z][to_y];
        const int64_t from = kEdge * (kEdge * plane + line);
        std::memcpy(to, before.codes + from, kEdge);
        std::memcpy(to + kEdge, here.codes + from, kEdge);
        std::memcpy(to + 2 * kEdge, after.codes + from, kEdge);
      }
    }
  }

  const CellSet& cells_;
  std::array<int64_t, 3> brick_{-9, -9, -9};
  uint8_t code_[kSide][kSide][kWidth];
  uint32_t row_[kSide][kSide];
};

}  // namespace segauge
