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

  void enter(const Query& query) {
    query_ = &query;
    groups_ = SampleGroup::count_for(query.count);
    for (size_t g = 0; g < groups_; ++g)
      for (size_t k = 0; k < kSize; ++k) {
        points_[g].x[k] = static_cast<float>(query.groups[g].x[k]);
        points_[g].y[k] = static_cast<float>(query.groups[g].y[k]);
        points_[g].z[k] = static_cast<float>(query.groups[g].z[k]);
      }
  }

  void allow(const double* best, double) {
    for (size_t g = 0; g < groups_; ++g)
      for (size_t k = 0; k < kSize; ++k) best_[g][k] = static_cast<float>(best[g * kSize + k]);
  }

  double least(int64_t index, const Vec3& shift) const {
    const Disc& disc = surface_.fans.disc[static_cast<size_t>(index)];
    const float x = static_cast<float>(shift[0] - disc.middle[0]), y = static_cast<float>(shift[1] - disc.middle[1]),
                z = static_cast<float>(shift[2] - disc.middle[2]);
    constexpr float kNone = std::numeric_limits<float>::infinity();
    Floats least{kNone, kNone, kNone, kNone};
    for (size_t g = 0; g < groups_; ++g) {
      const Floats dx = points_[g].x + x, dy = points_[g].y + y, dz = points_[g].z + z;
      const Floats height = dx * disc.normal[0] + dy * disc.normal[1] + dz * disc.normal[2];
      const Floats squared = dx * dx + dy * dy + dz * dz, slack = squared * 4e-6f;
      const Floats above = positive((height < 0 ? -height : height) - disc.half_thickness);
      const Floats aside = positive(root(positive(squared - height * height - slack)) - disc.radius);
      const Floats bound = above * above + aside * aside - slack;
      const Floats possible = bound <= best_[g] ? bound : Floats{kNone, kNone, kNone, kNone};
      least = possible < least ? possible : least;
    }
    return static_cast<double>(std::min(std::min(least[0], least[1]), std::min(least[2], least[3])));
  }

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
  typedef float Floats __attribute__((vector_size(4 * kSize)));
  static Floats positive(Floats a) { return a > Floats{} ? a : Floats{}; }
  static Floats root(Floats a) {
    Floats out;
    for (size_t k = 0; k < kSize; ++k) out[k] = std::sqrt(a[k]);
    return out;
  }
  struct Points {
    Floats x, y, z;
  };

  const SubvoxelSurface& surface_;
  const SubvoxelRule& rule_;
  const Query* query_ = nullptr;
  size_t groups_ = 0;
  std::array<Points, FanSamples::kMostGroups> points_;
  std::array<Floats, FanSamples::kMostGroups> best_;  // squared distances found so far
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
