// What is worked out for several numbers at once: squared distances from samples to the pieces of a cell, sums of rows.
#pragma once

#include "subvoxel_fans.hpp"

namespace segauge {

// For each of the samples in `count` groups, moved by `shift`: the least squared distance to the pieces [first, last).
using SquaredDistances = void (*)(const SampleGroup* groups, size_t count, const Vec3& shift, const Target* first,
                                  const Target* last, double* squared);
// The same to the fans of a cell.
using SquaredToFans = void (*)(const SampleGroup* groups, size_t count, const Vec3& shift, const FanTable::Shape& shape,
                               const Vec3* apex, const Spoke* spoke, double* squared);

// Adds up rows of numbers: sum[i] gets base plus weight[k] times rows[k][i] for all k.
struct RowSum {
  static constexpr size_t kWidth = 12;
  using Function = void (*)(const double* const* rows, const double* weight, size_t count, double base, double* sum);
  static Function here();
};

// Those for the widest registers that this processor has (SEGAUGE_NO_AVX2 in the environment: as if it had none of
// the newer ones). All give the same bits.
SquaredDistances squared_distances_here();
SquaredToFans squared_to_fans_here();

}  // namespace segauge
