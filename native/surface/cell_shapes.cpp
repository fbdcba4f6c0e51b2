#include "surface/cell_shapes.hpp"

#include <stdexcept>

#include "search/near/pair_cache.hpp"
#include "simd/operations.hpp"
#include "surface/targets.hpp"

namespace segauge {
namespace {

// Steps to mm.
Vec3 on_axes(const Vec3 step[3], const Vec3& p) {
  Vec3 out;
  for (size_t i = 0; i < 3; ++i) out[i] = step[0][i] * p[0] + step[1][i] * p[1] + step[2][i] * p[2];
  return out;
}

void put_samples(const CellShapes& shapes, CellPatterns& out) {
  const Vec3 reach = out.reach();
  // a normal as long as an area has as its components what the area covers of those that two steps span
  const Vec3 spanned[3] = {cross(out.step[1], out.step[2]), cross(out.step[2], out.step[0]),
                           cross(out.step[0], out.step[1])};
  const Vec3 certain{(1 - 1e-9) / reach[0], (1 - 1e-9) / reach[1], (1 - 1e-9) / reach[2]};
  const Vec3* extent_axes = shapes.ndim == 3 ? spanned : out.step;
  const size_t codes = shapes.same_as.size(), skip = 3 - static_cast<size_t>(shapes.ndim);
  out.sample_start = shapes.sample_start;
  out.sample_box.resize(codes);
  out.clearance.assign(shapes.sample.size(), 1e300);
  out.wide_clearance = out.clearance;
  out.sample.resize(shapes.sample.size());
  out.area.resize(shapes.sample.size() + PairCache::kMostSamples);  // some are read beyond those of a code
  for (size_t code = 0; code < codes; ++code)
    for (auto i = static_cast<size_t>(shapes.sample_start[code]);
         i < static_cast<size_t>(shapes.sample_start[code + 1]); ++i) {
      out.sample[i] = on_axes(out.step, shapes.sample[i]);
      out.sample_box[code].include(out.sample[i]);
      const Vec3 extent = on_axes(extent_axes, shapes.extent[i]);
      out.area[i] = std::sqrt(dot(extent, extent));
      for (size_t axis = skip; axis < 3; ++axis) {
        // where in its cell the sample sits along this axis, 0 to 1; the neighbour ends one step beyond the cell
        const double within = shapes.sample[i][axis] - shapes.cell_low[axis];
        const double aside = std::min(within, 1 - within), step = certain[axis];
        out.clearance[i] = std::min(out.clearance[i], (1 + aside) * step);
        out.wide_clearance[i] = std::min(out.wide_clearance[i], (PairCache::kReach + aside) * step);
      }
    }
}

// Flat pieces count whole where their sides are at right angles on this lattice, else as triangles.
std::vector<char> which_count_whole(const CellShapes& shapes, const Vec3 step[3]) {
  std::vector<char> whole(shapes.target.empty() ? 0 : static_cast<size_t>(shapes.target.back().number) + 1, 0);
  for (const CellShapes::Piece& piece : shapes.target) {
    if (!piece.is_flat) continue;
    const Vec3 u = on_axes(step, piece.u), v = on_axes(step, piece.v);
    whole[static_cast<size_t>(piece.number)] = std::abs(dot(u, v)) <= 1e-12 * std::sqrt(dot(u, u) * dot(v, v));
  }
  return whole;
}

// Adds the corners of a piece to those of its cell, and its normal, as long as the area, to theirs.
void add_corners(const Target& t, std::vector<Vec3>& corners, Vec3& normal) {
  for (int s = 0; s < 2; ++s)
    for (int r = 0; r < (t.is_rectangle || s == 0 ? 2 : 1); ++r) {
      Vec3 p;
      for (size_t k = 0; k < 3; ++k) p[k] = t.corner[k] + s * t.u[k] + r * t.v[k];
      corners.push_back(p);
    }
  const Vec3 own = cross(t.u, t.v);
  const double sign = dot(own, normal) < 0 ? -1 : 1;
  for (size_t k = 0; k < 3; ++k) normal[k] += sign * own[k];
}

void put_targets(const CellShapes& shapes, CellPatterns& out) {
  const std::vector<char> counts_whole = which_count_whole(shapes, out.step);
  const size_t codes = shapes.same_as.size();
  double edges = 0;
  for (const Vec3& step : out.step) edges += std::sqrt(dot(step, step));
  out.target_box.resize(codes);
  out.disc.resize(codes);
  out.target_start.assign(1, 0);
  out.target_start.reserve(codes + 1);
  out.target.reserve(shapes.target.size());
  std::vector<Vec3> corners;
  for (size_t code = 0; code < codes; ++code) {
    Vec3 normal{0, 0, 0};
    corners.clear();
    for (auto i = static_cast<size_t>(shapes.target_start[code]);
         i < static_cast<size_t>(shapes.target_start[code + 1]); ++i) {
      const CellShapes::Piece& piece = shapes.target[i];
      if (piece.is_flat != static_cast<bool>(counts_whole[static_cast<size_t>(piece.number)])) continue;
      out.target.push_back(prepared_target(on_axes(out.step, piece.corner), on_axes(out.step, piece.u),
                                           on_axes(out.step, piece.v), piece.is_flat));
      add_corners(out.target.back(), corners, normal);
    }
    for (const Vec3& corner : corners) out.target_box[code].include(corner);
    out.disc[code] = BoundingDisc(corners.data(), corners.size(), normal, 1e-6 * edges);
    out.target_start.push_back(static_cast<int64_t>(out.target.size()));
  }
}

// Each piece is measured by the sample that covers it best: of a convex piece no point is further away than a corner.
void find_sample_reach(CellPatterns& out) {
  out.sample_reach.assign(out.same_as.size(), 0);
  for (size_t code = 0; code < out.same_as.size(); ++code)
    for (auto i = out.target_start[code]; i < out.target_start[code + 1]; ++i) {
      const Target& t = out.target[static_cast<size_t>(i)];
      std::vector<Vec3> corners;
      Vec3 normal{0, 0, 0};
      add_corners(t, corners, normal);
      double least = kInfinity;
      for (auto k = out.sample_start[code]; k < out.sample_start[code + 1]; ++k) {
        double most = 0;
        for (const Vec3& corner : corners) {
          const Vec3& sample = out.sample[static_cast<size_t>(k)];
          const Vec3 d{corner[0] - sample[0], corner[1] - sample[1], corner[2] - sample[2]};
          most = std::max(most, dot(d, d));
        }
        least = std::min(least, most);
      }
      out.sample_reach[code] = std::max(out.sample_reach[code], std::sqrt(least));
    }
}

void lay_side_by_side(CellPatterns& out) {
  const size_t codes = out.same_as.size();
  out.group_start.assign(1, 0);
  out.group_start.reserve(codes + 1);
  for (size_t code = 0; code < codes; ++code) {
    const auto samples = static_cast<size_t>(out.sample_start[code + 1] - out.sample_start[code]);
    if (samples > std::min(FloatPoints::kMost, PairCache::kMostSamples))
      throw std::logic_error("more samples in a cell than the search is made for");
    out.group_start.push_back(out.group_start.back() + static_cast<int64_t>(SampleGroup::count_for(samples)));
  }
  out.group.resize(static_cast<size_t>(out.group_start.back()));
  for (size_t code = 0; code < codes; ++code) write_groups(out, code);
}

}  // namespace

Vec3 CellPatterns::reach() const {
  // rows of the inverse: cross products over the determinant
  const Vec3 c0 = cross(step[1], step[2]), c1 = cross(step[2], step[0]), c2 = cross(step[0], step[1]);
  const double volume = std::abs(dot(step[0], c0));
  return {std::sqrt(dot(c0, c0)) / volume, std::sqrt(dot(c1, c1)) / volume, std::sqrt(dot(c2, c2)) / volume};
}

void put_on_lattice(const CellShapes& shapes, CellPatterns& out) {
  out.same_as = shapes.same_as;
  for (size_t axis = 0; axis < 3; ++axis) out.cell_low[axis] = shapes.cell_low[axis] * out.step[axis][axis];
  put_samples(shapes, out);
  put_targets(shapes, out);
  find_sample_reach(out);
  lay_side_by_side(out);
  out.symmetries = &shapes.symmetries;
  out.beside = &shapes.beside;
}

}  // namespace segauge
