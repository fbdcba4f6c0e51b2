// What the bindings of all surfaces share: the lattice from NumPy, distances to NumPy.
#pragma once

#include "bindings/arrays.hpp"
#include "search/directed_distances.hpp"

namespace segauge {

// The columns of `linear` are the steps; in 2-D the first axis of three is missing.
inline void read_steps(const InputArray<double>& linear, CellPatterns& out) {
  const size_t d = linear.shape(0), skip = 3 - d;
  for (size_t axis = 0; axis < 3; ++axis)
    for (size_t i = 0; i < 3; ++i) {
      out.step[axis][i] =
          axis >= skip && i >= skip ? linear.data()[(i - skip) * d + axis - skip] : (i == axis ? 1.0 : 0.0);
      out.is_orthogonal = out.is_orthogonal && (i == axis || out.step[axis][i] == 0);
    }
}

// Distances and areas of both directions, and the largest distance of each.
inline nb::tuple samples_to_numpy(Samples&& from_pred, Samples&& from_gt, const std::array<double, 2>& largest) {
  const size_t np = from_pred.distance.size(), ng = from_gt.distance.size();
  return nb::make_tuple(to_numpy(std::move(from_pred.distance), {np}), to_numpy(std::move(from_pred.area), {np}),
                        to_numpy(std::move(from_gt.distance), {ng}), to_numpy(std::move(from_gt.area), {ng}),
                        largest[0], largest[1]);
}

}  // namespace segauge
