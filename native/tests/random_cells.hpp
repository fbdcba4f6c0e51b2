// Random masks, and the pieces of voxel faces: a surface that needs no table from Python.
#pragma once

#include <random>

#include "core/bit_volume.hpp"
#include "surface/cell_shapes.hpp"

namespace segauge {

using Random = std::mt19937_64;

inline double uniform(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

inline BitVolume random_mask(Random& random, int64_t z, int64_t y, int64_t x, double share) {
  BitVolume mask(3, z, y, x);
  for (int64_t i = 0; i < z; ++i)
    for (int64_t j = 0; j < y; ++j)
      for (int64_t k = 0; k < x; ++k)
        if (uniform(random, 0, 1) < share) mask.set(i, j, k);
  return mask;
}

// The faces on the lower sides of voxels: bit a of a code is that across axis a.
inline CellShapes voxel_faces() {
  CellShapes out;
  out.cell_low = {-0.5, -0.5, -0.5};
  out.sample_start = out.target_start = {0};
  for (int64_t code = 0; code < 8; ++code) {
    out.same_as.push_back(code);
    for (size_t axis = 0; axis < 3; ++axis) {
      if ((code >> axis & 1) == 0) continue;
      Vec3 corner{-0.5, -0.5, -0.5}, u{}, v{}, middle{}, normal{};
      u[(axis + 1) % 3] = v[(axis + 2) % 3] = normal[axis] = 1;
      middle[axis] = -0.5;
      out.target.push_back({corner, u, v, true, static_cast<int64_t>(out.target.size())});
      out.sample.push_back(middle);
      out.extent.push_back(normal);
    }
    out.sample_start.push_back(static_cast<int64_t>(out.sample.size()));
    out.target_start.push_back(static_cast<int64_t>(out.target.size()));
  }
  Symmetries& symmetries = out.symmetries;
  symmetries.all = {{{0, 1, 2}, {1, 1, 1}}};
  for (uint8_t code = 0; code < 8; ++code) {
    symmetries.image_code.push_back(code);
    for (auto i = out.sample_start[code]; i < out.sample_start[code + 1]; ++i)
      symmetries.image_sample.push_back(static_cast<uint8_t>(i - out.sample_start[code]));
  }
  symmetries.image_sample.resize(symmetries.image_sample.size() + 16);  // whole groups are read
  number_distinct_codes(out);
  find_canonical_codes(out);
  find_image_steps(out);
  out.beside = neighbour_bounds(out);
  return out;
}

inline CellPatterns on_lattice(const CellShapes& shapes, const Vec3& edges) {
  CellPatterns out;
  for (size_t axis = 0; axis < 3; ++axis) out.step[axis] = {0, 0, 0}, out.step[axis][axis] = edges[axis];
  put_on_lattice(shapes, out);
  return out;
}

}  // namespace segauge
