// Where the pieces of a cell can begin, if all that is known of it is the code of a cell beside it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/vectors.hpp"

namespace segauge {

// Cells that touch share corners, so the code of one tells some of the edges that the pieces of the other cannot come
// to. All of this is counted in steps, so it is the same for every lattice.
struct NeighbourBounds {
  static constexpr size_t kPlaces = 27;  // a cell itself, in the middle, and those that touch it
  static constexpr size_t kDirections =
      27;                                   // components of -1, 0 and 1, numbered as the places; the middle one is none
  static constexpr size_t kTowards = 9;     // directions that lead to a place, some of them twice where there are fewer
  static constexpr size_t kMostShared = 8;  // ways in which a surface can pass the corners that two cells share

  // Components of a place or a direction.
  static constexpr std::array<int64_t, 3> components(size_t number) {
    const auto n = static_cast<int64_t>(number);
    return {n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1};
  }

  std::array<std::array<uint8_t, kTowards>, kPlaces> towards{};  // by place: numbers of directions
  std::vector<uint8_t>
      shared;  // by code of the cell in the middle and place: the way in which the surface passes their corners
  // By place and way: of each direction that leads there, how far along it the pieces of the cell there begin at the
  // earliest, from the origin of the cell in the middle.
  std::vector<std::array<double, kTowards>> earliest;

  const std::array<double, kTowards>& earliest_of(size_t code, size_t place) const {
    return earliest[place * kMostShared + shared[code * kPlaces + place]];
  }
};

struct CellShapes;

NeighbourBounds neighbour_bounds(const CellShapes& shapes);

}  // namespace segauge
