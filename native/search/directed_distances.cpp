#include "search/directed_distances.hpp"

#include <optional>

#include "core/summaries.hpp"
#include "search/maximum.hpp"
#include "search/near/near_search.hpp"
#include "search/pattern_pieces.hpp"
#include "search/point_batch.hpp"

namespace segauge {
namespace {

Uninitialised<int64_t> sample_offsets(const CellGrid& from, const CellPatterns& patterns) {
  Uninitialised<int64_t> start(from.cells.size() + 1);
  start[0] = 0;
  for (size_t i = 0; i < from.cells.size(); ++i) {
    const uint32_t code = from.cells[i].sample_code;
    start[i + 1] = start[i] + patterns.sample_start[code + 1] - patterns.sample_start[code];
  }
  return start;
}

// Writes the samples of a cell, and where there is room also what does not belong to it: the next cell overwrites that,
// and four or eight numbers take less time than an unpredictable number of them. Roots are taken before the
// samples are put in order, when they still lie side by side.
template <int64_t kCount>
void write_samples(const NearSearch::Found& found, const double* area, double* distance, double* own_area) {
  double root[kCount];
  for (int64_t k = 0; k < kCount; ++k) root[k] = std::sqrt(found.squared[k]);
  // masked, because what is read beyond the cell's own samples may be larger
  for (int64_t k = 0; k < kCount; ++k) distance[k] = root[found.order[k] & (kCount - 1)];
  for (int64_t k = 0; k < kCount; ++k) own_area[k] = area[k];
}

void write_samples(const NearSearch::Found& found, const double* area, int64_t begin, int64_t next, int64_t end,
                   Samples& out) {
  double* distance = out.distance.data() + begin;
  double* own_area = out.area.data() + begin;
  const int64_t count = next - begin;
  if (count <= 4 && end - begin >= 4) return write_samples<4>(found, area, distance, own_area);
  if (count <= 8 && end - begin >= 8) return write_samples<8>(found, area, distance, own_area);
  for (int64_t k = 0; k < count; ++k) {
    distance[k] = std::sqrt(found.of_sample(static_cast<size_t>(k)));
    own_area[k] = area[k];
  }
}

// Searches a binary surface: the cells nearby, of which all distances are known, then what is further away. There the
// samples of some neighbouring cells are searched together.
class PatternSearch {
 public:
  PatternSearch(const CellGrid& to, const BrickTree& tree, CellBlocks& blocks, const CellPatterns& patterns,
                NearCaches& caches)
      : patterns_(patterns),
        near_(to, patterns, caches),
        far_(to, tree, blocks, patterns, PatternPieces(to, patterns)) {}

  // Finds the nearest piece of all samples of some cells of one brick; found(i) is that of the i-th cell.
  void search(const Cell* first, const Cell* last) {
    near_.search(first, last);
    unsettled_.clear();
    for (const Cell* cell = first; cell != last; ++cell) {
      const auto number = static_cast<size_t>(cell - first);
      if (!near_.found(number).is_settled) unsettled_.push_back({place_of(*cell), static_cast<uint16_t>(number)});
    }
    std::sort(unsettled_.begin(), unsettled_.end());
    for (const auto& [place, number] : unsettled_) {
      if (place != place_ || !patterns_.is_orthogonal) search_far();
      place_ = place;
      gather(first[number], near_.found(number));
    }
    search_far();
  }
  const NearSearch::Found& found(size_t i) { return near_.found(i); }

 private:
  static constexpr int kTogether = 2;  // cells along each axis; where axes are not at right angles single ones
  static constexpr size_t kMost = FloatPoints::kMost;

  // Of the cells that are searched together, within their brick.
  static uint16_t place_of(const Cell& cell) {
    return static_cast<uint16_t>((cell.z & 7) / kTogether << 6 | (cell.y & 7) / kTogether << 3 |
                                 (cell.x & 7) / kTogether);
  }

  // Adds the samples of a cell to which something further away may be nearer.
  void gather(const Cell& cell, NearSearch::Found& found) {
    const auto first = static_cast<size_t>(patterns_.sample_start[cell.sample_code]);
    const auto last = static_cast<size_t>(patterns_.sample_start[cell.sample_code + 1]);
    for (size_t i = first; i < last; ++i) {
      double& squared = found.of_sample(i - first);
      if (squared <= patterns_.wide_clearance[i] * patterns_.wide_clearance[i]) continue;
      if (points_.is_full()) search_far();
      if (points_.is_empty()) begin_at(cell);
      add(cell, patterns_.sample[i], squared);
    }
  }

  void begin_at(const Cell& cell) {
    at_ = {cell.z, cell.y, cell.x};
    if (patterns_.is_orthogonal)
      for (int64_t& each : at_) each &= ~int64_t{kTogether - 1};
  }

  void add(const Cell& cell, const Vec3& sample, double& squared) {
    const Vec3 offset = patterns_.offset(cell.z - at_[0], cell.y - at_[1], cell.x - at_[2]);
    own_[points_.count()] = &squared;
    points_.add({sample[0] + offset[0], sample[1] + offset[1], sample[2] + offset[2]});
  }

  void search_far() {
    if (points_.is_empty()) return;
    Query query{at_, points_.groups(), points_.count(), points_.box()};
    if (patterns_.is_orthogonal) query.last = {kTogether - 1, kTogether - 1, kTogether - 1};
    double squared[kMost];
    for (size_t i = 0; i < points_.count(); ++i) squared[i] = *own_[i];
    far_.improve(query, squared, PairCache::kReach);
    for (size_t i = 0; i < points_.count(); ++i) *own_[i] = squared[i];
    points_.clear();
  }

  const CellPatterns& patterns_;
  NearSearch near_;
  Search<PatternPieces> far_;
  std::vector<std::pair<uint16_t, uint16_t>> unsettled_;  // cells of the brick: where they lie, and their numbers
  // the points that are searched next
  uint16_t place_ = 0;           // of their cells
  std::array<int64_t, 3> at_{};  // the first of these
  PointBatch<kMost> points_;
  std::array<double*, kMost> own_;  // where each one's squared distance stands
};

}  // namespace

Samples directed_distances(const CellGrid& from, const CellGrid& to, PreparedPatterns& prepared, int threads) {
  const CellPatterns& patterns = prepared.patterns;
  const BrickTree tree(to);
  CellBlocks blocks(to, patterns);
  const Uninitialised<int64_t> start = sample_offsets(from, patterns);
  Samples out;
  out.distance.resize(static_cast<size_t>(start.back()));
  out.area.resize(static_cast<size_t>(start.back()));
  prepared.with_caches(worker_count(chunk_count(from), threads), [&](std::vector<NearCaches>& caches) {
    std::vector<std::optional<PatternSearch>> searches(caches.size());
    parallel_for(chunk_count(from), threads, [&](int64_t chunk, int worker) {
      std::optional<PatternSearch>& own = searches[static_cast<size_t>(worker)];
      if (!own) own.emplace(to, tree, blocks, patterns, caches[static_cast<size_t>(worker)]);
      PatternSearch& search = *own;
      const auto [first, last] = bricks_of_chunk(from, chunk);
      const int64_t end = start[static_cast<size_t>(from.end_of(last - 1))];
      for (size_t brick = first; brick < last; ++brick) {
        const auto begin = static_cast<size_t>(from.bricks[brick].begin),
                   stop = static_cast<size_t>(from.end_of(brick));
        search.search(from.cells.data() + begin, from.cells.data() + stop);
        for (size_t cell = begin; cell < stop; ++cell) {
          const double* area = patterns.area.data() + patterns.sample_start[from.cells[cell].sample_code];
          write_samples(search.found(cell - begin), area, start[cell], start[cell + 1], end, out);
        }
      }
    });
  });
  return out;
}

namespace {

// Whether a surface has the sampled pieces of a cell of another one, too.
bool has_pieces(const CellGrid& to, const Cell& cell) {
  const int64_t index = to.index_at(cell.z, cell.y, cell.x);
  return index >= 0 && to.cells[static_cast<size_t>(index)].code == cell.sample_code;
}

}  // namespace

double largest_distance(const CellGrid& from, const CellGrid& to, const CellPatterns& patterns,
                        const Samples& samples) {
  const Uninitialised<double>& distance = samples.distance;
  if (distance.empty()) return 0;
  const double found = largest_of({distance.data(), distance.data(), distance.size()});
  std::vector<CellBound> open;
  const double* next = distance.data();
  for (size_t i = 0; i < from.cells.size(); ++i) {
    const uint32_t code = from.cells[i].sample_code;
    const double* const end = next + (patterns.sample_start[code + 1] - patterns.sample_start[code]);
    double most = -kInfinity;
    for (; next != end; ++next) most = std::max(most, *next);
    const double bound = most + patterns.sample_reach[code];
    // the very same pieces as those of the other surface are no distance away from it
    if (bound > found && !(most == 0 && has_pieces(to, from.cells[i]))) open.push_back({bound, i});
  }
  if (open.empty()) return found;
  auto pieces_of = [&](uint32_t Cell::*code_of, const CellGrid& grid) -> ListPieces {
    return [&patterns, &grid, code_of](size_t cell, std::vector<Target>& out) {
      const uint32_t code = grid.cells[cell].*code_of;
      const Target* const first = patterns.target.data();
      out.insert(out.end(), first + patterns.target_start[code], first + patterns.target_start[code + 1]);
    };
  };
  const BrickTree tree(to);
  CellBlocks blocks(to, patterns);
  Search<PatternPieces> search(to, tree, blocks, patterns, PatternPieces(to, patterns));
  auto nearest = [&](const Cell& cell, const Vec3& point) { return search.nearest_cell(cell, point); };
  return largest_distance({from, pieces_of(&Cell::sample_code, from)}, std::move(open),
                          {to, pieces_of(&Cell::code, to)}, nearest, tree, patterns, found);
}

}  // namespace segauge
