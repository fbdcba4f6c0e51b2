// The cuts of a sub-voxel surface along the lines of voxels.
#pragma once

#include <algorithm>
#include <optional>

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

// How far the nearest cuts before and after a voxel on its line are; infinity where there is none.
struct Arms {
  double before, after;
};

// Lists of places, in ascending order: announced one by one, then made room for, then added, then sorted.
class SortedLists {
 public:
  explicit SortedLists(size_t lists) : start_(lists + 1, 0) {}

  void announce(size_t list) { ++start_[list + 1]; }
  void make_room() {
    for (size_t k = 0; k + 1 < start_.size(); ++k) start_[k + 1] += start_[k];
    place_.resize(start_.back());
    next_.assign(start_.begin(), start_.end() - 1);
  }
  void add(size_t list, double place) { place_[next_[list]++] = place; }
  void sort() {
    for (size_t k = 0; k + 1 < start_.size(); ++k)
      if (start_[k + 1] > start_[k] + 1) std::sort(place_.data() + start_[k], place_.data() + start_[k + 1]);
    next_ = {};
  }

  const double* begin(size_t list) const { return place_.data() + start_[list]; }
  const double* end(size_t list) const { return place_.data() + start_[list + 1]; }

  Arms arms(size_t list, double here) const {
    const double *first = begin(list), *last = end(list), *after = first;
    while (after != last && *after < here) ++after;
    return {after == first ? kInfinity : here - after[-1], after == last ? kInfinity : *after - here};
  }

 private:
  std::vector<uint32_t> start_, next_;
  Unzeroed<double> place_;
};

// The cuts on the lines of voxels along one axis, in steps.
class CutLines {
 public:
  CutLines(const Place& size, size_t along)
      : first_(along == 0 ? 1 : 0), second_(along == 2 ? 1 : 2), along_(along), row_(size[second_]),
        lists_(static_cast<size_t>(size[first_] * size[second_])) {}

  void announce(const Place& at) { lists_.announce(line(at)); }
  void make_room() { lists_.make_room(); }
  // The cut of the edge that begins at a voxel, 0 to 1.
  void add(const Place& at, double cut) { lists_.add(line(at), static_cast<double>(at[along_]) + cut); }
  void sort() { lists_.sort(); }

  // The cuts on the line through a voxel.
  const double* begin(const Place& at) const { return lists_.begin(line(at)); }
  const double* end(const Place& at) const { return lists_.end(line(at)); }

  // Those of another line, beside the same voxel.
  Arms arms(size_t line, const Place& at) const { return lists_.arms(line, static_cast<double>(at[along_])); }
  // The number of the line through a voxel, and by how much it changes with a step along another axis.
  size_t line(const Place& at) const { return static_cast<size_t>(at[first_] * row_ + at[second_]); }
  int64_t lines_in_step(size_t axis) const { return axis == first_ ? row_ : 1; }

 private:

  size_t first_, second_, along_;
  int64_t row_;
  SortedLists lists_;
};

// Cuts on the diagonals of the layers across one axis, in one of two directions. Along a diagonal, the cut between two voxels
// is where the outline, straight between the cuts of the edges around, crosses it.
class CutDiagonals {
 public:
  CutDiagonals(const EdgeCuts& cuts, const CellSet& set, const Place& size, size_t axis, bool is_rising)
      : axis_(axis), p_(axis == 0 ? 1 : 0), q_(axis == 2 ? 1 : 2), is_rising_(is_rising), size_(size),
        lists_(static_cast<size_t>(size[axis] * (size[p_] + size[q_]))) {
    auto for_cut = [&](auto&& visit) {
      for (size_t i = 0; i < set.cells.size(); ++i) {
        const Square square(cuts.code[i], p_, q_, is_rising);
        if (!square.is_cut()) continue;
        Place at = place_of(set.cells[i]);
        if (!is_rising) at[q_] += 1;
        visit(i, square, at);
      }
    };
    for_cut([&](size_t, const Square&, const Place& at) { lists_.announce(line(at)); });
    lists_.make_room();
    for_cut([&](size_t i, const Square& square, const Place& at) {
      lists_.add(line(at), static_cast<double>(at[p_]) + square.place(cuts, set, i, p_, q_));
    });
    lists_.sort();
  }

  Arms arms(const Place& at) const { return lists_.arms(line(at), static_cast<double>(at[p_])); }

 private:
  // Four voxels of a layer, those at the lower side of a cell: the one that a diagonal comes from, the one that it goes to,
  // and those beside it along p and q.
  class Square {
   public:
    Square(unsigned code, size_t p, size_t q, bool is_rising) : is_rising_(is_rising) {
      const unsigned step_p = 4u >> p, step_q = 4u >> q;
      auto has = [&](unsigned bit) { return (code >> bit & 1) != 0; };
      from_ = has(is_rising ? 0 : step_q);
      to_ = has(is_rising ? step_p + step_q : step_p);
      beside_p_ = has(is_rising ? step_p : step_p + step_q);
      beside_q_ = has(is_rising ? step_q : 0);
    }

    bool is_cut() const { return from_ != to_; }

    // Where between its ends the diagonal is cut, from the cuts of the edges between the voxels.
    double place(const EdgeCuts& cuts, const CellSet& set, size_t cell, size_t p, size_t q) const {
      // the cuts of the edges on the lower and on the upper side: of the two along p and of the two along q
      const Place at = place_of(set.cells[cell]);
      auto low_p = [&] { return cuts.cut[cell][p]; };
      auto low_q = [&] { return cuts.cut[cell][q]; };
      auto high_p = [&] { return beyond(cuts, set, at, q, p); };
      auto high_q = [&] { return beyond(cuts, set, at, p, q); };
      // from where the diagonal comes, and to where it goes
      auto from_p = [&] { return is_rising_ ? low_p() : high_p(); };
      auto from_q = [&] { return is_rising_ ? low_q() : 1 - low_q(); };
      auto to_p = [&] { return is_rising_ ? high_p() : low_p(); };
      auto to_q = [&] { return is_rising_ ? high_q() : 1 - high_q(); };
      if (beside_p_ == to_ && beside_q_ == to_) {
        const double a = from_p(), b = from_q();
        return a * b / (a + b);
      }
      if (beside_p_ == from_ && beside_q_ == from_) {
        const double a = 1 - to_p(), b = 1 - to_q();
        return 1 - a * b / (a + b);
      }
      const double from = beside_p_ == from_ ? from_q() : from_p(), to = beside_p_ == from_ ? to_q() : to_p();
      return from / (1 - (to - from));
    }

   private:
    // Where the edge along an axis is cut that begins one step further along another; anything where it is not.
    static double beyond(const EdgeCuts& cuts, const CellSet& set, Place at, size_t step, size_t axis) {
      at[step] += 1;
      const int64_t index = set.index_at(at[0], at[1], at[2]);
      return index < 0 ? 0 : cuts.cut[static_cast<size_t>(index)][axis];
    }

    bool is_rising_, from_, to_, beside_p_, beside_q_;
  };

  size_t line(const Place& at) const {
    const int64_t diagonal = is_rising_ ? at[q_] - at[p_] + size_[p_] : at[q_] + at[p_];
    return static_cast<size_t>(at[axis_] * (size_[p_] + size_[q_]) + diagonal);
  }

  size_t axis_, p_, q_;
  bool is_rising_;
  Place size_;
  SortedLists lists_;
};

// Where the bells cut the lines of voxels, and across thick slices the diagonals.
struct CutsOnLines {
  struct Diagonals {
    CutDiagonals rising, falling;
  };
  std::array<CutLines, 3> along;                      // by axis
  std::array<std::optional<Diagonals>, 3> diagonals;  // of the layers across an axis

  CutsOnLines(const EdgeCuts& cuts, const CellSet& set, const Place& size, const SubvoxelRule& rule)
      : along{CutLines(size, 0), CutLines(size, 1), CutLines(size, 2)} {
    for (const auto& [cell, axis] : cuts.edges) along[axis].announce(place_of(set.cells[cell]));
    for (CutLines& lines : along) lines.make_room();
    for (const auto& [cell, axis] : cuts.edges) along[axis].add(place_of(set.cells[cell]), cuts.cut[cell][axis]);
    for (CutLines& lines : along) lines.sort();
    for (size_t axis = 0; axis < 3 && rule.ndim == 3; ++axis)
      if (rule.is_thick[axis]) diagonals[axis].emplace(Diagonals{{cuts, set, size, axis, true}, {cuts, set, size, axis, false}});
  }
};

}  // namespace segauge
