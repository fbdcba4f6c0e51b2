#include <cstring>

#include "lanes.hpp"
#include "search.hpp"
#include "subvoxel.hpp"

namespace segauge {
namespace {

// What is in the cells of a sub-voxel surface.
class FanPieces {
 public:
  FanPieces(const SubvoxelSurface& surface, const SubvoxelRule& rule) : surface_(surface), rule_(rule) {
    double diagonal = 0;
    for (const double edge : rule.edge) diagonal += edge;
    slack_ = 4e-6 * diagonal * diagonal;
  }

  void enter(const Query& query) {
    query_ = &query;
    groups_ = SampleGroup::count_for(query.count);
    points_.count = query.count;
    for_rough_groups([&](size_t group, size_t at) {
      for (size_t k = 0; k < kSize; ++k) {
        points_.x[at + k] = static_cast<float>(query.groups[group].x[k]);
        points_.y[at + k] = static_cast<float>(query.groups[group].y[k]);
        points_.z[at + k] = static_cast<float>(query.groups[group].z[k]);
      }
    });
  }

  // What discs say is off by some millionths of the distance from their middle. That is no more than three diagonals of
  // a cell, or three times the squared distance's root, whichever is larger, where they can be in doubt.
  void allow(const double* best, double) {
    for_rough_groups([&](size_t group, size_t at) {
      for (size_t k = 0; k < kSize; ++k)
        points_.allowed[at + k] = static_cast<float>(best[group * kSize + k] * (1 + 1e-5) + slack_);
    });
  }

  void weigh(Candidate* first, Candidate* last) const { weigh_(points_, surface_.fans.disc.data(), first, last); }

  // Where on the plane of a cell a point has its foot, in mm from the cell's origin.
  Vec3 foot(int64_t index, const Vec3& shift, size_t point) const {
    const Disc& disc = surface_.fans.disc[static_cast<size_t>(index)];
    const SampleGroup& group = query_->groups[point / kSize];
    const Vec3 p{group.x[point % kSize] + shift[0], group.y[point % kSize] + shift[1], group.z[point % kSize] + shift[2]};
    double height = 0;
    for (size_t i = 0; i < 3; ++i) height += (p[i] - disc.middle[i]) * disc.normal[i];
    return {p[0] - height * disc.normal[0], p[1] - height * disc.normal[1], p[2] - height * disc.normal[2]};
  }

  void squared_distances(int64_t index, const Vec3& shift, double* squared) const {
    const auto i = static_cast<size_t>(index);
    const Fans::Start& start = surface_.fans.start[i];
    squared_to_fans_(query_->groups, groups_, shift, rule_.fans.shape[surface_.set.cells[i].code],
                     surface_.fans.apex.data() + start.apex, surface_.fans.spoke.data() + start.spoke, squared);
  }

 private:
  static constexpr size_t kSize = SampleGroup::kSize;

  // All groups, and the last one once more where the widest registers hold two of them.
  template <class Visit>
  void for_rough_groups(Visit&& visit) const {
    for (size_t g = 0; g < groups_; ++g) visit(g, g * kSize);
    if (groups_ % 2 == 1) visit(groups_ - 1, groups_ * kSize);
  }

  const SubvoxelSurface& surface_;
  const SubvoxelRule& rule_;
  const Query* query_ = nullptr;
  size_t groups_ = 0;
  RoughPoints points_;
  double slack_ = 0;
  WeighByDiscs weigh_ = weigh_by_discs_here();
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
  return search_chunks(from.set, sample_offsets(from.set, rule), threads, [&](int) {
    return [&, search = Search(to.set, tree, rule.lattice, FanPieces(to, rule))](size_t index, size_t count, double* squared,
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
  return boundary_band(mask, SurfaceKind::marching_cubes, rule.lattice, width, threads, [&]() -> Reaches {
    return [width, search = Search(surface.set, tree, rule.lattice, FanPieces(surface, rule))](
               int64_t z, int64_t y, int64_t x) mutable { return search.reaches(z, y, x, width * width); };
  });
}

}  // namespace segauge
