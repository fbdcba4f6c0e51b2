// The cuts of a sub-voxel surface along the lines of voxels.
#pragma once

#include <algorithm>

#include "edge_cuts.hpp"
#include "numbers.hpp"

namespace segauge {

using Place = std::array<int64_t, 3>;  // of a voxel on the lattice with one voxel of padding on each side

inline Place place_of(const Cell& cell) { return {cell.z, cell.y, cell.x}; }
inline Place padded_size(const BitVolume& mask) { return {mask.ndim == 3 ? mask.nz + 2 : 1, mask.ny + 2, mask.nx + 2}; }

inline bool is_inside(const BitVolume& mask, const Place& at) {
  const int64_t z = mask.ndim == 3 ? at[0] - 1 : 0, y = at[1] - 1, x = at[2] - 1;
  return z >= 0 && z < mask.nz && y >= 0 && y < mask.ny && x >= 0 && x < mask.nx && mask.get(z, y, x);
}

// On the lines of voxels along one axis, in ascending order.
class CutLines {
 public:
  CutLines(const EdgeCuts& cuts, const CellSet& set, const Place& size, size_t along)
      : first_(along == 0 ? 1 : 0), second_(along == 2 ? 1 : 2), along_(along), size_(size),
        start_(static_cast<size_t>(size[first_] * size[second_]) + 1, 0) {
    for (size_t i = 0; i < set.cells.size(); ++i)
      if (cuts.has(i, along)) ++start_[line(place_of(set.cells[i])) + 1];
    for (size_t k = 0; k + 1 < start_.size(); ++k) start_[k + 1] += start_[k];
    place_.resize(start_.back());
    std::vector<size_t> next(start_.begin(), start_.end() - 1);
    for (size_t i = 0; i < set.cells.size(); ++i)
      if (cuts.has(i, along)) {
        const Place at = place_of(set.cells[i]);
        place_[next[line(at)]++] = static_cast<double>(at[along]) + cuts.cut[i][along];
      }
    for (size_t k = 0; k + 1 < start_.size(); ++k)
      if (start_[k + 1] > start_[k] + 1) std::sort(place_.data() + start_[k], place_.data() + start_[k + 1]);
  }

  // The cuts on the line through a voxel.
  const double* begin(const Place& at) const { return place_.data() + start_[line(at)]; }
  const double* end(const Place& at) const { return place_.data() + start_[line(at) + 1]; }

  // How far the nearest cuts before and after a voxel on its line are, in steps; infinity where there is none.
  std::array<double, 2> arms(const Place& at) const {
    const auto here = static_cast<double>(at[along_]);
    const double *first = begin(at), *last = end(at), *after = first;
    while (after != last && *after < here) ++after;
    return {after == first ? kInfinity : here - after[-1], after == last ? kInfinity : *after - here};
  }

 private:
  size_t line(const Place& at) const { return static_cast<size_t>(at[first_] * size_[second_] + at[second_]); }

  size_t first_, second_, along_;
  Place size_;
  std::vector<size_t> start_;
  std::vector<double> place_;
};

}  // namespace segauge
