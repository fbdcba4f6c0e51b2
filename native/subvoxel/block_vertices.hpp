// Where the sub-voxel surface cuts the edges between the voxels of one block of cells.
#pragma once

#include "subvoxel/edge_vertices.hpp"
#include "subvoxel/gaussian_shares.hpp"
#include "subvoxel/normal_quantile.hpp"

namespace segauge {

// A block is two bricks long along each axis: the more cells have their Gaussians computed together, the fewer voxels
// around them are looked at.
class BlockVertices {
 public:
  static constexpr int64_t kBricks = GaussianShares::kEdge / CellGrid::kBrickEdge;

  BlockVertices(const BitVolume& mask, const SubvoxelRule& rule) : rule_(rule), gaussians_(mask, rule) {}

  // Writes where the edges that begin at the lower corners of the block's cells are cut, 0 to 1. `at`: in blocks.
  void write(const CellGrid& grid, const std::array<int64_t, 3>& at, EdgeVertices& cuts) {
    gaussians_.enter({rule_.ndim == 3 ? at[0] * kEdge - 1 : 0, at[1] * kEdge - 1, at[2] * kEdge - 1});
    find_edges();
    gaussians_.need(ends_);
    gaussians_.convolve(kWide);
    gaussians_.convolve(kMiddle);
    if (!find_depths<false>()) {
      gaussians_.convolve(kNarrow);
      find_depths<true>();
    }
    for (int64_t z = 0; z < (rule_.ndim == 3 ? kBricks : 1); ++z)
      for (int64_t y = 0; y < kBricks; ++y)
        for (int64_t x = 0; x < kBricks; ++x) {
          const CellGrid::Brick* brick = grid.brick(at[0] * kBricks + z, at[1] * kBricks + y, at[2] * kBricks + x);
          if (brick != nullptr) write_brick(grid, static_cast<size_t>(brick - grid.bricks.data()), cuts);
        }
  }

 private:
  static constexpr int64_t kEdge = GaussianShares::kEdge, kSide = GaussianShares::kSide;
  enum Number : size_t { kWide, kMiddle, kNarrow };  // of a Gaussian
  // By z and y: of a row of cells, one bit each, whose lower corner begins an edge that is cut, and on both sides of
  // which the classes are more than one voxel thick.
  using EdgesOfBlock = std::array<std::array<uint32_t, kEdge>, kEdge>;

  void find_edges() {
    constexpr uint32_t kCells = (1u << kEdge) - 1;
    for (auto& plane : ends_) plane.fill(0);
    for (int64_t z = 0; z < (rule_.ndim == 3 ? kEdge : 1); ++z)
      for (int64_t y = 0; y < kEdge; ++y) {
        const uint32_t here = gaussians_.voxels(z, y);
        // between neighbours along x: bit x is that of the voxels x - 1 and x
        const uint32_t along_x = here ^ here >> 1;
        note(2, z, y, along_x >> 1 & kCells, along_x | along_x >> 2);
        const uint32_t after_y = gaussians_.voxels(z, y + 1), cut_y = (here ^ after_y) >> 1 & kCells;
        note(1, z, y, cut_y,
             cut_y == 0 ? 0 : ((gaussians_.voxels(z, y - 1) ^ here) | (after_y ^ gaussians_.voxels(z, y + 2))) >> 1);
        if (rule_.ndim == 2) continue;
        const uint32_t after_z = gaussians_.voxels(z + 1, y), cut_z = (here ^ after_z) >> 1 & kCells;
        note(0, z, y, cut_z,
             cut_z == 0 ? 0 : ((gaussians_.voxels(z - 1, y) ^ here) | (after_z ^ gaussians_.voxels(z + 2, y))) >> 1);
      }
  }

  // Notes the edges along an axis from the voxels of a row that are cut; `thin`: where either class is one voxel thick.
  void note(size_t axis, int64_t z, int64_t y, uint32_t cut, uint32_t thin) {
    const uint32_t thick = cut & ~thin;
    thick_[axis][static_cast<size_t>(z)][static_cast<size_t>(y)] = thick;
    ends_[static_cast<size_t>(z)][static_cast<size_t>(y)] |= thick;
    ends_[static_cast<size_t>(z + (axis == 0))][static_cast<size_t>(y + (axis == 1))] |= axis == 2 ? thick << 1 : thick;
  }

  // Computes how deep in mm the voxels at the ends of edges lie in their own class, as long as the two wider Gaussians
  // are enough for it; else returns false.
  template <bool kHasNarrow>
  bool find_depths() {
    for (int64_t z = 0; z < gaussians_.side_z(); ++z)
      for (int64_t y = 0; y < kSide; ++y) {
        uint32_t left = ends_[static_cast<size_t>(z)][static_cast<size_t>(y)];
        if (left == 0) continue;
        const uint32_t inside = gaussians_.voxels(z, y) >> 1;
        const double *wide_shares = gaussians_.shares(kWide, z, y), *middle_shares = gaussians_.shares(kMiddle, z, y);
        double* depths = depth_.data() + (z * kSide + y) * kSide;
        for (; left != 0; left &= left - 1) {
          const auto x = static_cast<size_t>(lowest_bit(left));
          const bool is_inside = inside >> x & 1;
          const double wide = depth(kWide, wide_shares[x], is_inside),
                       middle = depth(kMiddle, middle_shares[x], is_inside);
          const double thin = (middle - wide - rule_.thin_from) / (rule_.thin_to - rule_.thin_from);
          if (!kHasNarrow && thin > 0) return false;
          const double smooth = 2 * middle - wide;
          const double sharp =
              thin > 0 ? 2 * depth(kNarrow, gaussians_.shares(kNarrow, z, y)[x], is_inside) - middle : smooth;
          depths[x] = std::max(smooth + (sharp - smooth) * std::min(std::max(thin, 0.0), 1.0), 0.0);
        }
      }
    return true;
  }

  // As one Gaussian says, from the share of foreground in it.
  double depth(Number number, double share, bool is_inside) const {
    const double other = is_inside ? 1 - share : share;
    return -rule_.gaussians[number].width *
           quantile_(std::min(std::max(other, rule_.least_share), rule_.largest_share));
  }

  // The cuts of the edges that begin at the cells of a brick: halfway where a class is one voxel thick. Branch-free.
  void write_brick(const CellGrid& grid, size_t brick, EdgeVertices& cuts) const {
    static constexpr std::array<size_t, 3> kToEnd{kSide * kSide, kSide, 1};
    constexpr double kHalf = 0.5;
    for (size_t e = cuts.first_edge[brick]; e < cuts.first_edge[brick + 1]; ++e) {
      const auto [cell, axis] = cuts.edges[e];
      const Cell& at = grid.cells[cell];
      const auto z = static_cast<size_t>(at.z & (kEdge - 1)), y = static_cast<size_t>(at.y & (kEdge - 1));
      const auto x = static_cast<size_t>(at.x & (kEdge - 1));
      const bool is_thick = thick_[axis][z][y] >> x & 1;
      const size_t voxel = (z * kSide + y) * kSide + x;
      const double from = depth_[voxel], to = depth_[voxel + kToEnd[axis]];
      const double between = vertex_between(from, to);
      std::memcpy(&cuts.cut[cell][axis], is_thick ? &between : &kHalf, sizeof between);
      cuts.settle(cell, axis, is_thick & (from + to < rule_.slope_to[axis]));
    }
  }

  // Halfway between two voxels that both have no depth: what is added is lost in any other.
  double vertex_between(double from, double to) const {
    constexpr double kTiny = 1e-300;
    return std::min(std::max((from + kTiny) / (from + kTiny + (to + kTiny)), rule_.margin), 1 - rule_.margin);
  }

  const SubvoxelRule& rule_;
  const NormalQuantile& quantile_ = NormalQuantile::table();
  GaussianShares gaussians_;
  std::array<EdgesOfBlock, 3> thick_{};                // by axis
  GaussianShares::VoxelRows ends_{};                   // the voxels at the ends of thick edges
  std::array<double, kSide * kSide * kSide> depth_{};  // of voxels at the ends of thick edges, by z, y and x
};

}  // namespace segauge
