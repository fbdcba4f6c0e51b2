#include "subvoxel/edge_vertices.hpp"

#include "core/parallel.hpp"
#include "subvoxel/block_vertices.hpp"

namespace segauge {
namespace {

// The blocks that hold a brick, in blocks.
std::vector<std::array<int64_t, 3>> blocks_of(const CellGrid& grid) {
  constexpr int64_t kBricks = BlockVertices::kBricks;
  const int64_t ny = (grid.ny + kBricks - 1) / kBricks, nx = (grid.nx + kBricks - 1) / kBricks;
  std::vector<char> is_listed(static_cast<size_t>((grid.nz + kBricks - 1) / kBricks * ny * nx), 0);
  std::vector<std::array<int64_t, 3>> blocks;
  for (const CellGrid::Brick& brick : grid.bricks) {
    const std::array<int64_t, 3> at{brick.z / kBricks, brick.y / kBricks, brick.x / kBricks};
    char& listed = is_listed[static_cast<size_t>((at[0] * ny + at[1]) * nx + at[2])];
    if (!listed) blocks.push_back(at);
    listed = 1;
  }
  return blocks;
}

// Branch-free: all are written, and the next overwrites edges that are not cut.
void list_edges(const CellGrid& grid, EdgeVertices& cuts) {
  cuts.edges.resize(3 * cuts.code.size());
  size_t count = 0;
  for (size_t brick = 0; brick < grid.bricks.size(); ++brick) {
    cuts.first_edge.push_back(count);
    for (auto cell = static_cast<uint32_t>(grid.bricks[brick].begin); cell < grid.end_of(brick); ++cell)
      for (uint32_t axis = 0; axis < 3; ++axis) {
        cuts.edges[count] = {cell, axis};
        count += cuts.has(cell, axis);
      }
  }
  cuts.first_edge.push_back(count);
  cuts.edges.resize(count);
}

}  // namespace

EdgeVertices find_edge_vertices(const BitVolume& mask, const CellGrid& grid, std::vector<uint8_t> codes,
                                const SubvoxelRule& rule, int threads) {
  EdgeVertices cuts{rule.ndim, std::move(codes), {}, {}, {}, {}};
  list_edges(grid, cuts);
  cuts.cut.resize(grid.cells.size() + 1);
  cuts.settled.assign(grid.cells.size(), 0);
  const std::vector<std::array<int64_t, 3>> blocks = blocks_of(grid);
  const auto count = static_cast<int64_t>(blocks.size());
  std::vector<BlockVertices> blocks_of_workers(static_cast<size_t>(worker_count(count, threads)),
                                               BlockVertices(mask, rule));
  parallel_for(count, threads, [&](int64_t block, int worker) {
    blocks_of_workers[static_cast<size_t>(worker)].write(grid, blocks[static_cast<size_t>(block)], cuts);
  });
  return cuts;
}

}  // namespace segauge
