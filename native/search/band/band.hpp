// Which voxels of a mask lie near its own surface, as far as the bits of the mask tell.
#pragma once

#include <functional>

#include "surface/cell_grid.hpp"

namespace segauge {

// Of the voxels of a mask: those whose centre lies within a width of the surface for certain, and those of which the
// bits do not tell. All others are further away.
struct BandBits {
  BitVolume sure, open;
};

// For a surface of the kind given.
BandBits band_bits(const BitVolume& mask, SurfaceKind kind, const CellPatterns& lattice, double width);
// For any surface that passes cells with voxels of both classes only, wherever in them.
BandBits band_bits_of_cells(const BitVolume& mask, const CellPatterns& lattice, double width);

// How many steps along each axis from a voxel the cells within the width may end.
std::array<int64_t, 3> steps_within(const BitVolume& mask, const CellPatterns& lattice, double width);

// Whether the surface is within the width of a lattice position.
using Reaches = std::function<bool(int64_t z, int64_t y, int64_t x)>;
// The sure voxels, and those of the open ones of which a search, made once for every thread, says so.
BitVolume search_open(BandBits bits, int threads, const std::function<Reaches()>& make_reaches);
// A search for lattice positions as one for voxels: marching-cubes cells are counted from the padded border, voxel
// faces from the first voxel.
Reaches on_lattice(SurfaceKind kind, int ndim, Reaches search);

// The voxels of the mask whose centre lies within `width` mm of the mask's own surface.
BitVolume boundary_band(const BitVolume& mask, SurfaceKind kind, const CellPatterns& patterns, double width,
                        int threads);
// The same for any surface: `make_reaches` makes a search that tells whether a lattice position is within the width.
BitVolume boundary_band(const BitVolume& mask, SurfaceKind kind, const CellPatterns& lattice, double width, int threads,
                        const std::function<Reaches()>& make_reaches);

}  // namespace segauge
