// Where the sub-voxel surface cuts edges across thick slices: on the circle through the outlines of the slices nearby
// (segauge/geometry/reference/profiles.py).
#pragma once

#include "subvoxel.hpp"

namespace segauge {

// Where the edges along one thick axis are cut, by brick and place in it.
class ProfileCuts {
 public:
  // The cells' codes are not looked at: they may be those of marching cubes or their own.
  ProfileCuts(const BitVolume& mask, const CellSet& set, const SubvoxelRule& rule, size_t axis, int threads);

  // Of the edge whose lower voxel has a place counted from the first voxel of a brick; it must be cut.
  double cut(const CellSet& set, const CellSet::Brick& brick, std::array<int64_t, 3> low) const;

 private:
  struct Block {
    std::array<uint64_t, 8> has{};     // one word a plane, bit 8 y + x: whether the edge from that voxel is cut
    std::array<uint16_t, 8> before{};  // cut edges of the brick before each plane
    size_t begin = 0;
  };
  std::vector<Block> blocks_;  // by brick
  std::vector<double> cut_;
};

}  // namespace segauge
