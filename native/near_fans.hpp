// Searching the cells around a point of a sub-voxel surface.
#pragma once

#include <cstring>

#include "lanes.hpp"
#include "numbers.hpp"
#include "subvoxel.hpp"
#include "surroundings.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace segauge {

// The cells around a cell.
struct NearPlaces {
  using Around = Surroundings<IndicesOfCells, 1>;
  static constexpr int64_t kReach = 3, kSide = 2 * kReach + 1;
  static_assert(kReach <= Around::kMargin);

  static constexpr size_t place_of(int64_t z, int64_t y, int64_t x) {
    return static_cast<size_t>(((z + kReach) * kSide + y + kReach) * kSide + x + kReach);
  }
  static constexpr int64_t row_at(int64_t z, int64_t y) { return z * Around::kSide + y; }
};

typedef uint32_t FourNumbers __attribute__((vector_size(16)));
typedef float FourFloats __attribute__((vector_size(16)));

// Which of four numbers are at most as large as others, one bit each.
inline uint32_t at_most(FourFloats numbers, FourFloats others) {
#if defined(__SSE2__)
  return static_cast<uint32_t>(_mm_movemask_ps((__m128)(numbers <= others)));
#else
  uint32_t bits = 0;
  for (uint32_t k = 0; k < 4; ++k) bits |= static_cast<uint32_t>(numbers[k] <= others[k]) << k;
  return bits;
#endif
}

// For each pattern of three cells in a row that are occupied or not: the order in which the occupied ones come first.
struct RowOrders {
  uint8_t number[8][4];
  alignas(16) uint8_t byte[8][16];

  constexpr RowOrders() : number{}, byte{} {
    for (uint8_t pattern = 0; pattern < 8; ++pattern) {
      size_t count = 0;
      for (const bool occupied : {true, false})
        for (uint8_t k = 0; k < 4; ++k)
          if ((pattern >> k & 1) == occupied) number[pattern][count++] = k;
      for (size_t i = 0; i < 16; ++i) byte[pattern][i] = static_cast<uint8_t>(4 * number[pattern][i / 4] + i % 4);
    }
  }

  FourNumbers put(FourNumbers numbers, uint32_t pattern) const {
#if defined(__SSSE3__)
    return (FourNumbers)_mm_shuffle_epi8((__m128i)numbers, *reinterpret_cast<const __m128i*>(byte[pattern]));
#else
    const uint8_t* from = number[pattern];
    return FourNumbers{numbers[from[0]], numbers[from[1]], numbers[from[2]], numbers[from[3]]};
#endif
  }
};

// Finds the nearest piece of a surface within kReach cells of a point. Only for lattices with axes at right angles.
class NearFans : private NearPlaces {
 public:
  // A squared distance, infinity if there is nothing, and whether nothing further away can be nearer.
  struct Found {
    double squared;
    bool is_settled;
  };

  NearFans(const SubvoxelSurface& to, const SubvoxelRule& rule) : to_(to), rule_(rule), around_(to.set) {
    double diagonal = 0;
    for (const Vec3& step : rule.lattice.step) diagonal += std::sqrt(dot(step, step));
    contents_ = {to.fans.cell.data(), to.fans.numbers.data(), rule.fans.shape.data(), offset_.data(),
                 static_cast<float>(4e-6 * diagonal * diagonal)};
    squared_step_ = kInfinity;
    for (size_t axis = rule.ndim == 3 ? 0 : 1; axis < 3; ++axis)
      squared_step_ = std::min(squared_step_, dot(rule.lattice.step[axis], rule.lattice.step[axis]) * (1 - 1e-9));
    for (int64_t z = -kReach; z <= kReach; ++z)
      for (int64_t y = -kReach; y <= kReach; ++y)
        for (int64_t x = -kReach; x <= kReach; ++x) {
          const Vec3 mm = rule.lattice.offset(z, y, x);
          const size_t place = place_of(z, y, x);
          offset_[place] = {mm, {static_cast<float>(mm[0]), static_cast<float>(mm[1]), static_cast<float>(mm[2]), 0}};
        }
  }

  NearFans(const NearFans&) = delete;  // its own offsets are pointed at

  // Looks around the brick of a cell: those that are asked for next must be in it.
  void enter(const Cell& cell) { around_.enter(cell.z, cell.y, cell.x); }

  // From a point, in mm from the origin of its cell.
  Found find(const Cell& cell, const Vec3& point) {
    point_ = &point;
    cell_ = &cell;
    row_ = around_.row(cell.z, cell.y);
    number_ = around_.number(cell.z, cell.y, cell.x);
    shift_ = static_cast<int>((cell.x & 7) + Around::kEdge - kReach);
    best_ = kInfinity;
    // where two surfaces nearly agree, what is in the same cell excludes most others, and often all
    const bool is_here = row_[0] >> (shift_ + kReach) & 1;
    if (is_here) {
      const Fans::OfCell& own = to_.fans.cell[*number_];
      best_ = lanes_.squared_to_fans(point, rule_.fans.shape[own.code], to_.fans.numbers.data() + own.begin);
      if (best_ <= clearance(0)) return {best_, true};
    }
    list_touching(is_here);
    try_listed();
    if (best_ <= squared_step_) return {best_, true};
    for (int64_t reach = 1;; ++reach) {
      if (best_ <= clearance(reach)) return {best_, true};
      if (reach == kReach) return {best_, false};
      try_shell(reach + 1);
    }
  }

 private:
  static constexpr RowOrders kOrders{};

  // The cell itself, unless it was tried, and those of the 26 that touch it which are occupied and near enough: row by row,
  // without a question that a processor must guess: all of a row are written, and the next row overwrites what is not there.
  void list_touching(bool is_here_tried) {
    const int shift = shift_ + static_cast<int>(kReach) - 1;
    float gap[3][4];  // squared, by axis: to the cells before, here and after
    for (size_t axis = 0; axis < 3; ++axis) {
      const auto before = static_cast<float>((*point_)[axis]);
      const float after = static_cast<float>(rule_.lattice.step[axis][axis]) - before;
      gap[axis][0] = before * before * (1 - 4e-6f);
      gap[axis][1] = 0;
      gap[axis][2] = after * after * (1 - 4e-6f);
      gap[axis][3] = 0;
    }
    FourFloats along_x;
    std::memcpy(&along_x, gap[2], sizeof along_x);
    const FourFloats allowed = FourFloats{} + static_cast<float>(best_ * (1 + 1e-6));
    size_t count = 0;
    for (int64_t z = -1; z <= 1; ++z)
      for (int64_t y = -1; y <= 1; ++y) {
        const FourFloats away = along_x + (gap[0][z + 1] + gap[1][y + 1]);
        uint32_t pattern = row_[row_at(z, y)] >> shift & 7 & at_most(away, allowed);
        if (z == 0 && y == 0) pattern &= is_here_tried ? 5 : 7;
        const FourNumbers nearest = kOrders.put((FourNumbers)away, pattern);
        std::memcpy(list_.least.data() + count, &nearest, sizeof nearest);
        const auto first = static_cast<uint32_t>(place_of(z, y, -1));
        FourNumbers index;
        std::memcpy(&index, number_ + row_at(z, y) * Around::kWidth - 1, sizeof index);
        const FourNumbers ordered = kOrders.put(index, pattern);
        const FourNumbers place = kOrders.put(FourNumbers{first, first + 1, first + 2, 0}, pattern);
        std::memcpy(list_.index.data() + count, &ordered, sizeof ordered);
        std::memcpy(list_.place.data() + count, &place, sizeof place);
        count += static_cast<size_t>(count_bits(pattern));
      }
    list_.count = count;
  }

  // The squared distance of the point from all cells more than `reach` steps away.
  double clearance(int64_t reach) const {
    double least = kInfinity;
    for (size_t axis = rule_.ndim == 3 ? 0 : 1; axis < 3; ++axis) {
      const double step = rule_.lattice.step[axis][axis], at = (*point_)[axis];
      const double gap = std::min(at, step - at) + static_cast<double>(reach) * step;
      least = std::min(least, gap);
    }
    return least * least * (1 - 1e-9);
  }

  // Tries the cells that lie exactly so many steps away along any axis.
  void try_shell(int64_t reach) {
    around_.look_further();
    double gap[3][kSide];
    for (size_t axis = 0; axis < 3; ++axis) write_squared_gaps(axis, reach, gap[axis] + kReach);
    const uint32_t whole = (2u << (2 * reach)) - 1, ends = 1u | 1u << (2 * reach);
    const int shift = shift_ + static_cast<int>(kReach - reach);
    for (int64_t z = -reach; z <= reach; ++z)
      for (int64_t y = -reach; y <= reach; ++y) {
        const double aside = gap[0][z + kReach] + gap[1][y + kReach];
        if (aside > best_) continue;
        const bool is_outer = std::abs(z) == reach || std::abs(y) == reach;
        for (uint32_t cells = row_[row_at(z, y)] >> shift & (is_outer ? whole : ends); cells != 0; cells &= cells - 1) {
          const int64_t x = lowest_bit(cells) - reach;
          if (aside + gap[2][x + kReach] > best_) continue;
          list_.index[list_.count] = static_cast<uint32_t>(to_.set.index_at(cell_->z + z, cell_->y + y, cell_->x + x));
          list_.least[list_.count] = 0;
          list_.place[list_.count++] = static_cast<uint32_t>(place_of(z, y, x));
          if (list_.count == CellList::kMost) try_listed();
        }
      }
    try_listed();
  }

  // By how many steps a cell is away along an axis: how near the point comes to it, squared.
  void write_squared_gaps(size_t axis, int64_t reach, double* squared) const {
    const double step = rule_.lattice.step[axis][axis], at = (*point_)[axis];
    squared[0] = 0;
    for (int64_t k = 1; k <= reach; ++k) {
      const double up = static_cast<double>(k) * step - at, down = static_cast<double>(k - 1) * step + at;
      squared[k] = up * up * (1 - 1e-9);
      squared[-k] = down * down * (1 - 1e-9);
    }
  }

  void try_listed() {
    if (list_.count == 0) return;
    for (size_t k = 0; k < CellList::kBeyond; ++k) {
      list_.index[list_.count + k] = list_.index[list_.count - 1];
      list_.place[list_.count + k] = list_.place[list_.count - 1];
      list_.least[list_.count + k] = 0;
    }
    best_ = lanes_.squared_to_cells(*point_, best_, contents_, list_);
    list_.count = 0;
  }

  const SubvoxelSurface& to_;
  const SubvoxelRule& rule_;
  Around around_;
  const LaneFunctions& lanes_ = LaneFunctions::here();
  double squared_step_;  // the least: what does not touch the cell of a point is further away from it
  std::array<CellOffset, kSide * kSide * kSide> offset_;  // by place
  CellContents contents_;
  CellList list_;
  // the query at hand
  const Vec3* point_ = nullptr;
  const Cell* cell_ = nullptr;
  const uint32_t* row_ = nullptr;
  const uint32_t* number_ = nullptr;
  int shift_ = 0;
  double best_ = kInfinity;
};

}  // namespace segauge
