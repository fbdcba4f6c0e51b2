// The pieces in the cells of a binary surface, as the search sees them.
#pragma once

#include "search/far/search.hpp"
#include "simd/operations.hpp"

namespace segauge {

// What is in the cells of a binary surface: the pieces of their codes.
class PatternPieces {
 public:
  PatternPieces(const CellGrid& grid, const CellPatterns& patterns) : grid_(grid), patterns_(patterns) {}

  const BoundingDisc& disc(int64_t index) const { return patterns_.disc[code(index)]; }

  void squared_distances(const Query& query, const Candidate& cell, double* squared) const {
    const Target* first = patterns_.target.data() + patterns_.target_start[code(cell.index)];
    const Target* last = patterns_.target.data() + patterns_.target_start[code(cell.index) + 1];
    const size_t groups = SampleGroup::count_for(query.count);
    for (size_t i = 0; i < groups; ++i, squared += SampleGroup::kSize) {
      if ((cell.groups >> i & 1) != 0)
        simd_.squared_distances(query.groups + i, 1, cell.shift, first, last, squared);
      else
        std::fill_n(squared, SampleGroup::kSize, kInfinity);
    }
  }

 private:
  size_t code(int64_t index) const { return grid_.cells[static_cast<size_t>(index)].code; }

  const CellGrid& grid_;
  const CellPatterns& patterns_;
  const SimdOperations& simd_ = SimdOperations::here();
};

}  // namespace segauge
