// The sub-voxel surface (segauge/geometry/subvoxel.py): the marching-cubes surface of a mask with its vertices moved
// along the cell edges to where the neighbourhood says that the boundary passes.
#pragma once

#include "search/directed_distances.hpp"
#include "subvoxel/fans.hpp"

namespace segauge {

// How the depths of voxels and the pieces of cells come about on one lattice.
struct SubvoxelRule {
  struct Gaussian {
    static constexpr int64_t kMostRadius = 5;
    double width = 0;
    std::array<int64_t, 3> radius{};
    // weights of the voxels along each axis, from -radius to radius, and as many zeros as fill registers
    std::array<std::array<double, 2 * kMostRadius + 2>, 3> along{};
    std::array<std::vector<double>, 3>
        of_bits;  // by 2 radius + 1 voxels along it, one bit each: the sum of their weights
    // by 2 radius + 2 voxels along the last axis: the sums around two neighbours
    std::vector<std::array<double, 2>> of_neighbours;
  };
  int ndim = 3;
  double margin = 0, least_share = 0, largest_share = 1, thin_from = 0, thin_to = 1;
  std::array<Gaussian, 3> gaussians;  // widest first
  FanTable fans;
  std::array<double, 3> slope_to{};  // by axis: if the depths at the ends of an edge add up to less, there is no cap
  // Chords say where caps end (caps.hpp).
  std::array<bool, 3> has_caps{};       // by axis
  std::array<double, 3> chord_reach{};  // by axis: how far their ends may be, in mm
  double chord_error = 0;               // mm that they may be off
  double roundness_error = 0;           // what a cap may differ from a round one
  double strip_error = 0;               // how much too high chords end a strip halfway between two layers, in steps
  double flat_steps = 0;                // how far a flat top must reach, in steps of the axis
  // how far Gaussians may be off, squared, in steps: on a slope, and how much more on a flat top
  double gaussians_variance = 0, flat_variance = 0;
  // Along a thick axis the vertices lie where the outlines in the slices say (outlines.hpp).
  std::array<bool, 3> is_thick{};
  std::array<double, 3> edge{};  // of a voxel, mm
  double near_steps = 0,
         far_steps = 0;  // how far an outline may be outside and inside of it, in steps of the thick axis
  CellPatterns lattice;  // its steps, and for every code a box that holds all that can be in a cell
};

// Where the surface of a mask passes, and its pieces.
struct SubvoxelSurface {
  CellGrid grid;
  Fans fans;  // by cell of the set
};

SubvoxelSurface find_subvoxel_surface(const BitVolume& mask, const BitVolume* ignore, const SubvoxelRule& rule,
                                      int threads);

// From every sample of `from` to the nearest piece of `to`.
Samples directed_distances(const SubvoxelSurface& from, const SubvoxelSurface& to, const SubvoxelRule& rule,
                           int threads);

// From any point of the sampled pieces of `from`: the largest distance (search/maximum.hpp). `samples`: theirs.
double largest_distance(const SubvoxelSurface& from, const SubvoxelSurface& to, const SubvoxelRule& rule,
                        const Samples& samples);

// The voxels of the mask whose centre lies within `width` mm of its surface.
BitVolume boundary_band(const BitVolume& mask, const SubvoxelSurface& surface, const SubvoxelRule& rule, double width,
                        int threads);

}  // namespace segauge
