// The symmetries of a lattice: mirrors, and exchanges of axes with equal steps. They map cell codes to cell codes, so
// that the distances of one representative serve its whole orbit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace segauge {

struct Symmetries {
  struct Symmetry {
    std::array<int64_t, 3> axis, sign;  // component i of the image of a step is sign[i] times its component axis[i]
  };
  std::vector<Symmetry> all;
  std::vector<uint8_t> image_code;    // by symmetry and code
  std::vector<uint8_t> image_kind;    // by symmetry and code: the number of the image among the codes that occur
  std::vector<uint8_t> image_sample;  // by symmetry and sample: which sample of the image code its image is
  // By symmetry and step between two cells near each other: the number of the image, times `kinds`.
  std::vector<uint32_t> image_step;
  std::vector<uint32_t> image_around;  // the same of the steps from the 27 cells around one, by their place
  std::vector<uint8_t> image_place;    // by symmetry and place around a cell: where the cell there is mapped to
  size_t kinds = 0;                    // how many codes occur
  // By code: the symmetry that maps it to the canonical code of its orbit, and the number of that code.
  struct Canonical {
    uint16_t symmetry, number;
  };
  std::vector<Canonical> canonical;
  std::vector<uint8_t> canonical_code;  // by number
};

}  // namespace segauge
