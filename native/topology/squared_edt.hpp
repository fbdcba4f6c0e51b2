// The voxels of a mask in the order of their depth: how far the background is, and how deep it is around them.
#pragma once

#include <vector>

#include "core/bit_volume.hpp"

namespace segauge {

// A voxel is named by the address of its bit, in a volume with one empty voxel around the image: a step along an axis
// is a fixed number, and no neighbour needs a look at the border.
struct PaddedLayout {
  int64_t nz, ny, row, plane;  // planes, and rows of a plane, of the padded volume; bits a row and a plane

  explicit PaddedLayout(const BitVolume& mask)
      : nz(mask.nz + 2), ny(mask.ny + 2), row((mask.nx + 2 + 63) / 64 * 64), plane(row * ny) {}
  int64_t size() const { return plane * nz; }
  int64_t address(int64_t z, int64_t y) const { return (z + 1) * plane + (y + 1) * row; }
};

// The bits of a mask in the padded volume, one word more than it has.
std::vector<uint64_t> padded_words(const BitVolume& mask, const PaddedLayout& layout);

// A depth is the squared distance to the nearest background voxel, in voxels, exact; of the same depth, the sum of it
// over the 27 voxels around comes next. The outermost voxels are all alike: their sum is taken as 0.
struct DepthOrder {
  int address_bits = 0;
  std::vector<uint64_t> voxels;  // ascending by depth and sum; the sum stands above the bits of the address
  std::vector<size_t> begin;     // of each depth, and one more

  DepthOrder(const BitVolume& mask, const PaddedLayout& layout);
  int64_t address(size_t i) const { return static_cast<int64_t>(voxels[i] & ((uint64_t{1} << address_bits) - 1)); }
  uint64_t sum(size_t i) const { return voxels[i] >> address_bits; }
};

}  // namespace segauge
