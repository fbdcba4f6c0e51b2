// How far the samples of a cell code can reach among the cells around them.
#pragma once

#include "core/uninitialised.hpp"
#include "search/near/pair_cache.hpp"

namespace segauge {

// For a code: which of the cells around can come within a distance of its samples.
class Reach {
 public:
  static constexpr int64_t kNear = PairCache::kReach, kSide = PairCache::kSide;
  static constexpr size_t kSteps = 32;                         // distance classes
  using Limits = std::array<double, PairCache::kMostSamples>;  // squared, in the order of PairCache

  Reach(const CellPatterns& patterns, const PairCache& cache)
      : patterns_(patterns),
        step_mm_(cache.range_mm() / kSteps),
        filled_(patterns.same_as.size()),
        within_(patterns.same_as.size() * kSteps) {
    for (const uint8_t code : patterns.symmetries->canonical_code) {
      settled_.push_back(limits_of(code, patterns.clearance));
      settled_by_all_.push_back(limits_of(code, patterns.wide_clearance));
    }
  }

  // The cells of each plane of the block (bit kSide * row + place) that a rounded distance may reach from a code.
  const std::array<uint64_t, kSide>& planes(uint32_t code, uint16_t rounded) {
    const size_t step = step_of_[rounded / kTogether];
    if ((filled_[code] >> step & 1) == 0) fill(code, step);
    return within_[code * kSteps + step];
  }

  // No cell further away than the 26 around, and none outside the block, can come nearer to a sample than this: of the
  // codes that stand for others, by number.
  const Limits& settled(size_t number) const { return settled_[number]; }
  const Limits& settled_by_all(size_t number) const { return settled_by_all_[number]; }

 private:
  static constexpr size_t kTogether = 16;  // rounded distances that count as one
  using StepOf = std::array<uint8_t, (size_t{PairCache::kFarthest} + 2) / kTogether>;

  static const StepOf& step_of() {
    static const StepOf table = [] {
      StepOf steps{};
      for (size_t i = 0; i < steps.size(); ++i) {
        const double share = static_cast<double>((i + 1) * kTogether) / PairCache::kFarthest;
        steps[i] = static_cast<uint8_t>(std::min(kSteps * std::sqrt(PairCache::kSquaredRange * share), kSteps - 1.0));
      }
      return steps;
    }();
    return table;
  }

  void fill(size_t code, size_t step) {
    double gap[3][kSide] = {};  // squares of how near the samples come to a cell k steps away along each axis
    for (size_t axis = 0; axis < 3 && patterns_.is_orthogonal; ++axis) {
      const double step = patterns_.step[axis][axis], low = patterns_.cell_low[axis];
      for (int64_t k = 1; k <= kNear; ++k) {
        const double up = low + step * static_cast<double>(k) - patterns_.sample_box[code].high[axis];
        const double down = patterns_.sample_box[code].low[axis] - low + step * static_cast<double>(k - 1);
        gap[axis][kNear + k] = up > 0 ? up * up : 0;
        gap[axis][kNear - k] = down > 0 ? down * down : 0;
      }
    }
    // a little more than the step: rounding may never cost the nearest piece
    const double most = static_cast<double>(step + 1) * step_mm_ * 1.0001;
    const double limit = step + 1 < kSteps ? most * most : kInfinity;
    auto& within = within_[code * kSteps + step];
    for (size_t z = 0; z < kSide; ++z) {
      within[z] = 0;
      for (size_t y = 0; y < kSide; ++y) {
        uint64_t row = 0;
        for (size_t x = 0; x < kSide; ++x) row |= uint64_t{gap[0][z] + gap[1][y] + gap[2][x] <= limit} << x;
        within[z] |= row << (kSide * static_cast<int64_t>(y));
      }
    }
    filled_[code] |= 1u << step;
  }

  Limits limits_of(size_t code, const std::vector<double>& clearance) const {
    Limits limits{};
    const auto first = static_cast<size_t>(patterns_.sample_start[code]);
    const auto count = static_cast<size_t>(patterns_.sample_start[code + 1]) - first;
    for (size_t i = 0; i < limits.size() && count > 0; ++i) {
      const double mm = clearance[first + std::min(i, count - 1)];
      limits[i] = mm * mm;
    }
    return limits;
  }

  const CellPatterns& patterns_;
  const double step_mm_;
  std::vector<uint32_t> filled_;  // by code: one bit for each step that is computed
  Uninitialised<std::array<uint64_t, kSide>> within_;
  std::vector<Limits> settled_, settled_by_all_;
  const StepOf& step_of_ = step_of();
};

}  // namespace segauge
