// Searching the cells around a point of a sub-voxel surface.
#pragma once

#include <cstring>

#include "core/vectors.hpp"
#include "search/near/neighbourhood.hpp"
#include "simd/operations.hpp"
#include "subvoxel/subvoxel.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace segauge {

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

// Finds the nearest pieces of a surface within kReach cells of points. Only for lattices with axes at right angles.
class NearFans {
 public:
  static constexpr size_t kTogether = 16;
  // In mm from the origin of its cell; what was found: a squared distance, infinity if there is nothing, and whether
  // nothing further away can be nearer.
  struct Point {
    const Cell* cell;
    Vec3 at;
    double squared;
    bool is_settled;
  };

  NearFans(const SubvoxelSurface& to, const SubvoxelRule& rule) : to_(to), rule_(rule), around_(to.grid) {
    double diagonal = 0;
    for (const Vec3& step : rule.lattice.step) diagonal += std::sqrt(dot(step, step));
    squared_step_ = kInfinity;
    for (size_t axis = 0; axis < 3; ++axis) {
      const bool has_axis = rule.ndim == 3 || axis > 0;
      step_[axis] = rule.lattice.step[axis][axis];
      beyond_[axis] = has_axis ? 0 : kInfinity;
      if (has_axis) squared_step_ = std::min(squared_step_, step_[axis] * step_[axis] * (1 - 1e-9));
    }
    contents_ = {to.fans.cell.data(),
                 to.fans.numbers.data(),
                 rule.fans.shape.data(),
                 offset_.data(),
                 {static_cast<float>(step_[0]), static_cast<float>(step_[1]), static_cast<float>(step_[2])},
                 static_cast<float>(4e-6 * diagonal * diagonal)};
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

  // From some points, at most kTogether.
  void find(Point* first, Point* last) {
    std::array<Point*, kTogether> open;
    size_t count = 0;
    for (Point* point = first; point != last; ++point) {
      open[count] = point;
      count += !try_own_cell(*point, queries_[count]);
    }
    for (size_t i = 0; i < count; ++i) list_touching(*open[i]->cell, queries_[i]);
    simd_.search_cells(queries_.data(), queries_.data() + count, contents_);
    for (size_t i = 0; i < count; ++i) {
      open[i]->is_settled = queries_[i].best <= squared_step_ || try_shells(*open[i]->cell, queries_[i]);
      open[i]->squared = queries_[i].best;
    }
  }

 private:
  using Around = Neighbourhood<IndicesOfCells, 1>;
  static constexpr int64_t kReach = 3, kSide = 2 * kReach + 1;
  static_assert(kReach <= Around::kMargin);
  static constexpr RowOrders kOrders{};

  // The number of a place so many steps away, and by how many rows it is away.
  static constexpr size_t place_of(int64_t z, int64_t y, int64_t x) {
    return static_cast<size_t>(((z + kReach) * kSide + y + kReach) * kSide + x + kReach);
  }
  static constexpr int64_t row_at(int64_t z, int64_t y) { return z * Around::kSide + y; }

  // Which bit of the rows around a cell is that of the cell itself, and of those beside it.
  static int shift_of(const Cell& cell) { return static_cast<int>((cell.x & 7) + Around::kEdge); }

  // Where two surfaces nearly agree, what is in the same cell excludes most others, and often all: then returns true.
  bool try_own_cell(Point& point, CellQuery& query) {
    const Cell& cell = *point.cell;
    query.point = point.at;
    query.best = kInfinity;
    if (*around_.row(cell.z, cell.y) >> shift_of(cell) & 1) {
      const Fans::OfCell& own = to_.fans.cell[*around_.number(cell.z, cell.y, cell.x)];
      query.best = simd_.squared_to_fans(point.at, rule_.fans.shape[own.code], to_.fans.numbers.data() + own.begin);
    }
    point.squared = query.best;
    return point.is_settled = query.best < kInfinity && query.best <= clearance(query, 0);
  }

  // The cell itself, unless it was tried, and those of the 26 that touch it which are occupied and near enough: row by
  // row, branch-free: all of a row are written, and the next row overwrites what is
  // not there.
  void list_touching(const Cell& cell, CellQuery& query) {
    const uint32_t* rows = around_.row(cell.z, cell.y);
    const uint32_t* numbers = around_.number(cell.z, cell.y, cell.x);
    const int shift = shift_of(cell) - 1;
    float gap[3][4];  // squared, by axis: to the cells before, here and after
    for (size_t axis = 0; axis < 3; ++axis) {
      const auto before = static_cast<float>(query.point[axis]);
      const float after = static_cast<float>(step_[axis]) - before;
      gap[axis][0] = before * before * (1 - 4e-6f);
      gap[axis][1] = 0;
      gap[axis][2] = after * after * (1 - 4e-6f);
      gap[axis][3] = 0;
    }
    FourFloats along_x;
    std::memcpy(&along_x, gap[2], sizeof along_x);
    const FourFloats allowed = FourFloats{} + static_cast<float>(query.best * (1 + 1e-6));
    const uint32_t beside_itself = query.best < kInfinity ? 5 : 7;
    size_t count = 0;
    for (int64_t z = -1; z <= 1; ++z)
      for (int64_t y = -1; y <= 1; ++y) {
        const FourFloats away = along_x + (gap[0][z + 1] + gap[1][y + 1]);
        uint32_t pattern = rows[row_at(z, y)] >> shift & 7 & at_most(away, allowed);
        if (z == 0 && y == 0) pattern &= beside_itself;
        const FourNumbers nearest = kOrders.put((FourNumbers)away, pattern);
        std::memcpy(query.least.data() + count, &nearest, sizeof nearest);
        const auto first = static_cast<uint32_t>(place_of(z, y, -1));
        FourNumbers index;
        std::memcpy(&index, numbers + row_at(z, y) * Around::kWidth - 1, sizeof index);
        const FourNumbers ordered = kOrders.put(index, pattern);
        const FourNumbers place = kOrders.put(FourNumbers{first, first + 1, first + 2, 0}, pattern);
        std::memcpy(query.index.data() + count, &ordered, sizeof ordered);
        std::memcpy(query.place.data() + count, &place, sizeof place);
        count += static_cast<size_t>(count_bits(pattern));
      }
    query.count = count;
    fill_up(query);
  }

  // What is beyond the last cell of a query repeats it.
  static void fill_up(CellQuery& query) {
    const size_t last = query.count > 0 ? query.count - 1 : 0;
    for (size_t k = 0; k < CellQuery::kBeyond; ++k) {
      query.index[query.count + k] = query.index[last];
      query.place[query.count + k] = query.place[last];
      query.least[query.count + k] = query.least[last];
    }
  }

  // The squared distance of the point from all cells more than `reach` steps away.
  double clearance(const CellQuery& query, int64_t reach) const {
    double least = kInfinity;
    for (size_t axis = 0; axis < 3; ++axis) {
      const double step = step_[axis], at = query.point[axis];
      least = std::min(least, std::min(at, step - at) + static_cast<double>(reach) * step + beyond_[axis]);
    }
    return least * least * (1 - 1e-9);
  }

  // Looks further and further; whether nothing beyond can be nearer.
  bool try_shells(const Cell& cell, CellQuery& query) {
    for (int64_t reach = 1;; ++reach) {
      if (query.best <= clearance(query, reach)) return true;
      if (reach == kReach) return false;
      try_shell(cell, reach + 1, query);
    }
  }

  // Tries the cells that lie exactly so many steps away along any axis.
  void try_shell(const Cell& cell, int64_t reach, CellQuery& query) {
    around_.look_further();
    double gap[3][kSide];
    for (size_t axis = 0; axis < 3; ++axis) write_squared_gaps(axis, reach, query.point[axis], gap[axis] + kReach);
    const uint32_t* rows = around_.row(cell.z, cell.y);
    const uint32_t whole = (2u << (2 * reach)) - 1, ends = 1u | 1u << (2 * reach);
    const int shift = shift_of(cell) - static_cast<int>(reach);
    query.count = 0;
    for (int64_t z = -reach; z <= reach; ++z)
      for (int64_t y = -reach; y <= reach; ++y) {
        const double aside = gap[0][z + kReach] + gap[1][y + kReach];
        if (aside > query.best) continue;
        const bool is_outer = std::abs(z) == reach || std::abs(y) == reach;
        for (uint32_t cells = rows[row_at(z, y)] >> shift & (is_outer ? whole : ends); cells != 0; cells &= cells - 1) {
          const int64_t x = lowest_bit(cells) - reach;
          if (aside + gap[2][x + kReach] > query.best) continue;
          query.index[query.count] = static_cast<uint32_t>(to_.grid.index_at(cell.z + z, cell.y + y, cell.x + x));
          query.least[query.count] = 0;
          query.place[query.count++] = static_cast<uint32_t>(place_of(z, y, x));
          if (query.count == CellQuery::kMost) try_listed(query);
        }
      }
    try_listed(query);
  }

  // By how many steps a cell is away along an axis: how near a point comes to it, squared.
  void write_squared_gaps(size_t axis, int64_t reach, double at, double* squared) const {
    const double step = step_[axis];
    squared[0] = 0;
    for (int64_t k = 1; k <= reach; ++k) {
      const double up = static_cast<double>(k) * step - at, down = static_cast<double>(k - 1) * step + at;
      squared[k] = up * up * (1 - 1e-9);
      squared[-k] = down * down * (1 - 1e-9);
    }
  }

  void try_listed(CellQuery& query) {
    if (query.count == 0) return;
    fill_up(query);
    simd_.search_cells(&query, &query + 1, contents_);
    query.count = 0;
  }

  const SubvoxelSurface& to_;
  const SubvoxelRule& rule_;
  Around around_;
  const SimdOperations& simd_ = SimdOperations::here();
  Vec3 step_;            // mm from cell to cell
  Vec3 beyond_;          // 0, but infinity along an axis that an image does not have: nothing ends there
  double squared_step_;  // the least: what does not touch the cell of a point is further away from it
  std::array<CellOffset, kSide * kSide * kSide> offset_;  // by place
  CellContents contents_;
  std::array<CellQuery, kTogether> queries_{};
};

}  // namespace segauge
