// How near the discs around pieces can come to the points of a query.
#pragma once

#include "search/bounds.hpp"
#include "simd/operations.hpp"

namespace segauge {

class DiscBounds {
 public:
  explicit DiscBounds(const CellPatterns& lattice) {
    double diagonal = 0;
    for (const Vec3& step : lattice.step) diagonal += std::sqrt(dot(step, step));
    slack_ = 4e-6 * diagonal * diagonal;
  }

  void enter(const SampleGroup* groups, size_t count) {
    groups_ = SampleGroup::count_for(count);
    points_.count = count;
    for_float_groups([&](size_t group, size_t at) {
      for (size_t k = 0; k < kSize; ++k) {
        points_.x[at + k] = static_cast<float>(groups[group].x[k]);
        points_.y[at + k] = static_cast<float>(groups[group].y[k]);
        points_.z[at + k] = static_cast<float>(groups[group].z[k]);
      }
    });
  }

  // Notes the squared distances found so far, in whole groups. What discs say is off by some millionths of the distance
  // from their middle. That is no more than three diagonals of a cell, or three times the squared distance's root,
  // whichever is larger, where they can be in doubt.
  void allow(const double* best) {
    for_float_groups([&](size_t group, size_t at) {
      for (size_t k = 0; k < kSize; ++k)
        points_.allowed[at + k] = static_cast<float>(best[group * kSize + k] * (1 + 1e-5) + slack_);
    });
  }

  // Computes the least squared distances of candidates, infinity where none can lower any of those found so far.
  void bound_cells(Candidate* first, Candidate* last) const { simd_.bound_by_discs(points_, first, last); }

 private:
  static constexpr size_t kSize = SampleGroup::kSize;

  // All groups, and the last one once more where the widest registers hold two of them.
  template <class Visit>
  void for_float_groups(Visit&& visit) const {
    for (size_t g = 0; g < groups_; ++g) visit(g, g * kSize);
    if (groups_ % 2 == 1) visit(groups_ - 1, groups_ * kSize);
  }

  size_t groups_ = 0;
  FloatPoints points_;
  double slack_ = 0;
  const SimdOperations& simd_ = SimdOperations::here();
};

}  // namespace segauge
