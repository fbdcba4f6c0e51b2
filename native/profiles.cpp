#include "profiles.hpp"

#include <cmath>

#include "parallel.hpp"
#include "pieces.hpp"

namespace segauge {
namespace {

// Distances that are equal but for rounding count as equal.
constexpr double kSlack = 1 + 1e-9;

// An edge along the thick axis that is cut.
struct Edge {
  Place low;  // lower voxel on the padded lattice
  bool is_low_inside;
  size_t cell;
};

// The lattice of voxels as slices across a thick axis: axis p and q lie in the slices.
struct Slices {
  size_t axis, p, q;
  Place size;

  Slices(const BitVolume& mask, size_t thick)
      : axis(thick), p(thick == 0 ? 1 : 0), q(thick == 2 ? 1 : 2), size(padded_size(mask)) {}

  size_t count() const { return static_cast<size_t>(size[axis]); }
  size_t of(const Cell& cell) const { return static_cast<size_t>(place_of(cell)[axis]); }
  Place place(size_t slice, int64_t along_p, int64_t along_q) const {
    Place at;
    at[axis] = static_cast<int64_t>(slice);
    at[p] = along_p;
    at[q] = along_q;
    return at;
  }
};

// The edges along the thick axis that are cut, by the slice of their lower voxel.
struct EdgesBySlice {
  std::vector<size_t> start;
  std::vector<Edge> edges;

  EdgesBySlice(const EdgeCuts& cuts, const CellSet& set, const Slices& slices) : start(slices.count() + 1, 0) {
    for (const auto& [cell, axis] : cuts.edges)
      if (axis == slices.axis) ++start[slices.of(set.cells[cell]) + 1];
    for (size_t slice = 0; slice < slices.count(); ++slice) start[slice + 1] += start[slice];
    edges.resize(start.back());
    std::vector<size_t> next(start.begin(), start.end() - 1);
    for (const auto& [cell, axis] : cuts.edges)
      if (axis == slices.axis) {
        const Cell& of = set.cells[cell];
        edges[next[slices.of(of)]++] = {place_of(of), cuts.is_low_inside(cell), cell};
      }
  }
};

// Writes for every voxel of a line the squared distance to the nearest of the cuts on it.
void write_squares(const double* cut, const double* end, int32_t size, double edge, double* square) {
  int32_t x = 0;
  for (; cut != end; ++cut) {
    // as far as the middle between this cut and the next one
    const double half = cut + 1 == end ? size : (cut[0] + cut[1]) / 2, here = *cut;
    const int32_t until = std::min(size, static_cast<int32_t>(std::ceil(half)));
    for (; x < until; ++x) {
      const double along = (here - x) * edge;
      square[x] = along * along;
    }
  }
  for (; x < size; ++x) square[x] = kInfinity;
}

// How far the voxels of one slice are from its outline.
class Outline {
 public:
  Outline(const Slices& slices, const SubvoxelRule& rule)
      : slices_(slices), edge_p_(rule.edge[slices.p]), edge_q_(rule.edge[slices.q]),
        along_p_(slices.size[slices.q], slices.size[slices.p]), along_q_(slices.size[slices.p], slices.size[slices.q]) {}

  void enter(size_t slice, const CutLines& p_lines, const CutLines& q_lines) {
    for (int64_t q = 0; q < slices_.size[slices_.q]; ++q) along_p_.write(q, p_lines, slices_.place(slice, 0, q), edge_p_);
    for (int64_t p = 0; p < slices_.size[slices_.p]; ++p) along_q_.write(p, q_lines, slices_.place(slice, p, 0), edge_q_);
  }

  // Distance in mm to the nearest vertex; infinity where it is farther than the limit.
  double distance(const Place& at, double limit) const {
    const int64_t p = at[slices_.p], q = at[slices_.q], np = slices_.size[slices_.p], nq = slices_.size[slices_.q];
    const double *on_p = along_p_.square.data() + q * np + p, *on_q = along_q_.square.data() + p * nq + q;
    double best = std::min({limit * limit * kSlack, *on_p, *on_q});
    best = look_through(on_p, q, nq, np, edge_q_, best);
    best = look_through(on_q, p, np, nq, edge_p_, best);
    return best < limit * limit * kSlack ? std::sqrt(best) : kInfinity;
  }

 private:
  // Across the lines, `stride` numbers apart, away from the one that is numbered `from`.
  static double look_through(const double* here, int64_t from, int64_t size, int64_t stride, double edge, double best) {
    const double *before = here, *after = here;
    const int64_t both = std::min(from, size - 1 - from);  // so many steps there is something on either side
    double across = edge;
    int64_t step = 1;
    for (; step <= both && across * across < best; ++step, across += edge) {
      before -= stride;
      after += stride;
      best = std::min(best, std::min(*before, *after) + across * across);
    }
    const int64_t most = std::max(from, size - 1 - from), way = from > both ? -stride : stride;
    for (; step <= most && across * across < best; ++step, across += edge)
      best = std::min(best, here[way * step] + across * across);
    return best;
  }

  const Slices& slices_;
  double edge_p_, edge_q_;
  // Squared mm along the line of a voxel to the nearest vertex on it, line after line.
  struct OnLines {
    int64_t length;
    std::vector<double> square;
    std::vector<char> has_any;  // by line; what has no vertex, and had none before, stays as it is

    OnLines(int64_t lines, int64_t each)
        : length(each), square(static_cast<size_t>(lines * each), kInfinity), has_any(static_cast<size_t>(lines), 0) {}

    void write(int64_t line, const CutLines& cuts, const Place& at, double edge) {
      const double *begin = cuts.begin(at), *end = cuts.end(at);
      char& has = has_any[static_cast<size_t>(line)];
      if (begin == end && !has) return;
      has = begin != end;
      write_squares(begin, end, static_cast<int32_t>(length), edge, square.data() + line * length);
    }
  };

  OnLines along_p_, along_q_;
};

// The signed distances of one column of voxels from the outlines of three slices: the one outside, the one inside, and
// the next further in. Negative outside; infinite where the outline is out of reach.
using Profile = std::array<double, 3>;

// The first zero beyond `from` (in mm along the axis, 0 at the middle one) of the circle through three points of a
// profile whose distances are given, `step` mm apart; infinity if there is none.
double circle_zero(double before, double middle, double after, double step, double from) {
  const double bend = before - 2 * middle + after;
  const double whole = before * before - 2 * middle * middle + after * after + 2 * step * step;
  const double a = bend;
  const double b = -(bend * (after * after - before * before) - whole * (after - before)) / (2 * step);
  const double c = whole * middle - bend * middle * middle;
  const double inner = b * b - 4 * a * c;
  if (!(inner >= 0)) return kInfinity;
  const double sum = -0.5 * (b + std::copysign(std::sqrt(inner), b));
  double first = kInfinity;
  for (const double zero : {sum / a, c / sum})
    if (std::isfinite(zero) && zero > from) first = std::min(first, zero);
  return first;
}

// Where between the slice inside and the one outside the surface passes, 0 to 1; infinity where it does not say.
double place_on_profile(const Profile& profile, double step) {
  const auto [outside, inside, next] = profile;
  if (!std::isfinite(outside) || !std::isfinite(inside) || !std::isfinite(next) || next < 0) return kInfinity;
  const double place = circle_zero(next, inside, outside, step, 0) / step;
  return place <= 1 ? place : inside / (inside - outside);
}

// Fills in what one slice adds to the profiles of the edges near it.
void add_slice(int64_t slice, const BitVolume& mask, const SubvoxelRule& rule, const Slices& slices,
               const Outline& outline, const EdgesBySlice& sorted, std::vector<Profile>& profiles) {
  const double step = rule.edge[slices.axis];
  const int64_t first = std::max<int64_t>(slice - 2, 0), last = std::min<int64_t>(slice + 1, slices.size[slices.axis] - 1);
  for (size_t e = sorted.start[static_cast<size_t>(first)]; e < sorted.start[static_cast<size_t>(last) + 1]; ++e) {
    const Edge& edge = sorted.edges[e];
    const int64_t low = edge.low[slices.axis];
    const int64_t slot = edge.is_low_inside ? low + 1 - slice : slice - low;  // 0 outside, 1 inside, 2 further in
    if (slot < 0 || slot > 2) continue;
    Place at = edge.low;
    at[slices.axis] = slice;
    const bool inside = is_inside(mask, at);
    const double distance = outline.distance(at, step * (inside ? rule.far_steps : rule.near_steps));
    profiles[e][static_cast<size_t>(slot)] = inside ? distance : -distance;
  }
}

// Moves the cuts of the edges along one thick axis.
void move_along(EdgeCuts& cuts, const EdgesBySlice& sorted, const BitVolume& mask, const CutsOnLines& lines,
                const SubvoxelRule& rule, const Slices& slices, int threads) {
  Profile unknown;
  unknown.fill(-kInfinity);
  std::vector<Profile> profiles(sorted.edges.size(), unknown);
  const auto count = static_cast<int64_t>(slices.count());
  std::vector<Outline> outlines(static_cast<size_t>(worker_count(count, threads)), Outline(slices, rule));
  parallel_for(count, threads, [&](int64_t slice, int worker) {
    Outline& outline = outlines[static_cast<size_t>(worker)];
    outline.enter(static_cast<size_t>(slice), lines.along[slices.p], lines.along[slices.q]);
    add_slice(slice, mask, rule, slices, outline, sorted, profiles);
  });
  for (size_t e = 0; e < profiles.size(); ++e) {
    const double place = place_on_profile(profiles[e], rule.edge[slices.axis]);
    if (place == kInfinity) continue;
    const double held = std::min(std::max(place, rule.margin), 1 - rule.margin);
    cuts.cut[sorted.edges[e].cell][slices.axis] = sorted.edges[e].is_low_inside ? held : 1 - held;
    cuts.settle(sorted.edges[e].cell, slices.axis);
  }
}

}  // namespace

void move_to_profiles(EdgeCuts& cuts, const BitVolume& mask, const CellSet& set, const CutsOnLines& lines,
                      const SubvoxelRule& rule, int threads) {
  for (size_t axis = 0; axis < 3; ++axis) {
    if (!rule.is_thick[axis]) continue;
    const Slices slices(mask, axis);
    move_along(cuts, EdgesBySlice(cuts, set, slices), mask, lines, rule, slices, threads);
  }
}

}  // namespace segauge
