// Where the sub-voxel surface cuts the edges between the voxels of one block of cells.
#pragma once

#include "bell_shares.hpp"
#include "edge_cuts.hpp"
#include "normal_quantile.hpp"

namespace segauge {

// A block is two bricks long along each axis: the more cells have their bells worked out together, the fewer voxels around
// them are looked at.
class BlockCuts {
 public:
  static constexpr int64_t kBricks = BellShares::kEdge / CellSet::kBrickEdge;

  BlockCuts(const BitVolume& mask, const SubvoxelRule& rule) : rule_(rule), bells_(mask, rule) {}

  // Writes where the edges that begin at the lower corners of the block's cells are cut, 0 to 1. `at`: in blocks.
  void write(const CellSet& set, const std::array<int64_t, 3>& at, EdgeCuts& cuts) {
    bells_.enter({rule_.ndim == 3 ? at[0] * kEdge - 1 : 0, at[1] * kEdge - 1, at[2] * kEdge - 1});
    find_edges();
    bells_.need(ends_);
    bells_.spread(kWide);
    bells_.spread(kMiddle);
    if (!find_depths<false>()) {
      bells_.spread(kNarrow);
      find_depths<true>();
    }
    for (int64_t z = 0; z < (rule_.ndim == 3 ? kBricks : 1); ++z)
      for (int64_t y = 0; y < kBricks; ++y)
        for (int64_t x = 0; x < kBricks; ++x) {
          const CellSet::Brick* brick = set.brick(at[0] * kBricks + z, at[1] * kBricks + y, at[2] * kBricks + x);
          if (brick == nullptr) continue;
          for (size_t axis = rule_.ndim == 3 ? 0 : 1; axis < 3; ++axis) write_brick({z, y, x}, axis, *brick, cuts);
        }
  }

 private:
  static constexpr int64_t kEdge = BellShares::kEdge, kSide = BellShares::kSide, kBrickEdge = CellSet::kBrickEdge;
  enum Number : size_t { kWide, kMiddle, kNarrow };  // of a bell
  // Of a row of cells, one bit each: whose lower corner begins an edge that is cut, and for which of those both classes are
  // more than one voxel thick.
  struct Edges {
    uint32_t cut = 0, thick = 0;
  };
  using EdgesOfBlock = std::array<std::array<Edges, kEdge>, kEdge>;  // by z and y

  void find_edges() {
    constexpr uint32_t kCells = (1u << kEdge) - 1;
    for (auto& plane : ends_) plane.fill(0);
    for (int64_t z = 0; z < (rule_.ndim == 3 ? kEdge : 1); ++z)
      for (int64_t y = 0; y < kEdge; ++y) {
        const uint32_t here = bells_.voxels(z, y);
        // between neighbours along x: bit x is that of the voxels x - 1 and x
        const uint32_t along_x = here ^ here >> 1;
        note(2, z, y, along_x >> 1 & kCells, along_x | along_x >> 2);
        const uint32_t after_y = bells_.voxels(z, y + 1), cut_y = (here ^ after_y) >> 1 & kCells;
        note(1, z, y, cut_y, cut_y == 0 ? 0 : ((bells_.voxels(z, y - 1) ^ here) | (after_y ^ bells_.voxels(z, y + 2))) >> 1);
        if (rule_.ndim == 2) continue;
        const uint32_t after_z = bells_.voxels(z + 1, y), cut_z = (here ^ after_z) >> 1 & kCells;
        note(0, z, y, cut_z, cut_z == 0 ? 0 : ((bells_.voxels(z - 1, y) ^ here) | (after_z ^ bells_.voxels(z + 2, y))) >> 1);
      }
  }

  // Notes the edges along an axis from the voxels of a row that are cut; `thin`: where either class is one voxel thick.
  void note(size_t axis, int64_t z, int64_t y, uint32_t cut, uint32_t thin) {
    const uint32_t thick = cut & ~thin;
    edges_[axis][static_cast<size_t>(z)][static_cast<size_t>(y)] = {cut, thick};
    ends_[static_cast<size_t>(z)][static_cast<size_t>(y)] |= thick;
    ends_[static_cast<size_t>(z + (axis == 0))][static_cast<size_t>(y + (axis == 1))] |= axis == 2 ? thick << 1 : thick;
  }

  // Works out how deep in mm the voxels at the ends of edges lie in their own class, as long as the two wider bells are enough
  // for it; else returns false.
  template <bool kHasNarrow>
  bool find_depths() {
    for (int64_t z = 0; z < bells_.side_z(); ++z)
      for (int64_t y = 0; y < kSide; ++y) {
        uint32_t left = ends_[static_cast<size_t>(z)][static_cast<size_t>(y)];
        if (left == 0) continue;
        const uint32_t inside = bells_.voxels(z, y) >> 1;
        const double *wide_shares = bells_.shares(kWide, z, y), *middle_shares = bells_.shares(kMiddle, z, y);
        double* depths = depth_[static_cast<size_t>(z * kSide + y)].data();
        for (; left != 0; left &= left - 1) {
          const auto x = static_cast<size_t>(lowest_bit(left));
          const bool is_inside = inside >> x & 1;
          const double wide = depth(kWide, wide_shares[x], is_inside), middle = depth(kMiddle, middle_shares[x], is_inside);
          const double thin = (middle - wide - rule_.thin_from) / (rule_.thin_to - rule_.thin_from);
          if (!kHasNarrow && thin > 0) return false;
          const double smooth = 2 * middle - wide;
          const double sharp = thin > 0 ? 2 * depth(kNarrow, bells_.shares(kNarrow, z, y)[x], is_inside) - middle : smooth;
          depths[x] = std::max(smooth + (sharp - smooth) * std::min(std::max(thin, 0.0), 1.0), 0.0);
        }
      }
    return true;
  }

  // As one bell says, from the share of foreground in it.
  double depth(Number number, double share, bool is_inside) const {
    const double other = is_inside ? 1 - share : share;
    return -rule_.bells[number].width * quantile_(std::min(std::max(other, rule_.least_share), rule_.largest_share));
  }

  // The cuts of the edges along an axis from the cells of a brick, whose place in the block is given.
  void write_brick(const std::array<int64_t, 3>& place, size_t axis, const CellSet::Brick& brick, EdgeCuts& cuts) const {
    const int64_t first_z = place[0] * kBrickEdge, first_y = place[1] * kBrickEdge, first_x = place[2] * kBrickEdge;
    for (int64_t plane = 0; plane < (rule_.ndim == 3 ? kBrickEdge : 1); ++plane) {
      const uint64_t occupied = brick.occupied[static_cast<size_t>(plane)];
      size_t cell = static_cast<size_t>(brick.begin) + brick.before[static_cast<size_t>(plane)];
      for (int64_t line = 0; line < kBrickEdge; ++line) {
        const auto cells = static_cast<uint32_t>(occupied >> (kBrickEdge * line) & 0xFF);
        if (cells == 0) continue;
        const int64_t z = first_z + plane, y = first_y + line;
        const Edges& edges = edges_[axis][static_cast<size_t>(z)][static_cast<size_t>(y)];
        const auto row = static_cast<size_t>(z * kSide + y);
        const double* from = depth_[row].data() + first_x;
        const double* to = axis == 2 ? from + 1 : depth_[row + (axis == 0 ? kSide : 1)].data() + first_x;
        write_row(axis, {edges.cut >> first_x & 0xFF, edges.thick >> first_x & 0xFF}, from, to, cells, cell, cuts);
        cell += static_cast<size_t>(count_bits(cells));
      }
    }
  }

  // `from`, `to`: the depths at the ends of the edges; `cells`: those of the row that are occupied, the first of which has the
  // index `cell`.
  void write_row(size_t axis, const Edges& edges, const double* from, const double* to, uint32_t cells, size_t cell,
                 EdgeCuts& cuts) const {
    for (uint32_t left = edges.cut; left != 0; left &= left - 1) {
      const uint32_t here = left & (0u - left);
      const auto x = static_cast<size_t>(lowest_bit(left));
      const size_t at = cell + static_cast<size_t>(count_bits(cells & (here - 1)));
      if ((edges.thick & here) == 0) {
        cuts.cut[at][axis] = 0.5;
        continue;
      }
      cuts.cut[at][axis] = cut_between(from[x], to[x]);
      cuts.settle(at, axis, from[x] + to[x] < rule_.slope_to[axis]);
    }
  }

  double cut_between(double from, double to) const {
    if (from + to <= 0) return 0.5;
    return std::min(std::max(from / (from + to), rule_.margin), 1 - rule_.margin);
  }

  const SubvoxelRule& rule_;
  const NormalQuantile& quantile_ = NormalQuantile::table();
  BellShares bells_;
  std::array<EdgesOfBlock, 3> edges_{};  // by axis
  BellShares::VoxelRows ends_{};         // the voxels at the ends of edges
  std::array<std::array<double, kSide>, kSide * kSide> depth_;  // by row and place, of voxels at the ends of edges
};

}  // namespace segauge
