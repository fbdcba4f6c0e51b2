#include "subvoxel/fans.hpp"

#include <stdexcept>

namespace segauge {

void FanTable::add(const std::vector<Edge>& corners) {
  Shape& to = shape.back();
  size_t corner = 0;
  for (size_t i = 0; i < to.fans; ++i) corner += to.corners[i];
  if (corners.size() < 2 || to.fans == kMostFans || corner + corners.size() > kMostCorners)
    throw std::invalid_argument("a cell with more corners than it has edges");
  to.corners[to.fans++] = static_cast<uint8_t>(corners.size());
  for (const Edge& each : corners) {
    const int64_t number =
        4 * static_cast<int64_t>(each.axis) +
        (each.axis == 0 ? 2 * each.low[1] + each.low[2] : 2 * each.low[0] + each.low[each.axis == 1 ? 2 : 1]);
    edge[static_cast<size_t>(number)] = each;
    to.edge[corner++] = static_cast<uint8_t>(number);
  }
}

}  // namespace segauge
