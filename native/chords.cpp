#include "chords.hpp"

#include <cmath>

#include "parallel.hpp"

namespace segauge {
namespace {

// Arms that are equal but for rounding count as equal.
constexpr double kSlack = 1 + 1e-9;
constexpr double kIgnorance = 1.0 / 12;  // the variance of a place between 0 and 1 of which nothing is known
constexpr double kLeastVariance = 1e-3;  // no answer is surer than this
constexpr double kLeastRoundness = 0.05;  // so little round is a wall

// The stretch of a line of voxels that lies in the object, in steps of the column; infinite where it is out of reach.
struct Chord {
  double before = kInfinity, after = kInfinity;

  bool is_known() const { return before < kInfinity; }
  double power() const { return before * after; }
  double squares() const { return before * before + after * after; }
};

struct Roundness {
  double value, variance;

  // 1, and what three chords say by how sure they are.
  Roundness(const Chord& near, const Chord& far, const Chord& third, double error, double guessed)
      : value(1), variance(guessed) {
    if (!third.is_known()) return;
    const double measured = far.power() - (near.power() + third.power()) / 2;
    const double own = error * error * (far.squares() + (near.squares() + third.squares()) / 4);
    const double share = guessed / (guessed + own);
    value = std::max(1 + (measured - 1) * share, kLeastRoundness);
    variance = guessed * (1 - share);
  }
};

// Where a chord ends a cap beyond its last layer, in steps, and how much that counts; the chord's power.
struct End {
  double place = 0, weight = 0, power = kInfinity;
};

// `near`, `far`: the chords in the last layer and in the one before.
End end_of_cap(const Chord& near, const Chord& far, const Roundness& round, double error) {
  const double p = near.power(), q = far.power(), c = round.value;
  const double slope = c + q - p, squared_root = slope * slope + 4 * c * p, root = std::sqrt(squared_root);
  const double end = slope > 0 ? 2 * p / (slope + root) : (root - slope) / (2 * c);
  if (end >= 2) return {0, 0, p};
  const double by_ends = (1 + end) * (1 + end) * near.squares() + end * end * far.squares();
  const double by_roundness = (end + end * end) * (end + end * end);
  const double moved = (error * error * by_ends + round.variance * by_roundness) / squared_root;
  const double refuted = std::max(end - 1, 0.0);  // by the layer outside, in which there should be something
  return {std::min(end, 1.0), (1 - refuted) / (kLeastVariance + moved), p};
}

class Caps {
 public:
  Caps(const BitVolume& mask, const std::array<CutLines, 3>& lines, const SubvoxelRule& rule)
      : mask_(mask), lines_(lines), rule_(rule) {}

  // Where the edge along an axis whose lower voxel is given is cut, if the bells say `cut`.
  double moved(size_t axis, const Place& low, bool is_low_inside, double cut) const {
    std::array<Place, 3> layer;  // the last, and the two before
    for (int64_t k = 0; k < 3; ++k) {
      layer[static_cast<size_t>(k)] = low;
      layer[static_cast<size_t>(k)][axis] += is_low_inside ? -k : 1 + k;
    }
    if (!is_inside(mask_, layer[1])) return cut;
    Place outside = low;
    outside[axis] += is_low_inside ? 1 : 0;
    if (is_flat(axis, outside, layer)) return 0.5;
    const double bells = is_low_inside ? cut : 1 - cut;
    double total = bells / kIgnorance, weights = 1 / kIgnorance, shortest = kInfinity;
    const std::array<End, 3> ends = ends_across(axis, layer);
    for (const End& end : ends) shortest = std::min(shortest, end.power);
    for (const End& end : ends) {
      if (end.weight == 0) continue;
      const double weight = end.weight * shortest / end.power;
      total += weight * end.place;
      weights += weight;
    }
    const double end = std::min(std::max(total / weights, rule_.margin), 1 - rule_.margin);
    return is_low_inside ? end : 1 - end;
  }

 private:
  // Whether, as far as chords reach, there is nothing in the layer outside, and the same in all layers inside.
  bool is_flat(size_t axis, const Place& outside, const std::array<Place, 3>& layer) const {
    const size_t layers = is_inside(mask_, layer[2]) ? 3 : 2;
    for (size_t across = 0; across < 3; ++across) {
      if (across == axis) continue;
      const double most = std::floor(rule_.chord_steps * rule_.edge[axis] * kSlack / rule_.edge[across]);
      const auto beside = whole_steps(across, outside, most);
      if (beside[0] < most || beside[1] < most) return false;
      const auto last = whole_steps(across, layer[0], most);
      for (size_t k = 1; k < layers; ++k)
        if (whole_steps(across, layer[k], most) != last) return false;
    }
    return true;
  }

  // How many voxels of its own class lie before and after one on its line, `most` at most.
  std::array<double, 2> whole_steps(size_t across, const Place& at, double most) const {
    const auto [before, after] = lines_[across].arms(at);
    return {std::min(std::floor(before), most), std::min(std::floor(after), most)};
  }

  // What the chords of the last layers say, by their axis.
  std::array<End, 3> ends_across(size_t axis, const std::array<Place, 3>& layer) const {
    const bool has_third = is_inside(mask_, layer[2]);
    const double error = rule_.chord_error / rule_.edge[axis], guessed = rule_.roundness_error * rule_.roundness_error;
    std::array<End, 3> ends;
    for (size_t across = 0; across < 3; ++across) {
      if (across == axis) continue;
      const Chord near = chord(axis, across, layer[0]), far = chord(axis, across, layer[1]);
      if (!near.is_known() || !far.is_known()) continue;
      const Chord third = has_third ? chord(axis, across, layer[2]) : Chord();
      ends[across] = end_of_cap(near, far, Roundness(near, far, third, error, guessed), error);
    }
    return ends;
  }

  // The one across a column along an axis.
  Chord chord(size_t axis, size_t across, const Place& at) const {
    const double step = rule_.edge[axis], reach = rule_.chord_steps * step * kSlack;
    const auto [before, after] = lines_[across].arms(at);
    if (!(before * rule_.edge[across] <= reach && after * rule_.edge[across] <= reach)) return {};
    return {before * rule_.edge[across] / step, after * rule_.edge[across] / step};
  }

  const BitVolume& mask_;
  const std::array<CutLines, 3>& lines_;
  const SubvoxelRule& rule_;
};

}  // namespace

void move_to_chords(EdgeCuts& cuts, const BitVolume& mask, const CellSet& set, const std::array<CutLines, 3>& lines,
                    const SubvoxelRule& rule, int threads) {
  constexpr size_t kCellsPerChunk = 4096;
  const Caps caps(mask, lines, rule);
  const size_t chunks = (set.cells.size() + kCellsPerChunk - 1) / kCellsPerChunk;
  parallel_for(static_cast<int64_t>(chunks), threads, [&](int64_t chunk) {
    const size_t first = static_cast<size_t>(chunk) * kCellsPerChunk;
    for (size_t i = first; i < std::min(set.cells.size(), first + kCellsPerChunk); ++i)
      for (size_t axis = 0; axis < 3; ++axis)
        if (rule.has_caps[axis] && cuts.has(i, axis))
          cuts.cut[i][axis] = caps.moved(axis, place_of(set.cells[i]), cuts.is_low_inside(i), cuts.cut[i][axis]);
  });
}

}  // namespace segauge
