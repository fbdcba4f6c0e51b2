// Bits, sums and labels against the obvious way.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/summaries.hpp"
#include "core/transpose.hpp"
#include "labels/packing.hpp"
#include "subvoxel/normal_quantile.hpp"
#include "tests/random_cells.hpp"
#include "topology/components.hpp"
#include "topology/squared_edt.hpp"

using namespace segauge;

TEST_CASE("a transposed volume has every voxel at its exchanged place") {
  Random random(1);
  const BitVolume mask = random_mask(random, 5, 70, 131, 0.3);
  std::array<size_t, 3> order{0, 1, 2};
  do {
    const BitVolume found = transposed(mask, order);
    const std::array<int64_t, 3> size{5, 70, 131};
    for (int64_t z = 0; z < 5; ++z)
      for (int64_t y = 0; y < 70; ++y)
        for (int64_t x = 0; x < 131; ++x) {
          const std::array<int64_t, 3> at{z, y, x};
          REQUIRE(found.get(at[order[0]], at[order[1]], at[order[2]]) == mask.get(z, y, x));
        }
    CHECK(found.nx == size[order[2]]);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("the quantile is the first value at which sorted weights reach the share") {
  Random random(2);
  for (size_t count : {1u, 2u, 7u, 300u, 5000u}) {
    std::vector<std::pair<double, double>> list;
    for (size_t i = 0; i < count; ++i)
      list.push_back({std::floor(uniform(random, 0, 40)) / 8, uniform(random, 0.1, 2)});
    std::vector<double> values, weights;
    for (const auto& [value, weight] : list) values.push_back(value), weights.push_back(weight);
    std::sort(list.begin(), list.end());
    double whole = 0;
    for (const double weight : weights) whole += weight;
    for (const double share : {0.013, 0.5, 0.95}) {
      size_t k = 0;
      for (double sum = list[0].second; sum < whole * share; sum += list[++k].second) continue;
      CHECK(weighted_quantile({values.data(), weights.data(), count}, share) == list[k].first);
    }
  }
}

TEST_CASE("labels are packed whatever their stride, and nothing beyond their end is read") {
  Random random(3);
  for (const int64_t step : {1, 2, -1}) {
    std::vector<uint16_t> items(static_cast<size_t>(3 * 4 * 77 * 2));
    for (uint16_t& item : items) item = static_cast<uint16_t>(random() % 4);
    LabelView view;
    view.item_bytes = 2;
    view.shape = {3, 4, 77};
    view.stride = {4 * 77 * 2, 77 * 2, step};
    // exactly as large as the view: what is read beyond it, the sanitizer sees
    const size_t last = 2 * 4 * 77 * 2 + 3 * 77 * 2 + 76 * static_cast<size_t>(std::abs(step)) + 1;
    std::vector<uint16_t> own(items.begin(), items.begin() + static_cast<int64_t>(last));
    view.data = own.data() + (step < 0 ? 76 : 0);
    const BitVolume found = pack_labels(view, {1, 3}, {0, 0, 0}, {3, 4, 77}, 2);
    for (int64_t z = 0; z < 3; ++z)
      for (int64_t y = 0; y < 4; ++y)
        for (int64_t x = 0; x < 77; ++x) {
          const auto* data = static_cast<const uint16_t*>(view.data);
          const uint16_t label = data[z * view.stride[0] + y * view.stride[1] + x * step];
          REQUIRE(found.get(z, y, x) == (label == 1 || label == 3));
        }
  }
}

TEST_CASE("depths are squared distances to the background") {
  Random random(4);
  const BitVolume mask = random_mask(random, 7, 9, 70, 0.9);
  const PaddedLayout layout(mask);
  const DepthOrder order(mask, layout);
  size_t voxels = 0;
  for (size_t square = 1; square + 1 < order.begin.size(); ++square)
    for (size_t i = order.begin[square]; i < order.begin[square + 1]; ++i, ++voxels) {
      const int64_t at = order.address(i);
      const int64_t z = at / layout.plane - 1, y = at % layout.plane / layout.row - 1, x = at % layout.row - 1;
      REQUIRE(mask.get(z, y, x));
      int64_t best = INT64_MAX;
      for (int64_t a = -1; a <= mask.nz; ++a)
        for (int64_t b = -1; b <= mask.ny; ++b)
          for (int64_t c = -1; c <= mask.nx; ++c) {
            const bool inside = a >= 0 && b >= 0 && c >= 0 && a < mask.nz && b < mask.ny && c < mask.nx;
            if (inside && mask.get(a, b, c)) continue;
            best = std::min(best, (a - z) * (a - z) + (b - y) * (b - y) + (c - x) * (c - x));
          }
      REQUIRE(best == static_cast<int64_t>(square));
    }
  CHECK(static_cast<int64_t>(voxels) == mask.count());
}

TEST_CASE("components are what a flood fill finds") {
  Random random(5);
  for (int rank = 1; rank <= 3; ++rank) {
    const BitVolume mask = random_mask(random, 6, 7, 66, 0.3);
    const Components found = label_components(mask, rank);
    std::vector<int> label(static_cast<size_t>(6 * 7 * 66), 0);
    int32_t count = 0;
    for (int64_t start = 0; start < 6 * 7 * 66; ++start) {
      auto inside = [&](int64_t z, int64_t y, int64_t x) {
        return z >= 0 && y >= 0 && x >= 0 && z < 6 && y < 7 && x < 66 && mask.get(z, y, x);
      };
      if (!inside(start / 462, start / 66 % 7, start % 66) || label[static_cast<size_t>(start)] != 0) continue;
      std::vector<int64_t> open{start};
      label[static_cast<size_t>(start)] = ++count;
      while (!open.empty()) {
        const int64_t at = open.back();
        open.pop_back();
        for (int step = 0; step < 27; ++step) {
          const int dz = step / 9 - 1, dy = step / 3 % 3 - 1, dx = step % 3 - 1;
          const int64_t z = at / 462 + dz, y = at / 66 % 7 + dy, x = at % 66 + dx;
          if (dz * dz + dy * dy + dx * dx > rank || !inside(z, y, x)) continue;
          int& other = label[static_cast<size_t>((z * 7 + y) * 66 + x)];
          if (other == 0) other = count, open.push_back((z * 7 + y) * 66 + x);
        }
      }
    }
    CHECK(found.count == count);
    for (size_t row = 0; row < 42; ++row)
      for (int64_t i = found.row_begin[row]; i < found.row_begin[row + 1]; ++i)
        for (int32_t x = found.runs[static_cast<size_t>(i)].start; x < found.runs[static_cast<size_t>(i)].stop; ++x)
          REQUIRE(label[row * 66 + static_cast<size_t>(x)] == found.runs[static_cast<size_t>(i)].component + 1);
  }
}

TEST_CASE("the table of the normal quantile is within 1e-9") {
  const NormalQuantile& quantile = NormalQuantile::table();
  for (double share = 1e-6; share < 1; share += 0.00137)
    CHECK(std::erfc(-quantile(share) / std::sqrt(2.0)) / 2 == doctest::Approx(share).epsilon(1e-8));
}
