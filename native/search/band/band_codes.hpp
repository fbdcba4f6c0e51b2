// Whether the surface of marching cubes comes within a width of a voxel, from the codes of the cells around it.
#pragma once

#include "simd/operations.hpp"
#include "surface/cell_grid.hpp"

namespace segauge {

// Of every place that a cell can have around a voxel, and every code, it is computed once whether the pieces of that
// code come within the width: the same distances as a search computes, so the same answer to the last bit.
class BandCodes {
 public:
  // Looks at the cells within `span` steps of a voxel.
  BandCodes(const BitVolume& mask, const CellPatterns& patterns, const std::array<int64_t, 3>& span, double width)
      : mask_(mask), patterns_(patterns), squared_width_(width * width) {
    for (int64_t z = mask.ndim == 3 ? -span[0] : 0; z < (mask.ndim == 3 ? span[0] : 1); ++z)
      for (int64_t y = -span[1]; y < span[1]; ++y) add_row(z, y, span[2], width);
    known_.assign(cells_ * kCodes, kUnknown);
  }

  // Whether the cells within `span` are few enough; where there are many, a search is better.
  static bool can_hold(const std::array<int64_t, 3>& span, int ndim) {
    double cells = 1;
    for (size_t axis = ndim == 3 ? 0 : 1; axis < 3; ++axis) cells *= 2.0 * static_cast<double>(span[axis]);
    return 2 * span[2] <= kMostInRow && cells <= kMostCells;
  }

  bool reaches(int64_t z, int64_t y, int64_t x) {
    for (const Row& row : rows_) {
      const std::array<uint64_t, 4> voxels = voxels_of(row, z, y, x);
      uint64_t any = 0, all = ~uint64_t{0};
      for (size_t i = 0; i < corner_rows(); ++i) {
        any |= voxels[i] | voxels[i] >> 1;
        all &= voxels[i] & voxels[i] >> 1;
      }
      for (uint64_t left = any & ~all & row.cells; left != 0; left &= left - 1)
        if (comes_near(row, lowest_bit(left), voxels)) return true;
    }
    return false;
  }

 private:
  static constexpr size_t kCodes = 256;
  static constexpr int64_t kMostInRow = 60;  // their voxels fill less than a word
  static constexpr double kMostCells = 1024;
  enum Known : uint8_t { kUnknown, kNear, kFar };
  struct Row {
    int64_t z, y, low;  // the first cell, in steps from the voxel
    uint64_t cells;     // which of those from there on
    size_t first;       // number of the first one
  };

  size_t corner_rows() const { return mask_.ndim == 3 ? 4 : 2; }

  void add_row(int64_t z, int64_t y, int64_t span, double width) {
    Row row{z, y, -span, 0, cells_};
    for (int64_t x = -span; x < span; ++x)
      if (may_be_near({z, y, x}, width)) row.cells |= uint64_t{1} << (x + span);
    if (row.cells == 0) return;
    rows_.push_back(row);
    cells_ += static_cast<size_t>(2 * span);
  }

  bool may_be_near(const std::array<int64_t, 3>& cell, double width) const {
    if (!patterns_.is_orthogonal) return true;
    double squared = 0;
    for (size_t axis = 0; axis < 3; ++axis) {
      const int64_t steps = std::max<int64_t>({0, cell[axis], -cell[axis] - 1});
      squared += patterns_.step[axis][axis] * patterns_.step[axis][axis] * static_cast<double>(steps * steps);
    }
    return squared <= width * width * (1 + 1e-9);
  }

  // For each row of corners of a row of cells: the voxels from the first cell on.
  std::array<uint64_t, 4> voxels_of(const Row& row, int64_t z, int64_t y, int64_t x) const {
    std::array<uint64_t, 4> out{};
    for (size_t i = 0; i < corner_rows(); ++i) {
      const int64_t at_z = z + row.z + static_cast<int64_t>(i >> 1), at_y = y + row.y + static_cast<int64_t>(i & 1);
      if (at_z < 0 || at_z >= mask_.nz || at_y < 0 || at_y >= mask_.ny) continue;
      out[i] = bits_from(mask_.row(at_z, at_y), x + row.low);
    }
    return out;
  }

  uint64_t bits_from(const uint64_t* row, int64_t x) const {
    if (x < 0) return row[0] << -x;  // never more than 60 before the row
    const int64_t word = x / 64;
    const uint64_t after = word + 1 < mask_.row_words ? row[word + 1] : 0;
    return row[word] >> x % 64 | after << 1 << (63 - x % 64);
  }

  bool comes_near(const Row& row, int place, const std::array<uint64_t, 4>& voxels) {
    size_t code = 0;
    for (size_t i = 0; i < corner_rows(); ++i) code |= static_cast<size_t>(voxels[i] >> place & 3) << (2 * i);
    uint8_t& known = known_[(row.first + static_cast<size_t>(place)) * kCodes + code];
    if (known == kUnknown) known = squared_distance(row, row.low + place, code) <= squared_width_ ? kNear : kFar;
    return known == kNear;
  }

  double squared_distance(const Row& row, int64_t x, size_t code) const {
    static const SampleGroup kOrigin{};
    const auto same = static_cast<size_t>(patterns_.same_as[code]);
    const Target* target = patterns_.target.data();
    double squared[SampleGroup::kSize];
    simd_.squared_distances(&kOrigin, 1, patterns_.offset(-row.z, -row.y, -x), target + patterns_.target_start[same],
                            target + patterns_.target_start[same + 1], squared);
    return squared[0];
  }

  const BitVolume& mask_;
  const CellPatterns& patterns_;
  double squared_width_;
  const SimdOperations& simd_ = SimdOperations::here();
  std::vector<Row> rows_;
  size_t cells_ = 0;
  std::vector<uint8_t> known_;  // by cell and code
};

}  // namespace segauge
