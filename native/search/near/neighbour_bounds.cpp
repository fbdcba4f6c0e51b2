#include "search/near/neighbour_bounds.hpp"

#include <algorithm>
#include <limits>

#include "surface/cell_shapes.hpp"

namespace segauge {
namespace {

using Towards = std::array<uint8_t, NeighbourBounds::kTowards>;
using Earliest = std::array<double, NeighbourBounds::kTowards>;

double along(size_t direction, const Vec3& p) {
  const auto w = NeighbourBounds::components(direction);
  return static_cast<double>(w[0]) * p[0] + static_cast<double>(w[1]) * p[1] + static_cast<double>(w[2]) * p[2];
}

// Only along axes of which the place is not in the middle do two cells lie one behind the other.
Towards directions_towards(size_t place) {
  const auto to = NeighbourBounds::components(place);
  Towards out{};
  size_t count = 0;
  for (size_t number = 0; number < NeighbourBounds::kDirections; ++number) {
    const auto w = NeighbourBounds::components(number);
    bool leads_there = false, leads_back = false;
    for (size_t axis = 0; axis < 3; ++axis) {
      leads_there |= to[axis] != 0 && w[axis] == to[axis];
      leads_back |= to[axis] != 0 && w[axis] == -to[axis];
    }
    if (leads_there && !leads_back) out[count++] = static_cast<uint8_t>(number);
  }
  for (size_t i = count; i < out.size() && count > 0; ++i) out[i] = out[0];
  return out;
}

// The corners that a cell shares with one beside it, a bit of the code of each: of the one in the middle, and of the
// other.
struct SharedCorners {
  std::vector<int> middle, beside;
};

SharedCorners shared_corners(size_t place, int ndim) {
  const auto to = NeighbourBounds::components(place);
  SharedCorners out;
  for (int corner = 0; corner < 1 << ndim; ++corner) {
    int other = 0;
    bool is_shared = ndim == 3 || to[0] == 0;
    for (int axis = 3 - ndim; axis < 3; ++axis) {
      const int64_t there = (corner >> (2 - axis) & 1) - to[static_cast<size_t>(axis)];
      is_shared &= there == 0 || there == 1;
      other |= static_cast<int>(there & 1) << (2 - axis);
    }
    if (!is_shared) continue;
    out.middle.push_back(corner);
    out.beside.push_back(other);
  }
  return out;
}

// The way in which a surface passes some corners: the same from either side of it.
uint8_t way_past(const std::vector<int>& corners, size_t code) {
  size_t way = 0;
  for (size_t i = 1; i < corners.size(); ++i) way |= ((code >> corners[i] ^ code >> corners[0]) & 1) << (i - 1);
  return static_cast<uint8_t>(way);
}

// How far along every direction the pieces of a code begin, from the origin of its cell.
using Begins = std::array<double, NeighbourBounds::kDirections>;

Begins begins_of(const CellShapes& shapes, size_t code) {
  Begins out;
  out.fill(std::numeric_limits<double>::infinity());
  for (auto i = static_cast<size_t>(shapes.target_start[code]); i < static_cast<size_t>(shapes.target_start[code + 1]);
       ++i) {
    const CellShapes::Piece& piece = shapes.target[i];
    for (int s = 0; s < 2; ++s)
      for (int r = 0; r < (piece.is_flat || s == 0 ? 2 : 1); ++r) {
        Vec3 p;
        for (size_t k = 0; k < 3; ++k) p[k] = piece.corner[k] + s * piece.u[k] + r * piece.v[k];
        for (size_t k = 0; k < out.size(); ++k) out[k] = std::min(out[k], along(k, p));
      }
  }
  return out;
}

}  // namespace

NeighbourBounds neighbour_bounds(const CellShapes& shapes) {
  const size_t codes = shapes.same_as.size(), corners = size_t{1} << shapes.ndim;
  const bool codes_are_corners = codes == size_t{1} << corners;  // else those of two cells have nothing in common
  std::vector<Begins> begins;
  for (size_t code = 0; code < codes; ++code) begins.push_back(begins_of(shapes, code));
  NeighbourBounds out;
  out.shared.assign(codes * NeighbourBounds::kPlaces, 0);
  Earliest nowhere;
  nowhere.fill(std::numeric_limits<double>::infinity());
  out.earliest.assign(NeighbourBounds::kPlaces * NeighbourBounds::kMostShared, nowhere);
  for (size_t place = 0; place < NeighbourBounds::kPlaces; ++place) {
    if (place == NeighbourBounds::kPlaces / 2) continue;
    const SharedCorners common = codes_are_corners ? shared_corners(place, shapes.ndim) : SharedCorners{};
    const auto to = NeighbourBounds::components(place);
    const Vec3 origin{static_cast<double>(to[0]), static_cast<double>(to[1]), static_cast<double>(to[2])};
    out.towards[place] = directions_towards(place);
    for (size_t code = 0; code < codes; ++code) {
      out.shared[code * NeighbourBounds::kPlaces + place] = way_past(common.middle, code);
      const Begins& own = begins[static_cast<size_t>(shapes.same_as[code])];
      Earliest& all = out.earliest[place * NeighbourBounds::kMostShared + way_past(common.beside, code)];
      for (size_t k = 0; k < all.size(); ++k) {
        const size_t direction = out.towards[place][k];
        all[k] = std::min(all[k], own[direction] + along(direction, origin));
      }
    }
  }
  return out;
}

}  // namespace segauge
