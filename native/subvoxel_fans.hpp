// The pieces of the sub-voxel surface: every polygon of a cell is a fan of triangles around its middle.
#pragma once

#include "surface.hpp"

namespace segauge {

// From the apex of a fan to one of its corners, and the triangle between this spoke and the next: what their distances
// to a point need. A segment (2-D) is a fan of one spoke; a polygon of three corners one of two, from the first corner.
struct Spoke {
  Vec3 side;
  double squared, per_squared;  // its length squared, and the reciprocal of that
  double along_next;            // dot product with the next one
  double per_rim;               // reciprocal of the squared length of the edge between their ends
  Vec3 normal;                  // of the triangle; unit
};

// The fans of every cell code of marching cubes.
struct FanTable {
  struct Fan {
    uint8_t corners, spokes, pieces;
    bool is_closed;  // the last spoke is followed by the first
  };
  static constexpr size_t kMostFans = 4, kMostCorners = 12;
  struct Shape {
    uint8_t fans = 0, spokes = 0, pieces = 0;
    std::array<Fan, kMostFans> fan{};
    std::array<uint8_t, kMostCorners> edge{};  // the cell edges that the corners lie on, fan by fan
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

// The fans of all cells of a surface.
struct Fans {
  struct Start {
    size_t apex, spoke;
  };
  Unzeroed<Start> start;  // by cell
  Unzeroed<Vec3> apex;       // in mm from the cell's origin
  Unzeroed<Spoke> spoke;
  Unzeroed<Disc> disc;  // by cell
};

// A point of every piece of some cells, its middle, and the area (length in 2-D) that it stands for.
struct FanSamples {
  static constexpr size_t kMostGroups = FanTable::kMostCorners / SampleGroup::kSize;
  size_t count = 0;
  Box box;
  std::array<SampleGroup, kMostGroups> groups;
  std::array<double, FanTable::kMostCorners> area;

  // Adds those of a cell whose origin is at `offset`.
  void add(const FanTable::Shape& shape, const Vec3* apex, const Spoke* spoke, const Vec3& offset);
  // Repeats the last one to fill its group.
  void fill_up();

 private:
  void add(const Vec3& middle, double size);
};

}  // namespace segauge
