#include "edge_cuts.hpp"

#include "block_cuts.hpp"
#include "parallel.hpp"

namespace segauge {
namespace {

// The blocks that hold a brick, in blocks.
std::vector<std::array<int64_t, 3>> blocks_of(const CellSet& set) {
  constexpr int64_t kBricks = BlockCuts::kBricks;
  const int64_t ny = (set.ny + kBricks - 1) / kBricks, nx = (set.nx + kBricks - 1) / kBricks;
  std::vector<char> is_listed(static_cast<size_t>((set.nz + kBricks - 1) / kBricks * ny * nx), 0);
  std::vector<std::array<int64_t, 3>> blocks;
  for (const CellSet::Brick& brick : set.bricks) {
    const std::array<int64_t, 3> at{brick.z / kBricks, brick.y / kBricks, brick.x / kBricks};
    char& listed = is_listed[static_cast<size_t>((at[0] * ny + at[1]) * nx + at[2])];
    if (!listed) blocks.push_back(at);
    listed = 1;
  }
  return blocks;
}

// Without a question that a processor must guess: all are written, and the next overwrites what is not cut.
void list_edges(const CellSet& set, EdgeCuts& cuts) {
  cuts.edges.resize(3 * cuts.code.size());
  size_t count = 0;
  for (size_t brick = 0; brick < set.bricks.size(); ++brick) {
    cuts.first_edge.push_back(count);
    for (auto cell = static_cast<uint32_t>(set.bricks[brick].begin); cell < set.end_of(brick); ++cell)
      for (uint32_t axis = 0; axis < 3; ++axis) {
        cuts.edges[count] = {cell, axis};
        count += cuts.has(cell, axis);
      }
  }
  cuts.first_edge.push_back(count);
  cuts.edges.resize(count);
}

}  // namespace

EdgeCuts find_cuts(const BitVolume& mask, const CellSet& set, std::vector<uint8_t> codes, const SubvoxelRule& rule,
                   int threads) {
  EdgeCuts cuts{rule.ndim, std::move(codes), {}, {}, {}, {}};
  list_edges(set, cuts);
  cuts.cut.resize(set.cells.size() + 1);
  cuts.settled.assign(set.cells.size(), 0);
  const std::vector<std::array<int64_t, 3>> blocks = blocks_of(set);
  const auto count = static_cast<int64_t>(blocks.size());
  std::vector<BlockCuts> bells_of_workers(static_cast<size_t>(worker_count(count, threads)), BlockCuts(mask, rule));
  parallel_for(count, threads, [&](int64_t block, int worker) {
    bells_of_workers[static_cast<size_t>(worker)].write(set, blocks[static_cast<size_t>(block)], cuts);
  });
  return cuts;
}

}  // namespace segauge
