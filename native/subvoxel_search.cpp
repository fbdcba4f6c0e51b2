#include <cstring>

#include "lanes.hpp"
#include "search.hpp"
#include "subvoxel.hpp"

namespace segauge {
namespace {

// What is in the cells of a sub-voxel surface.
class FanPieces {
 public:
  FanPieces(const SubvoxelSurface& surface, const SubvoxelRule& rule) : surface_(surface), rule_(rule) {}

  const Disc& disc(int64_t index) const { return surface_.fans.disc[static_cast<size_t>(index)]; }

  void squared_distances(const Query& query, int64_t index, const Vec3& shift, double* squared) const {
    const auto i = static_cast<size_t>(index);
    const Fans::Start& start = surface_.fans.start[i];
    squared_to_fans_(query.groups, SampleGroup::count_for(query.count), shift, rule_.fans.shape[surface_.set.cells[i].code],
                     surface_.fans.apex.data() + start.apex, surface_.fans.spoke.data() + start.spoke, squared);
  }

 private:
  const SubvoxelSurface& surface_;
  const SubvoxelRule& rule_;
  SquaredToFans squared_to_fans_ = squared_to_fans_here();
};

std::vector<int64_t> sample_offsets(const CellSet& from, const SubvoxelRule& rule) {
  std::vector<int64_t> start(from.cells.size() + 1, 0);
  for (size_t i = 0; i < from.cells.size(); ++i)
    start[i + 1] = start[i] + rule.fans.shape[from.cells[i].sample_code].pieces;
  return start;
}

// Whether a cell of one surface has the very pieces of a cell of the other.
bool are_same(const FanTable::Shape& shape, const Fans& a, size_t i, const Fans& b, size_t j) {
  return std::memcmp(a.apex.data() + a.start[i].apex, b.apex.data() + b.start[j].apex, shape.fans * sizeof(Vec3)) == 0 &&
         std::memcmp(a.spoke.data() + a.start[i].spoke, b.spoke.data() + b.start[j].spoke, shape.spokes * sizeof(Spoke)) == 0;
}

}  // namespace

Samples directed_distances(const SubvoxelSurface& from, const SubvoxelSurface& to, const SubvoxelRule& rule, int threads) {
  const BrickTree tree(to.set);
  LazyBlocks blocks;
  return search_chunks(from.set, sample_offsets(from.set, rule), threads, [&](int) {
    return [&, search = Search(to.set, tree, blocks, rule.lattice, FanPieces(to, rule))](size_t index, size_t count, double* squared,
                                                                                double* area) mutable {
      const Cell& cell = from.set.cells[index];
      const FanTable::Shape& shape = rule.fans.shape[cell.code];
      const Fans::Start& start = from.fans.start[index];
      const FanSamples samples(shape, from.fans.apex.data() + start.apex, from.fans.spoke.data() + start.spoke);
      std::copy_n(samples.area.data(), count, area);
      const int64_t there = search.cell_index(cell.z, cell.y, cell.x);
      const bool is_same = there >= 0 && to.set.cells[static_cast<size_t>(there)].code == cell.code &&
                           are_same(shape, from.fans, index, to.fans, static_cast<size_t>(there));
      std::fill_n(squared, count, is_same ? 0 : kInfinity);
      if (!is_same) search.improve({{cell.z, cell.y, cell.x}, samples.groups.data(), count, samples.box}, squared);
    };
  });
}

BitVolume boundary_band(const BitVolume& mask, const SubvoxelSurface& surface, const SubvoxelRule& rule, double width,
                        int threads) {
  const BrickTree tree(surface.set);
  LazyBlocks blocks;
  return boundary_band(mask, SurfaceKind::marching_cubes, rule.lattice, width, threads, [&]() -> Reaches {
    return [width, search = Search(surface.set, tree, blocks, rule.lattice, FanPieces(surface, rule))](
               int64_t z, int64_t y, int64_t x) mutable { return search.reaches(z, y, x, width * width); };
  });
}

}  // namespace segauge
