// The shares of foreground within Gaussians around the voxels of a block of cells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "simd/operations.hpp"
#include "subvoxel/subvoxel.hpp"

namespace segauge {

// Places are counted from the block's first voxel, the lower corner of its first cell. A block is entered, told which
// voxels will be asked for, and convolve, Gaussian by Gaussian; then their shares can be had.
class GaussianShares {
 public:
  static constexpr int64_t kEdge = 2 * CellGrid::kBrickEdge;         // cells along the edge of a block
  static constexpr int64_t kSide = kEdge + 1;                        // and voxels
  using VoxelRows = std::array<std::array<uint32_t, kSide>, kSide>;  // by z and y: voxels of a row, one bit each

  GaussianShares(const BitVolume& mask, const SubvoxelRule& rule)
      : mask_(mask), rule_(rule), side_z_(rule.ndim == 3 ? kSide : 1) {
    for (const auto& gaussian : rule.gaussians)
      for (size_t axis = 0; axis < 3; ++axis) halo_[axis] = std::max(halo_[axis], gaussian.radius[axis]);
    row_count_ = kSide + 2 * halo_[1];
    rows_.resize(static_cast<size_t>((side_z_ + 2 * halo_[0]) * row_count_));
    row_kinds_.resize(static_cast<size_t>(side_z_ + 2 * halo_[0]));
    along_x_.resize(static_cast<size_t>(row_count_) * kShares);
    along_y_.resize(row_kinds_.size() * kSide * kShares);
    shares_.resize(rule.gaussians.size() * static_cast<size_t>(side_z_ * kSide) * kShares);
  }

  int64_t side_z() const { return side_z_; }

  // Begins with the block whose first voxel has this place in the mask, also outside of it.
  void enter(const std::array<int64_t, 3>& first) {
    const uint64_t seen = (uint64_t{1} << (kSide + 2 * halo_[2])) - 1;
    // a row begins in one word and ends in the next; outside the mask there is background
    const int64_t begin = first[2] - halo_[2], word = begin >> 6, shift = begin & 63;  // rounds down, also below zero
    const uint64_t has_word = word >= 0 && word < mask_.row_words ? ~uint64_t{0} : 0;
    const uint64_t has_next = word + 1 < mask_.row_words ? ~uint64_t{0} : 0;
    const int64_t at = has_word != 0 ? word : 0, next = has_next != 0 ? word + 1 : 0;
    const int64_t first_y = first[1] - halo_[1];
    const int64_t from = std::clamp<int64_t>(-first_y, 0, row_count_);
    const int64_t to = std::clamp<int64_t>(mask_.ny - first_y, 0, row_count_);
    uint64_t* rows = rows_.data();
    for (int64_t p = 0; p < side_z_ + 2 * halo_[0]; ++p, rows += row_count_) {
      const int64_t z = first[0] - halo_[0] + p;
      Kinds kinds;
      if (z < 0 || z >= mask_.nz || to <= from) {
        std::fill_n(rows, row_count_, 0);
      } else {
        std::fill_n(rows, from, 0);
        std::fill_n(rows + to, row_count_ - to, 0);
        const uint64_t* row = mask_.row(z, first_y + from);
        for (int64_t k = from; k < to; ++k, row += mask_.row_words) {
          const uint64_t bits = ((row[at] & has_word) >> shift | (row[next] & has_next) << 1 << (63 - shift)) & seen;
          rows[k] = bits;
          kinds.mixed |= static_cast<uint32_t>(bits != 0 && bits != seen) << k;
          kinds.whole |= static_cast<uint32_t>(bits == seen) << k;
        }
      }
      row_kinds_[static_cast<size_t>(p)] = kinds;
    }
  }

  // The voxels of a row from the one before the first on; rows from the one before the first to the second after the
  // last.
  uint32_t voxels(int64_t z, int64_t y) const {
    return static_cast<uint32_t>(rows_[static_cast<size_t>((z + halo_[0]) * row_count_ + y + halo_[1])] >>
                                 (halo_[2] - 1));
  }

  // The voxels that will be asked for.
  void need(const VoxelRows& voxels) {
    for (int64_t z = 0; z < side_z_; ++z)
      for (size_t y = 0; y < kSide; ++y) {
        const uint32_t row = voxels[static_cast<size_t>(z)][y];
        needed_[static_cast<size_t>(z)][y] = row == 0 ? 0 : groups_between(lowest_bit(row), 31 - __builtin_clz(row));
      }
  }

  // Computes the shares within one Gaussian: along the rows, along y, along z, where they are needed.
  void convolve(size_t number) {
    const SubvoxelRule::Gaussian& gaussian = rule_.gaussians[number];
    const int64_t first_z = halo_[0] - gaussian.radius[0], planes = side_z_ + 2 * gaussian.radius[0];
    find_lines(gaussian.radius[0]);
    std::array<Kinds, kSide> line_kinds{};  // by y, the planes
    for (int64_t p = 0; p < planes; ++p) convolve_plane(p, p + first_z, gaussian, line_kinds);
    double* shares = shares_.data() + number * static_cast<size_t>(side_z_ * kSide) * kShares;
    for (int64_t z = 0; z < side_z_; ++z)
      for (int64_t y = 0; y < kSide; ++y) {
        const uint8_t groups = needed_[static_cast<size_t>(z)][static_cast<size_t>(y)];
        if (groups == 0) continue;
        const Kinds kinds = line_kinds[static_cast<size_t>(y)].seen(z, window_of(gaussian.radius[0]));
        add_up(kinds, along_y_.data() + static_cast<size_t>((z + first_z) * kSide + y) * kShares, kSide * kShares,
               groups, gaussian, 0, shares + static_cast<size_t>(z * kSide + y) * kShares);
      }
  }

  // The shares of the voxels of a row.
  const double* shares(size_t number, int64_t z, int64_t y) const {
    return shares_.data() +
           (number * static_cast<size_t>(side_z_ * kSide) + static_cast<size_t>(z * kSide + y)) * kShares;
  }

 private:
  static constexpr size_t kGroup = SimdOperations::kSumGroup;  // voxels of a row whose shares are added up together
  static constexpr size_t kGroups = (kSide + kGroup - 1) / kGroup, kShares = kGroups * kGroup;
  static_assert(kGroups <= SimdOperations::kMostSumGroups);
  static_assert(std::tuple_size_v<decltype(SubvoxelRule::Gaussian::along)::value_type> == SimdOperations::kMostSumRows);
  // Of some rows, one bit each: what is the same all along a row need not be added up voxel by voxel.
  struct Kinds {
    uint32_t mixed = 0, whole = 0;  // of both classes; all of them foreground

    Kinds seen(int64_t first, uint32_t window) const { return {mixed >> first & window, whole >> first & window}; }
  };

  // The groups that hold voxels from one place to another, a bit each.
  static uint8_t groups_between(int first, int last) {
    return static_cast<uint8_t>((2u << (static_cast<unsigned>(last) / kGroup)) -
                                (1u << (static_cast<unsigned>(first) / kGroup)));
  }
  static uint32_t window_of(int64_t radius) { return (uint32_t{2} << (2 * radius)) - 1; }

  // Computes which groups of the lines in each plane that a Gaussian looks at are needed: those of the rows within its
  // reach.
  void find_lines(int64_t radius) {
    const auto planes = static_cast<size_t>(side_z_ + 2 * radius);
    for (size_t p = 0; p < planes; ++p) lines_[p].fill(0);
    for (size_t z = 0; z < static_cast<size_t>(side_z_); ++z)
      for (size_t k = 0; k <= static_cast<size_t>(2 * radius); ++k)
        for (size_t y = 0; y < kSide; ++y) lines_[z + k][y] |= needed_[z][y];
  }

  // One plane, the p-th that the Gaussian looks at: along its rows, and along y.
  void convolve_plane(int64_t p, int64_t plane, const SubvoxelRule::Gaussian& gaussian,
                      std::array<Kinds, kSide>& line_kinds) {
    const auto& lines = lines_[static_cast<size_t>(p)];
    const int64_t aside = halo_[1] - gaussian.radius[1];
    const Kinds rows = row_kinds_[static_cast<size_t>(plane)].seen(aside, ~uint32_t{0});
    const uint32_t window = window_of(gaussian.radius[1]);
    uint32_t reached = 0;
    uint8_t groups = 0;  // of any line
    for (size_t y = 0; y < kSide; ++y) {
      reached |= lines[y] != 0 ? window << y : 0;
      groups |= lines[y];
    }
    if (groups == 0) return;
    for (uint32_t left = reached & rows.mixed; left != 0; left &= left - 1) {
      const auto row = static_cast<size_t>(lowest_bit(left));
      convolve_row(rows_[static_cast<size_t>(plane * row_count_ + aside) + row], gaussian, groups,
                   along_x_.data() + row * kShares);
    }
    for (size_t y = 0; y < kSide; ++y) {
      if (lines[y] == 0) continue;
      const Kinds kinds = rows.seen(static_cast<int64_t>(y), window);
      const bool is_same = kinds.mixed == 0 && (kinds.whole == 0 || kinds.whole == window);
      line_kinds[y].mixed |= static_cast<uint32_t>(!is_same) << p;
      line_kinds[y].whole |= static_cast<uint32_t>(is_same && kinds.whole != 0) << p;
      if (!is_same)
        add_up(kinds, along_x_.data() + y * kShares, kShares, lines[y], gaussian, 1,
               along_y_.data() + (static_cast<size_t>(plane) * kSide + y) * kShares);
    }
  }

  void convolve_row(uint64_t row, const SubvoxelRule::Gaussian& gaussian, uint8_t groups, double* shares) const {
    const uint64_t bits = row >> (halo_[2] - gaussian.radius[2]),
                   window = 2 * uint64_t{window_of(gaussian.radius[2])} + 1;
    const std::array<double, 2>* sums = gaussian.of_neighbours.data();
    const size_t last = kGroup * static_cast<size_t>(32 - __builtin_clz(groups));
    static_assert(kGroup == 4);
    for (size_t x = kGroup * static_cast<size_t>(lowest_bit(groups)); x < last; x += kGroup) {
      const uint64_t here = bits >> x;
      std::memcpy(shares + x, &sums[here & window], 2 * sizeof(double));
      std::memcpy(shares + x + 2, &sums[here >> 2 & window], 2 * sizeof(double));
    }
  }

  // Adds up rows of shares, the first of which is given, `stride` numbers apart, weighed as along an axis.
  void add_up(const Kinds& kinds, const double* first, size_t stride, uint8_t groups,
              const SubvoxelRule::Gaussian& gaussian, size_t axis, double* sum) const {
    const auto begin = static_cast<size_t>(lowest_bit(groups)), end = static_cast<size_t>(32 - __builtin_clz(groups));
    simd_.sum_rows(first + begin * kGroup, stride, gaussian.along[axis].data(),
                   static_cast<size_t>(2 * gaussian.radius[axis] + 1), kinds.mixed, gaussian.of_bits[axis][kinds.whole],
                   end - begin, sum + begin * kGroup);
  }

  const BitVolume& mask_;
  const SubvoxelRule& rule_;
  const SimdOperations& simd_ = SimdOperations::here();
  std::array<int64_t, 3> halo_{};  // voxels around the block's own that are looked at
  int64_t side_z_, row_count_ = 0;
  std::vector<uint64_t> rows_;
  std::vector<Kinds> row_kinds_;                            // by plane
  std::array<std::array<uint8_t, kSide>, kSide> needed_{};  // by z and y: the groups of a row whose shares are needed
  std::array<std::array<uint8_t, kSide>, kSide + 2 * SubvoxelRule::Gaussian::kMostRadius>
      lines_;                              // of the Gaussian at hand, by plane
  std::vector<double> along_x_, along_y_;  // along_x_: of the plane at hand
  std::vector<double> shares_;             // by Gaussian and voxel
};

}  // namespace segauge
