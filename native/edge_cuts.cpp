#include "edge_cuts.hpp"

#include "brick_cuts.hpp"
#include "parallel.hpp"

namespace segauge {

EdgeCuts find_cuts(const BitVolume& mask, const CellSet& set, std::vector<uint8_t> codes, const SubvoxelRule& rule,
                   int threads) {
  constexpr int64_t kEdge = CellSet::kBrickEdge, kBricksPerChunk = 8;
  EdgeCuts cuts{rule.ndim, std::move(codes), {}};
  cuts.cut.resize(set.cells.size());
  const auto bricks = static_cast<int64_t>(set.bricks.size());
  parallel_for((bricks + kBricksPerChunk - 1) / kBricksPerChunk, threads, [&](int64_t chunk) {
    BrickCuts bells(mask, rule);
    for (int64_t b = chunk * kBricksPerChunk; b < std::min(bricks, (chunk + 1) * kBricksPerChunk); ++b) {
      const CellSet::Brick& brick = set.bricks[static_cast<size_t>(b)];
      bells.enter(brick);
      for (int64_t i = brick.begin; i < set.end_of(static_cast<size_t>(b)); ++i) {
        const auto number = static_cast<size_t>(i);
        const Cell& cell = set.cells[number];
        for (size_t axis = 0; axis < 3; ++axis)
          if (cuts.has(number, axis))
            cuts.cut[number][axis] =
                bells.cut(axis, {cell.z - brick.z * kEdge, cell.y - brick.y * kEdge, cell.x - brick.x * kEdge});
      }
    }
  });
  return cuts;
}

}  // namespace segauge
