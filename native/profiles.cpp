#include "profiles.hpp"

#include <cmath>

#include "parallel.hpp"
#include "pieces.hpp"

namespace segauge {
namespace {

using Place = std::array<int64_t, 3>;
// Distances that are equal but for rounding count as equal.
constexpr double kSlack = 1 + 1e-9;

Place place_of(const Cell& cell) { return {cell.z, cell.y, cell.x}; }

// An edge along the thick axis that is cut.
struct Edge {
  Place low;  // lower voxel on the padded lattice
  bool is_low_inside;
  size_t cell;
};

// The lattice of voxels as slices across a thick axis: axis p and q lie in the slices.
struct Slices {
  size_t axis, p, q;
  Place size;  // with one voxel of padding on each side

  Slices(const BitVolume& mask, size_t thick)
      : axis(thick), p(thick == 0 ? 1 : 0), q(thick == 2 ? 1 : 2),
        size{mask.ndim == 3 ? mask.nz + 2 : 1, mask.ny + 2, mask.nx + 2} {}

  size_t count() const { return static_cast<size_t>(size[axis]); }
  size_t of(const Cell& cell) const { return static_cast<size_t>(place_of(cell)[axis]); }
  size_t other(size_t along) const { return along == p ? q : p; }
  // Lines of voxels along p or q, numbered slice by slice.
  size_t lines(size_t along) const { return count() * static_cast<size_t>(size[other(along)]); }
  size_t line(size_t along, const Place& at) const {
    return static_cast<size_t>(at[axis] * size[other(along)] + at[other(along)]);
  }
};

// The edges along the thick axis that are cut, by the slice of their lower voxel.
struct EdgesBySlice {
  std::vector<size_t> start;
  std::vector<Edge> edges;

  EdgesBySlice(const EdgeCuts& cuts, const CellSet& set, const Slices& slices) : start(slices.count() + 1, 0) {
    for (size_t i = 0; i < set.cells.size(); ++i)
      if (cuts.has(i, slices.axis)) ++start[slices.of(set.cells[i]) + 1];
    for (size_t slice = 0; slice < slices.count(); ++slice) start[slice + 1] += start[slice];
    edges.resize(start.back());
    std::vector<size_t> next(start.begin(), start.end() - 1);
    for (size_t i = 0; i < set.cells.size(); ++i)
      if (cuts.has(i, slices.axis)) {
        const Cell& cell = set.cells[i];
        edges[next[slices.of(cell)]++] = {place_of(cell), cuts.is_low_inside(i), i};
      }
  }
};

// The vertices of all outlines on the lines of voxels along one axis, line by line, in ascending order.
class Lines {
 public:
  Lines(const EdgeCuts& cuts, const CellSet& set, const Slices& slices, size_t along) : start_(slices.lines(along) + 1, 0) {
    for (size_t i = 0; i < set.cells.size(); ++i)
      if (cuts.has(i, along)) ++start_[slices.line(along, place_of(set.cells[i])) + 1];
    for (size_t line = 0; line + 1 < start_.size(); ++line) start_[line + 1] += start_[line];
    place_.resize(start_.back());
    std::vector<size_t> next(start_.begin(), start_.end() - 1);
    for (size_t i = 0; i < set.cells.size(); ++i)
      if (cuts.has(i, along)) {
        const Place at = place_of(set.cells[i]);
        place_[next[slices.line(along, at)]++] = static_cast<double>(at[along]) + cuts.cut[i][along];
      }
    for (size_t line = 0; line + 1 < start_.size(); ++line)
      std::sort(place_.data() + start_[line], place_.data() + start_[line + 1]);
  }

  // Writes for every voxel of a line the squared distance to the nearest vertex on it.
  void write_squares(size_t line, size_t size, double edge, double* square, size_t stride) const {
    size_t i = start_[line];
    const size_t end = start_[line + 1];
    for (size_t x = 0; x < size; ++x, square += stride) {
      if (i == end) {
        *square = kInfinity;
        continue;
      }
      const auto here = static_cast<double>(x);
      while (i + 1 < end && place_[i + 1] - here <= here - place_[i]) ++i;
      const double along = (place_[i] - here) * edge;
      *square = along * along;
    }
  }

 private:
  std::vector<size_t> start_;
  std::vector<double> place_;
};

// How far the voxels of one slice are from its outline.
class Outline {
 public:
  Outline(const Slices& slices, const SubvoxelRule& rule)
      : slices_(slices), edge_p_(rule.edge[slices.p]), edge_q_(rule.edge[slices.q]),
        along_p_(static_cast<size_t>(slices.size[slices.p] * slices.size[slices.q])), along_q_(along_p_.size()) {}

  void enter(size_t slice, const Lines& p_lines, const Lines& q_lines) {
    const auto np = static_cast<size_t>(slices_.size[slices_.p]), nq = static_cast<size_t>(slices_.size[slices_.q]);
    // each beside its neighbours across the lines, along which they are looked through
    for (size_t q = 0; q < nq; ++q) p_lines.write_squares(slice * nq + q, np, edge_p_, along_p_.data() + q, nq);
    for (size_t p = 0; p < np; ++p) q_lines.write_squares(slice * np + p, nq, edge_q_, along_q_.data() + p, np);
  }

  // Distance in mm to the nearest vertex; infinity where it is farther than the limit.
  double distance(const Place& at, double limit) const {
    const int64_t p = at[slices_.p], q = at[slices_.q], np = slices_.size[slices_.p], nq = slices_.size[slices_.q];
    double best = limit * limit * kSlack;
    best = look_through(along_p_.data() + p * nq, q, nq, edge_q_, best);
    best = look_through(along_q_.data() + q * np, p, np, edge_p_, best);
    return best < limit * limit * kSlack ? std::sqrt(best) : kInfinity;
  }

 private:
  static double look_through(const double* square, int64_t from, int64_t size, double edge, double best) {
    best = std::min(best, square[from]);
    for (int64_t step = 1; step < size; ++step) {
      const double across = static_cast<double>(step) * edge, least = across * across;
      if (least >= best) break;
      if (from >= step) best = std::min(best, square[from - step] + least);
      if (from + step < size) best = std::min(best, square[from + step] + least);
    }
    return best;
  }

  const Slices& slices_;
  double edge_p_, edge_q_;
  std::vector<double> along_p_, along_q_;  // squared mm along the line of a voxel to the nearest vertex on it
};

// The signed distances of one column of voxels from the outlines of four slices: the one outside, the one inside, and
// the next two further in. Negative outside; infinite where the outline is out of reach.
using Profile = std::array<double, 4>;

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

// Where beyond the last slice of a cap its profile ends, in steps; at most kFarthest.
constexpr double kFarthest = 3;
double end_of_cap(double inside, double next, double last, double step) {
  return std::min(circle_zero(last, next, inside, step, step) / step - 1, kFarthest);
}

// How much the end of a cap would vary if the three outlines were off by `error`, each for itself.
double variance_of_cap(const std::array<double, 3>& outlines, double step, double error) {
  double sum = 0;
  for (size_t i = 0; i < outlines.size(); ++i) {
    std::array<double, 3> more = outlines, less = outlines;
    more[i] += error;
    less[i] -= error;
    const double half = (end_of_cap(more[0], more[1], more[2], step) - end_of_cap(less[0], less[1], less[2], step)) / 2;
    sum += half * half;
  }
  return sum;
}

// Where between the slice inside and the one outside the surface passes, 0 to 1, if the bells say `otherwise`.
double place_on_profile(const Profile& profile, double step, double error, double otherwise) {
  const auto [outside, inside, next, last] = profile;
  if (!std::isfinite(inside) || !std::isfinite(next) || next < 0) return otherwise;
  if (std::isfinite(outside)) {
    const double place = circle_zero(next, inside, outside, step, 0) / step;
    return place <= 1 ? place : inside / (inside - outside);
  }
  if (!std::isfinite(last)) return otherwise;
  double place = end_of_cap(inside, next, last, step);
  if (place > 1) {
    const double refuted = std::min(place - 1, 1.0);  // by the slice outside, in which there should be something
    place = 1 - refuted + refuted * otherwise;
  }
  constexpr double kIgnorance = 1.0 / 12;  // the variance of a place of which nothing is known
  return otherwise + (place - otherwise) * kIgnorance / (kIgnorance + variance_of_cap({inside, next, last}, step, error));
}

bool is_inside(const BitVolume& mask, const Place& at) {
  const int64_t z = mask.ndim == 3 ? at[0] - 1 : 0, y = at[1] - 1, x = at[2] - 1;
  return z >= 0 && z < mask.nz && y >= 0 && y < mask.ny && x >= 0 && x < mask.nx && mask.get(z, y, x);
}

// Fills in what one slice adds to the profiles of the edges near it.
void add_slice(int64_t slice, const BitVolume& mask, const SubvoxelRule& rule, const Slices& slices,
               const Outline& outline, const EdgesBySlice& sorted, std::vector<Profile>& profiles) {
  const double step = rule.edge[slices.axis];
  const int64_t first = std::max<int64_t>(slice - 3, 0), last = std::min<int64_t>(slice + 2, slices.size[slices.axis] - 1);
  for (size_t e = sorted.start[static_cast<size_t>(first)]; e < sorted.start[static_cast<size_t>(last) + 1]; ++e) {
    const Edge& edge = sorted.edges[e];
    const int64_t low = edge.low[slices.axis];
    const int64_t slot = edge.is_low_inside ? low + 1 - slice : slice - low;  // 0 outside, 1 inside, 2 and 3 further in
    if (slot < 0 || slot > 3) continue;
    Place at = edge.low;
    at[slices.axis] = slice;
    const bool inside = is_inside(mask, at);
    const double distance = outline.distance(at, step * (inside ? rule.far_steps : rule.near_steps));
    profiles[e][static_cast<size_t>(slot)] = inside ? distance : -distance;
  }
}

// Where the edges along one thick axis are cut, in the order in which they are sorted.
std::vector<double> cuts_on_profiles(const EdgesBySlice& sorted, const EdgeCuts& cuts, const BitVolume& mask,
                                     const CellSet& set, const SubvoxelRule& rule, const Slices& slices, int threads) {
  const Lines p_lines(cuts, set, slices, slices.p), q_lines(cuts, set, slices, slices.q);
  Profile unknown;
  unknown.fill(-kInfinity);
  std::vector<Profile> profiles(sorted.edges.size(), unknown);
  const auto count = static_cast<int64_t>(slices.count());
  std::vector<Outline> outlines(static_cast<size_t>(worker_count(count, threads)), Outline(slices, rule));
  parallel_for(count, threads, [&](int64_t slice, int worker) {
    Outline& outline = outlines[static_cast<size_t>(worker)];
    outline.enter(static_cast<size_t>(slice), p_lines, q_lines);
    add_slice(slice, mask, rule, slices, outline, sorted, profiles);
  });
  std::vector<double> found(sorted.edges.size());
  for (size_t e = 0; e < found.size(); ++e) {
    const Edge& edge = sorted.edges[e];
    const double cut = cuts.cut[edge.cell][slices.axis];
    const double bells = edge.is_low_inside ? cut : 1 - cut;
    const double place = place_on_profile(profiles[e], rule.edge[slices.axis], rule.outline_error, bells);
    const double held = std::min(std::max(place, rule.margin), 1 - rule.margin);
    found[e] = edge.is_low_inside ? held : 1 - held;
  }
  return found;
}

}  // namespace

void move_to_profiles(EdgeCuts& cuts, const BitVolume& mask, const CellSet& set, const SubvoxelRule& rule, int threads) {
  if (rule.is_thick == std::array<bool, 3>{}) return;
  const EdgeCuts bells = cuts;  // an outline across another thick axis is that of the bells, whichever is moved first
  for (size_t axis = 0; axis < 3; ++axis) {
    if (!rule.is_thick[axis]) continue;
    const Slices slices(mask, axis);
    const EdgesBySlice sorted(bells, set, slices);
    const std::vector<double> moved = cuts_on_profiles(sorted, bells, mask, set, rule, slices, threads);
    for (size_t e = 0; e < moved.size(); ++e) cuts.cut[sorted.edges[e].cell][axis] = moved[e];
  }
}

}  // namespace segauge
