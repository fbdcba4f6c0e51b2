// The pieces of the sub-voxel surface: every polygon of a cell is a fan of triangles around the mean of its corners.
#pragma once

#include "surface/cell_grid.hpp"

namespace segauge {

// The fans of every cell code of marching cubes.
struct FanTable {
  static constexpr size_t kMostFans = 4, kMostCorners = 12;
  struct Shape {
    uint8_t fans = 0;
    std::array<uint8_t, kMostFans> corners{};  // of each fan; two where it is a segment (2-D)
    std::array<uint8_t, kMostCorners> edge{};  // the cell edges that they lie on, fan by fan
  };
  struct Edge {
    size_t axis = 0;
    std::array<int64_t, 3> low{};  // its lower end, in steps from the cell's origin
  };
  std::vector<Shape> shape;  // by code
  std::array<Edge, 12> edge;

  // Adds a fan to the last shape: a polygon with its corners on these edges, a segment if there are two.
  void add(const std::vector<Edge>& corners);
};

// The numbers of a fan: its middle, the mean of its corners, in mm from the cell's origin; from there to the corners,
// all x, all y, all z, each as many as fill registers of four, and one more. After the last corner the first ones
// follow again, so that what follows a spoke stands beside it.
struct FanNumbers {
  static constexpr size_t kTogether = 4, kSpokes = 3;  // kSpokes: where they begin
  static constexpr size_t row_of(size_t corners) { return (corners + kTogether - 1) / kTogether * kTogether + 1; }
  static constexpr size_t room_for(size_t corners) { return kSpokes + 3 * row_of(corners); }
};

// The fans of all cells of a surface.
struct Fans {
  struct OfCell {
    BoundingDisc disc;    // around its fans, in mm from the cell's origin; its middle is that of the first fan
    uint64_t begin;       // of their numbers
    uint32_t fan;         // the number of the first one
    uint32_t code;        // of the cell
    uint64_t padding[2];  // to a power of two: addresses are found by a shift
  };
  Uninitialised<OfCell> cell;
  Uninitialised<double> numbers;
  Uninitialised<double> area;  // by fan; in 2-D its length
};

// The corners of a fan, from the cell's origin; after the last one the first ones follow again.
struct FanCorners {
  static constexpr size_t kMost = FanTable::kMostCorners + FanNumbers::kTogether + 1;
  double x[kMost], y[kMost], z[kMost];
};

// The area of a fan, the sum of the normals of its triangles, each twice as long as its area, and how far its corners
// lie from its middle: aside and along that direction.
struct FanMeasures {
  double area;
  Vec3 normal;
  double radius, half_thickness;
};

}  // namespace segauge
