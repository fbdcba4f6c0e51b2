// Cuts on the diagonals of the layers across an axis.
#pragma once

#include "subvoxel/edge_owners.hpp"
#include "subvoxel/vertex_lines.hpp"

namespace segauge {

// The four voxels of a layer at the lower side of a cell: where its edges are cut, and where the two diagonals are,
// which is where the outline, straight between the cuts of the edges, crosses them.
class LayerSquare {
 public:
  // Which of the voxels are inside: the first one, and those one step along p, along q, and along both.
  static constexpr unsigned kFirst = 1, kAlongP = 2, kAlongQ = 4, kLast = 8;
  // Of the two edges along each axis the lower and the higher one; anything where an edge is not cut.
  struct Edges {
    double low_p, high_p, low_q, high_q;
  };

  LayerSquare(unsigned inside, const Edges& cut) : inside_(inside), cut_(cut) {}

  // Whether the diagonal from the first to the last voxel is cut, and the one from that along q to that along p.
  static bool cuts_rising(unsigned inside) { return ((inside * kLast ^ inside) & kLast) != 0; }
  static bool cuts_falling(unsigned inside) { return ((inside * 2 ^ inside) & kAlongQ) != 0; }

  // Where, from its beginning to its end.
  double place_on_rising() const {
    return place(has(kFirst), has(kLast), has(kAlongP), has(kAlongQ),
                 {cut_.low_p, cut_.high_p, cut_.low_q, cut_.high_q});
  }
  double place_on_falling() const {
    return place(has(kAlongQ), has(kAlongP), has(kLast), has(kFirst),
                 {cut_.high_p, cut_.low_p, 1 - cut_.low_q, 1 - cut_.high_q});
  }

 private:
  bool has(unsigned voxel) const { return (inside_ & voxel) != 0; }

  // `from`, `to`: whether the ends of the diagonal are inside; then those beside it along p and q from its beginning.
  // Cuts as seen from the beginning.
  static double place(bool from, bool to, bool beside_p, bool beside_q, const Edges& cut) {
    if (beside_p == to && beside_q == to) return cut.low_p * cut.low_q / (cut.low_p + cut.low_q);
    if (beside_p == from && beside_q == from) {
      const double a = 1 - cut.high_p, b = 1 - cut.high_q;
      return 1 - a * b / (a + b);
    }
    const double begin = beside_p == from ? cut.low_q : cut.low_p, end = beside_p == from ? cut.high_q : cut.high_p;
    return begin / (1 - (end - begin));
  }

  unsigned inside_;
  const Edges& cut_;
};

// The cuts on all diagonals of the layers, in steps along the first axis of a layer.
class VertexDiagonals {
 public:
  VertexDiagonals(const EdgeVertices& cuts, const CellGrid& grid, const Place& size, size_t axis)
      : VertexDiagonals(Layers(size, axis), find(Layers(size, axis), cuts, grid)) {}

  // Beside a voxel, on the diagonal on which p and q grow together, and on the one on which q grows smaller.
  Arms on_rising(const Place& at) const { return rising_.arms(layers_.rising(at), static_cast<double>(at[layers_.p])); }
  Arms on_falling(const Place& at) const {
    return falling_.arms(layers_.falling(at), static_cast<double>(at[layers_.p]));
  }

 private:
  // The layers across an axis, in which axes p and q lie, and the numbers of their diagonals.
  struct Layers {
    size_t axis, p, q;
    int64_t in_layer, shift;

    Layers(const Place& size, size_t across)
        : axis(across),
          p(across == 0 ? 1 : 0),
          q(across == 2 ? 1 : 2),
          in_layer(size[p] + size[q]),
          shift(size[p]),
          diagonals(static_cast<size_t>(size[across] * in_layer)) {}

    size_t diagonals;  // of either direction

    size_t rising(const Place& at) const { return static_cast<size_t>(at[axis] * in_layer + at[q] - at[p] + shift); }
    size_t falling(const Place& at) const { return static_cast<size_t>(at[axis] * in_layer + at[q] + at[p]); }

    // Which voxels of the square at the lower side of a cell are inside.
    unsigned inside(unsigned code) const {
      const unsigned step_p = 4u >> p, step_q = 4u >> q;
      return (code & 1) | (code >> step_p & 1) << 1 | (code >> step_q & 1) << 2 | (code >> (step_p + step_q) & 1) << 3;
    }
  };
  struct Found {
    ListedPlaces rising, falling;
  };

  VertexDiagonals(const Layers& layers, const Found& found)
      : layers_(layers), rising_(layers.diagonals, found.rising), falling_(layers.diagonals, found.falling) {}

  static Found find(const Layers& layers, const EdgeVertices& cuts, const CellGrid& grid) {
    const size_t p = layers.p, q = layers.q;
    const int64_t step[3] = {EdgeOwners::places(1, 0, 0), EdgeOwners::places(0, 1, 0), EdgeOwners::places(0, 0, 1)};
    Found found{ListedPlaces(grid.cells.size()), ListedPlaces(grid.cells.size())};
    EdgeOwners cells(grid);
    for (size_t b = 0; b < grid.bricks.size(); ++b) {
      cells.enter(grid.bricks[b]);
      for (auto i = static_cast<size_t>(grid.bricks[b].begin); i < static_cast<size_t>(grid.end_of(b)); ++i) {
        const unsigned inside = layers.inside(cuts.code[i]);
        const bool is_rising = LayerSquare::cuts_rising(inside), is_falling = LayerSquare::cuts_falling(inside);
        if (!is_rising && !is_falling) continue;
        const uint32_t* index = cells.from(grid.cells[i]);
        const LayerSquare::Edges edges{cuts.cut[i][p], cuts.cut[index[step[q]]][p], cuts.cut[i][q],
                                       cuts.cut[index[step[p]]][q]};
        const LayerSquare square(inside, edges);
        Place at = place_of(grid.cells[i]);
        const auto begin = static_cast<double>(at[p]);
        found.rising.add(layers.rising(at), begin + square.place_on_rising(), is_rising);
        at[q] += 1;
        found.falling.add(layers.falling(at), begin + square.place_on_falling(), is_falling);
      }
    }
    return found;
  }

  Layers layers_;
  SortedLists rising_, falling_;
};

}  // namespace segauge
