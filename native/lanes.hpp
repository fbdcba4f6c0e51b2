// Squared distances from several samples at once to the pieces of a cell.
#pragma once

#include "subvoxel_fans.hpp"

namespace segauge {

// For each of the samples in `count` groups, moved by `shift`: the least squared distance to the pieces [first, last).
using SquaredDistances = void (*)(const SampleGroup* groups, size_t count, const Vec3& shift, const Target* first,
                                  const Target* last, double* squared);
// The same to the fans of a cell.
using SquaredToFans = void (*)(const SampleGroup* groups, size_t count, const Vec3& shift, const FanTable::Shape& shape,
                               const Vec3* apex, const Spoke* spoke, double* squared);

// Those for the widest registers that this processor has (SEGAUGE_NO_AVX2 in the environment: as if it had none of
// the newer ones). All give the same bits.
SquaredDistances squared_distances_here();
SquaredToFans squared_to_fans_here();

}  // namespace segauge
