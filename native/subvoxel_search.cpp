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

  void squared_distances(const Candidate& cell, double* squared) const {
    const auto i = static_cast<size_t>(cell.index);
    const Fans::Start& start = surface_.fans.start[i];
    squared_to_fans_(query_->groups, groups_, cell.groups, cell.shift, rule_.fans.shape[surface_.set.cells[i].code],
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

// Searches one surface from the cells of another: neighbours in a row together as far as their samples fill the widest
// registers, because most of a search is to find the cells that are worth looking at.
class FanSearch {
 public:
  FanSearch(const SubvoxelSurface& from, const SubvoxelSurface& to, const BrickTree& tree, const SubvoxelRule& rule)
      : from_(from), to_(to), rule_(rule), search_(to.set, tree, rule.lattice, FanPieces(to, rule)) {}

  // Writes the squared distances and areas of a cell, and of some that follow it; returns the first of those left.
  size_t operator()(size_t index, size_t end, double* squared, double* area) {
    const Cell& first = from_.set.cells[index];
    FanSamples samples;
    size_t next = index;
    const bool is_same = is_in_both(index);
    do {
      const Cell& cell = from_.set.cells[next];
      const Fans::Start& start = from_.fans.start[next];
      samples.add(shape(next), from_.fans.apex.data() + start.apex, from_.fans.spoke.data() + start.spoke,
                  rule_.lattice.offset(0, 0, cell.x - first.x));
      ++next;
    } while (!is_same && next < end && continues(first, index, next, samples.count));
    samples.fill_up();
    std::copy_n(samples.area.data(), samples.count, area);
    std::fill_n(squared, samples.count, is_same ? 0 : kInfinity);
    if (!is_same) search_.improve({{first.z, first.y, first.x}, samples.groups.data(), samples.count, samples.box}, squared);
    return next;
  }

 private:
  static constexpr size_t kTogether = 8;  // samples

  const FanTable::Shape& shape(size_t index) const { return rule_.fans.shape[from_.set.cells[index].code]; }

  // Whether a cell is next to those before it in the row, and has few enough samples to be searched with theirs.
  bool continues(const Cell& first, size_t index, size_t next, size_t count) const {
    const Cell& cell = from_.set.cells[next];
    return rule_.lattice.is_orthogonal && cell.z == first.z && cell.y == first.y && cell.x - first.x == static_cast<int32_t>(next - index) &&
           cell.sample_code != 0 && count + shape(next).pieces <= kTogether && !is_in_both(next);
  }

  // Whether the other surface has the very pieces of a cell.
  bool is_in_both(size_t index) const {
    const Cell& cell = from_.set.cells[index];
    const int64_t there = search_.cell_index(cell.z, cell.y, cell.x);
    if (there < 0 || to_.set.cells[static_cast<size_t>(there)].code != cell.code) return false;
    const Fans &a = from_.fans, &b = to_.fans;
    const Fans::Start &i = a.start[index], &j = b.start[static_cast<size_t>(there)];
    return std::memcmp(a.apex.data() + i.apex, b.apex.data() + j.apex, shape(index).fans * sizeof(Vec3)) == 0 &&
           std::memcmp(a.spoke.data() + i.spoke, b.spoke.data() + j.spoke, shape(index).spokes * sizeof(Spoke)) == 0;
  }

  const SubvoxelSurface &from_, &to_;
  const SubvoxelRule& rule_;
  Search<FanPieces> search_;
};

}  // namespace

Samples directed_distances(const SubvoxelSurface& from, const SubvoxelSurface& to, const SubvoxelRule& rule, int threads) {
  const BrickTree tree(to.set);
  return search_chunks(from.set, sample_offsets(from.set, rule), threads, [&](int) { return FanSearch(from, to, tree, rule); });
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
