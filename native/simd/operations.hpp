// What is computed for several numbers at once: squared distances from samples to the pieces of a cell, sums of rows.
#pragma once

#include "subvoxel/fans.hpp"

namespace segauge {

// A cell that may hold the nearest piece of a surface.
struct Candidate {
  double least;              // no piece of it comes below this squared distance; infinity if it need not be looked at
  int64_t index;             // of the cell
  const BoundingDisc* disc;  // around its pieces
  Vec3 shift;                // the position of the query less that of the cell, in mm
  uint32_t groups = kAllGroups;  // one bit for each group of samples that it may be near to

  static constexpr uint32_t kAllGroups = ~uint32_t{0};
};
// Points and how near to each a piece must come to matter: bounds are computed in floats, which are twice as fast.
struct FloatPoints {
  static constexpr size_t kMost = 32;
  size_t count = 0;  // what is beyond, up to whole registers, repeats some of them
  float x[kMost], y[kMost], z[kMost];
  float allowed[kMost];  // squared distances, with enough added to outweigh all rounding
};
// A point, and the cells in which it looks for its nearest piece.
struct CellQuery {
  static constexpr size_t kMost = 32,
                          kBeyond = 8;  // what is beyond the last one, up to whole registers, is looked at, too
  Vec3 point;                           // in mm from the origin of its cell
  double best;                          // the squared distance of what was found
  size_t count;                         // of cells
  uint32_t left, nearest;               // of cells, a bit each: those that are not looked at yet; which may be nearest
  std::array<uint32_t, kMost + kBeyond> index, place;    // of the cell; where it lies, by number
  alignas(32) std::array<float, kMost + kBeyond> least;  // no piece of the cell comes below this squared distance
};
// Where a cell may lie, in mm from that of a point.
struct CellOffset {
  Vec3 exact;
  float in_floats[4];  // the last one 0
};
// What is in the cells.
struct CellContents {
  const Fans::OfCell* cells;      // by index
  const double* numbers;          // of their fans
  const FanTable::Shape* shapes;  // by code
  const CellOffset* offsets;      // by place
  float step[3];                  // mm from one cell to the next along each axis
  float slack;                    // squared mm that outweigh rounding to float
};

// For registers of one width. All give the same bits.
struct SimdOperations {
  // For each of the samples in `count` groups, moved by `shift`: the least squared distance to the pieces [first,
  // last).
  void (*squared_distances)(const SampleGroup* groups, size_t count, const Vec3& shift, const Target* first,
                            const Target* last, double* squared);
  // The squared distance of a point, in mm from the origin of a cell, from its fans.
  double (*squared_to_fans)(const Vec3& point, const FanTable::Shape& shape, const double* numbers);
  // Writes the numbers of a fan and measures it; a segment (of two corners) has a length, and no direction.
  FanMeasures (*write_fan)(const FanCorners& corners, size_t count, double* numbers);
  // Computes the least squared distance of candidates with their discs.
  void (*bound_by_discs)(const FloatPoints& points, Candidate* first, Candidate* last);
  // Lowers the best of queries to the squared distances from the nearest pieces in their cells. Discs tell which of
  // these can hold them; the one that may be nearest comes first: what is found there excludes most others.
  void (*search_cells)(CellQuery* first, CellQuery* last, const CellContents& contents);
  // Adds up rows of some groups of numbers: sum[i] gets base plus weight[k] times first[k * stride + i] for all bits k
  // of `which`. In all rows there must be numbers; of weights there are kMostSumRows.
  void (*sum_rows)(const double* first, size_t stride, const double* weight, size_t rows, uint32_t which, double base,
                   size_t groups, double* sum);

  static constexpr size_t kSumGroup = 4, kMostSumGroups = 5, kMostSumRows = 12;

  // Those for the widest registers that this processor has (SEGAUGE_NO_AVX2 in the environment: as if it had none of
  // the newer ones).
  static const SimdOperations& here();
};

}  // namespace segauge
