// What a list of distances adds up to, each counted by the area that it stands for.
#pragma once

#include <cstddef>

namespace segauge {

struct WeightedList {
  const double *values, *weights;
  size_t size;
};

struct Totals {
  double weight, moment;  // the sum of the weights, and of values times weights
};
Totals totals_of(const WeightedList& list);

double largest_of(const WeightedList& list);
double weight_within(const WeightedList& list, double limit);  // of values at or below the limit

// The smallest value such that the weight at or below it is at least `share` of the whole.
double weighted_quantile(const WeightedList& list, double share);

}  // namespace segauge
