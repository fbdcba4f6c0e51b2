#include <algorithm>
#include <cstring>

#include "core/parallel.hpp"
#include "surface/cell_grid.hpp"

namespace segauge {
namespace {

constexpr int64_t kEdge = CellGrid::kBrickEdge;

// Reads rows of a mask shifted by one cell: the cell row (z, y) touches the voxel rows z - 1 and z, y - 1 and y.
// Outside the mask everything is background, which closes the surface of an object at the border.
class RowReader {
 public:
  explicit RowReader(const BitVolume& mask) : mask_(mask) {}

  const uint64_t* row(int64_t z, int64_t y) const {
    return z < 0 || z >= mask_.nz || y < 0 || y >= mask_.ny ? nullptr : mask_.row(z, y);
  }
  // The voxels at x (of the word's 64 positions), and those at x - 1.
  uint64_t here(const uint64_t* row, int64_t word) const {
    return row == nullptr || word >= mask_.row_words ? 0 : row[word];
  }
  uint64_t before(const uint64_t* row, int64_t word) const {
    if (row == nullptr) return 0;
    const uint64_t carry = word > 0 ? row[word - 1] >> 63 : 0;
    return (here(row, word) << 1) | carry;
  }

 private:
  const BitVolume& mask_;
};

// The bits of one word of cells: plane[i] says for each of the 64 cells whether bit i of its code is set.
struct CellWord {
  std::array<uint64_t, 8> plane{};
  uint64_t active = 0;
};

CellWord marching_cubes_word(const RowReader& mask, int ndim, int64_t z, int64_t y, int64_t word) {
  CellWord out;
  uint64_t any = 0, all = ~uint64_t{0};
  const int rows = ndim == 3 ? 4 : 2;
  for (int r = 0; r < rows; ++r) {
    const uint64_t* row = ndim == 3 ? mask.row(z - 1 + (r >> 1), y - 1 + (r & 1)) : mask.row(0, y - 1 + r);
    const uint64_t low = mask.before(row, word), high = mask.here(row, word);
    out.plane[static_cast<size_t>(2 * r)] = low;
    out.plane[static_cast<size_t>(2 * r + 1)] = high;
    any |= low | high;
    all &= low & high;
  }
  out.active = any & ~all;
  return out;
}

CellWord voxel_word(const RowReader& mask, int ndim, int64_t z, int64_t y, int64_t word) {
  CellWord out;
  const uint64_t* row = mask.row(z, y);
  const uint64_t here = mask.here(row, word);
  size_t axis = 0;
  if (ndim == 3) out.plane[axis++] = here ^ mask.here(mask.row(z - 1, y), word);
  out.plane[axis++] = here ^ mask.here(mask.row(z, y - 1), word);
  out.plane[axis++] = here ^ mask.before(row, word);
  for (size_t i = 0; i < axis; ++i) out.active |= out.plane[i];
  return out;
}

// The bits of the code that an ignored voxel silences: all of a cell that touches one, or the faces of an ignored
// voxel.
CellWord unsampled_word(const RowReader& ignore, int ndim, SurfaceKind kind, int64_t z, int64_t y, int64_t word) {
  CellWord out;
  if (kind == SurfaceKind::marching_cubes) {
    const CellWord touched = marching_cubes_word(ignore, ndim, z, y, word);
    uint64_t any = 0;
    for (const uint64_t bits : touched.plane) any |= bits;
    out.plane.fill(any);
    return out;
  }
  const uint64_t* row = ignore.row(z, y);
  const uint64_t here = ignore.here(row, word);
  size_t axis = 0;
  if (ndim == 3) out.plane[axis++] = here | ignore.here(ignore.row(z - 1, y), word);
  out.plane[axis++] = here | ignore.here(ignore.row(z, y - 1), word);
  out.plane[axis++] = here | ignore.before(row, word);
  return out;
}

using BrickCodes = std::array<uint8_t, 512>;  // one of each cell, 0 where the surface does not pass

// Byte i of the result has as bit k bit i of byte k.
uint64_t transposed_8x8(uint64_t x) {
  uint64_t swapped = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAull;
  x ^= swapped ^ (swapped << 7);
  swapped = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCull;
  x ^= swapped ^ (swapped << 14);
  swapped = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ull;
  return x ^ swapped ^ (swapped << 28);
}

// A byte of ones for every bit that is set.
uint64_t spread(uint64_t bits) {
  const uint64_t lone = bits * 0x0101010101010101ull & 0x8040201008040201ull;
  return ((lone + 0x7F7F7F7F7F7F7F7Full) >> 7 & 0x0101010101010101ull) * 0xFF;
}

// The codes of eight cells in a row, a byte each: those of byte `k` of the word.
uint64_t codes_of(const std::array<uint64_t, 8>& plane, int k) {
  uint64_t rows = 0;
  for (size_t i = 0; i < 8; ++i) rows |= (plane[i] >> (8 * k) & 0xFF) << (8 * i);
  return transposed_8x8(rows);
}

// Bricks as they are found, with the raw codes of their cells, and of what is sampled of them where something is
// ignored.
struct FoundBricks {
  std::vector<CellGrid::Brick> bricks;
  Uninitialised<BrickCodes> codes, sampled;
};

// A row of bricks along the last axis, filled line by line.
class BrickRow {
 public:
  BrickRow(int64_t length, bool has_sampled) : bricks_(static_cast<size_t>(length)), has_sampled_(has_sampled) {}

  // Takes in the 64 cells of one word of a line.
  void add(const CellWord& cells, const CellWord& sampled, int64_t z, int64_t y, int64_t word) {
    for (uint64_t left = cells.active; left != 0;) {
      const int k = lowest_bit(left) / 8;
      const uint64_t bits = cells.active >> (8 * k) & 0xFF, line = static_cast<uint64_t>(y % kEdge);
      left &= ~(uint64_t{0xFF} << (8 * k));
      Entry& entry = bricks_[static_cast<size_t>(8 * word + k)];
      if (!entry.is_touched) entry = Entry{};
      entry.is_touched = true;
      entry.occupied[static_cast<size_t>(z % kEdge)] |= bits << (kEdge * line);
      const auto at = static_cast<size_t>(z % kEdge * 64) + 8 * line;
      const uint64_t codes = codes_of(cells.plane, k) & spread(bits);
      std::memcpy(entry.codes.data() + at, &codes, 8);
      if (!has_sampled_) continue;
      const uint64_t sampled_codes = codes_of(sampled.plane, k) & spread(bits);
      std::memcpy(entry.sampled.data() + at, &sampled_codes, 8);
    }
  }

  // Hands over what was filled, and is empty again.
  void move_to(FoundBricks& out, int64_t z, int64_t y) {
    for (size_t x = 0; x < bricks_.size(); ++x) {
      Entry& entry = bricks_[x];
      if (!entry.is_touched) continue;
      entry.is_touched = false;
      CellGrid::Brick brick{
          static_cast<int32_t>(z), static_cast<int32_t>(y), static_cast<int32_t>(x), 0, entry.occupied, {}, {}};
      for (size_t plane = 1; plane < 8; ++plane)
        brick.before[plane] = static_cast<uint16_t>(brick.before[plane - 1] + count_bits(brick.occupied[plane - 1]));
      out.bricks.push_back(brick);
      out.codes.push_back(entry.codes);
      if (has_sampled_) out.sampled.push_back(entry.sampled);
    }
  }

 private:
  struct Entry {
    bool is_touched = false;
    std::array<uint64_t, 8> occupied{};
    BrickCodes codes{}, sampled{};
  };
  std::vector<Entry> bricks_;
  bool has_sampled_;
};

// The bricks of eight planes.
FoundBricks find_in_slab(const BitVolume& mask, const BitVolume* ignore, SurfaceKind kind, const CellGrid& grid,
                         int64_t slab) {
  const RowReader rows(mask);
  const int64_t words = mask.nx / 64 + 1, planes = mask.ndim == 3 ? mask.nz + 1 : 1;
  FoundBricks found;
  BrickRow filled(8 * words, ignore != nullptr);
  for (int64_t by = 0; by < grid.ny; ++by) {
    for (int64_t z = kEdge * slab; z < std::min(planes, kEdge * (slab + 1)); ++z)
      for (int64_t y = kEdge * by; y < std::min(mask.ny + 1, kEdge * (by + 1)); ++y)
        for (int64_t word = 0; word < words; ++word) {
          const CellWord cells = kind == SurfaceKind::marching_cubes ? marching_cubes_word(rows, mask.ndim, z, y, word)
                                                                     : voxel_word(rows, mask.ndim, z, y, word);
          if (cells.active == 0) continue;
          CellWord sampled;
          if (ignore != nullptr) {
            const CellWord unsampled = unsampled_word(RowReader(*ignore), mask.ndim, kind, z, y, word);
            for (size_t i = 0; i < 8; ++i) sampled.plane[i] = cells.plane[i] & ~unsampled.plane[i];
          }
          filled.add(cells, sampled, z, y, word);
        }
    filled.move_to(found, slab, by);
  }
  return found;
}

// Around whatever can be in a cell, in mm from its lattice position.
Box box_of_any_cell(const CellPatterns& patterns) {
  Box box;
  for (const Box& each : patterns.target_box)
    if (each.low[0] <= each.high[0]) box.include(each);
  return box;
}

// Around whatever can be in those cells of a brick that the surface passes, in mm.
Box box_of(const CellGrid::Brick& brick, const Box& any_cell, const CellPatterns& patterns) {
  uint64_t rows = 0;
  int64_t first[3] = {kEdge, 0, 0}, last[3] = {-1, 0, 0};
  for (int64_t plane = 0; plane < kEdge; ++plane) {
    const uint64_t word = brick.occupied[static_cast<size_t>(plane)];
    rows |= word;
    if (word == 0) continue;
    first[0] = std::min(first[0], plane);
    last[0] = plane;
  }
  uint64_t columns = rows;
  for (int fold = 32; fold >= 8; fold /= 2) columns |= columns >> fold;
  columns &= 0xFF;
  first[1] = lowest_bit(rows) / 8, last[1] = (63 - __builtin_clzll(rows)) / 8;
  first[2] = lowest_bit(columns), last[2] = 63 - __builtin_clzll(columns);
  Box box;
  for (int corner = 0; corner < 8; ++corner) {
    const int64_t z = kEdge * brick.z + (corner & 4 ? last : first)[0],
                  y = kEdge * brick.y + (corner & 2 ? last : first)[1];
    const int64_t x = kEdge * brick.x + (corner & 1 ? last : first)[2];
    box.include(any_cell.moved(patterns.offset(z, y, x)));
  }
  return box;
}

// Lists the cells of a brick, and turns its raw codes into those that stand for them.
void list_cells(const CellGrid::Brick& brick, const CellPatterns& patterns, BrickCodes& codes,
                const BrickCodes* sampled, Cell* out) {
  for (int64_t plane = 0; plane < kEdge; ++plane)
    for (uint64_t left = brick.occupied[static_cast<size_t>(plane)]; left != 0; left &= left - 1) {
      const int bit = lowest_bit(left);
      const auto at = static_cast<size_t>(64 * plane + bit);
      const auto code = static_cast<uint8_t>(patterns.same_as[codes[at]]);
      codes[at] = code;
      *out++ = {static_cast<int32_t>(kEdge * brick.z + plane), static_cast<int32_t>(kEdge * brick.y + bit / 8),
                static_cast<int32_t>(kEdge * brick.x + bit % 8), code,
                sampled == nullptr ? code : static_cast<uint32_t>(patterns.same_as[(*sampled)[at]])};
    }
}

// Puts the bricks of all slabs into one list and says where their cells begin; returns how many cells there are.
int64_t join(std::vector<FoundBricks>& slabs, CellGrid& grid, Uninitialised<BrickCodes>& sampled) {
  grid.brick_at.assign(static_cast<size_t>(grid.nz * grid.ny * grid.nx), -1);
  int64_t begin = 0;
  for (FoundBricks& slab : slabs) {
    for (CellGrid::Brick& brick : slab.bricks) {
      const auto at = static_cast<size_t>((brick.z * grid.ny + brick.y) * grid.nx + brick.x);
      grid.brick_at[at] = static_cast<int32_t>(grid.bricks.size());
      brick.begin = begin;
      begin += brick.before[7] + count_bits(brick.occupied[7]);
      grid.bricks.push_back(brick);
    }
    grid.codes.insert(grid.codes.end(), slab.codes.begin(), slab.codes.end());
    sampled.insert(sampled.end(), slab.sampled.begin(), slab.sampled.end());
    slab = {};
  }
  return begin;
}

}  // namespace

CellGrid find_cells(const BitVolume& mask, const BitVolume* ignore, SurfaceKind kind, const CellPatterns& patterns,
                    int threads) {
  if (ignore != nullptr) mask.require_same_shape(*ignore);
  CellGrid grid;
  grid.nz = ((mask.ndim == 3 ? mask.nz + 1 : 1) + kEdge - 1) / kEdge;
  grid.ny = (mask.ny + kEdge) / kEdge;
  grid.nx = (mask.nx + kEdge) / kEdge;
  std::vector<FoundBricks> slabs(static_cast<size_t>(grid.nz));
  parallel_for(grid.nz, threads,
               [&](int64_t slab) { slabs[static_cast<size_t>(slab)] = find_in_slab(mask, ignore, kind, grid, slab); });
  Uninitialised<BrickCodes> sampled;
  grid.cells.resize(static_cast<size_t>(join(slabs, grid, sampled)));
  const Box any_cell = box_of_any_cell(patterns);
  parallel_for(static_cast<int64_t>(grid.bricks.size()), grid.bricks.size() < 64 ? 1 : threads, [&](int64_t index) {
    const auto b = static_cast<size_t>(index);
    CellGrid::Brick& brick = grid.bricks[b];
    brick.box = box_of(brick, any_cell, patterns);
    list_cells(brick, patterns, grid.codes[b], sampled.empty() ? nullptr : &sampled[b],
               grid.cells.data() + brick.begin);
  });
  if (patterns.symmetries == nullptr) grid.codes = {};
  return grid;
}

}  // namespace segauge
