// Distances to single pieces and their bounds, against points all over the pieces.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "search/bounds.hpp"
#include "simd/operations.hpp"
#include "surface/targets.hpp"
#include "tests/random_cells.hpp"

using namespace segauge;

namespace {

Vec3 random_point(Random& random, double size) {
  return {uniform(random, -size, size), uniform(random, -size, size), uniform(random, -size, size)};
}

Target random_target(Random& random) {
  const Vec3 corner = random_point(random, 2), u = random_point(random, 1);
  Vec3 v = random_point(random, 1);
  const bool is_rectangle = random() % 2;
  if (is_rectangle) v = cross(u, v);
  return prepared_target(corner, u, v, is_rectangle);
}

Vec3 point_on(const Target& t, double s, double r) {
  Vec3 p;
  for (size_t i = 0; i < 3; ++i) p[i] = t.corner[i] + s * t.u[i] + r * t.v[i];
  return p;
}

double squared_between_points(const Vec3& a, const Vec3& b) {
  return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]);
}

// The least over points all over a piece: never below the true one, and above it by no more than they are apart.
double sampled_distance(const Vec3& point, const Target& t) {
  constexpr int kSteps = 60;
  double best = 1e300;
  for (int i = 0; i <= kSteps; ++i)
    for (int k = 0; k <= (t.is_rectangle ? kSteps : kSteps - i); ++k)
      best = std::min(best, squared_between_points(point, point_on(t, i / double{kSteps}, k / double{kSteps})));
  return std::sqrt(best);
}

SampleGroup group_of(const Vec3& p) {
  SampleGroup group;
  for (size_t k = 0; k < SampleGroup::kSize; ++k) group.x[k] = p[0], group.y[k] = p[1], group.z[k] = p[2];
  return group;
}

}  // namespace

TEST_CASE("the distance to a piece is that to the nearest of its points") {
  Random random(11);
  for (int n = 0; n < 300; ++n) {
    const Target t = random_target(random);
    const Vec3 point = random_point(random, 4);
    const SampleGroup group = group_of(point);
    double squared[SampleGroup::kSize];
    SimdOperations::here().squared_distances(&group, 1, {0, 0, 0}, &t, &t + 1, squared);
    const double sampled = sampled_distance(point, t), apart = (std::sqrt(t.uu) + std::sqrt(t.vv)) / 60;
    CHECK(std::sqrt(squared[0]) <= sampled + 1e-12);
    CHECK(std::sqrt(squared[0]) >= sampled - apart);
  }
}

TEST_CASE("no bound exceeds the distance: boxes and bounding discs") {
  Random random(12);
  for (int n = 0; n < 500; ++n) {
    std::vector<Target> pieces(1 + random() % 4);
    std::vector<Vec3> corners;
    Box box;
    Vec3 normal{0, 0, 0};
    for (Target& t : pieces) {
      t = random_target(random);
      for (const auto& [s, r] : {std::pair(0, 0), std::pair(1, 0), std::pair(0, 1), std::pair(1, 1)})
        if (t.is_rectangle || s + r < 2) corners.push_back(point_on(t, s, r));
      for (size_t i = 0; i < 3; ++i) normal[i] += t.normal[i];
    }
    for (const Vec3& corner : corners) box.include(corner);
    const BoundingDisc disc(corners.data(), corners.size(), n % 7 == 0 ? Vec3{0, 0, 0} : normal, 1e-5);
    const Vec3 point = random_point(random, n % 3 == 0 ? 200 : 5);
    const SampleGroup group = group_of(point);
    double squared[SampleGroup::kSize];
    const Target* first = pieces.data();
    SimdOperations::here().squared_distances(&group, 1, {0, 0, 0}, first, first + pieces.size(), squared);
    CHECK(squared_between({point, point}, box, {0, 0, 0}) <= squared[0] * (1 + 1e-9));
    CHECK(squared_between({point, point}, disc.box(), {0, 0, 0}) <= squared[0] * (1 + 1e-5) + 1e-5);
    FloatPoints points{};
    points.count = 1;
    for (size_t k = 0; k < 8; ++k) {
      points.x[k] = static_cast<float>(point[0]);
      points.y[k] = static_cast<float>(point[1]);
      points.z[k] = static_cast<float>(point[2]);
      points.allowed[k] = static_cast<float>(squared[0] * (1 + 1e-5) + 1e-4);
    }
    Candidate candidate{0, 0, &disc, {0, 0, 0}};
    SimdOperations::here().bound_by_discs(points, &candidate, &candidate + 1);
    CHECK(candidate.least < 1e300);  // a candidate that holds the nearest piece is never excluded
    CHECK(candidate.least <= squared[0] * (1 + 1e-5) + 1e-4);
  }
}

TEST_CASE("the canonical code is one for all of an orbit") {
  CellShapes shapes;
  for (int64_t code = 0; code < 256; ++code) shapes.same_as.push_back(code);
  std::array<size_t, 3> axis{0, 1, 2};
  do
    for (int flips = 0; flips < 8; ++flips) {
      shapes.symmetries.all.push_back({});
      for (unsigned code = 0; code < 256; ++code) {
        unsigned image = 0;
        for (unsigned corner = 0; corner < 8; ++corner) {
          unsigned to = 0;
          for (size_t i = 0; i < 3; ++i) to |= ((corner >> axis[i] ^ static_cast<unsigned>(flips) >> i) & 1) << i;
          image |= (code >> corner & 1) << to;
        }
        shapes.symmetries.image_code.push_back(static_cast<uint8_t>(image));
      }
    }
  while (std::next_permutation(axis.begin(), axis.end()));
  find_canonical_codes(shapes);
  const Symmetries& symmetries = shapes.symmetries;
  CHECK(symmetries.canonical_code.size() == 22);  // of the 256 codes, up to mirrors and rotations
  for (size_t s = 0; s < 48; ++s)
    for (size_t code = 0; code < 256; ++code) {
      const size_t image = symmetries.image_code[s * 256 + code];
      REQUIRE(symmetries.canonical[image].number == symmetries.canonical[code].number);
      REQUIRE(symmetries.image_code[symmetries.canonical[code].symmetry * 256 + code] ==
              symmetries.canonical_code[symmetries.canonical[code].number]);
    }
}
