// What is worked out for several numbers at once: squared distances from samples to the pieces of a cell, sums of rows.
#pragma once

#include "subvoxel_fans.hpp"

namespace segauge {

// For each of the samples in `count` groups, moved by `shift`: the least squared distance to the pieces [first, last).
using SquaredDistances = void (*)(const SampleGroup* groups, size_t count, const Vec3& shift, const Target* first,
                                  const Target* last, double* squared);
// The same to the fans of a cell, for those groups whose bit is set in `which`; infinity for the others.
using SquaredToFans = void (*)(const SampleGroup* groups, size_t count, uint32_t which, const Vec3& shift,
                               const FanTable::Shape& shape, const Vec3* apex, const Spoke* spoke, double* squared);

// A cell that may hold the nearest piece of a surface.
struct Candidate {
  double least;                  // no piece of it comes below this squared distance; infinity if it need not be looked at
  int64_t index;                 // of the cell
  const Disc* disc;              // around its pieces
  Vec3 shift;                    // the position of the query less that of the cell, in mm
  uint32_t groups = kAllGroups;  // one bit for each group of samples that it may be near to

  static constexpr uint32_t kAllGroups = ~uint32_t{0};
};
// Points and how near to each a piece must come to matter: bounds are worked out in floats, which are twice as fast.
struct RoughPoints {
  static constexpr size_t kMost = 32;
  size_t count = 0;  // what is beyond, up to whole registers, repeats some of them
  float x[kMost], y[kMost], z[kMost];
  float allowed[kMost];  // squared distances, with enough added to outweigh all rounding
};
// Works out the least squared distance of candidates with their discs.
using WeighByDiscs = void (*)(const RoughPoints& points, Candidate* first, Candidate* last);

// Adds up rows of numbers: sum[i] gets base plus weight[k] times first[k * stride + i] for all bits k of `which`.
struct RowSum {
  static constexpr size_t kWidth = 12;
  using Function = void (*)(const double* first, size_t stride, const double* weight, uint32_t which, double base,
                            double* sum);
  static Function here();
};

// Those for the widest registers that this processor has (SEGAUGE_NO_AVX2 in the environment: as if it had none of
// the newer ones). All give the same bits.
SquaredDistances squared_distances_here();
SquaredToFans squared_to_fans_here();
WeighByDiscs weigh_by_discs_here();

}  // namespace segauge
