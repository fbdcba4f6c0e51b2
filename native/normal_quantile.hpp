// The quantile of the normal distribution for shares from 1e-300 to 0.999, from a table.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace segauge {

// x with Phi(x) = share, as a function of u = sqrt(-2 ln share), in which it is smooth: cubic pieces between exact values
// and slopes, within 1e-9 of the truth.
class NormalQuantile {
 public:
  static const NormalQuantile& table() {
    static const NormalQuantile made;
    return made;
  }

  double operator()(double share) const { return share > 0.5 ? -below_half(1 - share) : below_half(share); }

 private:
  static constexpr double kSteps = 128, kLargest = 37.4;  // a share of 1e-300 is at 37.17
  struct Node {
    double value, slope;  // slope: per step of the table
  };

  double below_half(double share) const {
    const double place = std::sqrt(-2 * std::log(share)) * kSteps;
    const auto i = static_cast<size_t>(place);
    const double t = place - static_cast<double>(i);
    const Node &a = nodes_[i], &b = nodes_[i + 1];
    const double rise = b.value - a.value, bend_a = a.slope - rise, bend_b = rise - b.slope;
    return a.value + t * (rise + (1 - t) * (bend_a * (1 - t) + bend_b * t));
  }

  NormalQuantile() {
    const double root = std::sqrt(0.5), tau = 2 * std::acos(-1.0);
    for (size_t i = 0; i <= static_cast<size_t>(kLargest * kSteps) + 1; ++i) {
      const double u = std::max(static_cast<double>(i), 1.0) / kSteps, log_share = -u * u / 2;
      double x = u < 2 ? 1.5 - 1.5 * u : -u + std::log(u * u * tau) / (2 * u);
      for (int k = 0; k < 60; ++k) {  // Newton's method for ln Phi(x) = ln share, which is concave
        const double share = std::erfc(-x * root) / 2, density = std::exp(-x * x / 2) / std::sqrt(tau);
        const double step = (std::log(share) - log_share) * share / density;
        x -= step;
        if (std::abs(step) < 1e-14 * (1 + std::abs(x))) break;
      }
      const double share = std::erfc(-x * root) / 2, density = std::exp(-x * x / 2) / std::sqrt(tau);
      nodes_.push_back({x, -u * share / density / kSteps});
    }
  }

  std::vector<Node> nodes_;
};

}  // namespace segauge
