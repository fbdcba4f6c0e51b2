#include "search/maximum.hpp"

#include <algorithm>
#include <cmath>

#include "search/bounds.hpp"

namespace segauge {
namespace {

constexpr double kTolerance = 1e-6;  // of the shortest step of the lattice
constexpr int kHalveEvery = 4;       // cuts; so that all parts become small, whatever the pieces

using Polygon = std::vector<Vec3>;  // convex, corners in order; two of them: a segment

Vec3 between(const Vec3& a, const Vec3& b, double t) {
  return {a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])};
}
Vec3 difference(const Vec3& a, const Vec3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
double squared_length(const Vec3& a) { return dot(a, a); }
double clamped(double x) { return std::min(std::max(x, 0.0), 1.0); }

double squared_at(const Vec3& d, const Target& t, double s, double r) {
  return squared_length(
      {d[0] - s * t.u[0] - r * t.v[0], d[1] - s * t.u[1] - r * t.v[1], d[2] - s * t.u[2] - r * t.v[2]});
}

double squared_distance(const Vec3& p, const Target& t) {
  const Vec3 d = difference(p, t.corner);
  const double du = dot(d, t.u), dv = dot(d, t.v);
  if (t.is_rectangle) return squared_at(d, t, clamped(du * t.per_uu), clamped(dv * t.per_vv));
  const double s = du * t.vv - dv * t.uv, r = dv * t.uu - du * t.uv, whole = t.uu * t.vv - t.uv * t.uv;
  if (s >= 0 && r >= 0 && s + r <= whole && whole > 1e-20 * t.uu * t.vv) {
    const double height = dot(d, t.normal);
    return height * height;
  }
  const double third = clamped((dv - du + t.uu - t.uv) * t.per_third);
  return std::min({squared_at(d, t, clamped(du * t.per_uu), 0), squared_at(d, t, 0, clamped(dv * t.per_vv)),
                   squared_at(d, t, 1 - third, third)});
}

Polygon corners_of(const Target& t) {
  Polygon out{t.corner};
  for (const auto& [s, r] : {std::pair(1, 0), std::pair(1, 1), std::pair(0, 1)}) {
    if ((s == 1 && r == 1 && !t.is_rectangle) || (r == 1 && t.vv == 0)) continue;
    out.push_back({t.corner[0] + s * t.u[0] + r * t.v[0], t.corner[1] + s * t.u[1] + r * t.v[1],
                   t.corner[2] + s * t.u[2] + r * t.v[2]});
  }
  return out;
}

struct Ball {
  Vec3 centre{0, 0, 0};
  double radius = 0;

  explicit Ball(const Polygon& points) {
    for (const Vec3& p : points)
      for (size_t i = 0; i < 3; ++i) centre[i] += p[i] / static_cast<double>(points.size());
    for (const Vec3& p : points) radius = std::max(radius, std::sqrt(squared_length(difference(p, centre))));
  }
};

// The pieces of a surface near a point.
class PiecesNear {
 public:
  PiecesNear(const ListedSurface& surface, const BrickTree& tree, const CellPatterns& lattice)
      : surface_(surface), tree_(tree), lattice_(lattice) {}

  // Lists all pieces within a distance, at places in mm.
  void list(const Vec3& point, double reach, std::vector<Target>& out) {
    out.clear();
    const double squared = reach * reach * (1 + 1e-9);
    const Box here{point, point};
    nodes_.assign(1, 0);
    while (!nodes_.empty()) {
      const BrickTree::Node& node = tree_.nodes()[static_cast<size_t>(nodes_.back())];
      nodes_.pop_back();
      if (squared_between(here, node.box, {0, 0, 0}) > squared) continue;
      if (node.brick < 0) {
        nodes_.insert(nodes_.end(), {node.left, node.right});
      } else {
        add_brick(static_cast<size_t>(node.brick), here, squared, out);
      }
    }
  }

 private:
  void add_brick(size_t brick, const Box& here, double squared, std::vector<Target>& out) {
    const CellGrid& grid = surface_.grid;
    for (int64_t i = grid.bricks[brick].begin; i < grid.end_of(brick); ++i) {
      const Cell& cell = grid.cells[static_cast<size_t>(i)];
      const Vec3 place = lattice_.offset(cell.z, cell.y, cell.x);
      if (squared_between(here, lattice_.target_box[cell.code].moved(place), {0, 0, 0}) > squared) continue;
      size_t kept = out.size();
      surface_.pieces(static_cast<size_t>(i), out);
      for (size_t k = kept; k < out.size(); ++k) {
        for (size_t axis = 0; axis < 3; ++axis) out[k].corner[axis] += place[axis];
        if (squared_distance(here.low, out[k]) <= squared) out[kept++] = out[k];
      }
      out.resize(kept);
    }
  }

  const ListedSurface& surface_;
  const BrickTree& tree_;
  const CellPatterns& lattice_;
  std::vector<int32_t> nodes_;
};

// Raises the largest distance found to that of polygons.
class Refinement {
 public:
  Refinement(double found, double tolerance) : found_(found), tolerance_(tolerance) {}

  double found() const { return found_; }
  bool is_settled(double bound) const { return bound <= found_ + tolerance_; }

  // `pieces`: all that may be the nearest to any point of the polygon.
  void look_at(const Polygon& polygon, const std::vector<Target>& pieces) {
    parts_.clear();
    std::vector<uint32_t> all(pieces.size());
    for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<uint32_t>(k);
    parts_.push_back({polygon, std::move(all), 0});
    while (!parts_.empty()) {
      Part part = std::move(parts_.back());
      parts_.pop_back();
      look_at(part, pieces);
    }
  }

 private:
  struct Part {
    Polygon polygon;
    std::vector<uint32_t> pieces;
    int depth;
  };

  void look_at(Part& part, const std::vector<Target>& pieces) {
    const Ball ball(part.polygon);
    const double nearest = keep_near(ball, pieces, part.pieces);
    if (is_settled(nearest + ball.radius)) return;
    const size_t corners = part.polygon.size();
    nearest_.assign(corners, {kInfinity, 0});
    std::pair<double, uint32_t> bound{kInfinity, 0};
    for (const uint32_t k : part.pieces) {
      double most = 0;
      for (size_t c = 0; c < corners; ++c) {
        const double squared = squared_distance(part.polygon[c], pieces[k]);
        most = std::max(most, squared);
        nearest_[c] = std::min(nearest_[c], {squared, k});
      }
      bound = std::min(bound, {most, k});
    }
    for (const auto& each : nearest_) found_ = std::max(found_, std::sqrt(each.first));
    if (is_settled(std::sqrt(bound.first))) return;
    split(part, ball, pieces, bound.second);
  }

  // Forgets the pieces that are not the nearest anywhere in the ball; returns the distance of its centre.
  double keep_near(const Ball& ball, const std::vector<Target>& pieces, std::vector<uint32_t>& near) {
    squared_.clear();
    double least = kInfinity;
    for (const uint32_t k : near) {
      squared_.push_back(squared_distance(ball.centre, pieces[k]));
      least = std::min(least, squared_.back());
    }
    const double distance = std::sqrt(least), reach = (distance + 2 * ball.radius) * (1 + 1e-9);
    size_t kept = 0;
    for (size_t i = 0; i < near.size(); ++i)
      if (squared_[i] <= reach * reach) near[kept++] = near[i];
    near.resize(kept);
    return distance;
  }

  // Cuts where the piece with the least bound is as near as the one that is nearest to the corner furthest from it.
  void split(Part& part, const Ball& ball, const std::vector<Target>& pieces, uint32_t least) {
    const Target& one = pieces[least];
    size_t worst = 0;
    double most = -1;
    for (size_t c = 0; c < part.polygon.size(); ++c) {
      const double squared = squared_distance(part.polygon[c], one);
      if (squared > most) worst = c, most = squared;
    }
    const Target& other = pieces[nearest_[worst].second];
    auto nearer = [&](const Vec3& p) { return squared_distance(p, one) - squared_distance(p, other); };
    if (part.depth % kHalveEvery != kHalveEvery - 1 && cut(part, nearer)) return;
    Vec3 longest{0, 0, 0};
    for (const Vec3& a : part.polygon)
      for (const Vec3& b : part.polygon)
        if (squared_length(difference(a, b)) > squared_length(longest)) longest = difference(a, b);
    cut(part, [&](const Vec3& p) { return dot(difference(p, ball.centre), longest); });
  }

  // Cuts a polygon in two along the line on which a function is 0. False if that is no line across it.
  template <class Function>
  bool cut(const Part& part, Function&& function) {
    const Polygon& from = part.polygon;
    const size_t corners = from.size(), edges = corners == 2 ? 1 : corners;
    std::vector<char> is_above(corners);
    for (size_t c = 0; c < corners; ++c) is_above[c] = function(from[c]) > 0;
    Polygon above, below;
    int crossings = 0;
    for (size_t c = 0; c < corners; ++c) {
      (is_above[c] ? above : below).push_back(from[c]);
      const size_t next = (c + 1) % corners;
      if (c >= edges || is_above[c] == is_above[next]) continue;
      const Vec3 zero = zero_between(from[c], from[next], is_above[c], function);
      above.push_back(zero);
      below.push_back(zero);
      ++crossings;
    }
    if (crossings != (corners == 2 ? 1 : 2)) return false;
    for (Polygon* each : {&above, &below}) parts_.push_back({std::move(*each), part.pieces, part.depth + 1});
    return true;
  }

  template <class Function>
  static Vec3 zero_between(const Vec3& a, const Vec3& b, bool is_above, Function&& function) {
    double low = 0, high = 1;
    for (int k = 0; k < 40; ++k) {
      const double middle = (low + high) / 2;
      ((function(between(a, b, middle)) > 0) == is_above ? low : high) = middle;
    }
    return between(a, b, (low + high) / 2);
  }

  double found_;
  const double tolerance_;
  std::vector<Part> parts_;
  std::vector<std::pair<double, uint32_t>> nearest_;  // by corner: squared distance, and of which piece
  std::vector<double> squared_;
};

double shortest_step(const CellPatterns& lattice) {
  double squared = kInfinity;
  for (const Vec3& step : lattice.step) squared = std::min(squared, squared_length(step));
  return std::sqrt(squared);
}

// The search from cell to cell.
class CellSearch {
 public:
  CellSearch(const ListedSurface& from, const ListedSurface& to, const NearestCell& nearest, const BrickTree& tree,
             const CellPatterns& lattice, double found)
      : from_(from),
        to_(to),
        nearest_(nearest),
        lattice_(lattice),
        near_(to, tree, lattice),
        refinement_(found, kTolerance * shortest_step(lattice)) {}

  double found() const { return refinement_.found(); }
  bool is_settled(const CellBound& cell) const { return refinement_.is_settled(cell.bound); }

  // Lowers the bound of a cell to what the pieces nearest to its middle say.
  void lower(CellBound& cell) {
    enter(cell.cell);
    const Cell& own = from_.grid.cells[cell.cell];
    const size_t nearest = nearest_(own, difference(ball_.centre, place_));
    others_.clear();
    to_.pieces(nearest, others_);
    const Cell& at = to_.grid.cells[nearest];
    move(others_, lattice_.offset(at.z, at.y, at.x));
    double bound = 0;
    for (const Polygon& polygon : polygons_) {
      double least = kInfinity;
      for (const Target& piece : others_) {
        double most = 0;
        for (const Vec3& corner : polygon) most = std::max(most, squared_distance(corner, piece));
        least = std::min(least, most);
      }
      bound = std::max(bound, least);
    }
    cell.bound = std::min(cell.bound, std::sqrt(bound));
  }

  void look_at(const CellBound& cell) {
    enter(cell.cell);
    near_.list(ball_.centre, cell.bound + ball_.radius, others_);
    for (const Polygon& polygon : polygons_) refinement_.look_at(polygon, others_);
  }

 private:
  static void move(std::vector<Target>& pieces, const Vec3& by) {
    for (Target& piece : pieces)
      for (size_t axis = 0; axis < 3; ++axis) piece.corner[axis] += by[axis];
  }

  void enter(size_t cell) {
    const Cell& at = from_.grid.cells[cell];
    place_ = lattice_.offset(at.z, at.y, at.x);
    own_.clear();
    from_.pieces(cell, own_);
    move(own_, place_);
    polygons_.clear();
    Polygon all;
    for (const Target& piece : own_) {
      polygons_.push_back(corners_of(piece));
      all.insert(all.end(), polygons_.back().begin(), polygons_.back().end());
    }
    ball_ = Ball(all);
  }

  const ListedSurface &from_, &to_;
  const NearestCell& nearest_;
  const CellPatterns& lattice_;
  PiecesNear near_;
  Refinement refinement_;
  // the cell at hand
  Vec3 place_{};
  std::vector<Target> own_, others_;
  std::vector<Polygon> polygons_;
  Ball ball_{Polygon()};
};

void sort_by_bound(std::vector<CellBound>& cells) {
  std::sort(cells.begin(), cells.end(), [](const CellBound& a, const CellBound& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.cell < b.cell;
  });
}

}  // namespace

double largest_distance(const ListedSurface& from, std::vector<CellBound> cells, const ListedSurface& to,
                        const NearestCell& nearest, const BrickTree& tree, const CellPatterns& lattice, double found) {
  constexpr size_t kFirst = 8;  // what is found there excludes most others
  CellSearch search(from, to, nearest, tree, lattice, found);
  std::vector<CellBound> first = cells, open;
  const size_t count = std::min(kFirst, first.size());
  std::partial_sort(first.begin(), first.begin() + static_cast<int64_t>(count), first.end(),
                    [](const CellBound& a, const CellBound& b) { return a.bound > b.bound; });
  for (size_t i = 0; i < count; ++i) search.look_at(first[i]);
  for (CellBound& each : cells) {  // in the order of the grid: the nearest cells of neighbours are neighbours
    if (search.is_settled(each)) continue;
    search.lower(each);
    if (!search.is_settled(each)) open.push_back(each);
  }
  sort_by_bound(open);
  for (const CellBound& each : open) {
    if (search.is_settled(each)) break;
    search.look_at(each);
  }
  return search.found();
}

}  // namespace segauge
