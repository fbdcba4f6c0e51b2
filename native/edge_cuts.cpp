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
  const int64_t chunks = (bricks + kBricksPerChunk - 1) / kBricksPerChunk;
  std::vector<BrickCuts> bells_of_workers(static_cast<size_t>(worker_count(chunks, threads)), BrickCuts(mask, rule));
  parallel_for(chunks, threads, [&](int64_t chunk, int worker) {
    BrickCuts& bells = bells_of_workers[static_cast<size_t>(worker)];
    for (int64_t b = chunk * kBricksPerChunk; b < std::min(bricks, (chunk + 1) * kBricksPerChunk); ++b) {
      const CellSet::Brick& brick = set.bricks[static_cast<size_t>(b)];
      auto for_edges = [&](auto&& visit) {
        for (auto i = static_cast<size_t>(brick.begin); i < static_cast<size_t>(set.end_of(static_cast<size_t>(b))); ++i)
          for (size_t axis = 0; axis < 3; ++axis)
            if (cuts.has(i, axis)) {
              const Cell& cell = set.cells[i];
              visit(i, axis, BrickCuts::Place{cell.z - brick.z * kEdge, cell.y - brick.y * kEdge, cell.x - brick.x * kEdge});
            }
      };
      using Place = const BrickCuts::Place&;
      bells.enter(brick);
      for_edges([&](size_t, size_t axis, Place low) { bells.need(axis, low); });
      bells.prepare();
      for_edges([&](size_t i, size_t axis, Place low) { cuts.cut[i][axis] = bells.cut(axis, low); });
    }
  });
  return cuts;
}

}  // namespace segauge
