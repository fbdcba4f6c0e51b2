// The pieces of a binary surface by cell code: what is sampled, and what distances are measured to.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/uninitialised.hpp"
#include "search/near/neighbour_bounds.hpp"
#include "surface/bounding_disc.hpp"
#include "surface/symmetries.hpp"

namespace segauge {

// A triangle corner + s u + t v (s, t >= 0, s + t <= 1) or a rectangle (0 <= s, t <= 1; v = 0 makes it a segment),
// with what its distance to a point needs computed beforehand.
struct Target {
  Vec3 corner, u, v;
  bool is_rectangle;
  double uu, uv, vv;      // dot products
  double per_uu, per_vv;  // reciprocals, 0 for a flat side
  double per_third;       // and of the third edge of a triangle, squared
  Vec3 normal;            // unit; zero for a segment
};

// Samples side by side, as vector registers take them.
struct SampleGroup {
  static constexpr size_t kSize = 4;
  double x[kSize], y[kSize], z[kSize];

  static constexpr size_t count_for(size_t samples) { return (samples + kSize - 1) / kSize; }  // groups
};

// The pieces of a surface by cell code, in mm relative to the cell's origin.
struct CellPatterns {
  Vec3 step[3];   // mm that one step along each axis of the grid goes
  Vec3 cell_low;  // where a cell begins along each axis, in mm from its lattice position; for right angles only
  bool is_orthogonal = true;
  std::vector<int64_t> sample_start, target_start;
  std::vector<int64_t> same_as;  // for every code the first one with the same pieces
  Uninitialised<Vec3> sample;
  Uninitialised<double> area;
  Uninitialised<Target> target;
  std::vector<Box> sample_box, target_box;  // of each code
  std::vector<BoundingDisc> disc;           // around the targets of each code
  // mm from each sample to the nearest cell more than one step away, and to the nearest of which no distances are known
  std::vector<double> clearance, wide_clearance;
  std::vector<double>
      sample_reach;  // mm that a point of the pieces of a code may be away from the nearest of its samples
  std::vector<int64_t> group_start;  // the samples of each code once more, in groups, the last one repeated
  Uninitialised<SampleGroup> group;

  // none where only the lattice is of interest
  const Symmetries* symmetries = nullptr;
  const NeighbourBounds* beside = nullptr;

  Vec3 offset(int64_t z, int64_t y, int64_t x) const {
    if (is_orthogonal) return {step[0][0] * z, step[1][1] * y, step[2][2] * x};
    Vec3 p;
    for (int i = 0; i < 3; ++i) p[i] = step[0][i] * z + step[1][i] * y + step[2][i] * x;
    return p;
  }
  // How many cells along each axis a distance of 1 mm can reach.
  Vec3 reach() const;
};

}  // namespace segauge
