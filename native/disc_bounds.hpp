// How near the discs around pieces can come to some points.
#pragma once

#include "pieces.hpp"

namespace segauge {

class DiscBounds {
 public:
  void enter(const SampleGroup* groups, size_t count) {
    points_.resize(count);
    best_.resize(count);
    for (size_t g = 0; g < count; ++g)
      for (size_t k = 0; k < kSize; ++k) {
        points_[g].x[k] = static_cast<float>(groups[g].x[k]);
        points_[g].y[k] = static_cast<float>(groups[g].y[k]);
        points_[g].z[k] = static_cast<float>(groups[g].z[k]);
      }
  }

  // Notes the squared distances found so far, in whole groups.
  void allow(const double* best) {
    for (size_t g = 0; g < best_.size(); ++g)
      for (size_t k = 0; k < kSize; ++k) best_[g][k] = static_cast<float>(best[g * kSize + k]);
  }

  // A squared distance that nothing in a disc comes below; infinity if none can lower any of those found so far.
  // `shift`: the position of the points' cell less that of the disc's, in mm.
  double least(const Disc& disc, const Vec3& shift) const {
    const float x = static_cast<float>(shift[0] - disc.middle[0]), y = static_cast<float>(shift[1] - disc.middle[1]),
                z = static_cast<float>(shift[2] - disc.middle[2]);
    constexpr float kNone = std::numeric_limits<float>::infinity();
    Floats least{kNone, kNone, kNone, kNone};
    for (size_t g = 0; g < points_.size(); ++g) {
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

  std::vector<Points> points_;
  std::vector<Floats> best_;
};

}  // namespace segauge
