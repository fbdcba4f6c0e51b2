#include "subvoxel.hpp"

#include <cmath>
#include <utility>

#include "chords.hpp"
#include "parallel.hpp"
#include "profiles.hpp"
#include "targets.hpp"

namespace segauge {
namespace {

constexpr int64_t kEdge = CellSet::kBrickEdge;

// Writes the fans of cells, where there is room for them.
class FanWriter {
 public:
  FanWriter(const CellSet& set, const EdgeCuts& cuts, const SubvoxelRule& rule, Fans& out)
      : set_(set), cuts_(cuts), rule_(rule), out_(out) {
    for (size_t e = 0; e < base_.size(); ++e) {
      const auto& low = rule.fans.edge[e].low;
      base_[e] = rule.lattice.offset(low[0], low[1], low[2]);
    }
    const Vec3 &z = rule.lattice.step[0], &y = rule.lattice.step[1], &x = rule.lattice.step[2];
    slack_ = 1e-6 * (std::sqrt(dot(z, z)) + std::sqrt(dot(y, y)) + std::sqrt(dot(x, x)));
  }

  // Returns a box around the pieces, in mm from the cell's origin.
  Box write(size_t number, const CellSet::Brick& brick) {
    const FanTable::Shape& shape = rule_.fans.shape[cuts_.code[number]];
    const size_t corners = find_corners(shape, set_.cells[number], brick);
    Vec3* apex = out_.apex.data() + out_.start[number].apex;
    Spoke* spoke = out_.spoke.data() + out_.start[number].spoke;
    Vec3 normal{0, 0, 0};
    const Vec3* corner = corner_.data();
    for (size_t f = 0; f < shape.fans; ++f) {
      *apex = write_fan(shape.fan[f], corner, spoke, normal);
      corner += shape.fan[f].corners;
      spoke += shape.fan[f].spokes;
      ++apex;
    }
    out_.disc[number] = Disc(corner_.data(), corners, normal, slack_);
    Box box;
    for (size_t k = 0; k < corners; ++k) box.include(corner_[k]);
    return box;
  }

 private:
  size_t find_corners(const FanTable::Shape& shape, const Cell& cell, const CellSet::Brick& brick) {
    const std::array<int64_t, 3> at{cell.z - brick.z * kEdge, cell.y - brick.y * kEdge, cell.x - brick.x * kEdge};
    size_t count = 0;
    for (size_t f = 0; f < shape.fans; ++f)
      for (size_t k = 0; k < shape.fan[f].corners; ++k, ++count) {
        const FanTable::Edge& edge = rule_.fans.edge[shape.edge[count]];
        const size_t owner = cell_from(set_, brick, {at[0] + edge.low[0], at[1] + edge.low[1], at[2] + edge.low[2]});
        const double cut = cuts_.cut[owner][edge.axis];
        Vec3 place = base_[shape.edge[count]];
        for (size_t i = 0; i < 3; ++i) place[i] += cut * rule_.lattice.step[edge.axis][i];
        corner_[count] = place;
      }
    return count;
  }

  // Writes the spokes of a fan, adds to the normal of the cell and returns the apex.
  static Vec3 write_fan(const FanTable::Fan& fan, const Vec3* corner, Spoke* spoke, Vec3& normal) {
    Vec3 apex = corner[0];
    if (fan.is_closed)
      for (size_t i = 0; i < 3; ++i) {
        for (size_t k = 1; k < fan.corners; ++k) apex[i] += corner[k][i];
        apex[i] /= static_cast<double>(fan.corners);
      }
    const Vec3* ends = fan.is_closed ? corner : corner + 1;
    for (size_t k = 0; k < fan.spokes; ++k) {
      for (size_t i = 0; i < 3; ++i) spoke[k].side[i] = ends[k][i] - apex[i];
      spoke[k].squared = dot(spoke[k].side, spoke[k].side);
      spoke[k].per_squared = spoke[k].squared > 0 ? 1 / spoke[k].squared : 0;
    }
    for (size_t k = 0; k < fan.spokes; ++k) write_triangle(spoke[k], spoke[k + 1 < fan.spokes ? k + 1 : 0], normal);
    return apex;
  }

  // Between a spoke and the next; after the last one of an open fan nobody asks for it.
  static void write_triangle(Spoke& here, const Spoke& next, Vec3& normal) {
    here.along_next = dot(here.side, next.side);
    const double rim = here.squared - 2 * here.along_next + next.squared;
    here.per_rim = rim > 0 ? 1 / rim : 0;
    here.normal = cross(here.side, next.side);
    const double length = std::sqrt(dot(here.normal, here.normal)), per_length = length > 0 ? 1 / length : 0;
    for (size_t i = 0; i < 3; ++i) {
      normal[i] += here.normal[i];
      here.normal[i] *= per_length;
    }
  }

  const CellSet& set_;
  const EdgeCuts& cuts_;
  const SubvoxelRule& rule_;
  Fans& out_;
  std::array<Vec3, 12> base_;  // the lower ends of the cell edges, in mm
  double slack_;               // mm that outweigh rounding to float
  std::array<Vec3, FanTable::kMostCorners> corner_;
};

// Makes room for the fans of every cell; returns the codes of the cells.
std::vector<uint8_t> make_room(const CellSet& set, const SubvoxelRule& rule, Fans& out) {
  std::vector<uint8_t> codes(set.cells.size());
  out.start.resize(set.cells.size());
  Fans::Start next{0, 0};
  for (size_t i = 0; i < set.cells.size(); ++i) {
    codes[i] = static_cast<uint8_t>(set.cells[i].code);
    out.start[i] = next;
    next.apex += rule.fans.shape[codes[i]].fans;
    next.spoke += rule.fans.shape[codes[i]].spokes;
  }
  out.apex.resize(next.apex);
  out.spoke.resize(next.spoke);
  out.disc.resize(set.cells.size());
  return codes;
}

// Moves the cuts to where the shape of the object in the layers around says, where it says more than bells. What it
// says depends on where the bells cut the lines of voxels, and not on the order of the axes.
void move_by_wider_view(EdgeCuts& cuts, const BitVolume& mask, const CellSet& set, const SubvoxelRule& rule, int threads) {
  if (rule.has_caps == std::array<bool, 3>{} && rule.is_thick == std::array<bool, 3>{}) return;
  const Place size = padded_size(mask);
  const std::array<CutLines, 3> lines{CutLines(cuts, set, size, 0), CutLines(cuts, set, size, 1), CutLines(cuts, set, size, 2)};
  move_to_chords(cuts, mask, set, lines, rule, threads);
  move_to_profiles(cuts, mask, set, lines, rule, threads);
}

}  // namespace

SubvoxelSurface find_subvoxel_surface(const BitVolume& mask, const BitVolume* ignore, const SubvoxelRule& rule, int threads) {
  SubvoxelSurface out;
  out.set = find_cells(mask, ignore, SurfaceKind::marching_cubes, rule.lattice, threads);
  EdgeCuts cuts = find_cuts(mask, out.set, make_room(out.set, rule, out.fans), rule, threads);
  move_by_wider_view(cuts, mask, out.set, rule, threads);
  parallel_for(static_cast<int64_t>(out.set.bricks.size()), threads, [&](int64_t number) {
    const auto b = static_cast<size_t>(number);
    CellSet::Brick& brick = out.set.bricks[b];
    FanWriter writer(out.set, cuts, rule, out.fans);
    brick.box = Box();
    for (auto i = static_cast<size_t>(brick.begin); i < static_cast<size_t>(out.set.end_of(b)); ++i) {
      const Cell& cell = out.set.cells[i];
      brick.box.include(writer.write(i, brick).moved(rule.lattice.offset(cell.z, cell.y, cell.x)));
    }
  });
  return out;
}

}  // namespace segauge
