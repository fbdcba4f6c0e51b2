#include <algorithm>

#include "search/near/pair_cache.hpp"
#include "surface/cell_shapes.hpp"

namespace segauge {

// For every code: the least of its mirrored versions stands for all.
void find_canonical_codes(CellShapes& shapes) {
  Symmetries& symmetries = shapes.symmetries;
  const size_t codes = shapes.same_as.size();
  std::vector<int> number(codes, -1);
  for (size_t code = 0; code < codes; ++code) {
    size_t through = 0;
    for (size_t v = 1; v < symmetries.all.size(); ++v)
      if (symmetries.image_code[v * codes + code] < symmetries.image_code[through * codes + code]) through = v;
    const uint8_t least = symmetries.image_code[through * codes + code];
    if (number[least] < 0) {
      number[least] = static_cast<int>(symmetries.canonical_code.size());
      symmetries.canonical_code.push_back(least);
    }
    symmetries.canonical.push_back({static_cast<uint16_t>(through), static_cast<uint16_t>(number[least])});
  }
}

void find_image_steps(CellShapes& shapes) {
  constexpr int64_t kReach = PairCache::kReach;
  std::vector<uint32_t>& steps = shapes.symmetries.image_step;
  for (const Symmetries::Symmetry& symmetry : shapes.symmetries.all) {
    const size_t first = steps.size();
    for (int64_t z = -kReach; z <= kReach; ++z)
      for (int64_t y = -kReach; y <= kReach; ++y)
        for (int64_t x = -kReach; x <= kReach; ++x) {
          const int64_t step[3] = {z, y, x};
          int64_t image[3];
          for (size_t i = 0; i < 3; ++i) image[i] = symmetry.sign[i] * step[symmetry.axis[i]];
          const uint32_t number = PairCache::number_of_step(image[0], image[1], image[2]);
          steps.push_back(number * static_cast<uint32_t>(shapes.symmetries.kinds));
        }
    for (int64_t i = 0; i < PairCache::kAround; ++i) {
      const uint32_t image = steps[first + PairCache::step_from_around(i)];
      shapes.symmetries.image_around.push_back(image);
      shapes.symmetries.image_place.push_back(PairCache::place_around(image / shapes.symmetries.kinds));
    }
  }
}

// Those with few pieces first: they are the common ones, and what is looked up often stands together.
void number_distinct_codes(CellShapes& shapes) {
  const size_t codes = shapes.same_as.size();
  std::vector<size_t> occurring;
  for (size_t c = 0; c < codes; ++c)
    if (shapes.same_as[c] == static_cast<int64_t>(c)) occurring.push_back(c);
  std::stable_sort(occurring.begin(), occurring.end(), [&](size_t a, size_t b) {
    return shapes.sample_start[a + 1] - shapes.sample_start[a] < shapes.sample_start[b + 1] - shapes.sample_start[b];
  });
  std::vector<uint8_t> kind(codes, 0);
  for (size_t k = 0; k < occurring.size(); ++k) kind[occurring[k]] = static_cast<uint8_t>(k);
  shapes.symmetries.kinds = occurring.size();
  for (const uint8_t image : shapes.symmetries.image_code) shapes.symmetries.image_kind.push_back(kind[image]);
}

}  // namespace segauge
