#include "surface/cell_distances.hpp"

#include <algorithm>
#include <cmath>

#include "core/parallel.hpp"
#include "core/vectors.hpp"

namespace segauge {
namespace {

constexpr int64_t kBlock = 16;  // columns that are searched together; memory is nz * ny * kBlock numbers a thread

struct Cell {
  int64_t z, y, x;
};

struct CellMap {
  BitVolume bits;
  std::vector<Cell> cells;
  std::vector<double> areas;
};

// The 64 voxels of one row around 64 cells: those before each cell's centre, and those after.
struct RowWords {
  uint64_t before = 0, after = 0;
};

RowWords row_words(const BitVolume& mask, int64_t z, int64_t y, int64_t w) {
  if (z < 0 || z >= mask.nz || y < 0 || y >= mask.ny) return {};
  const uint64_t* row = mask.row(z, y);
  const uint64_t here = w < mask.row_words ? row[w] : 0;
  return {here << 1 | (w > 0 ? row[w - 1] >> 63 : 0), here};
}

// Appends the surface cells among 64 neighbouring ones. `corner[4 dz + 2 dy + dx]` holds one corner of each.
void append_cells(const std::array<uint64_t, 8>& corner, int corners, Cell at, const double* areas, CellMap& out) {
  uint64_t any = 0, all = ~uint64_t{0};
  for (int i = 0; i < corners; ++i) {
    any |= corner[static_cast<size_t>(i)];
    all &= corner[static_cast<size_t>(i)];
  }
  const uint64_t surface = any & ~all;
  out.bits.row(at.z, at.y)[at.x >> 6] = surface;
  for (uint64_t rest = surface; rest != 0; rest &= rest - 1) {
    const int k = lowest_bit(rest);
    unsigned code = 0;
    for (int i = 0; i < corners; ++i) code |= static_cast<unsigned>(corner[static_cast<size_t>(i)] >> k & 1) << i;
    out.cells.push_back({at.z, at.y, at.x + k});
    out.areas.push_back(areas[code]);
  }
}

CellMap surface_cells(const BitVolume& mask, const double* areas) {
  const bool flat = mask.ndim == 2;
  CellMap out;
  out.bits = BitVolume(mask.ndim, flat ? 1 : mask.nz + 1, mask.ny + 1, mask.nx + 1);
  for (int64_t z = 0; z < out.bits.nz; ++z) {
    for (int64_t y = 0; y < out.bits.ny; ++y) {
      for (int64_t w = 0; w < out.bits.row_words; ++w) {
        std::array<uint64_t, 8> corner{};
        for (int64_t dz = 0; dz < (flat ? 1 : 2); ++dz) {
          for (int64_t dy = 0; dy < 2; ++dy) {
            const RowWords words = row_words(mask, flat ? z : z - 1 + dz, y - 1 + dy, w);
            corner[static_cast<size_t>(4 * dz + 2 * dy)] = words.before;
            corner[static_cast<size_t>(4 * dz + 2 * dy + 1)] = words.after;
          }
        }
        append_cells(corner, flat ? 4 : 8, {z, y, 64 * w}, areas, out);
      }
    }
  }
  return out;
}

int64_t last_set_up_to(const uint64_t* row, int64_t x) {
  for (int64_t w = x >> 6; w >= 0; --w) {
    const uint64_t word = w == x >> 6 ? row[w] & (~uint64_t{0} >> (63 - (x & 63))) : row[w];
    if (word != 0) return 64 * w + 63 - __builtin_clzll(word);
  }
  return -1;
}

int64_t first_set_from(const uint64_t* row, int64_t words, int64_t x) {
  for (int64_t w = x >> 6; w < words; ++w) {
    const uint64_t word = w == x >> 6 ? row[w] & (~uint64_t{0} << (x & 63)) : row[w];
    if (word != 0) return 64 * w + lowest_bit(word);
  }
  return -1;
}

// For every (z, y) and the columns [first, first + kBlock): squared distance within plane z to its nearest surface
// cell.
class PlaneDistances {
 public:
  PlaneDistances(const BitVolume& cells, const std::array<double, 3>& spacing, int64_t first)
      : cells_(cells),
        spacing_(spacing),
        first_(first),
        width_(std::min(kBlock, cells.nx - first)),
        squares_(static_cast<size_t>(cells.nz * cells.ny * kBlock)),
        occupied_(static_cast<size_t>(cells.nz), 0),
        at_(static_cast<size_t>(cells.ny)),
        from_(static_cast<size_t>(cells.ny)),
        column_(static_cast<size_t>(cells.ny)) {
    for (int64_t z = 0; z < cells.nz; ++z) {
      for (int64_t y = 0; y < cells.ny; ++y)
        if (along_row(z, y)) occupied_[static_cast<size_t>(z)] = 1;
      if (occupied_[static_cast<size_t>(z)])
        for (int64_t k = 0; k < width_; ++k) along_column(z, k);
    }
  }

  // Squared distance from a cell: outwards over the planes, until none of those left can be nearer.
  double nearest(const Cell& c) const {
    double best = kInfinity;
    for (int64_t step = 0; step < cells_.nz; ++step) {
      const double away = square(spacing_[0] * static_cast<double>(step));
      if (away >= best) break;
      for (const int64_t z : {c.z - step, c.z + step}) {
        if (z < 0 || z >= cells_.nz || !occupied_[static_cast<size_t>(z)]) continue;
        best = std::min(best, away + squares_[index(z, c.y, c.x - first_)]);
      }
    }
    return best;
  }

 private:
  static double square(double value) { return value * value; }
  size_t index(int64_t z, int64_t y, int64_t k) const { return static_cast<size_t>((z * cells_.ny + y) * kBlock + k); }

  bool along_row(int64_t z, int64_t y) {
    const uint64_t* row = cells_.row(z, y);
    int64_t left = last_set_up_to(row, first_), right = first_set_from(row, cells_.row_words, first_);
    for (int64_t k = 0; k < width_; ++k) {
      const int64_t x = first_ + k;
      if (right >= 0 && right < x) right = first_set_from(row, cells_.row_words, x);
      if (right == x) left = x;
      double best = kInfinity;
      if (left >= 0) best = spacing_[2] * static_cast<double>(x - left);
      if (right >= 0) best = std::min(best, spacing_[2] * static_cast<double>(right - x));
      squares_[index(z, y, k)] = square(best);
    }
    return left >= 0 || right >= 0;
  }

  // Lower envelope of the parabolas that stand on the rows' squared distances.
  void along_column(int64_t z, int64_t k) {
    const double unit = square(spacing_[1]);
    size_t parabolas = 0;
    for (int64_t y = 0; y < cells_.ny; ++y) {
      const double height = squares_[index(z, y, k)];
      column_[static_cast<size_t>(y)] = height;
      if (height == kInfinity) continue;
      double start = -kInfinity;
      while (parabolas > 0) {
        const int64_t other = at_[parabolas - 1];
        const double gap = static_cast<double>(y - other), rise = height - column_[static_cast<size_t>(other)];
        start = static_cast<double>(other) + 0.5 * (gap + rise / (unit * gap));
        if (start > from_[parabolas - 1]) break;
        --parabolas;
        start = -kInfinity;
      }
      at_[parabolas] = y;
      from_[parabolas++] = start;
    }
    size_t current = 0;
    for (int64_t y = 0; y < cells_.ny; ++y) {
      while (current + 1 < parabolas && from_[current + 1] <= static_cast<double>(y)) ++current;
      const int64_t root = at_[current];
      const double away = square(spacing_[1] * static_cast<double>(y - root));
      squares_[index(z, y, k)] = column_[static_cast<size_t>(root)] + away;
    }
  }

  const BitVolume& cells_;
  const std::array<double, 3>& spacing_;
  int64_t first_, width_;
  std::vector<double> squares_;
  std::vector<char> occupied_;  // planes with a surface cell
  std::vector<int64_t> at_;
  std::vector<double> from_, column_;
};

// Most cells have a cell of the other surface nearby: rows are looked at from the nearest on, until none of those left
// can hold a nearer one.
class NearRows {
 public:
  NearRows(const BitVolume& cells, const std::array<double, 3>& spacing) : cells_(cells), edge_(spacing[2]) {
    const double shorter = cells.nz > 1 ? std::min(spacing[0], spacing[1]) : spacing[1];
    const double reach = std::min(kReach * shorter, kSteps * spacing[2]);
    limit_ = square(reach);
    const auto most_z = std::min(cells.nz - 1, static_cast<int64_t>(reach / spacing[0]));
    const auto most_y = std::min(cells.ny - 1, static_cast<int64_t>(reach / spacing[1]));
    for (int64_t z = -most_z; z <= most_z; ++z)
      for (int64_t y = -most_y; y <= most_y; ++y) {
        const double along_z = square(spacing[0] * static_cast<double>(z)),
                     along_y = square(spacing[1] * static_cast<double>(y));
        if (along_z + along_y < limit_) rows_.push_back({z, y, along_z, along_y});
      }
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.squared() < b.squared(); });
  }

  // Squared distance from a cell, infinite if it is not nearby.
  double nearest(const Cell& c) const {
    double best = kInfinity;
    for (const Row& row : rows_) {
      if (row.squared() >= best) return best;
      const int64_t z = c.z + row.z, y = c.y + row.y;
      if (z < 0 || z >= cells_.nz || y < 0 || y >= cells_.ny) continue;
      const int64_t steps = steps_to_nearest(cells_.row(z, y), c.x);
      if (steps >= 0) best = std::min(best, row.along_z + (square(edge_ * static_cast<double>(steps)) + row.along_y));
    }
    return best < limit_ ? best : kInfinity;  // what is further away may be nearer in another row
  }

 private:
  static constexpr double kReach = 12;  // steps across the rows, along the axis with the shorter ones
  static constexpr double kSteps = 64;  // along a row: as many as a word and the two beside it show on either side

  struct Row {
    int64_t z, y;
    double along_z, along_y;
    double squared() const { return along_z + along_y; }
  };
  static double square(double value) { return value * value; }

  // To the nearest cell of a row, among those of this word and the two beside it; -1 for none.
  int64_t steps_to_nearest(const uint64_t* row, int64_t x) const {
    const int64_t w = x >> 6;
    const int at = static_cast<int>(x & 63);
    const uint64_t up = row[w] >> at, down = row[w] << (63 - at);
    int64_t best = -1;
    auto offer = [&](int64_t steps) { best = best < 0 ? steps : std::min(best, steps); };
    if (up != 0) offer(lowest_bit(up));
    if (down != 0) offer(__builtin_clzll(down));
    if (up == 0 && w + 1 < cells_.row_words && row[w + 1] != 0) offer(64 - at + lowest_bit(row[w + 1]));
    if (down == 0 && w > 0 && row[w - 1] != 0) offer(at + 1 + __builtin_clzll(row[w - 1]));
    return best;
  }

  const BitVolume& cells_;
  double edge_, limit_;
  std::vector<Row> rows_;
};

// Squared distances of the cells that have none yet.
void search_planes(const CellMap& a, const CellMap& b, const std::array<double, 3>& spacing, int threads,
                   std::vector<double>& squares) {
  const int64_t blocks = (a.bits.nx + kBlock - 1) / kBlock;
  std::vector<std::vector<size_t>> queries(static_cast<size_t>(blocks));
  for (size_t i = 0; i < a.cells.size(); ++i)
    if (squares[i] == kInfinity) queries[static_cast<size_t>(a.cells[i].x / kBlock)].push_back(i);
  parallel_for(blocks, threads, [&](int64_t block) {
    const std::vector<size_t>& mine = queries[static_cast<size_t>(block)];
    if (mine.empty()) return;
    const PlaneDistances planes(b.bits, spacing, block * kBlock);
    for (const size_t i : mine) squares[i] = planes.nearest(a.cells[i]);
  });
}

std::vector<double> distances_between(const CellMap& a, const CellMap& b, const std::array<double, 3>& spacing,
                                      int threads) {
  constexpr int64_t kChunk = 4096;
  std::vector<double> out(a.cells.size(), kInfinity);
  if (b.cells.empty()) return out;
  const NearRows near(b.bits, spacing);
  const auto count = static_cast<int64_t>(out.size());
  parallel_for((count + kChunk - 1) / kChunk, threads, [&](int64_t chunk) {
    for (int64_t i = chunk * kChunk; i < std::min(count, (chunk + 1) * kChunk); ++i)
      out[static_cast<size_t>(i)] = near.nearest(a.cells[static_cast<size_t>(i)]);
  });
  search_planes(a, b, spacing, threads, out);
  for (double& value : out) value = std::sqrt(value);
  return out;
}

}  // namespace

std::array<CellSurface, 2> cell_distances(const BitVolume& a, const BitVolume& b, const std::array<double, 3>& spacing,
                                          const double* areas, int threads) {
  a.require_same_shape(b);
  CellMap cells_a = surface_cells(a, areas), cells_b = surface_cells(b, areas);
  std::vector<double> from_a = distances_between(cells_a, cells_b, spacing, threads);
  std::vector<double> from_b = distances_between(cells_b, cells_a, spacing, threads);
  return {CellSurface{std::move(cells_a.areas), std::move(from_a)},
          CellSurface{std::move(cells_b.areas), std::move(from_b)}};
}

}  // namespace segauge
