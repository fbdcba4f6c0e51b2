#include <optional>

#include "core/summaries.hpp"
#include "search/band/band.hpp"
#include "search/far/search.hpp"
#include "search/maximum.hpp"
#include "search/point_batch.hpp"
#include "subvoxel/near_fans.hpp"
#include "subvoxel/subvoxel.hpp"
#include "surface/targets.hpp"

namespace segauge {
namespace {

// What is in the cells of a sub-voxel surface.
class FanPieces {
 public:
  FanPieces(const SubvoxelSurface& surface, const SubvoxelRule& rule) : fans_(surface.fans), rule_(rule) {}

  const BoundingDisc& disc(int64_t index) const { return fans_.cell[static_cast<size_t>(index)].disc; }

  void squared_distances(const Query& query, const Candidate& cell, double* squared) const {
    const Fans::OfCell& own = fans_.cell[static_cast<size_t>(cell.index)];
    const FanTable::Shape& shape = rule_.fans.shape[own.code];
    for (size_t i = 0; i < query.count; ++i) {
      squared[i] = kInfinity;
      if ((cell.groups >> (i / SampleGroup::kSize) & 1) == 0) continue;
      const SampleGroup& group = query.groups[i / SampleGroup::kSize];
      const size_t k = i % SampleGroup::kSize;
      const Vec3 point{group.x[k] + cell.shift[0], group.y[k] + cell.shift[1], group.z[k] + cell.shift[2]};
      squared[i] = simd_.squared_to_fans(point, shape, fans_.numbers.data() + own.begin);
    }
    const size_t whole = SampleGroup::count_for(query.count) * SampleGroup::kSize;
    std::fill(squared + query.count, squared + whole, squared[query.count - 1]);  // the last one repeated
  }

 private:
  const Fans& fans_;
  const SubvoxelRule& rule_;
  const SimdOperations& simd_ = SimdOperations::here();
};

// The first sample of every cell, and one more: the middles of its fans, unless the cell touches an ignored voxel.
std::vector<size_t> sample_offsets(const CellGrid& from, const SubvoxelRule& rule) {
  std::vector<size_t> start(from.cells.size() + 1, 0);
  for (size_t i = 0; i < from.cells.size(); ++i)
    start[i + 1] = start[i] + rule.fans.shape[from.cells[i].sample_code].fans;
  return start;
}

// Searches one surface from the samples of another: nearby at once, what is further away in groups of neighbours.
class FanSearch {
 public:
  FanSearch(const SubvoxelSurface& from, const SubvoxelSurface& to, const BrickTree& tree, CellBlocks& blocks,
            const SubvoxelRule& rule, const std::vector<size_t>& start, Samples& out)
      : from_(from), to_(to), tree_(tree), blocks_(blocks), rule_(rule), start_(start), out_(out), near_(to, rule) {}

  // Writes distances and areas of the samples of a brick.
  void search(size_t brick) {
    const auto begin = static_cast<size_t>(from_.grid.bricks[brick].begin),
               end = static_cast<size_t>(from_.grid.end_of(brick));
    if (rule_.lattice.is_orthogonal) near_.enter(from_.grid.cells[begin]);
    for (size_t i = begin; i < end; ++i) {
      const Fans::OfCell& cell = from_.fans.cell[i];
      const double* numbers = from_.fans.numbers.data() + cell.begin;
      const uint8_t* corners = rule_.fans.shape[cell.code].corners.data();
      for (size_t sample = start_[i], fan = cell.fan; sample < start_[i + 1]; ++sample, ++fan) {
        __builtin_prefetch(numbers + kAhead);
        out_.area[sample] = from_.fans.area[fan];
        near_points_[count_near_++] = {&from_.grid.cells[i], {numbers[0], numbers[1], numbers[2]}, kInfinity, false};
        if (count_near_ == near_points_.size()) search_near(sample + 1);
        numbers += FanNumbers::room_for(*corners++);
      }
    }
    search_near(start_[end]);
    search_far();
    for (size_t sample = start_[begin]; sample < start_[end]; ++sample)
      out_.distance[sample] = std::sqrt(out_.distance[sample]);
  }

 private:
  static constexpr size_t kTogether = 8;  // samples
  static constexpr int32_t kSpan = 4;     // cells that they may be apart
  static constexpr size_t kAhead = 128;   // numbers; those of a few cells on

  // Those that were collected; `end`: one after the last of them.
  void search_near(size_t end) {
    NearFans::Point* const first = near_points_.data();
    if (rule_.lattice.is_orthogonal) near_.find(first, first + count_near_);
    size_t sample = end - count_near_;
    for (const NearFans::Point* point = first; point != first + count_near_; ++point, ++sample) {
      out_.distance[sample] = point->squared;
      if (!point->is_settled) add_far(*point->cell, point->at, sample);
    }
    count_near_ = 0;
  }

  // Takes a sample into the group that is searched next, or begins a new one: of one row, or where axes are not at
  // right angles of one cell, because a search counts its steps from there.
  void add_far(const Cell& cell, const Vec3& point, size_t sample) {
    const int32_t most = rule_.lattice.is_orthogonal ? kSpan : 0;
    const bool is_apart = cell.z != first_.z || cell.y != first_.y || cell.x - first_.x > most;
    if (points_.is_full() || (!points_.is_empty() && is_apart)) search_far();
    if (points_.is_empty()) first_ = cell;
    const Vec3 offset = rule_.lattice.offset(0, 0, cell.x - first_.x);
    samples_[points_.count()] = sample;
    points_.add({point[0] + offset[0], point[1] + offset[1], point[2] + offset[2]});
  }

  void search_far() {
    if (points_.is_empty()) return;
    if (!far_) far_.emplace(to_.grid, tree_, blocks_, rule_.lattice, FanPieces(to_, rule_));
    double squared[kTogether];
    for (size_t i = 0; i < points_.count(); ++i) squared[i] = out_.distance[samples_[i]];
    far_->improve({{first_.z, first_.y, first_.x}, points_.groups(), points_.count(), points_.box()}, squared);
    for (size_t i = 0; i < points_.count(); ++i) out_.distance[samples_[i]] = squared[i];
    points_.clear();
  }

  const SubvoxelSurface &from_, &to_;
  const BrickTree& tree_;
  CellBlocks& blocks_;
  const SubvoxelRule& rule_;
  const std::vector<size_t>& start_;
  Samples& out_;
  NearFans near_;
  std::optional<Search<FanPieces>> far_;
  std::array<NearFans::Point, NearFans::kTogether> near_points_;
  size_t count_near_ = 0;
  // the group that is searched next
  Cell first_{};
  PointBatch<kTogether> points_;
  std::array<size_t, kTogether> samples_;
};

}  // namespace

Samples directed_distances(const SubvoxelSurface& from, const SubvoxelSurface& to, const SubvoxelRule& rule,
                           int threads) {
  const BrickTree tree(to.grid);
  CellBlocks blocks(to.grid, rule.lattice);
  const std::vector<size_t> start = sample_offsets(from.grid, rule);
  Samples out;
  out.distance.resize(start.back());
  out.area.resize(start.back());
  const int64_t chunks = chunk_count(from.grid);
  std::vector<std::optional<FanSearch>> searches(static_cast<size_t>(worker_count(chunks, threads)));
  parallel_for(chunks, threads, [&](int64_t chunk, int worker) {
    std::optional<FanSearch>& search = searches[static_cast<size_t>(worker)];
    if (!search) search.emplace(from, to, tree, blocks, rule, start, out);
    const auto [first, last] = bricks_of_chunk(from.grid, chunk);
    for (size_t brick = first; brick < last; ++brick) search->search(brick);
  });
  return out;
}

namespace {

// The triangles of the fans of a cell, from its lattice position; of a segment its two halves.
void list_triangles(const Fans::OfCell& cell, const FanTable::Shape& shape, const double* numbers,
                    std::vector<Target>& out) {
  numbers += cell.begin;
  for (size_t f = 0; f < shape.fans; ++f) {
    const size_t corners = shape.corners[f], row = FanNumbers::row_of(corners);
    const Vec3 middle{numbers[0], numbers[1], numbers[2]};
    auto spoke = [&](size_t k) {
      const double* const x = numbers + FanNumbers::kSpokes + k;
      return Vec3{x[0], x[row], x[2 * row]};
    };
    for (size_t k = 0; k < corners; ++k)
      out.push_back(corners == 2 ? prepared_target(middle, spoke(k), {0, 0, 0}, true)
                                 : prepared_target(middle, spoke(k), spoke(k + 1), false));
    numbers += FanNumbers::room_for(corners);
  }
}

// How far the corners of a cell's fan are from its sample, at most.
double longest_spoke(const double* numbers, size_t corners) {
  const size_t row = FanNumbers::row_of(corners);
  double squared = 0;
  for (const double* x = numbers + FanNumbers::kSpokes; x != numbers + FanNumbers::kSpokes + corners; ++x)
    squared = std::max(squared, x[0] * x[0] + x[row] * x[row] + x[2 * row] * x[2 * row]);
  return std::sqrt(squared);
}

}  // namespace

double largest_distance(const SubvoxelSurface& from, const SubvoxelSurface& to, const SubvoxelRule& rule,
                        const Samples& samples) {
  if (samples.distance.empty()) return 0;
  const double found = largest_of({samples.distance.data(), samples.distance.data(), samples.distance.size()});
  double diagonal = 0;  // no spoke is longer
  for (const Vec3& step : rule.lattice.step) diagonal += std::sqrt(dot(step, step));
  const std::vector<size_t> start = sample_offsets(from.grid, rule);
  std::vector<CellBound> open;
  for (size_t i = 0; i < from.grid.cells.size(); ++i) {
    double most = 0;
    for (size_t k = start[i]; k < start[i + 1]; ++k) most = std::max(most, samples.distance[k]);
    if (start[i] == start[i + 1] || most + diagonal <= found) continue;
    const FanTable::Shape& shape = rule.fans.shape[from.fans.cell[i].code];
    const double* numbers = from.fans.numbers.data() + from.fans.cell[i].begin;
    double reach = 0;
    for (size_t f = 0; f < shape.fans; numbers += FanNumbers::room_for(shape.corners[f++]))
      reach = std::max(reach, longest_spoke(numbers, shape.corners[f]));
    if (most + reach > found) open.push_back({most + reach, i});
  }
  if (open.empty()) return found;
  auto pieces_of = [&](const SubvoxelSurface& surface) -> ListPieces {
    return [&](size_t cell, std::vector<Target>& out) {
      const Fans::OfCell& own = surface.fans.cell[cell];
      list_triangles(own, rule.fans.shape[own.code], surface.fans.numbers.data(), out);
    };
  };
  const BrickTree tree(to.grid);
  CellBlocks blocks(to.grid, rule.lattice);
  Search<FanPieces> search(to.grid, tree, blocks, rule.lattice, FanPieces(to, rule));
  auto nearest = [&](const Cell& cell, const Vec3& point) { return search.nearest_cell(cell, point); };
  return largest_distance({from.grid, pieces_of(from)}, std::move(open), {to.grid, pieces_of(to)}, nearest, tree,
                          rule.lattice, found);
}

BitVolume boundary_band(const BitVolume& mask, const SubvoxelSurface& surface, const SubvoxelRule& rule, double width,
                        int threads) {
  const BrickTree tree(surface.grid);
  CellBlocks blocks(surface.grid, rule.lattice);
  return boundary_band(mask, SurfaceKind::marching_cubes, rule.lattice, width, threads, [&]() -> Reaches {
    return [width, search = Search(surface.grid, tree, blocks, rule.lattice, FanPieces(surface, rule))](
               int64_t z, int64_t y, int64_t x) mutable { return search.reaches(z, y, x, width * width); };
  });
}

}  // namespace segauge
