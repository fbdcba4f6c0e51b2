#include "subvoxel/caps.hpp"

#include <cmath>

#include "core/parallel.hpp"

namespace segauge {
namespace {

// Arms that are equal but for rounding count as equal.
constexpr double kSlack = 1 + 1e-9;
constexpr double kLeastVariance = 1e-3;   // no answer is surer than this
constexpr double kLeastRoundness = 0.05;  // so little round is a wall
constexpr double kSquaredPi = 9.86960440108935861883;

// The stretch of a line of voxels that lies in the object, in steps of the column; infinite where it is out of reach.
struct Chord {
  double before = kInfinity, after = kInfinity;

  bool is_known() const { return before < kInfinity; }
  double power() const { return before * after; }
  double squares() const { return before * before + after * after; }
};

// The chords in the last layer, in the one before, and in the third where it is known.
struct Chords {
  Chord near, far, third;

  bool are_known() const { return near.is_known() && far.is_known(); }
};

struct Roundness {
  double value, variance;

  // 1, and what three chords say by how sure they are.
  Roundness(const Chords& of, double error, double guessed) : value(1), variance(guessed) {
    if (!of.third.is_known()) return;
    const double measured = of.far.power() - (of.near.power() + of.third.power()) / 2;
    const double own = error * error * (of.far.squares() + (of.near.squares() + of.third.squares()) / 4);
    const double share = guessed / (guessed + own);
    value = std::max(1 + (measured - 1) * share, kLeastRoundness);
    variance = guessed * (1 - share);
  }
};

// Where chords end a cap beyond its last layer, in steps, and how much that counts; how long they are, and how much the
// cap leans along them.
struct End {
  double place = 0, weight = 0, power = kInfinity, slope = 0;
};

End end_of_cap(const Chords& of, double error, double guessed) {
  const Roundness round(of, error, guessed);
  const double p = of.near.power(), q = of.far.power(), c = round.value;
  const double growth = c + q - p, squared_root = growth * growth + 4 * c * p, root = std::sqrt(squared_root);
  const double end = growth > 0 ? 2 * p / (growth + root) : (root - growth) / (2 * c);
  if (end >= 2) return {0, 0, p, 0};  // it says nothing
  const double by_ends = (1 + end) * (1 + end) * of.near.squares() + end * end * of.far.squares();
  const double by_roundness = (end + end * end) * (end + end * end);
  const double moved = (error * error * by_ends + round.variance * by_roundness) / squared_root;
  const double refuted = std::max(end - 1, 0.0);  // by the layer outside, in which there should be something
  return {std::min(end, 1.0), (1 - refuted) / (kLeastVariance + moved), p,
          std::abs(of.near.after - of.near.before) / root};
}

class Caps {
 public:
  // Of the caps along one axis.
  Caps(size_t axis, const BitVolume& mask, const VerticesOnLines& lines, const SubvoxelRule& rule)
      : axis_(axis),
        mask_(mask),
        rule_(rule),
        lines_{&lines.along[axis == 0 ? 1 : 0], &lines.along[axis == 2 ? 1 : 2]},
        lines_in_step_{lines_[0]->numbers().lines_in_step(axis), lines_[1]->numbers().lines_in_step(axis)},
        diagonals_(lines.diagonals[axis]),
        error_(rule.chord_error / rule.edge[axis]),
        guessed_(rule.roundness_error * rule.roundness_error) {
    const double step = rule.edge[axis];
    const std::array<double, 2> edge{rule.edge[axis == 0 ? 1 : 0], rule.edge[axis == 2 ? 1 : 2]};
    for (size_t a = 0; a < 2; ++a) {
      flat_most_[a] = std::floor(rule.flat_steps * step * kSlack / edge[a]);
      along_[a] = {edge[a] / step, rule.chord_reach[axis] * kSlack / edge[a]};
    }
    const double diagonal = std::sqrt(edge[0] * edge[0] + edge[1] * edge[1]);
    along_[2] = {diagonal / step, rule.chord_reach[axis] * kSlack / diagonal};
    const double width = rule.gaussians[1].width / step;
    fading_ = kSquaredPi / 2 * width * width;
  }

  // Where the edge whose lower voxel is given is cut, if the Gaussians say `cut`.
  double moved(const Place& low, bool is_low_inside, double cut) const {
    const int64_t inwards = is_low_inside ? -1 : 1;
    const Place last = moved_by(low, is_low_inside ? 0 : 1);  // the last voxel of the column that is inside
    if (!is_inside(mask_, moved_by(last, inwards))) return cut;
    // the third layer counts across thick slices
    const size_t layers = rule_.is_thick[axis_] && is_inside(mask_, moved_by(last, 2 * inwards)) ? 3 : 2;
    const std::array<size_t, 2> line{lines_[0]->numbers().of(last), lines_[1]->numbers().of(last)};
    auto arms_of = [&](size_t a, int64_t layer) {
      return lines_[a]->arms(line[a] + static_cast<size_t>(layer * inwards * lines_in_step_[a]), last);
    };
    std::array<LayerArms, 2> arms{{{arms_of(0, 0), arms_of(0, 1), {}}, {arms_of(1, 0), arms_of(1, 1), {}}}};
    for (size_t a = 0; a < 2 && layers == 3; ++a) arms[a][2] = arms_of(a, 2);
    if (is_flat(arms, layers, [&](size_t a) { return arms_of(a, -1); })) return 0.5;
    const double gaussians = is_low_inside ? cut : 1 - cut;
    const double end =
        std::min(std::max(mean_end(gaussians, arms, last, inwards, layers), rule_.margin), 1 - rule_.margin);
    return is_low_inside ? end : 1 - end;
  }

 private:
  using LayerArms = std::array<Arms, 3>;  // by layer, in steps of a line
  // How long a step of a line across is, in steps of the column, and how many of them chords may reach.
  struct Along {
    double step, reach;
  };

  Place moved_by(Place at, int64_t steps) const {
    at[axis_] += steps;
    return at;
  }

  // Whether, as far as flat tops reach, there is nothing in the layer outside, and the same in all layers inside.
  template <class Outside>
  bool is_flat(const std::array<LayerArms, 2>& arms, size_t layers, Outside&& outside) const {
    for (size_t a = 0; a < 2; ++a) {
      auto whole = [&](double arm) { return std::min(std::floor(arm), flat_most_[a]); };
      const Arms& last = arms[a][0];
      for (size_t k = 1; k < layers; ++k)
        if (whole(arms[a][k].before) != whole(last.before) || whole(arms[a][k].after) != whole(last.after))
          return false;
    }
    for (size_t a = 0; a < 2; ++a) {
      const Arms beside = outside(a);
      if (std::floor(beside.before) < flat_most_[a] || std::floor(beside.after) < flat_most_[a]) return false;
    }
    return true;
  }

  // What Gaussians and chords say together.
  double mean_end(double gaussians, const std::array<LayerArms, 2>& arms, const Place& last, int64_t inwards,
                  size_t layers) const {
    const End first = end_of(along_[0], arms[0], layers), second = end_of(along_[1], arms[1], layers);
    if (!diagonals_) return weighed<2>(gaussians, {lowered(first, second.power), lowered(second, first.power)});
    std::array<LayerArms, 2> across;
    for (size_t k = 0; k < layers; ++k) {
      const Place layer = moved_by(last, inwards * static_cast<int64_t>(k));
      across[0][k] = diagonals_->on_rising(layer);
      across[1][k] = diagonals_->on_falling(layer);
    }
    return weighed<4>(gaussians,
                      {first, second, end_of(along_[2], across[0], layers), end_of(along_[2], across[1], layers)});
  }

  // All by how sure they are, chords also the less the longer they are.
  template <size_t kEnds>
  double weighed(double gaussians, const std::array<End, kEnds>& ends) const {
    double shortest = kInfinity, squared_slope = 0;
    for (size_t i = 0; i < kEnds; i += 2) {  // two that run across each other
      shortest = std::min({shortest, ends[i].power, ends[i + 1].power});
      squared_slope = std::max(squared_slope, ends[i].slope * ends[i].slope + ends[i + 1].slope * ends[i + 1].slope);
    }
    if (shortest == kInfinity) return gaussians;
    // how far Gaussians may be off, squared: they see nothing of a flat top, and all of a slope
    const double seen = 1 - std::exp(-fading_ * squared_slope), unseen = 1 - seen * seen;
    const double variance = rule_.gaussians_variance + rule_.flat_variance * unseen * unseen;
    double total = gaussians / variance, weights = 1 / variance;
    for (const End& end : ends) {
      const double weight = end.weight * (shortest / end.power);  // none if it is out of reach
      total += weight * end.place;
      weights += weight;
    }
    return total / weights;
  }

  End end_of(const Along& along, const LayerArms& arms, size_t layers) const {
    auto chord = [&](const Arms& of) -> Chord {
      if (!(of.before <= along.reach && of.after <= along.reach)) return {};
      return {of.before * along.step, of.after * along.step};
    };
    const Chords of{chord(arms[0]), chord(arms[1]), layers == 3 ? chord(arms[2]) : Chord()};
    return of.are_known() ? end_of_cap(of, error_, guessed_) : End();
  }

  // Gaussians see the last layer of a strip as half a step thick, whatever it is; so the outlines that chords end at
  // are off.
  End lowered(End end, double power_of_other) const {
    if (power_of_other == kInfinity) return end;
    const double strip = std::max(0.0, 1 - 2 * end.power / power_of_other);
    end.place -= rule_.strip_error * strip * 4 * end.place * (1 - end.place);
    return end;
  }

  size_t axis_;
  const BitVolume& mask_;
  const SubvoxelRule& rule_;
  std::array<const VertexLines*, 2> lines_;  // across the axis
  std::array<int64_t, 2> lines_in_step_;     // along it
  const std::optional<VertexDiagonals>& diagonals_;
  double error_, guessed_;  // of the ends of chords, in steps; of the roundness, squared
  std::array<double, 2> flat_most_;
  std::array<Along, 3> along_;  // the two axes across, and the diagonals
  double fading_;
};

}  // namespace

void move_to_caps(EdgeVertices& cuts, const BitVolume& mask, const CellGrid& grid, const VerticesOnLines& lines,
                  const SubvoxelRule& rule, int threads) {
  constexpr size_t kChunk = 4096;  // edges
  std::array<std::optional<Caps>, 3> caps;
  for (size_t axis = 0; axis < 3; ++axis)
    if (rule.has_caps[axis]) caps[axis].emplace(axis, mask, lines, rule);
  const size_t chunks = (cuts.edges.size() + kChunk - 1) / kChunk;
  parallel_for(static_cast<int64_t>(chunks), threads, [&](int64_t chunk) {
    // which of them are to be moved, branch-free
    std::array<EdgeVertices::Edge, kChunk + 1> open;
    size_t count = 0;
    const size_t first = static_cast<size_t>(chunk) * kChunk, last = std::min(cuts.edges.size(), first + kChunk);
    for (size_t e = first; e < last; ++e) {
      open[count] = cuts.edges[e];
      count += rule.has_caps[open[count].axis] && !cuts.is_settled(open[count].cell, open[count].axis);
    }
    for (size_t k = 0; k < count; ++k) {
      const auto [cell, axis] = open[k];
      cuts.cut[cell][axis] =
          caps[axis]->moved(place_of(grid.cells[cell]), cuts.is_low_inside(cell), cuts.cut[cell][axis]);
    }
  });
}

}  // namespace segauge
