// The exact distance from every sample of one binary surface to another.
#pragma once

#include "surface/cell_grid.hpp"

namespace segauge {

struct Samples {
  Uninitialised<double> distance, area;
};

class PreparedPatterns;  // search/near/near_search.hpp

// From every sample of `from` to the nearest target of `to`.
Samples directed_distances(const CellGrid& from, const CellGrid& to, PreparedPatterns& prepared, int threads);

// From any point of the sampled pieces of `from`: the largest distance (search/maximum.hpp). `samples`: theirs.
double largest_distance(const CellGrid& from, const CellGrid& to, const CellPatterns& patterns, const Samples& samples);

}  // namespace segauge
