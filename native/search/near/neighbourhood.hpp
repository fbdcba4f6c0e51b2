// What one surface looks like around a brick of cells: which cells of the brick and the 26 around it are occupied, and
// one number of each of them.
#pragma once

#include <cstring>

#include "surface/cell_grid.hpp"

namespace segauge {

// The codes of cells, 0 where the surface does not pass.
class CodesOfCells {
 public:
  using Number = uint8_t;

  // `brick`: nullptr where there is none.
  CodesOfCells(const CellGrid& grid, const CellGrid::Brick* brick)
      : codes_(brick == nullptr ? kNone.data() : grid.codes[static_cast<size_t>(brick - grid.bricks.data())].data()) {}

  // Those of the rows [first, last) of a plane; `to`: where the first of them begins, `stride` numbers before the next.
  void copy_rows(int64_t plane, int64_t first, int64_t last, Number* to, int64_t stride) const {
    const uint8_t* from = codes_ + CellGrid::kBrickEdge * (CellGrid::kBrickEdge * plane + first);
    for (int64_t line = first; line < last; ++line, from += CellGrid::kBrickEdge, to += stride)
      std::memcpy(to, from, CellGrid::kBrickEdge);
  }

 private:
  static constexpr std::array<uint8_t, 512> kNone{};
  const uint8_t* codes_;
};

typedef uint32_t FourNumbers __attribute__((vector_size(16)));

// By which of four cells of a row are occupied, one bit each: how many of them come before each place.
struct EarlierOfFour {
  alignas(16) uint32_t count[16][4];

  constexpr EarlierOfFour() : count{} {
    for (size_t row = 0; row < 16; ++row)
      for (size_t x = 1; x < 4; ++x) count[row][x] = static_cast<uint32_t>(count[row][x - 1] + (row >> (x - 1) & 1));
  }
};

// The indices of cells; of places where the surface does not pass nothing is known.
class IndicesOfCells {
 public:
  using Number = uint32_t;

  IndicesOfCells(const CellGrid&, const CellGrid::Brick* brick) : brick_(brick) {}

  // Those of the rows [first, last) of a plane; `to`: where the first of them begins, `stride` numbers before the next.
  void copy_rows(int64_t plane, int64_t first, int64_t last, Number* to, int64_t stride) const {
    for_rows(plane, first, last, [&](Number begin, uint32_t row) {
      write_four(begin, row & 15, to);
      write_four(begin + static_cast<Number>(count_bits(row & 15)), row >> 4, to + 4);
      to += stride;
    });
  }
  // Of every row the first one alone, and the last one, which stands seven places on.
  void copy_first(int64_t plane, int64_t first, int64_t last, Number* to, int64_t stride) const {
    for_rows(plane, first, last, [&](Number begin, uint32_t) {
      *to = begin;
      to += stride;
    });
  }
  void copy_last(int64_t plane, int64_t first, int64_t last, Number* to, int64_t stride) const {
    for_rows(plane, first, last, [&](Number begin, uint32_t row) {
      to[CellGrid::kBrickEdge - 1] = begin + static_cast<Number>(count_bits(row)) - 1;
      to += stride;
    });
  }

 private:
  // Calls visit(index of the first cell of a row, which of its cells are occupied).
  template <class Visit>
  void for_rows(int64_t plane, int64_t first, int64_t last, Visit&& visit) const {
    if (brick_ == nullptr) return;
    const uint64_t word = brick_->occupied[static_cast<size_t>(plane)];
    const uint64_t earlier = word & ((uint64_t{1} << (CellGrid::kBrickEdge * first)) - 1);
    auto begin = static_cast<Number>(brick_->begin + brick_->before[static_cast<size_t>(plane)] + count_bits(earlier));
    uint64_t rows = word >> (CellGrid::kBrickEdge * first);
    for (int64_t line = first; line < last; ++line, rows >>= CellGrid::kBrickEdge) {
      const auto row = static_cast<uint32_t>(rows & 0xFF);
      visit(begin, row);
      begin += static_cast<Number>(count_bits(row));
    }
  }

  static void write_four(Number begin, uint32_t occupied, Number* to) {
    FourNumbers four;
    std::memcpy(&four, kEarlier.count[occupied], sizeof four);
    four += begin;
    std::memcpy(to, &four, sizeof four);
  }

  static constexpr EarlierOfFour kEarlier{};
  const CellGrid::Brick* brick_;
};

// `kNear`: how many cells outside the brick numbers may be asked for.
template <class Content, int64_t kNear>
class Neighbourhood {
 public:
  using Number = typename Content::Number;
  static constexpr int64_t kMargin = 3;  // how many cells outside the brick may be asked for whether they are occupied
  static constexpr int64_t kEdge = CellGrid::kBrickEdge;
  static constexpr int64_t kSide = kEdge + 2 * kMargin;
  static constexpr int64_t kWidth = 3 * kEdge;  // a row holds the whole rows of three bricks: simpler, so faster

  explicit Neighbourhood(const CellGrid& cells) : cells_(cells) {}

  // Looks around the brick that holds a position; kept while queries stay in one brick.
  void enter(int64_t z, int64_t y, int64_t x) {
    const std::array<int64_t, 3> here{z >> 3, y >> 3, x >> 3};
    if (here == brick_) return;
    brick_ = here;
    is_wide_ = false;
    for (int64_t bz = -1; bz <= 1; ++bz)
      for (int64_t by = -1; by <= 1; ++by) copy_rows(bz, by);
  }

  // Looks further: must be called before anything is asked of rows more than kNear away.
  void look_further() {
    if (is_wide_ || kNear == kMargin) return;
    is_wide_ = true;
    for (int64_t z = 0; z < kSide; ++z)
      for (int64_t y = 0; y < kSide; ++y)
        if (!is_near(z) || !is_near(y)) row_[z][y] = occupied_in_row(z - kMargin, y - kMargin);
  }

  // The number of the cell at a position, and of those within kNear steps; its neighbour in the next row is kWidth
  // further, in the next plane kSide rows further.
  const Number* number(int64_t z, int64_t y, int64_t x) const {
    return &number_[(z & 7) + kMargin][(y & 7) + kMargin][(x & 7) + kEdge];
  }
  // Which cells of a row the surface passes; the next row, the next plane as above, those within kNear steps, or all if
  // it was looked further. Bit x & 7 is the cell kEdge before x.
  const uint32_t* row(int64_t z, int64_t y) const { return &row_[(z & 7) + kMargin][(y & 7) + kMargin]; }

 private:
  static_assert(kEdge == 8, "positions are split into brick and place by shifts of 3");

  struct View {
    const uint64_t* cells;  // a word a plane
    Content content;
  };
  View view(int64_t bz, int64_t by, int64_t bx) const {
    static constexpr std::array<uint64_t, 8> kNoCells{};
    const CellGrid::Brick* brick = cells_.brick(brick_[0] + bz, brick_[1] + by, brick_[2] + bx);
    return {brick == nullptr ? kNoCells.data() : brick->occupied.data(), Content(cells_, brick)};
  }

  static bool is_near(int64_t place) { return place >= kMargin - kNear && place < kMargin + kEdge + kNear; }

  // Of a row whose place is counted from the first one of the brick.
  uint32_t occupied_in_row(int64_t z, int64_t y) const {
    uint32_t occupied = 0;
    for (int64_t bx = -1; bx <= 1; ++bx) {
      const CellGrid::Brick* brick = cells_.brick(brick_[0] + (z >> 3), brick_[1] + (y >> 3), brick_[2] + bx);
      if (brick == nullptr) continue;
      const uint64_t row = brick->occupied[static_cast<size_t>(z & 7)] >> (kEdge * (y & 7)) & 0xFF;
      occupied |= static_cast<uint32_t>(row << (kEdge * (bx + 1)));
    }
    return occupied;
  }

  // Takes over what the three bricks in a row have within kNear steps.
  void copy_rows(int64_t bz, int64_t by) {
    const View before = view(bz, by, -1), here = view(bz, by, 0), after = view(bz, by, 1);
    const int64_t first_z = bz < 0 ? kEdge - kNear : 0, last_z = bz > 0 ? kNear : kEdge;
    const int64_t first_y = by < 0 ? kEdge - kNear : 0, last_y = by > 0 ? kNear : kEdge;
    for (int64_t plane = first_z; plane < last_z; ++plane) {
      const auto to_z = static_cast<size_t>(kMargin + kEdge * bz + plane);
      const auto to_y = static_cast<size_t>(kMargin + kEdge * by + first_y);
      uint32_t* row = &row_[to_z][to_y];
      for (int64_t line = first_y; line < last_y; ++line) {
        auto bits = [&](const View& brick) {
          return static_cast<uint32_t>(brick.cells[plane] >> (kEdge * line) & 0xFF);
        };
        *row++ = bits(before) | bits(here) << kEdge | bits(after) << (2 * kEdge);
      }
      Number* to = number_[to_z][to_y];
      here.content.copy_rows(plane, first_y, last_y, to + kEdge, kWidth);
      if constexpr (kNear == 1) {
        before.content.copy_last(plane, first_y, last_y, to, kWidth);
        after.content.copy_first(plane, first_y, last_y, to + 2 * kEdge, kWidth);
      } else {
        before.content.copy_rows(plane, first_y, last_y, to, kWidth);
        after.content.copy_rows(plane, first_y, last_y, to + 2 * kEdge, kWidth);
      }
    }
  }

  const CellGrid& cells_;
  std::array<int64_t, 3> brick_{-9, -9, -9};
  bool is_wide_ = false;
  Number number_[kSide][kSide][kWidth];
  uint32_t row_[kSide][kSide];
};

}  // namespace segauge
