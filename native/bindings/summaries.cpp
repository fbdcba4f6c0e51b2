#include "core/summaries.hpp"
#include "bindings/arrays.hpp"

namespace segauge {
namespace {

WeightedList list_of(const InputArray<double>& values, const InputArray<double>& weights) {
  if (values.size() != weights.size() || values.size() == 0)
    throw std::invalid_argument("values and weights must be as many, and at least one");
  return {values.data(), weights.data(), values.size()};
}

}  // namespace

void bind_summaries(nb::module_& m) {
  m.def(
      "totals",
      [](const InputArray<double>& values, const InputArray<double>& weights) {
        const Totals totals = totals_of(list_of(values, weights));
        return nb::make_tuple(totals.weight, totals.moment);
      },
      nb::arg("values"), nb::arg("weights"));
  m.def(
      "largest", [](const InputArray<double>& values) { return largest_of(list_of(values, values)); },
      nb::arg("values"));
  m.def(
      "weight_within",
      [](const InputArray<double>& values, const InputArray<double>& weights, double limit) {
        return weight_within(list_of(values, weights), limit);
      },
      nb::arg("values"), nb::arg("weights"), nb::arg("limit"));
  m.def(
      "weighted_quantile",
      [](const InputArray<double>& values, const InputArray<double>& weights, double share) {
        return weighted_quantile(list_of(values, weights), share);
      },
      nb::arg("values"), nb::arg("weights"), nb::arg("share"));
}

}  // namespace segauge
