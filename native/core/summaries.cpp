#include "core/summaries.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/uninitialised.hpp"
#include "core/vectors.hpp"

namespace segauge {
namespace {

// Sums in a fixed order, in several lanes that a processor can add at the same time, block by block to keep rounding
// small: a plain sum over a million values would lose some digits.
template <class Term>
double sum_of(size_t size, Term&& term) {
  constexpr size_t kLanes = 8, kBlock = 1024;
  double total = 0;
  for (size_t begin = 0; begin < size; begin += kBlock) {
    const size_t end = std::min(size, begin + kBlock);
    double lane[kLanes] = {};
    size_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (size_t k = 0; k < kLanes; ++k) lane[k] += term(i + k);
    for (; i < end; ++i) lane[0] += term(i);
    total += ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
  return total;
}

struct Weighted {
  double value, weight;
};

// Of values in ascending order the first at which the weights, with what is below them, reach what is needed.
double first_to_reach(std::vector<Weighted>& list, double below, double needed) {
  std::sort(list.begin(), list.end(), [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  for (const Weighted& each : list) {
    below += each.weight;
    if (below >= needed) return each.value;
  }
  return list.back().value;
}

}  // namespace

Totals totals_of(const WeightedList& list) {
  return {sum_of(list.size, [&](size_t i) { return list.weights[i]; }),
          sum_of(list.size, [&](size_t i) { return list.values[i] * list.weights[i]; })};
}

double largest_of(const WeightedList& list) {
  double lane[8];
  std::fill(lane, lane + 8, list.values[0]);
  size_t i = 0;
  for (; i + 8 <= list.size; i += 8)
    for (size_t k = 0; k < 8; ++k) lane[k] = std::max(lane[k], list.values[i + k]);
  for (; i < list.size; ++i) lane[0] = std::max(lane[0], list.values[i]);
  return *std::max_element(lane, lane + 8);
}

double weight_within(const WeightedList& list, double limit) {
  return sum_of(list.size, [&](size_t i) { return list.values[i] <= limit ? list.weights[i] : 0.0; });
}

double weighted_quantile(const WeightedList& list, double share) {
  constexpr size_t kBins = 1024;
  const double top = largest_of(list);
  const double needed = sum_of(list.size, [&](size_t i) { return list.weights[i]; }) * share;
  const double scale = top > 0 ? kBins / top : 0;
  // step by step for all values: what is computed for several at once does not wait for where the one before belongs
  Uninitialised<uint16_t> bin(list.size);
  for (size_t i = 0; i < list.size; ++i)
    bin[i] = static_cast<uint16_t>(static_cast<int32_t>(std::min(std::max(0.0, list.values[i] * scale), kBins - 1.0)));
  std::array<double, kBins> weight{};
  for (size_t i = 0; i < list.size; ++i) weight[bin[i]] += list.weights[i];
  size_t chosen = 0;
  double below = 0;
  while (chosen + 1 < kBins && below + weight[chosen] < needed) below += weight[chosen++];
  std::vector<Weighted> found;
  for (size_t i = 0; i < list.size; ++i)
    if (bin[i] == chosen) found.push_back({std::isnan(list.values[i]) ? kInfinity : list.values[i], list.weights[i]});
  return found.empty() ? top : first_to_reach(found, below, needed);
}

}  // namespace segauge
