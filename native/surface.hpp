// The surface of a mask, cell by cell, and the exact distance from every sample of one surface to another surface.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "bitvolume.hpp"
#include "discs.hpp"
#include "pieces_beside.hpp"
#include "unzeroed.hpp"

namespace segauge {

// A triangle corner + s u + t v (s, t >= 0, s + t <= 1) or a rectangle (0 <= s, t <= 1; v = 0 makes it a segment),
// with what its distance to a point needs worked out beforehand.
struct Target {
  Vec3 corner, u, v;
  bool is_rectangle;
  double uu, uv, vv;          // dot products
  double per_uu, per_vv;      // reciprocals, 0 for a flat side
  double per_third;           // and of the third edge of a triangle, squared
  Vec3 normal;                // unit; zero for a segment
};

// Samples side by side, as vector registers take them.
struct SampleGroup {
  static constexpr size_t kSize = 4;
  double x[kSize], y[kSize], z[kSize];

  static constexpr size_t count_for(size_t samples) { return (samples + kSize - 1) / kSize; }  // groups
};

// Ways to look at a lattice, mirrored or turned, under which it is the same, and what they show of its cells.
struct LatticeViews {
  struct View {
    std::array<int64_t, 3> axis, sign;  // component i of a step is sign[i] times its component axis[i]
  };
  std::vector<View> views;
  std::vector<uint8_t> seen_code;    // by view and code: the code that the view shows
  std::vector<uint8_t> seen_kind;    // by view and code: the number of that code among those that occur
  std::vector<uint8_t> seen_sample;  // by view and sample: which sample of that code it is
  std::vector<uint32_t> seen_step;   // by view and step between two cells that are near each other: the step it shows,
                                     // by number, times that of the kinds
  std::vector<uint32_t> seen_around; // the same of the steps from the cells around one, by their place
  std::vector<uint8_t> seen_place;   // and where the view shows the cell of such a place
  size_t kinds = 0;                  // how many codes occur
  // By code: the view that shows it as the one that stands for it and its mirrored versions, and the number of that one.
  struct Standing {
    uint16_t view, number;
  };
  std::vector<Standing> standing;
  std::vector<uint8_t> standing_code;  // the codes that stand for others, by number
};

// The pieces of a surface by cell code, in mm relative to the cell's origin.
struct Patterns {
  Vec3 step[3];  // mm that one step along each axis of the grid goes
  Vec3 cell_low; // where a cell begins along each axis, in mm from its lattice position; for right angles only
  bool is_orthogonal = true;
  std::vector<int64_t> sample_start, target_start;
  std::vector<int64_t> same_as;  // for every code the first one with the same pieces
  Unzeroed<Vec3> sample;
  Unzeroed<double> area;
  Unzeroed<Target> target;
  std::vector<Box> sample_box, target_box;  // of each code
  std::vector<Disc> disc;                   // around the targets of each code
  // mm from each sample to the nearest cell more than one step away, and to the nearest of which no distances are known
  std::vector<double> clearance, wide_clearance;
  std::vector<int64_t> group_start;  // the samples of each code once more, in groups, the last one repeated
  Unzeroed<SampleGroup> group;

  // none where only the lattice is of interest
  const LatticeViews* views = nullptr;
  const PiecesBeside* beside = nullptr;

  Vec3 offset(int64_t z, int64_t y, int64_t x) const {
    if (is_orthogonal) return {step[0][0] * z, step[1][1] * y, step[2][2] * x};
    Vec3 p;
    for (int i = 0; i < 3; ++i) p[i] = step[0][i] * z + step[1][i] * y + step[2][i] * x;
    return p;
  }
  // How many cells along each axis a distance of 1 mm can reach.
  Vec3 reach() const;
};

struct Cell {
  int32_t z, y, x;
  uint32_t code;         // the pieces that are there, as targets
  uint32_t sample_code;  // the pieces that are sampled: those that touch no ignored voxel
};

enum class SurfaceKind { marching_cubes, voxel };

// The cells that the surface passes, brick by brick (8 x 8 x 8 cells, raster order), raster order within a brick.
struct CellSet {
  static constexpr int64_t kBrickEdge = 8;  // a plane of a brick is one 64-bit word

  struct Brick {
    int32_t z, y, x;            // in bricks
    int64_t begin;              // first cell
    std::array<uint64_t, 8> occupied{};   // one word a plane, bit 8 y + x
    std::array<uint16_t, 8> before{};     // cells of the brick before each plane
    Box box;                    // of the targets, in mm
  };
  int64_t nz = 1, ny = 1, nx = 1;        // extent in bricks
  Unzeroed<Cell> cells;
  std::vector<Brick> bricks;
  std::vector<int32_t> brick_at;         // by position; -1 where there is none
  // the codes of each brick's 512 cells, 0 where there is none; only for patterns that can be viewed mirrored
  Unzeroed<std::array<uint8_t, 512>> codes;

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

CellSet find_cells(const BitVolume& mask, const BitVolume* ignore, SurfaceKind kind, const Patterns& patterns, int threads);

// Binary tree over the bricks of a surface, for queries that are far away from it.
class BrickTree {
 public:
  struct Node {
    Box box;
    int32_t left = -1, right = -1;  // children, or
    int32_t brick = -1;             // a leaf's brick
  };
  explicit BrickTree(const CellSet& cells);
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  int32_t build(std::vector<int32_t>& order, size_t begin, size_t end, const CellSet& cells);
  std::vector<Node> nodes_;
};

struct Samples {
  Unzeroed<double> distance, area;
};

class PreparedPatterns;  // near.hpp

// From every sample of `from` to the nearest target of `to`.
Samples directed_distances(const CellSet& from, const CellSet& to, PreparedPatterns& prepared, int threads);

// The voxels of the mask whose centre lies within `width` mm of the mask's own surface.
BitVolume boundary_band(const BitVolume& mask, SurfaceKind kind, const Patterns& patterns, double width, int threads);
// The same for any surface: `make_reaches` makes a search that tells whether a lattice position is within the width.
using Reaches = std::function<bool(int64_t z, int64_t y, int64_t x)>;
BitVolume boundary_band(const BitVolume& mask, SurfaceKind kind, const Patterns& lattice, double width, int threads,
                        const std::function<Reaches()>& make_reaches);

}  // namespace segauge
