// The cuts of a sub-voxel surface along the lines of voxels.
#pragma once

#include <algorithm>

#include "core/vectors.hpp"
#include "subvoxel/edge_vertices.hpp"

namespace segauge {

using Place = std::array<int64_t, 3>;  // of a voxel on the lattice with one voxel of padding on each side

inline Place place_of(const Cell& cell) { return {cell.z, cell.y, cell.x}; }
inline Place padded_size(const BitVolume& mask) { return {mask.ndim == 3 ? mask.nz + 2 : 1, mask.ny + 2, mask.nx + 2}; }

inline bool is_inside(const BitVolume& mask, const Place& at) {
  const int64_t z = mask.ndim == 3 ? at[0] - 1 : 0, y = at[1] - 1, x = at[2] - 1;
  return z >= 0 && z < mask.nz && y >= 0 && y < mask.ny && x >= 0 && x < mask.nx && mask.get(z, y, x);
}

// How far the nearest cuts before and after a voxel on its line are; infinity where there is none.
struct Arms {
  double before, after;
};

// Places that belong to lists, as they are found.
struct ListedPlaces {
  Uninitialised<uint32_t> list;
  Uninitialised<double> place;
  size_t count = 0;

  explicit ListedPlaces(size_t most) : list(most + 1), place(most + 1) {}
  // Where nothing is `found`, the next one takes its room: branch-free.
  void add(size_t to, double at, bool found = true) {
    list[count] = static_cast<uint32_t>(to);
    place[count] = at;
    count += found;
  }
};

// Lists of places, in ascending order.
class SortedLists {
 public:
  SortedLists(size_t lists, const ListedPlaces& of) : start_(lists + 1, 0), place_(of.count) {
    for (size_t i = 0; i < of.count; ++i) ++start_[of.list[i] + 1];
    for (size_t k = 0; k < lists; ++k) start_[k + 1] += start_[k];
    std::vector<uint32_t> next(start_.begin(), start_.end() - 1);
    for (size_t i = 0; i < of.count; ++i) {
      // cells come brick by brick, so that no place comes more than a brick too late
      const double* const first = begin(of.list[i]);
      double* to = place_.data() + next[of.list[i]]++;
      for (; to != first && to[-1] > of.place[i]; --to) *to = to[-1];
      *to = of.place[i];
    }
  }

  const double* begin(size_t list) const { return place_.data() + start_[list]; }
  const double* end(size_t list) const { return place_.data() + start_[list + 1]; }

  Arms arms(size_t list, double here) const {
    const double *first = begin(list), *last = end(list), *after = first;
    while (after != last && *after < here) ++after;
    return {after == first ? kInfinity : here - after[-1], after == last ? kInfinity : *after - here};
  }

 private:
  std::vector<uint32_t> start_;
  Uninitialised<double> place_;
};

// The cuts on the lines of voxels along one axis, in steps.
class VertexLines {
 public:
  // The numbers of the lines of a lattice.
  class Numbers {
   public:
    Numbers(const Place& size, size_t along) : along_(along), count_(1) {
      for (size_t axis = 3; axis-- > 0;) {
        lines_in_step_[axis] = axis == along ? 0 : count_;
        if (axis != along) count_ *= size[axis];
      }
    }
    size_t along() const { return along_; }
    size_t count() const { return static_cast<size_t>(count_); }
    // By how much the number of a line changes with a step along another axis.
    int64_t lines_in_step(size_t axis) const { return lines_in_step_[axis]; }
    // The number of the line through a voxel.
    size_t of(const Place& at) const {
      return static_cast<size_t>(at[0] * lines_in_step_[0] + at[1] * lines_in_step_[1] + at[2] * lines_in_step_[2]);
    }

   private:
    size_t along_;
    int64_t count_;
    Place lines_in_step_;
  };

  VertexLines(const Numbers& numbers, const ListedPlaces& cuts) : numbers_(numbers), lists_(numbers.count(), cuts) {}

  const Numbers& numbers() const { return numbers_; }
  // The cuts on a line.
  const double* begin(size_t line) const { return lists_.begin(line); }
  const double* end(size_t line) const { return lists_.end(line); }
  // Those beside a voxel, or beside the same place of another line.
  Arms arms(size_t line, const Place& at) const { return lists_.arms(line, static_cast<double>(at[numbers_.along()])); }

 private:
  Numbers numbers_;
  SortedLists lists_;
};

// Where the Gaussians cut the lines of voxels along each axis.
inline std::array<VertexLines, 3> find_vertex_lines(const EdgeVertices& cuts, const CellGrid& grid, const Place& size) {
  const std::array<VertexLines::Numbers, 3> numbers{{{size, 0}, {size, 1}, {size, 2}}};
  std::array<ListedPlaces, 3> found{ListedPlaces(grid.cells.size()), ListedPlaces(grid.cells.size()),
                                    ListedPlaces(grid.cells.size())};
  for (const auto& [cell, axis] : cuts.edges) {
    const Place at = place_of(grid.cells[cell]);
    found[axis].add(numbers[axis].of(at), static_cast<double>(at[axis]) + cuts.cut[cell][axis]);
  }
  return {VertexLines(numbers[0], found[0]), VertexLines(numbers[1], found[1]), VertexLines(numbers[2], found[2])};
}

}  // namespace segauge
