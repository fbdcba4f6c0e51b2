#include "subvoxel.hpp"

#include <cmath>
#include <optional>

#include "brick_cuts.hpp"
#include "parallel.hpp"
#include "pieces.hpp"
#include "profiles.hpp"
#include "targets.hpp"

namespace segauge {
namespace {

constexpr int64_t kEdge = CellSet::kBrickEdge;

constexpr int64_t kBricksPerChunk = 8;
using ProfilesByAxis = std::array<std::optional<ProfileCuts>, 3>;  // of the thick axes

// Where the surface cuts the edges of the cells of one brick: as the bells say, or across thick slices the profiles.
class SurfaceCuts {
 public:
  SurfaceCuts(const BitVolume& mask, const SubvoxelRule& rule, const CellSet& set, const ProfilesByAxis& profiles)
      : bells_(mask, rule), set_(set), profiles_(profiles) {}

  void enter(const CellSet::Brick& brick) {
    brick_ = &brick;
    bells_.enter(brick);
  }
  double cut(size_t axis, const std::array<int64_t, 3>& low) {
    return profiles_[axis] ? profiles_[axis]->cut(set_, *brick_, low) : bells_.cut(axis, low);
  }

 private:
  BrickCuts bells_;
  const CellSet& set_;
  const ProfilesByAxis& profiles_;
  const CellSet::Brick* brick_ = nullptr;
};

// Writes the pieces of cells into the patterns, where there is room for them.
class PieceWriter {
 public:
  PieceWriter(const SubvoxelRule& rule, Patterns& out) : rule_(rule), out_(out) {}

  void write(const Cell& cell, const CellSet::Brick& brick, SurfaceCuts& cuts, int64_t mc_code) {
    const std::array<int64_t, 3> at{cell.z - brick.z * kEdge, cell.y - brick.y * kEdge, cell.x - brick.x * kEdge};
    auto sample = static_cast<size_t>(out_.sample_start[cell.code]);
    auto target = static_cast<size_t>(out_.target_start[cell.code]);
    const size_t first_sample = sample;
    for (int64_t loop = rule_.loop_start[mc_code]; loop < rule_.loop_start[mc_code + 1]; ++loop) {
      const size_t count = outline(loop, at, cuts);
      if (rule_.ndim == 2) {
        add({corner_[0], corner_[1], corner_[1]}, sample++, target++);
      } else if (count == 3) {
        add({corner_[0], corner_[1], corner_[2]}, sample++, target++);
      } else {
        Vec3 middle{0, 0, 0};
        for (size_t i = 0; i < 3; ++i) {
          for (size_t k = 0; k < count; ++k) middle[i] += corner_[k][i];
          middle[i] /= static_cast<double>(count);
        }
        for (size_t k = 0; k < count; ++k) add({middle, corner_[k], corner_[(k + 1) % count]}, sample++, target++);
      }
    }
    finish(cell.code, first_sample, sample);
  }

 private:
  size_t outline(int64_t loop, const std::array<int64_t, 3>& at, SurfaceCuts& cuts) {
    size_t count = 0;
    for (int64_t k = rule_.corner_start[loop]; k < rule_.corner_start[loop + 1]; ++k, ++count) {
      const SubvoxelRule::Corner& corner = rule_.corners[static_cast<size_t>(k)];
      const double cut = cuts.cut(corner.axis, {at[0] + corner.low[0], at[1] + corner.low[1], at[2] + corner.low[2]});
      Vec3 place = rule_.lattice.offset(corner.low[0], corner.low[1], corner.low[2]);
      for (size_t i = 0; i < 3; ++i) place[i] += cut * rule_.lattice.step[corner.axis][i];
      corner_[count] = place;
    }
    return count;
  }

  void add(const std::array<Vec3, 3>& piece, size_t sample, size_t target) {
    Vec3 u, v, middle;
    for (size_t i = 0; i < 3; ++i) {
      u[i] = piece[1][i] - piece[0][i];
      v[i] = rule_.ndim == 3 ? piece[2][i] - piece[0][i] : 0.0;
      middle[i] = rule_.ndim == 3 ? (piece[0][i] + piece[1][i] + piece[2][i]) / 3 : (piece[0][i] + piece[1][i]) / 2;
    }
    out_.sample[sample] = middle;
    const Target& made = out_.target[target] = prepared_target(piece[0], u, v, rule_.ndim == 2);
    const Vec3 normal = cross(u, v);  // as long as twice the area
    out_.area[sample] = rule_.ndim == 3 ? dot(normal, made.normal) / 2 : std::sqrt(made.uu);
    for (const Vec3& corner : piece) box_.include(corner);
  }

  void finish(uint32_t code, size_t first_sample, size_t last_sample) {
    Box samples;
    for (size_t i = first_sample; i < last_sample; ++i) samples.include(out_.sample[i]);
    out_.sample_box[code] = samples;
    out_.target_box[code] = box_;
    box_ = Box();
    write_groups(out_, code);
  }

  const SubvoxelRule& rule_;
  Patterns& out_;
  std::array<Vec3, 12> corner_;
  Box box_;
};

int64_t piece_count(const SubvoxelRule& rule, int64_t code) {
  int64_t count = 0;
  for (int64_t loop = rule.loop_start[code]; loop < rule.loop_start[code + 1]; ++loop) {
    const int64_t corners = rule.corner_start[loop + 1] - rule.corner_start[loop];
    count += rule.ndim == 2 || corners == 3 ? 1 : corners;
  }
  return count;
}

// Gives every cell a code of its own and makes room for its pieces; returns the marching-cubes codes. Code 0 has none.
std::vector<uint8_t> number_cells(CellSet& set, const SubvoxelRule& rule, Patterns& out) {
  std::vector<uint8_t> codes;
  codes.reserve(set.cells.size());
  constexpr auto kGroup = static_cast<int64_t>(SampleGroup::kSize);
  for (Cell& cell : set.cells) {
    codes.push_back(static_cast<uint8_t>(cell.code));
    const int64_t pieces = piece_count(rule, cell.code);
    const bool is_sampled = cell.sample_code == cell.code;
    cell.code = static_cast<uint32_t>(out.sample_start.size() - 1);
    cell.sample_code = is_sampled ? cell.code : 0;
    out.sample_start.push_back(out.sample_start.back() + pieces);
    out.target_start.push_back(out.target_start.back() + pieces);
    out.group_start.push_back(out.group_start.back() + (pieces + kGroup - 1) / kGroup);
  }
  return codes;
}

void write_pieces(const BitVolume& mask, const SubvoxelRule& rule, const std::vector<uint8_t>& codes, CellSet& set,
                  Patterns& out, int threads) {
  const auto bricks = static_cast<int64_t>(set.bricks.size());
  ProfilesByAxis profiles;
  for (size_t axis = 0; axis < 3; ++axis)
    if (rule.is_thick[axis]) profiles[axis].emplace(mask, set, rule, axis, threads);
  parallel_for((bricks + kBricksPerChunk - 1) / kBricksPerChunk, threads, [&](int64_t chunk) {
    SurfaceCuts cuts(mask, rule, set, profiles);
    PieceWriter writer(rule, out);
    for (int64_t b = chunk * kBricksPerChunk; b < std::min(bricks, (chunk + 1) * kBricksPerChunk); ++b) {
      CellSet::Brick& brick = set.bricks[static_cast<size_t>(b)];
      cuts.enter(brick);
      brick.box = Box();
      for (int64_t i = brick.begin; i < set.end_of(static_cast<size_t>(b)); ++i) {
        const Cell& cell = set.cells[static_cast<size_t>(i)];
        writer.write(cell, brick, cuts, codes[static_cast<size_t>(i)]);
        brick.box.include(out.target_box[cell.code].moved(out.offset(cell.z, cell.y, cell.x)));
      }
    }
  });
}

}  // namespace

SubvoxelPair find_subvoxel_cells(const BitVolume& pred, const BitVolume* gt, const BitVolume* ignore,
                                 const SubvoxelRule& rule, int threads) {
  SubvoxelPair pair;
  Patterns& out = pair.pieces;
  for (size_t axis = 0; axis < 3; ++axis) out.step[axis] = rule.lattice.step[axis];
  out.cell_low = rule.lattice.cell_low;
  out.is_orthogonal = rule.lattice.is_orthogonal;
  out.sample_start = out.target_start = out.group_start = {0, 0};
  pair.pred = find_cells(pred, ignore, SurfaceKind::marching_cubes, rule.lattice, threads);
  const std::vector<uint8_t> pred_codes = number_cells(pair.pred, rule, out);
  std::vector<uint8_t> gt_codes;
  if (gt != nullptr) {
    pair.gt = find_cells(*gt, ignore, SurfaceKind::marching_cubes, rule.lattice, threads);
    gt_codes = number_cells(pair.gt, rule, out);
  }
  const size_t codes = out.sample_start.size() - 1;
  out.sample.resize(static_cast<size_t>(out.sample_start.back()));
  out.area.resize(out.sample.size());
  out.target.resize(static_cast<size_t>(out.target_start.back()));
  out.group.resize(static_cast<size_t>(out.group_start.back()));
  out.sample_box.resize(codes);
  out.target_box.resize(codes);
  write_pieces(pred, rule, pred_codes, pair.pred, out, threads);
  if (gt != nullptr) write_pieces(*gt, rule, gt_codes, pair.gt, out, threads);
  return pair;
}

}  // namespace segauge
