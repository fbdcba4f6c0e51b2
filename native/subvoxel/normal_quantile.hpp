// The quantile of the normal distribution, from a table.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace segauge {

// x with Phi(x) = share, for shares from kLeast to 1 - kLeast: cubic pieces between exact values and slopes, within
// 1e-9 of the truth. The bits of a number tell which of the pieces it is in: they divide every octave into as many of
// the same length.
class NormalQuantile {
 public:
  static constexpr double kLeast = 0x1p-20;

  static const NormalQuantile& table() {
    static const NormalQuantile made;
    return made;
  }

  double operator()(double share) const { return share > 0.5 ? -below_half(1 - share) : below_half(share); }

 private:
  static constexpr int kOctaves = 19, kPieceBits = 6;  // below one half
  static constexpr uint64_t kOne = 0x3FF0000000000000u;
  static constexpr uint64_t kFirst = ((kOne >> 52) - 1 - kOctaves) << kPieceBits;  // the upper bits of the first piece
  struct Piece {
    double value, first, second, third;  // coefficients over the unit interval
  };

  double below_half(double share) const {
    uint64_t bits;
    std::memcpy(&bits, &share, sizeof bits);
    const Piece& piece = pieces_[(bits >> (52 - kPieceBits)) - kFirst];
    const uint64_t rest = bits << (12 + kPieceBits) >> 12 | kOne;
    double t;
    std::memcpy(&t, &rest, sizeof t);
    t -= 1;
    return piece.value + t * (piece.first + t * (piece.second + t * piece.third));
  }

  // By Newton's method for ln Phi(x), which is concave, from a first guess.
  static double exact(double share, double x) {
    for (int k = 0; k < 60; ++k) {
      const double found = std::erfc(-x * kRootOfHalf) / 2,
                   step = (std::log(found) - std::log(share)) * found / density(x);
      x -= step;
      if (std::abs(step) < 1e-14 * (1 + std::abs(x))) break;
    }
    return x;
  }
  static double density(double x) { return std::exp(-x * x / 2) * kPerRootOfTau; }
  static constexpr double kRootOfHalf = 0.70710678118654752440, kPerRootOfTau = 0.39894228040143267794;

  NormalQuantile() {
    double x = exact(kLeast, -5);
    for (int octave = -kOctaves - 1; octave < -1; ++octave) {
      const double low = std::ldexp(1.0, octave), length = std::ldexp(low, -kPieceBits);
      for (int k = 1; k <= 1 << kPieceBits; ++k) {
        const double next = exact(low + length * k, x), rise = next - x;
        const double slope = length / density(x), next_slope = length / density(next);
        pieces_.push_back({x, slope, 3 * rise - 2 * slope - next_slope, slope + next_slope - 2 * rise});
        x = next;
      }
    }
    pieces_.push_back({0, 0, 0, 0});  // of one half itself
  }

  std::vector<Piece> pieces_;
};

}  // namespace segauge
