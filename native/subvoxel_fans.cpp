#include "subvoxel_fans.hpp"

#include <cmath>
#include <stdexcept>

#include "targets.hpp"

namespace segauge {

void FanTable::add(const std::vector<Edge>& corners) {
  Shape& to = shape.back();
  const size_t count = corners.size();
  size_t corner = 0;
  for (size_t i = 0; i < to.fans; ++i) corner += to.fan[i].corners;
  if (count < 2 || to.fans == kMostFans || corner + count > kMostCorners)
    throw std::invalid_argument("a cell with more corners than it has edges");
  Fan& fan = to.fan[to.fans++];
  fan.corners = static_cast<uint8_t>(count);
  fan.is_closed = count > 3;
  fan.spokes = static_cast<uint8_t>(fan.is_closed ? count : count - 1);
  fan.pieces = static_cast<uint8_t>(fan.is_closed ? count : 1);
  to.spokes = static_cast<uint8_t>(to.spokes + fan.spokes);
  to.pieces = static_cast<uint8_t>(to.pieces + fan.pieces);
  for (const Edge& each : corners) {
    const int64_t number = 4 * static_cast<int64_t>(each.axis) +
                           (each.axis == 0 ? 2 * each.low[1] + each.low[2] : 2 * each.low[0] + each.low[each.axis == 1 ? 2 : 1]);
    edge[static_cast<size_t>(number)] = each;
    to.edge[corner++] = static_cast<uint8_t>(number);
  }
}

void FanSamples::add(const FanTable::Shape& shape, const Vec3* apex, const Spoke* spoke, const Vec3& offset) {
  for (size_t f = 0; f < shape.fans; ++f) {
    const FanTable::Fan& fan = shape.fan[f];
    const Vec3 from{apex[f][0] + offset[0], apex[f][1] + offset[1], apex[f][2] + offset[2]};
    const Spoke* const first = spoke;
    for (size_t k = 0; k < fan.pieces; ++k) {
      const Spoke& here = first[k];
      if (fan.spokes == 1) {
        add({from[0] + here.side[0] / 2, from[1] + here.side[1] / 2, from[2] + here.side[2] / 2}, std::sqrt(here.squared));
        continue;
      }
      const Vec3& next = first[k + 1 == fan.spokes ? 0 : k + 1].side;
      Vec3 middle;
      for (size_t i = 0; i < 3; ++i) middle[i] = from[i] + (here.side[i] + next[i]) / 3;
      add(middle, dot(cross(here.side, next), here.normal) / 2);
    }
    spoke += fan.spokes;
  }
}

void FanSamples::fill_up() {
  constexpr size_t kSize = SampleGroup::kSize;
  for (size_t k = count; k % kSize != 0; ++k) {
    SampleGroup& group = groups[k / kSize];
    const size_t last = (count - 1) % kSize;
    group.x[k % kSize] = group.x[last];
    group.y[k % kSize] = group.y[last];
    group.z[k % kSize] = group.z[last];
  }
}

void FanSamples::add(const Vec3& middle, double size) {
  SampleGroup& group = groups[count / SampleGroup::kSize];
  group.x[count % SampleGroup::kSize] = middle[0];
  group.y[count % SampleGroup::kSize] = middle[1];
  group.z[count % SampleGroup::kSize] = middle[2];
  box.include(middle);
  area[count++] = size;
}

}  // namespace segauge
