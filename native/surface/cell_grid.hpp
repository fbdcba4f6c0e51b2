// The cells that a surface passes, in bricks.
#pragma once

#include "core/bit_volume.hpp"
#include "surface/cell_patterns.hpp"

namespace segauge {

struct Cell {
  int32_t z, y, x;
  uint32_t code;         // the pieces that are there, as targets
  uint32_t sample_code;  // the pieces that are sampled: those that touch no ignored voxel
};

enum class SurfaceKind { marching_cubes, voxel };

// The cells that the surface passes, brick by brick (8 x 8 x 8 cells, raster order), raster order within a brick.
struct CellGrid {
  static constexpr int64_t kBrickEdge = 8;  // a plane of a brick is one 64-bit word

  struct Brick {
    int32_t z, y, x;                     // in bricks
    int64_t begin;                       // first cell
    std::array<uint64_t, 8> occupied{};  // one word a plane, bit 8 y + x
    std::array<uint16_t, 8> before{};    // cells of the brick before each plane
    Box box;                             // of the targets, in mm
  };
  int64_t nz = 1, ny = 1, nx = 1;  // extent in bricks
  Uninitialised<Cell> cells;
  std::vector<Brick> bricks;
  std::vector<int32_t> brick_at;  // by position; -1 where there is none
  // the codes of each brick's 512 cells, 0 where there is none; only for patterns with mirror symmetries
  Uninitialised<std::array<uint8_t, 512>> codes;

  // The brick at a position in bricks, nullptr if there is none.
  const Brick* brick(int64_t z, int64_t y, int64_t x) const {
    if (z < 0 || y < 0 || x < 0 || z >= nz || y >= ny || x >= nx) return nullptr;
    const int32_t number = brick_at[static_cast<size_t>((z * ny + y) * nx + x)];
    return number < 0 ? nullptr : &bricks[static_cast<size_t>(number)];
  }

  // The index of the cell at a position, -1 if the surface does not pass there.
  int64_t index_at(int64_t z, int64_t y, int64_t x) const {
    const Brick* at = brick(z >> 3, y >> 3, x >> 3);
    if (at == nullptr) return -1;
    const uint64_t word = at->occupied[z & 7], bit = uint64_t{1} << (8 * (y & 7) + (x & 7));
    return (word & bit) == 0 ? -1 : at->begin + at->before[z & 7] + count_bits(word & (bit - 1));
  }
  static_assert(kBrickEdge == 8, "positions are split into brick and place by shifts of 3");

  int64_t end_of(size_t brick) const {
    return brick + 1 < bricks.size() ? bricks[brick + 1].begin : static_cast<int64_t>(cells.size());
  }
};

CellGrid find_cells(const BitVolume& mask, const BitVolume* ignore, SurfaceKind kind, const CellPatterns& patterns,
                    int threads);

}  // namespace segauge
