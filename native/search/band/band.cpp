#include "search/band/band.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parallel.hpp"
#include "core/vectors.hpp"
#include "search/band/structuring_element.hpp"

namespace segauge {
namespace {

// Bounds hold for certain if they are this much wider, or narrower, than rounding in a distance can be.
constexpr double kMargin = 1e-9;

// The voxels of a mask around which all the places belong to it too.
BitVolume eroded(const BitVolume& mask, const OccupiedRows& rows, const StructuringElement& places) {
  BitVolume out = mask;
  combine_over<Erosion>(mask, rows, places, out);
  return out;
}

void keep(BitVolume& bits, const BitVolume& others, bool where_set) {
  for (size_t i = 0; i < bits.bits.size(); ++i) bits.bits[i] &= where_set ? others.bits[i] : ~others.bits[i];
}

// The voxels whose neighbour one step along an axis is not in the mask.
BitVolume open_towards(const BitVolume& mask, const OccupiedRows& rows, size_t axis, int64_t direction) {
  StructuringElement::Row step{0, 0, 0, 0};
  if (axis == 0) step.z = direction;
  if (axis == 1) step.y = direction;
  if (axis == 2) step.low = step.high = direction;
  BitVolume neighbours(mask.ndim, mask.nz, mask.ny, mask.nx), out = mask;
  combine_over<Dilation>(mask, rows, {{step}}, neighbours);
  keep(out, neighbours, false);
  return out;
}

// Squared length in mm of a way of so many steps along the axes.
double squared_length(const CellPatterns& lattice, const Vec3& steps) {
  Vec3 sum{};
  for (size_t axis = 0; axis < 3; ++axis)
    for (size_t i = 0; i < 3; ++i) sum[i] += lattice.step[axis][i] * steps[axis];
  return dot(sum, sum);
}

double beyond(int64_t steps, double shortened) {
  return std::max(0.0, static_cast<double>(std::abs(steps)) - shortened);
}

// The places of which a part, within `half` steps along each axis, lies within the width; for axes at right angles.
StructuringElement element_within(const Steps& span, const CellPatterns& lattice, double half, double width) {
  return element_where(span, [&](int64_t z, int64_t y, int64_t x) {
    return squared_length(lattice, {beyond(z, half), beyond(y, half), beyond(x, half)}) <= width * width;
  });
}

int64_t rows_within(const Steps& span) { return (2 * span[0] + 1) * (2 * span[1] + 1); }

// Where so many rows lie within the width, looking at all of them takes longer than a search for the voxels in
// question.
bool is_wide(const Steps& span) { return rows_within(span) > 1200; }

// The voxels around which everything within `span` steps along each axis is in the mask: one axis after the other.
BitVolume all_in_box(const BitVolume& mask, const OccupiedRows& rows, const Steps& span) {
  BitVolume out = eroded(mask, rows, {{{0, 0, -span[2], span[2]}}});
  for (const size_t axis : {size_t{1}, size_t{0}}) {
    StructuringElement places;
    for (int64_t step = -span[axis]; step <= span[axis]; ++step)
      places.rows.push_back({axis == 0 ? step : 0, axis == 1 ? step : 0, 0, 0});
    out = eroded(out, rows, places);
  }
  return out;
}

// The voxels that are clear of all cells of which a part lies within the width: their corners are in the mask.
BitVolume clear_of_cells(const BitVolume& mask, const OccupiedRows& rows, const Steps& span,
                         const CellPatterns& lattice, double width) {
  if (!lattice.is_orthogonal || is_wide(span)) return all_in_box(mask, rows, span);
  return eroded(mask, rows, element_within(span, lattice, 1.0, width * (1 + kMargin)));
}

// A cell of marching cubes, seen from a voxel at one of the corners of its octant: `near` is the corner nearest to it.
class OctantCell {
 public:
  OctantCell(const Steps& near, const CellPatterns& lattice, int ndim) {
    for (size_t axis = 0; axis < 3; ++axis) {
      const double edge = lattice.step[axis][axis];
      low_[axis] = edge * static_cast<double>(near[axis]);
      high_[axis] = ndim == 2 && axis == 0 ? low_[axis] : low_[axis] + edge;
    }
  }

  // Whether the surface in the cell is further away than the width, if all voxels within a radius are in the mask. It
  // lies between the midpoints of edges with an end in the background, and so beyond any plane that they all lie
  // beyond.
  bool is_clear(double squared_radius, double width) const {
    if (dot(high_, high_) <= squared_radius || dot(low_, low_) > width * width) return true;
    std::array<Vec3, 12> midpoints;
    const size_t count = find_midpoints(squared_radius, midpoints);
    Vec3 middle{}, mean{};
    for (size_t axis = 0; axis < 3; ++axis) {
      middle[axis] = (low_[axis] + high_[axis]) / 2;
      for (size_t i = 0; i < count; ++i) mean[axis] += midpoints[i][axis];
    }
    for (const Vec3& towards : {middle, mean}) {
      double least = kInfinity;
      for (size_t i = 0; i < count; ++i) least = std::min(least, dot(midpoints[i], towards));
      if (least > width * std::sqrt(dot(towards, towards))) return true;
    }
    return false;
  }

 private:
  size_t find_midpoints(double squared_radius, std::array<Vec3, 12>& out) const {
    size_t count = 0;
    for (size_t axis = 0; axis < 3; ++axis) {
      if (low_[axis] == high_[axis]) continue;
      const size_t one = (axis + 1) % 3, two = (axis + 2) % 3;
      for (int corner = 0; corner < 4; ++corner) {
        if ((corner & 1 && low_[one] == high_[one]) || (corner & 2 && low_[two] == high_[two])) continue;
        Vec3 far_end;
        far_end[axis] = high_[axis];
        far_end[one] = corner & 1 ? high_[one] : low_[one];
        far_end[two] = corner & 2 ? high_[two] : low_[two];
        if (dot(far_end, far_end) <= squared_radius) continue;
        far_end[axis] = (low_[axis] + high_[axis]) / 2;
        out[count++] = far_end;
      }
    }
    return count;
  }

  Vec3 low_, high_;
};

// The places nearest to a voxel that must all be in the mask so that no surface of marching cubes comes within the
// width; for axes at right angles.
StructuringElement element_that_clears(const Steps& span, const CellPatterns& lattice, int ndim, double width) {
  std::vector<double> radii;  // squared
  std::vector<OctantCell> cells;
  for (int64_t z = 0; z <= span[0]; ++z)
    for (int64_t y = 0; y <= span[1]; ++y)
      for (int64_t x = 0; x <= span[2]; ++x) {
        const Vec3 place{static_cast<double>(z), static_cast<double>(y), static_cast<double>(x)};
        radii.push_back(squared_length(lattice, place));
        cells.emplace_back(Steps{z, y, x}, lattice, ndim);
      }
  std::sort(radii.begin(), radii.end());
  const double beyond_rounding = width * (1 + kMargin);
  const auto least = std::partition_point(radii.begin(), radii.end(), [&](double radius) {
    return std::any_of(cells.begin(), cells.end(),
                       [&](const OctantCell& cell) { return !cell.is_clear(radius, beyond_rounding); });
  });
  if (least == radii.end()) return element_within(span, lattice, 1.0, beyond_rounding);  // wider than the mask
  return element_where(span, [&](int64_t z, int64_t y, int64_t x) {
    return squared_length(lattice, {beyond(z, 0), beyond(y, 0), beyond(x, 0)}) <= *least;
  });
}

// The voxels within the width of a voxel with a neighbour in the background, less the way to the middle between those
// two.
BitVolume near_outermost(const BitVolume& mask, const OccupiedRows& rows, const Steps& span,
                         const CellPatterns& lattice, double width) {
  StructuringElement beside{{{0, -1, 0, 0}, {0, 1, 0, 0}, {0, 0, -1, 1}}};
  if (mask.ndim == 3) beside.rows.insert(beside.rows.end(), {{-1, 0, 0, 0}, {1, 0, 0, 0}});
  double longest = 0;
  for (size_t axis = mask.ndim == 3 ? 0 : 1; axis < 3; ++axis)
    longest = std::max(longest, std::sqrt(dot(lattice.step[axis], lattice.step[axis])));
  const double allowed = width * (1 - kMargin) - longest / 2;
  BitVolume outermost = mask, out(mask.ndim, mask.nz, mask.ny, mask.nx);
  if (allowed < 0) return out;
  keep(outermost, eroded(mask, rows, beside), false);
  const StructuringElement places = element_where(span, [&](int64_t z, int64_t y, int64_t x) {
    return squared_length(lattice, {static_cast<double>(z), static_cast<double>(y), static_cast<double>(x)}) <=
           allowed * allowed;
  });
  combine_over<Dilation>(outermost, rows, places, out);
  keep(out, mask, true);
  return out;
}

// The voxels within the width of the middle of an edge between the two classes, where the surface passes.
BitVolume near_midpoints(const BitVolume& mask, const OccupiedRows& rows, const Steps& span,
                         const CellPatterns& lattice, double width) {
  BitVolume out(mask.ndim, mask.nz, mask.ny, mask.nx);
  const double allowed = width * width * (1 - kMargin);
  for (size_t axis = mask.ndim == 3 ? 0 : 1; axis < 3; ++axis)
    for (const int64_t direction : {-1, 1}) {
      const StructuringElement places = element_where(span, [&](int64_t z, int64_t y, int64_t x) {
        Vec3 steps{static_cast<double>(z), static_cast<double>(y), static_cast<double>(x)};
        steps[axis] += 0.5 * static_cast<double>(direction);
        return squared_length(lattice, steps) <= allowed;
      });
      if (!places.rows.empty()) combine_over<Dilation>(open_towards(mask, rows, axis, direction), rows, places, out);
    }
  keep(out, mask, true);
  return out;
}

BandBits split(const BitVolume& mask, BitVolume sure, const BitVolume& clear) {
  BandBits out{std::move(sure), mask};
  keep(out.open, out.sure, false);
  keep(out.open, clear, false);
  return out;
}

}  // namespace

std::array<int64_t, 3> steps_within(const BitVolume& mask, const CellPatterns& lattice, double width) {
  const Vec3 reach = lattice.reach();
  const std::array<int64_t, 3> extent{mask.nz, mask.ny, mask.nx};
  Steps span{};
  for (size_t axis = mask.ndim == 3 ? 0 : 1; axis < 3; ++axis) {
    const double steps = width * reach[axis] * (1 + kMargin) + 1;
    span[axis] = static_cast<int64_t>(std::min(steps, static_cast<double>(extent[axis])));
  }
  return span;
}

BandBits band_bits(const BitVolume& mask, SurfaceKind kind, const CellPatterns& lattice, double width) {
  const Steps span = steps_within(mask, lattice, width);
  if (is_wide(span)) return band_bits_of_cells(mask, lattice, width);
  const OccupiedRows rows(mask);
  if (kind == SurfaceKind::voxel && lattice.is_orthogonal) {
    // the nearest point of the nearest voxel outside is one of the surface
    BitVolume sure = mask;
    keep(sure, eroded(mask, rows, element_within(span, lattice, 0.5, width * (1 - kMargin))), false);
    return split(mask, std::move(sure), eroded(mask, rows, element_within(span, lattice, 0.5, width * (1 + kMargin))));
  }
  const bool is_narrow = rows_within(span) <= 100;  // else six times as many places take longer than a search
  BitVolume sure = (is_narrow ? near_midpoints : near_outermost)(mask, rows, span, lattice, width);
  if (!lattice.is_orthogonal) return split(mask, std::move(sure), clear_of_cells(mask, rows, span, lattice, width));
  return split(mask, std::move(sure), eroded(mask, rows, element_that_clears(span, lattice, mask.ndim, width)));
}

BandBits band_bits_of_cells(const BitVolume& mask, const CellPatterns& lattice, double width) {
  const BitVolume clear = clear_of_cells(mask, OccupiedRows(mask), steps_within(mask, lattice, width), lattice, width);
  return split(mask, BitVolume(mask.ndim, mask.nz, mask.ny, mask.nx), clear);
}

Reaches on_lattice(SurfaceKind kind, int ndim, Reaches search) {
  const int64_t shift = kind == SurfaceKind::marching_cubes ? 1 : 0, shift_z = ndim == 3 ? shift : 0;
  return [shift, shift_z, search = std::move(search)](int64_t z, int64_t y, int64_t x) {
    return search(z + shift_z, y + shift, x + shift);
  };
}

BitVolume search_open(BandBits bits, int threads, const std::function<Reaches()>& make_reaches) {
  BitVolume& band = bits.sure;
  const BitVolume& open = bits.open;
  const int64_t rows = open.nz * open.ny;
  std::vector<Reaches> searches(static_cast<size_t>(worker_count(rows, threads)));
  parallel_for(rows, threads, [&](int64_t row, int worker) {
    Reaches& reaches = searches[static_cast<size_t>(worker)];
    const int64_t z = row / open.ny, y = row % open.ny;
    for (int64_t w = 0; w < open.row_words; ++w)
      for (uint64_t left = open.row(z, y)[w]; left != 0; left &= left - 1) {
        if (!reaches) reaches = make_reaches();
        const int64_t x = 64 * w + lowest_bit(left);
        if (reaches(z, y, x)) band.set(z, y, x);
      }
  });
  return std::move(bits.sure);
}

BitVolume boundary_band(const BitVolume& mask, SurfaceKind kind, const CellPatterns& lattice, double width, int threads,
                        const std::function<Reaches()>& make_reaches) {
  return search_open(band_bits_of_cells(mask, lattice, width), threads,
                     [&] { return on_lattice(kind, mask.ndim, make_reaches()); });
}

}  // namespace segauge
