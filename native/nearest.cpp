#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "parallel.hpp"
#include "surface.hpp"

namespace segauge {
namespace {

constexpr int64_t kEdge = 8;
constexpr int64_t kBricksPerChunk = 16;
// A window of more bricks than this is searched through the tree instead.
constexpr int64_t kMostBricksInWindow = 64;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
double clamped(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

double squared_at(const Vec3& d, const Target& t, double s, double r) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double gap = d[i] - s * t.u[i] - r * t.v[i];
    sum += gap * gap;
  }
  return sum;
}

// Squared distance from a point to a triangle: the plane's foot point if it lies inside, else the nearest edge.
double squared_to_triangle(const Vec3& d, const Target& t) {
  const double du = dot(d, t.u), dv = dot(d, t.v);
  const double s = du * t.vv - dv * t.uv, r = dv * t.uu - du * t.uv, whole = t.uu * t.vv - t.uv * t.uv;
  if (s >= 0 && r >= 0 && s + r <= whole) {
    const double height = dot(d, t.normal);
    return height * height;
  }
  double best = kInfinity;
  if (r < 0) best = squared_at(d, t, clamped(du * t.per_uu), 0);
  if (s < 0) best = std::min(best, squared_at(d, t, 0, clamped(dv * t.per_vv)));
  if (s + r > whole) {
    // along the third edge, from u to v: d - u against v - u
    const double along = (dv - du - t.uv + t.uu) / (t.uu - 2 * t.uv + t.vv);
    const double r3 = clamped(along);
    best = std::min(best, squared_at(d, t, 1 - r3, r3));
  }
  return best;
}

double squared_to_rectangle(const Vec3& d, const Target& t) {
  return squared_at(d, t, clamped(dot(d, t.u) * t.per_uu), clamped(dot(d, t.v) * t.per_vv));
}

double squared_to(const Vec3& point, const Target& t) {
  const Vec3 d{point[0] - t.corner[0], point[1] - t.corner[1], point[2] - t.corner[2]};
  return t.is_rectangle ? squared_to_rectangle(d, t) : squared_to_triangle(d, t);
}

double squared_between(const Box& a, const Box& b, const Vec3& shift) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double gap = std::max({0.0, b.low[i] - (a.high[i] + shift[i]), (a.low[i] + shift[i]) - b.high[i]});
    sum += gap * gap;
  }
  return sum;
}

double squared_to_box(const Vec3& p, const Box& b) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double gap = std::max({0.0, b.low[i] - p[i], p[i] - b.high[i]});
    sum += gap * gap;
  }
  return sum;
}

// A bound that excludes must exclude for certain: rounding in it may never cost the nearest piece, or the answer
// would depend on the way the search went.
bool excludes(double lower_bound, double best) { return lower_bound > best * (1 + 1e-9) + 1e-15; }

// Searches the surface `to` for a handful of nearby points at once: the samples of one cell.
class Search {
 public:
  Search(const CellSet& to, const BrickTree& tree, const Patterns& patterns)
      : to_(to), tree_(tree), patterns_(patterns), reach_(patterns.reach()) {}

  // Points are given relative to the lattice position (z, y, x); `box` bounds them. best[i] gets squared distances.
  void nearest(const Vec3* points, size_t count, const Box& box, int64_t z, int64_t y, int64_t x, double* best) {
    points_ = points;
    count_ = count;
    box_ = &box;
    best_ = best;
    at_ = {z, y, x};
    std::fill(best, best + count, kInfinity);
    worst_ = kInfinity;
    enough_ = 0;
    search();
  }

  // Whether any piece lies within a squared distance of the lattice position (z, y, x) itself.
  bool reaches(int64_t z, int64_t y, int64_t x, double squared) {
    static const Vec3 kOrigin{0, 0, 0};
    static const Box kPoint{{0, 0, 0}, {0, 0, 0}};
    double best = std::nextafter(squared, kInfinity);
    points_ = &kOrigin;
    count_ = 1;
    box_ = &kPoint;
    best_ = &best;
    at_ = {z, y, x};
    worst_ = best;
    enough_ = squared;
    search();
    return best <= squared;
  }

  void hint(int64_t cell) { hint_ = cell; }

  // The index of the surface's cell at a position, -1 if the surface does not pass there.
  int64_t cell_index(int64_t z, int64_t y, int64_t x) const {
    if (z < 0 || y < 0 || x < 0) return -1;
    const int64_t bz = z / kEdge, by = y / kEdge, bx = x / kEdge;
    if (bz >= to_.nz || by >= to_.ny || bx >= to_.nx) return -1;
    const int32_t b = to_.brick_at[static_cast<size_t>((bz * to_.ny + by) * to_.nx + bx)];
    if (b < 0) return -1;
    const CellSet::Brick& brick = to_.bricks[static_cast<size_t>(b)];
    const uint64_t word = brick.occupied[static_cast<size_t>(z % kEdge)];
    const uint64_t bit = uint64_t{1} << (y % kEdge * kEdge + x % kEdge);
    if ((word & bit) == 0) return -1;
    return brick.begin + brick.before[static_cast<size_t>(z % kEdge)] + count_bits(word & (bit - 1));
  }

 private:
  void search() {
    if (hint_ >= 0) try_cell(to_.cells[static_cast<size_t>(hint_)], hint_);
    const int64_t same = cell_index(at_[0], at_[1], at_[2]);
    if (same >= 0 && same != hint_) try_cell(to_.cells[static_cast<size_t>(same)], same);
    if (worst_ <= enough_) return;
    if (!search_window()) search_tree();
  }

  void try_cell(const Cell& cell, int64_t index) {
    const Vec3 shift = patterns_.offset(at_[0] - cell.z, at_[1] - cell.y, at_[2] - cell.x);
    const Box& there = patterns_.target_box[cell.code];
    if (excludes(squared_between(*box_, there, shift), worst_)) return;
    const Target* first = patterns_.target.data() + patterns_.target_start[cell.code];
    const Target* last = patterns_.target.data() + patterns_.target_start[cell.code + 1];
    double worst = 0;
    bool improved = false;
    for (size_t i = 0; i < count_; ++i) {
      const Vec3 p{points_[i][0] + shift[0], points_[i][1] + shift[1], points_[i][2] + shift[2]};
      double best = best_[i];
      if (!excludes(squared_to_box(p, there), best)) {
        for (const Target* t = first; t != last; ++t) {
          const double squared = squared_to(p, *t);
          if (squared < best) best = squared;
        }
        if (best < best_[i]) {
          best_[i] = best;
          improved = true;
        }
      }
      worst = std::max(worst, best);
    }
    worst_ = worst;
    if (improved) hint_ = index;
  }

  // Looks at all cells that the present upper bound can reach. False if there is no bound yet, or it reaches too far.
  bool search_window() {
    if (worst_ == kInfinity) return false;
    const double radius = std::sqrt(worst_) * (1 + 1e-9);
    int64_t low[3], high[3];
    const int64_t extent[3] = {to_.nz * kEdge, to_.ny * kEdge, to_.nx * kEdge};
    int64_t bricks = 1;
    for (int axis = 0; axis < 3; ++axis) {
      // samples and targets lie inside their cells, so two of them can be nearer than their cells by one step
      const double span = std::min(radius * reach_[axis] + 1 + 1e-9, 1e9);
      low[axis] = std::max<int64_t>(0, at_[axis] - static_cast<int64_t>(span));
      high[axis] = std::min<int64_t>(extent[axis] - 1, at_[axis] + static_cast<int64_t>(span));
      if (high[axis] < low[axis]) return true;
      bricks *= high[axis] / kEdge - low[axis] / kEdge + 1;
    }
    if (bricks > kMostBricksInWindow) return false;
    for (int64_t bz = low[0] / kEdge; bz <= high[0] / kEdge; ++bz)
      for (int64_t by = low[1] / kEdge; by <= high[1] / kEdge; ++by)
        for (int64_t bx = low[2] / kEdge; bx <= high[2] / kEdge; ++bx) {
          const int32_t b = to_.brick_at[static_cast<size_t>((bz * to_.ny + by) * to_.nx + bx)];
          if (b >= 0) search_brick(to_.bricks[static_cast<size_t>(b)], low, high);
          if (worst_ <= enough_) return true;
        }
    return true;
  }

  void search_brick(const CellSet::Brick& brick, const int64_t low[3], const int64_t high[3]) {
    const int64_t corner[3] = {brick.z * kEdge, brick.y * kEdge, brick.x * kEdge};
    int64_t from[3], to[3];
    for (int axis = 0; axis < 3; ++axis) {
      from[axis] = std::max<int64_t>(0, low[axis] - corner[axis]);
      to[axis] = std::min<int64_t>(kEdge - 1, high[axis] - corner[axis]);
    }
    const uint64_t columns = (uint64_t{0xFF} >> (7 - to[2]) & (uint64_t{0xFF} << from[2])) * 0x0101010101010101ull;
    const uint64_t rows = (~uint64_t{0} >> (8 * (7 - to[1]))) & (~uint64_t{0} << (8 * from[1]));
    for (int64_t plane = from[0]; plane <= to[0]; ++plane) {
      const uint64_t word = brick.occupied[static_cast<size_t>(plane)];
      for (uint64_t left = word & rows & columns; left != 0; left &= left - 1) {
        const uint64_t below = (left & (~left + 1)) - 1;
        const int64_t index = brick.begin + brick.before[static_cast<size_t>(plane)] + count_bits(word & below);
        if (index != hint_) try_cell(to_.cells[static_cast<size_t>(index)], index);
      }
    }
  }

  void search_tree() {
    const Vec3 origin = patterns_.offset(at_[0], at_[1], at_[2]);
    const auto& nodes = tree_.nodes();
    std::pair<double, int32_t> stack[128];
    int depth = 0;
    stack[depth++] = {squared_between(*box_, nodes[0].box, origin), 0};
    while (depth > 0) {
      const auto [bound, index] = stack[--depth];
      if (worst_ <= enough_) return;
      if (excludes(bound, worst_)) continue;
      const BrickTree::Node& node = nodes[static_cast<size_t>(index)];
      if (node.brick >= 0) {
        search_whole_brick(static_cast<size_t>(node.brick));
        continue;
      }
      const double left = squared_between(*box_, nodes[static_cast<size_t>(node.left)].box, origin);
      const double right = squared_between(*box_, nodes[static_cast<size_t>(node.right)].box, origin);
      const bool left_first = left <= right;
      stack[depth++] = left_first ? std::pair(right, node.right) : std::pair(left, node.left);
      stack[depth++] = left_first ? std::pair(left, node.left) : std::pair(right, node.right);
    }
  }

  void search_whole_brick(size_t brick) {
    for (int64_t i = to_.bricks[brick].begin; i < to_.end_of(brick); ++i) try_cell(to_.cells[static_cast<size_t>(i)], i);
  }

  const CellSet& to_;
  const BrickTree& tree_;
  const Patterns& patterns_;
  const Vec3 reach_;
  const Vec3* points_ = nullptr;
  const Box* box_ = nullptr;
  double* best_ = nullptr;
  size_t count_ = 0;
  std::array<int64_t, 3> at_{};
  double worst_ = kInfinity;   // the largest of best_
  double enough_ = 0;          // the search ends when worst_ is no larger
  int64_t hint_ = -1;
};

std::vector<int64_t> sample_offsets(const CellSet& from, const Patterns& patterns) {
  std::vector<int64_t> start(from.cells.size() + 1, 0);
  for (size_t i = 0; i < from.cells.size(); ++i) {
    const uint32_t code = from.cells[i].sample_code;
    start[i + 1] = start[i] + patterns.sample_start[code + 1] - patterns.sample_start[code];
  }
  return start;
}

// The voxels around which everything within `span` steps along each axis is foreground: none of them is near a surface.
BitVolume deep_inside(const BitVolume& mask, const std::array<int64_t, 3>& span) {
  BitVolume along_x = mask;
  for (int64_t z = 0; z < mask.nz; ++z)
    for (int64_t y = 0; y < mask.ny; ++y) {
      const uint64_t* in = mask.row(z, y);
      uint64_t* out = along_x.row(z, y);
      auto word = [&](int64_t i) { return i < 0 || i >= mask.row_words ? uint64_t{0} : in[i]; };
      for (int64_t w = 0; w < mask.row_words; ++w)
        for (int64_t s = 1; s <= span[2] && out[w] != 0; ++s) {
          const int64_t whole = s / 64, bits = s % 64;
          const uint64_t up = bits == 0 ? word(w - whole) : word(w - whole) << bits | word(w - whole - 1) >> (64 - bits);
          const uint64_t down = bits == 0 ? word(w + whole) : word(w + whole) >> bits | word(w + whole + 1) << (64 - bits);
          out[w] &= up & down;
        }
    }
  auto narrowed = [](const BitVolume& in, int64_t steps, bool along_z) {
    BitVolume out = in;
    const int64_t length = along_z ? in.nz : in.ny;
    for (int64_t z = 0; z < in.nz; ++z)
      for (int64_t y = 0; y < in.ny; ++y)
        for (int64_t s = -steps; s <= steps; ++s) {
          const int64_t at = (along_z ? z : y) + s;
          const uint64_t* other = at < 0 || at >= length ? nullptr : along_z ? in.row(at, y) : in.row(z, at);
          for (int64_t w = 0; w < in.row_words; ++w) out.row(z, y)[w] &= other == nullptr ? 0 : other[w];
        }
    return out;
  };
  const BitVolume along_y = narrowed(along_x, span[1], false);
  return mask.ndim == 3 ? narrowed(along_y, span[0], true) : along_y;
}

}  // namespace

Vec3 Patterns::reach() const {
  // rows of the inverse: cross products over the determinant
  auto cross = [](const Vec3& a, const Vec3& b) {
    return Vec3{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  };
  const Vec3 c0 = cross(step[1], step[2]), c1 = cross(step[2], step[0]), c2 = cross(step[0], step[1]);
  const double volume = std::abs(dot(step[0], c0));
  return {std::sqrt(dot(c0, c0)) / volume, std::sqrt(dot(c1, c1)) / volume, std::sqrt(dot(c2, c2)) / volume};
}

BrickTree::BrickTree(const CellSet& cells) {
  std::vector<int32_t> order(cells.bricks.size());
  std::iota(order.begin(), order.end(), 0);
  nodes_.reserve(2 * order.size());
  if (!order.empty()) build(order, 0, order.size(), cells);
}

int32_t BrickTree::build(std::vector<int32_t>& order, size_t begin, size_t end, const CellSet& cells) {
  const auto index = static_cast<int32_t>(nodes_.size());
  nodes_.emplace_back();
  Box box;
  for (size_t i = begin; i < end; ++i) box.include(cells.bricks[static_cast<size_t>(order[i])].box);
  nodes_[static_cast<size_t>(index)].box = box;
  if (end - begin == 1) {
    nodes_[static_cast<size_t>(index)].brick = order[begin];
    return index;
  }
  int axis = 0;
  for (int i = 1; i < 3; ++i)
    if (box.high[i] - box.low[i] > box.high[axis] - box.low[axis]) axis = i;
  const size_t middle = begin + (end - begin) / 2;
  auto centre = [&](int32_t b) {
    const Box& own = cells.bricks[static_cast<size_t>(b)].box;
    return std::pair(own.low[axis] + own.high[axis], b);
  };
  std::nth_element(order.begin() + static_cast<int64_t>(begin), order.begin() + static_cast<int64_t>(middle),
                   order.begin() + static_cast<int64_t>(end), [&](int32_t a, int32_t b) { return centre(a) < centre(b); });
  const int32_t left = build(order, begin, middle, cells);
  const int32_t right = build(order, middle, end, cells);
  nodes_[static_cast<size_t>(index)].left = left;
  nodes_[static_cast<size_t>(index)].right = right;
  return index;
}

Samples directed_distances(const CellSet& from, const CellSet& to, const Patterns& patterns, int threads) {
  const BrickTree tree(to);
  const std::vector<int64_t> start = sample_offsets(from, patterns);
  Samples out;
  out.distance.resize(static_cast<size_t>(start.back()));
  out.area.resize(static_cast<size_t>(start.back()));
  const auto bricks = static_cast<int64_t>(from.bricks.size());
  parallel_for((bricks + kBricksPerChunk - 1) / kBricksPerChunk, threads, [&](int64_t chunk) {
    Search search(to, tree, patterns);
    const auto first = static_cast<size_t>(chunk * kBricksPerChunk);
    const auto last = static_cast<size_t>(std::min(bricks, (chunk + 1) * kBricksPerChunk));
    for (int64_t i = from.bricks[first].begin; i < from.end_of(last - 1); ++i) {
      const Cell& cell = from.cells[static_cast<size_t>(i)];
      const auto begin = static_cast<size_t>(patterns.sample_start[cell.sample_code]);
      const auto count = static_cast<size_t>(patterns.sample_start[cell.sample_code + 1]) - begin;
      if (count == 0) continue;
      double* distance = out.distance.data() + start[static_cast<size_t>(i)];
      std::copy_n(patterns.area.data() + begin, count, out.area.data() + start[static_cast<size_t>(i)]);
      const int64_t same = search.cell_index(cell.z, cell.y, cell.x);
      if (same >= 0 && to.cells[static_cast<size_t>(same)].code == cell.code) {
        std::fill_n(distance, count, 0.0);  // the very same pieces are part of the other surface
        search.hint(same);
        continue;
      }
      search.nearest(patterns.sample.data() + begin, count, patterns.sample_box[cell.sample_code], cell.z, cell.y, cell.x,
                     distance);
      for (size_t k = 0; k < count; ++k) distance[k] = std::sqrt(distance[k]);
    }
  });
  return out;
}

BitVolume boundary_band(const BitVolume& mask, SurfaceKind kind, const Patterns& patterns, double width, int threads) {
  const CellSet surface = find_cells(mask, nullptr, kind, patterns, threads);
  const BrickTree tree(surface);
  const Vec3 reach = patterns.reach();
  std::array<int64_t, 3> span{};
  for (size_t axis = 0; axis < 3; ++axis)
    span[axis] = static_cast<int64_t>(std::min(width * reach[axis] * (1 + 1e-9), 1e6)) + 1;
  const BitVolume deep = deep_inside(mask, span);
  // marching-cubes cells are counted from the padded border, voxel faces from the first voxel
  const int64_t shift = kind == SurfaceKind::marching_cubes ? 1 : 0, shift_z = mask.ndim == 3 ? shift : 0;
  BitVolume band(mask.ndim, mask.nz, mask.ny, mask.nx);
  parallel_for(mask.nz * mask.ny, threads, [&](int64_t row) {
    const int64_t z = row / mask.ny, y = row % mask.ny;
    Search search(surface, tree, patterns);
    for (int64_t w = 0; w < mask.row_words; ++w)
      for (uint64_t left = mask.row(z, y)[w] & ~deep.row(z, y)[w]; left != 0; left &= left - 1) {
        const int64_t x = 64 * w + lowest_bit(left);
        if (search.reaches(z + shift_z, y + shift, x + shift, width * width)) band.set(z, y, x);
      }
  });
  return band;
}

}  // namespace segauge
