#include "subvoxel.hpp"

#include <cmath>
#include <utility>

#include "edge_cuts.hpp"
#include "parallel.hpp"
#include "pieces.hpp"
#include "profiles.hpp"
#include "targets.hpp"

namespace segauge {
namespace {

constexpr int64_t kEdge = CellSet::kBrickEdge;

// Writes the pieces of cells into the patterns, where there is room for them.
class PieceWriter {
 public:
  PieceWriter(const CellSet& set, const EdgeCuts& cuts, const SubvoxelRule& rule, Patterns& out)
      : set_(set), cuts_(cuts), rule_(rule), out_(out) {}

  void write(size_t number, const CellSet::Brick& brick) {
    const Cell& cell = set_.cells[number];
    const int64_t mc_code = cuts_.code[number];
    const std::array<int64_t, 3> at{cell.z - brick.z * kEdge, cell.y - brick.y * kEdge, cell.x - brick.x * kEdge};
    auto sample = static_cast<size_t>(out_.sample_start[cell.code]);
    auto target = static_cast<size_t>(out_.target_start[cell.code]);
    const size_t first_sample = sample;
    for (int64_t loop = rule_.loop_start[mc_code]; loop < rule_.loop_start[mc_code + 1]; ++loop) {
      const size_t count = outline(loop, at, brick);
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
  size_t outline(int64_t loop, const std::array<int64_t, 3>& at, const CellSet::Brick& brick) {
    size_t count = 0;
    for (int64_t k = rule_.corner_start[loop]; k < rule_.corner_start[loop + 1]; ++k, ++count) {
      const SubvoxelRule::Corner& corner = rule_.corners[static_cast<size_t>(k)];
      const size_t owner = cell_from(set_, brick, {at[0] + corner.low[0], at[1] + corner.low[1], at[2] + corner.low[2]});
      const double cut = cuts_.cut[owner][corner.axis];
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

  const CellSet& set_;
  const EdgeCuts& cuts_;
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

void write_pieces(const BitVolume& mask, const SubvoxelRule& rule, std::vector<uint8_t> codes, CellSet& set,
                  Patterns& out, int threads) {
  EdgeCuts cuts = find_cuts(mask, set, std::move(codes), rule, threads);
  move_to_profiles(cuts, mask, set, rule, threads);
  parallel_for(static_cast<int64_t>(set.bricks.size()), threads, [&](int64_t number) {
    const auto b = static_cast<size_t>(number);
    CellSet::Brick& brick = set.bricks[b];
    PieceWriter writer(set, cuts, rule, out);
    brick.box = Box();
    for (int64_t i = brick.begin; i < set.end_of(b); ++i) {
      const Cell& cell = set.cells[static_cast<size_t>(i)];
      writer.write(static_cast<size_t>(i), brick);
      brick.box.include(out.target_box[cell.code].moved(out.offset(cell.z, cell.y, cell.x)));
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
  std::vector<uint8_t> pred_codes = number_cells(pair.pred, rule, out);
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
  write_pieces(pred, rule, std::move(pred_codes), pair.pred, out, threads);
  if (gt != nullptr) write_pieces(*gt, rule, std::move(gt_codes), pair.gt, out, threads);
  return pair;
}

}  // namespace segauge
