// Connected components of a bit volume, kept as runs: everything here costs time and memory in proportion to the
// number of runs (and of 64-bit words), never to components of one mask times components of the other.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/bit_volume.hpp"

namespace segauge {

// Voxels [start, stop) of one row, all of one component.
struct Run {
  int32_t start, stop, component;
};

// The voxels of a mask, each belonging to one of `count` numbered components. Rows follow each other in raster order,
// and so do the runs of a row: runs[row_begin[r]] to runs[row_begin[r + 1]] with r = z * ny + y.
struct Components {
  int ndim = 3;
  int64_t nz = 1, ny = 1, nx = 1;
  int32_t count = 0;
  std::vector<int64_t> row_begin;
  std::vector<Run> runs;
};

// What the voxels of one component add up to. Without voxels the box is [0, 0).
struct ComponentStatistics {
  int64_t voxels = 0;
  std::array<int64_t, 3> index_sum{0, 0, 0};
  std::array<int64_t, 3> first{0, 0, 0};
  std::array<int64_t, 3> stop{0, 0, 0};
};

// A component of one mask and one of another with the number of voxels that they share.
struct ComponentOverlap {
  int32_t a, b;
  int64_t voxels;
};

// Two voxels are neighbours if they differ by at most one along each axis, and along at most `rank` axes: rank 1, 2, 3
// is 6, 18, 26 neighbours in 3-D and 4, 8, 8 in 2-D. Components are numbered in raster order of their first voxel.
Components label_components(const BitVolume& mask, int rank);

std::vector<ComponentStatistics> component_statistics(const Components& components);

// Every pair of components that share a voxel, sorted by a, then b.
std::vector<ComponentOverlap> shared_voxels(const Components& a, const Components& b);

// Every (a, b) such that the centroid of component a lies in a voxel of component b, voxels taken with their borders:
// a centroid on the face between two voxels lies in both. Sorted by a, then b.
std::vector<std::pair<int32_t, int32_t>> centroid_pairs(const Components& a, const Components& b);

// The voxels of a mask that lie in `zones`, under the zones' numbers.
Components restrict_components(const Components& zones, const BitVolume& mask);

// The voxels of the chosen components (ascending numbers) inside the box [start, stop).
BitVolume select_components(const Components& components, const std::vector<int32_t>& chosen,
                            const std::array<int64_t, 3>& start, const std::array<int64_t, 3>& stop);

// Adds all neighbours of the given rank, `iterations` times; what would leave the volume is cut off.
BitVolume dilate(const BitVolume& mask, int rank, int64_t iterations);

}  // namespace segauge
