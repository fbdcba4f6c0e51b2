#include "subvoxel/outlines.hpp"

#include <cmath>
#include <cstring>

#include "core/parallel.hpp"
#include "search/bounds.hpp"

namespace segauge {
namespace {

// Distances that are equal but for rounding count as equal.
constexpr double kSlack = 1 + 1e-9;

// The lattice of voxels as slices across a thick axis: axis p and q lie in the slices.
struct Slices {
  size_t axis, p, q;
  Place size;

  Slices(const BitVolume& mask, size_t thick)
      : axis(thick), p(thick == 0 ? 1 : 0), q(thick == 2 ? 1 : 2), size(padded_size(mask)) {}

  size_t count() const { return static_cast<size_t>(size[axis]); }
  Place place(size_t slice, int64_t along_p, int64_t along_q) const {
    Place at;
    at[axis] = static_cast<int64_t>(slice);
    at[p] = along_p;
    at[q] = along_q;
    return at;
  }
};

// The edges along the thick axis that are cut and have a profile: the column goes on further inside. Those whose lower
// voxel is inside come first, then the others, each by the slice of the lower voxel.
class EdgesBySlice {
 public:
  struct Edge {
    int32_t p, q;
    uint32_t cell;
  };
  struct Range {
    size_t begin, end;
  };
  Uninitialised<Edge> edges;

  EdgesBySlice(const EdgeVertices& cuts, const BitVolume& mask, const CellGrid& grid, const Slices& slices)
      : slices_(slices.count()), start_(2 * slices_ + 1, 0) {
    Uninitialised<Edge> found(cuts.edges.size() + 1);
    Uninitialised<uint32_t> list(cuts.edges.size() + 1);
    size_t count = 0;
    for (const auto& [cell, axis] : cuts.edges) {
      if (axis != slices.axis) continue;
      Place at = place_of(grid.cells[cell]);
      const bool is_low_inside = cuts.is_low_inside(cell);
      found[count] = {static_cast<int32_t>(at[slices.p]), static_cast<int32_t>(at[slices.q]), cell};
      list[count] = static_cast<uint32_t>((is_low_inside ? 0 : slices_) + static_cast<size_t>(at[slices.axis]));
      at[slices.axis] += is_low_inside ? -1 : 2;
      const bool goes_on = is_inside(mask, at);
      start_[list[count] + 1] += goes_on;
      count += goes_on;
    }
    for (size_t k = 0; k + 1 < start_.size(); ++k) start_[k + 1] += start_[k];
    edges.resize(count);
    std::vector<size_t> next(start_.begin(), start_.end() - 1);
    for (size_t e = 0; e < count; ++e) edges[next[list[e]]++] = found[e];
  }

  // Those with the lower voxel inside, or not inside, in a slice; none where there is no such slice.
  Range in(bool is_low_inside, int64_t slice) const {
    if (slice < 0 || slice >= static_cast<int64_t>(slices_)) return {0, 0};
    const size_t list = (is_low_inside ? 0 : slices_) + static_cast<size_t>(slice);
    return {start_[list], start_[list + 1]};
  }
  bool is_low_inside(size_t edge) const { return edge < start_[slices_]; }

 private:
  size_t slices_;
  std::vector<size_t> start_;
};

typedef double Two __attribute__((vector_size(16)));

// Writes for every voxel of a line the squared distance to the nearest of the cuts on it, and up to kBeyond numbers
// more.
constexpr int64_t kBeyond = 3;
void write_squares(const double* cut, const double* end, int64_t size, double edge, double* square) {
  if (cut == end) return std::fill(square, square + size, kInfinity);
  for (int64_t x = 0; cut != end; ++cut) {
    // as far as the middle between this cut and the next one, which overwrites what goes beyond
    const int64_t until =
        cut + 1 == end ? size : std::min(size, static_cast<int64_t>(std::ceil((cut[0] + cut[1]) / 2)));
    if (until <= x) continue;
    Two low{static_cast<double>(x), static_cast<double>(x + 1)};
    for (; x < until; x += 4, low += 4) {
      const Two first = (*cut - low) * edge, second = (*cut - (low + 2)) * edge;
      const Two squares[2] = {first * first, second * second};
      std::memcpy(square + x, squares, sizeof squares);
    }
    x = until;
  }
}

// How far the voxels of one slice are from its outline.
class Outline {
 public:
  Outline(const Slices& slices, const SubvoxelRule& rule)
      : slices_(slices),
        edge_p_(rule.edge[slices.p]),
        edge_q_(rule.edge[slices.q]),
        along_p_(slices.size[slices.q], slices.size[slices.p]),
        along_q_(slices.size[slices.p], slices.size[slices.q]) {}

  void enter(size_t slice, const VertexLines& p_lines, const VertexLines& q_lines) {
    for (int64_t q = 0; q < slices_.size[slices_.q]; ++q)
      along_p_.write(q, p_lines, slices_.place(slice, 0, q), edge_p_);
    for (int64_t p = 0; p < slices_.size[slices_.p]; ++p)
      along_q_.write(p, q_lines, slices_.place(slice, p, 0), edge_q_);
  }

  // Distance in mm of a voxel to the nearest vertex; infinity where it is farther than the limit.
  double distance(int64_t p, int64_t q, double limit) const {
    const double* on_p = along_p_.square.data() + q * along_p_.stride + p;
    const double* on_q = along_q_.square.data() + p * along_q_.stride + q;
    double best = std::min({limit * limit * kSlack, *on_p, *on_q});
    best = look_through(on_p, q, slices_.size[slices_.q], along_p_.stride, edge_q_, best);
    best = look_through(on_q, p, slices_.size[slices_.p], along_q_.stride, edge_p_, best);
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
    int64_t length, stride;  // of a line; from one to the next
    std::vector<double> square;
    std::vector<char> has_any;  // by line; what has no vertex, and had none before, stays as it is

    OnLines(int64_t lines, int64_t each)
        : length(each),
          stride(each + kBeyond),
          square(static_cast<size_t>(lines * stride), kInfinity),
          has_any(static_cast<size_t>(lines), 0) {}

    void write(int64_t line, const VertexLines& cuts, const Place& at, double edge) {
      const size_t number = cuts.numbers().of(at);
      const double *begin = cuts.begin(number), *end = cuts.end(number);
      char& has = has_any[static_cast<size_t>(line)];
      if (begin == end && !has) return;
      has = begin != end;
      write_squares(begin, end, length, edge, square.data() + line * stride);
    }
  };

  OnLines along_p_, along_q_;
};

// How far one column of voxels lies outside and inside of the outlines of three slices: the one outside, the one
// inside, and the next further in. Infinite where the outline is out of reach.
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
  if (!std::isfinite(outside) || !std::isfinite(inside) || !std::isfinite(next)) return kInfinity;
  const double place = circle_zero(next, inside, -outside, step, 0) / step;
  return place <= 1 ? place : inside / (inside + outside);
}

// Fills in what one slice adds to the profiles of the edges near it.
void add_slice(int64_t slice, const SubvoxelRule& rule, const Slices& slices, const Outline& outline,
               const EdgesBySlice& sorted, std::vector<Profile>& profiles) {
  for (int64_t slot = 0; slot < 3; ++slot) {
    const double limit = rule.edge[slices.axis] * (slot == 0 ? rule.near_steps : rule.far_steps);
    for (const bool is_low_inside : {true, false}) {
      const EdgesBySlice::Range range = sorted.in(is_low_inside, is_low_inside ? slice + slot - 1 : slice - slot);
      for (size_t e = range.begin; e < range.end; ++e)
        profiles[e][static_cast<size_t>(slot)] = outline.distance(sorted.edges[e].p, sorted.edges[e].q, limit);
    }
  }
}

// Moves the cuts of the edges along one thick axis.
void move_along(EdgeVertices& cuts, const EdgesBySlice& sorted, const VerticesOnLines& lines, const SubvoxelRule& rule,
                const Slices& slices, int threads) {
  Profile unknown;
  unknown.fill(kInfinity);
  std::vector<Profile> profiles(sorted.edges.size(), unknown);
  const auto count = static_cast<int64_t>(slices.count());
  std::vector<Outline> outlines(static_cast<size_t>(worker_count(count, threads)), Outline(slices, rule));
  parallel_for(count, threads, [&](int64_t slice, int worker) {
    Outline& outline = outlines[static_cast<size_t>(worker)];
    outline.enter(static_cast<size_t>(slice), lines.along[slices.p], lines.along[slices.q]);
    add_slice(slice, rule, slices, outline, sorted, profiles);
  });
  for (size_t e = 0; e < profiles.size(); ++e) {
    const double place = place_on_profile(profiles[e], rule.edge[slices.axis]);
    if (place == kInfinity) continue;
    const double held = std::min(std::max(place, rule.margin), 1 - rule.margin);
    cuts.cut[sorted.edges[e].cell][slices.axis] = sorted.is_low_inside(e) ? held : 1 - held;
    cuts.settle(sorted.edges[e].cell, slices.axis);
  }
}

}  // namespace

void move_to_outlines(EdgeVertices& cuts, const BitVolume& mask, const CellGrid& grid, const VerticesOnLines& lines,
                      const SubvoxelRule& rule, int threads) {
  for (size_t axis = 0; axis < 3; ++axis) {
    if (!rule.is_thick[axis]) continue;
    const Slices slices(mask, axis);
    move_along(cuts, EdgesBySlice(cuts, mask, grid, slices), lines, rule, slices, threads);
  }
}

}  // namespace segauge
