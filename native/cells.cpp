#include <algorithm>

#include "parallel.hpp"
#include "surface.hpp"

namespace segauge {
namespace {

constexpr int64_t kEdge = CellSet::kBrickEdge;

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

// The bits of the code that an ignored voxel silences: all of a cell that touches one, or the faces of an ignored voxel.
CellWord silenced_word(const RowReader& ignore, int ndim, SurfaceKind kind, int64_t z, int64_t y, int64_t word) {
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

uint32_t gather(const std::array<uint64_t, 8>& plane, int bit) {
  uint32_t code = 0;
  for (size_t i = 0; i < 8; ++i) code |= static_cast<uint32_t>(plane[i] >> bit & 1) << i;
  return code;
}

void find_in_plane(const BitVolume& mask, const BitVolume* ignore, SurfaceKind kind, const Patterns& patterns, int64_t z,
                   std::vector<Cell>& out) {
  const RowReader rows(mask);
  const int64_t words = mask.nx / 64 + 1;
  for (int64_t y = 0; y <= mask.ny; ++y) {
    for (int64_t word = 0; word < words; ++word) {
      const CellWord cells = kind == SurfaceKind::marching_cubes ? marching_cubes_word(rows, mask.ndim, z, y, word)
                                                                  : voxel_word(rows, mask.ndim, z, y, word);
      if (cells.active == 0) continue;
      CellWord heard = cells;
      if (ignore != nullptr) {
        const CellWord silenced = silenced_word(RowReader(*ignore), mask.ndim, kind, z, y, word);
        for (size_t i = 0; i < 8; ++i) heard.plane[i] &= ~silenced.plane[i];
      }
      for (uint64_t left = cells.active; left != 0; left &= left - 1) {
        const int bit = lowest_bit(left);
        const int64_t code = patterns.same_as[gather(cells.plane, bit)];
        const int64_t heard_code = ignore == nullptr ? code : patterns.same_as[gather(heard.plane, bit)];
        out.push_back({static_cast<int32_t>(z), static_cast<int32_t>(y), static_cast<int32_t>(64 * word + bit),
                       static_cast<uint32_t>(code), static_cast<uint32_t>(heard_code)});
      }
    }
  }
}

// Puts the cells of all planes into brick order and describes each brick.
void sort_into_bricks(const std::vector<std::vector<Cell>>& planes, const Patterns& patterns, CellSet& set) {
  std::vector<int64_t> count(static_cast<size_t>(set.nz * set.ny * set.nx), 0);
  auto place = [&](const Cell& c) {
    return static_cast<size_t>(((c.z / kEdge) * set.ny + c.y / kEdge) * set.nx + c.x / kEdge);
  };
  for (const auto& plane : planes)
    for (const Cell& cell : plane) ++count[place(cell)];
  set.brick_at.assign(count.size(), -1);
  int64_t begin = 0;
  for (size_t at = 0; at < count.size(); ++at) {
    if (count[at] == 0) continue;
    set.brick_at[at] = static_cast<int32_t>(set.bricks.size());
    CellSet::Brick brick;
    const int64_t i = static_cast<int64_t>(at);
    brick.z = static_cast<int32_t>(i / (set.ny * set.nx));
    brick.y = static_cast<int32_t>(i / set.nx % set.ny);
    brick.x = static_cast<int32_t>(i % set.nx);
    brick.begin = begin;
    set.bricks.push_back(brick);
    begin += count[at];
    count[at] = brick.begin;  // from here on: where the brick's next cell goes
  }
  set.cells.resize(static_cast<size_t>(begin));
  for (const auto& plane : planes)
    for (const Cell& cell : plane) set.cells[static_cast<size_t>(count[place(cell)]++)] = cell;
  if (patterns.views != nullptr) set.codes.resize(set.bricks.size());
  for (size_t b = 0; b < set.bricks.size(); ++b) {
    CellSet::Brick& brick = set.bricks[b];
    for (int64_t i = brick.begin; i < set.end_of(b); ++i) {
      const Cell& cell = set.cells[static_cast<size_t>(i)];
      const int32_t within_plane = cell.y % kEdge * kEdge + cell.x % kEdge;
      brick.occupied[cell.z % kEdge] |= uint64_t{1} << within_plane;
      if (!set.codes.empty()) set.codes[b][cell.z % kEdge * 64 + within_plane] = static_cast<uint8_t>(cell.code);
      brick.box.include(patterns.target_box[cell.code].moved(patterns.offset(cell.z, cell.y, cell.x)));
    }
    for (size_t plane = 1; plane < 8; ++plane)
      brick.before[plane] = static_cast<uint16_t>(brick.before[plane - 1] + count_bits(brick.occupied[plane - 1]));
  }
}

}  // namespace

CellSet find_cells(const BitVolume& mask, const BitVolume* ignore, SurfaceKind kind, const Patterns& patterns,
                   int threads) {
  if (ignore != nullptr) mask.require_same_shape(*ignore);
  const int64_t planes = mask.ndim == 3 ? mask.nz + 1 : 1;
  std::vector<std::vector<Cell>> found(static_cast<size_t>(planes));
  parallel_for(planes, threads, [&](int64_t z) { find_in_plane(mask, ignore, kind, patterns, z, found[static_cast<size_t>(z)]); });
  CellSet set;
  set.nz = (planes + kEdge - 1) / kEdge;
  set.ny = (mask.ny + kEdge) / kEdge;
  set.nx = (mask.nx + kEdge) / kEdge;
  sort_into_bricks(found, patterns, set);
  return set;
}

}  // namespace segauge
