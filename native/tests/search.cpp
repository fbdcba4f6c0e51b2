// The search from surface to surface against every pair of pieces, on random cells.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "search/band/band.hpp"
#include "search/directed_distances.hpp"
#include "search/near/near_search.hpp"
#include "tests/random_cells.hpp"

using namespace segauge;

namespace {

struct Pair {
  BitVolume a, b;
};

// Noise, or two specks far apart in a long volume: near and far searches.
Pair random_pair(Random& random, int kind) {
  if (kind == 0) return {random_mask(random, 9, 10, 70, 0.3), random_mask(random, 9, 10, 70, 0.02)};
  if (kind == 1) return {random_mask(random, 6, 6, 6, 0.5), random_mask(random, 6, 6, 6, 0.5)};
  Pair out{BitVolume(3, 4, 5, 300), BitVolume(3, 4, 5, 300)};
  out.a.set(1, 2, 3), out.b.set(2, 2, 290), out.b.set(0, 4, 140);
  return out;
}

double brute_force(const Vec3& point, const CellGrid& to, const CellPatterns& patterns) {
  SampleGroup group;
  double best = kInfinity, squared[SampleGroup::kSize];
  for (const Cell& cell : to.cells) {
    const Vec3 place = patterns.offset(cell.z, cell.y, cell.x);
    for (size_t k = 0; k < SampleGroup::kSize; ++k)
      group.x[k] = point[0] - place[0], group.y[k] = point[1] - place[1], group.z[k] = point[2] - place[2];
    const Target* first = patterns.target.data();
    SimdOperations::here().squared_distances(&group, 1, {0, 0, 0}, first + patterns.target_start[cell.code],
                                             first + patterns.target_start[cell.code + 1], squared);
    best = std::min(best, squared[0]);
  }
  return std::sqrt(best);
}

}  // namespace

TEST_CASE("every sample finds the nearest of all pieces, and no point of the surface is further than the largest") {
  Random random(21);
  const auto shapes = std::make_shared<const CellShapes>(voxel_faces());
  for (int n = 0; n < 9; ++n) {
    const Vec3 edges{uniform(random, 0.4, 5), uniform(random, 0.4, 2), uniform(random, 0.4, 2)};
    PreparedPatterns prepared(shapes, on_lattice(*shapes, edges));
    const CellPatterns& patterns = prepared.patterns;
    const Pair pair = random_pair(random, n % 3);
    const CellGrid from = find_cells(pair.a, nullptr, SurfaceKind::voxel, patterns, 1);
    const CellGrid to = find_cells(pair.b, nullptr, SurfaceKind::voxel, patterns, 2);
    const Samples found = directed_distances(from, to, prepared, 1 + n % 2);
    const double largest = largest_distance(from, to, patterns, found);
    size_t sample = 0;
    double most = 0;
    for (const Cell& cell : from.cells) {
      const Vec3 place = patterns.offset(cell.z, cell.y, cell.x);
      for (auto i = patterns.sample_start[cell.code]; i < patterns.sample_start[cell.code + 1]; ++i, ++sample) {
        Vec3 point = patterns.sample[static_cast<size_t>(i)];
        for (size_t axis = 0; axis < 3; ++axis) point[axis] += place[axis];
        REQUIRE(found.distance[sample] == doctest::Approx(brute_force(point, to, patterns)).epsilon(1e-12));
      }
      const Target* const first = patterns.target.data();
      for (const Target* t = first + patterns.target_start[cell.code];
           t != first + patterns.target_start[cell.code + 1]; ++t) {
        Vec3 point;  // anywhere on the piece
        const double s = static_cast<double>(random() % 3) / 2, r = static_cast<double>(random() % 3) / 2;
        for (size_t axis = 0; axis < 3; ++axis)
          point[axis] = place[axis] + t->corner[axis] + s * t->u[axis] + r * t->v[axis];
        most = std::max(most, brute_force(point, to, patterns));
      }
    }
    CHECK(sample == found.distance.size());
    CHECK(most <= largest + 1e-5);
    CHECK(largest <= most + 2 * std::sqrt(dot(edges, edges)));
  }
}

TEST_CASE("a band holds the voxels whose centre is near enough, and no others") {
  Random random(22);
  const CellShapes shapes = voxel_faces();
  for (int n = 0; n < 6; ++n) {
    const Vec3 edges{uniform(random, 0.4, 3), uniform(random, 0.4, 2), uniform(random, 0.4, 2)};
    const CellPatterns patterns = on_lattice(shapes, edges);
    const BitVolume mask = random_mask(random, 8, 9, 67, n % 2 ? 0.97 : 0.6);
    const double width = uniform(random, 0.2, 4);
    const CellGrid grid = find_cells(mask, nullptr, SurfaceKind::voxel, patterns, 1);
    const BitVolume band = boundary_band(mask, SurfaceKind::voxel, patterns, width, 2);
    for (int64_t z = 0; z < mask.nz; ++z)
      for (int64_t y = 0; y < mask.ny; ++y)
        for (int64_t x = 0; x < mask.nx; x += 3) {
          const double distance = brute_force(patterns.offset(z, y, x), grid, patterns);
          if (std::abs(distance - width) > 1e-9) REQUIRE(band.get(z, y, x) == (mask.get(z, y, x) && distance <= width));
        }
  }
}
