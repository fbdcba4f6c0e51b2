// Where the sub-voxel surface cuts the edges between the voxels of one brick of cells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "normal_quantile.hpp"
#include "subvoxel.hpp"

namespace segauge {

// Places are counted from the brick's first voxel, the lower corner of its first cell.
class BrickCuts {
 public:
  static constexpr int64_t kEdge = CellSet::kBrickEdge;
  static constexpr int64_t kSide = kEdge + 1;  // voxels along the edge of a brick of cells

  BrickCuts(const BitVolume& mask, const SubvoxelRule& rule) : mask_(mask), rule_(rule) {
    for (const auto& bell : rule.bells)
      for (size_t axis = 0; axis < 3; ++axis) halo_[axis] = std::max(halo_[axis], bell.radius[axis]);
    side_z_ = rule.ndim == 3 ? kSide : 1;
    row_count_ = kSide + 2 * halo_[1];
    rows_.resize(static_cast<size_t>((side_z_ + 2 * halo_[0]) * row_count_));
    along_x_.resize(rows_.size() * 2 * kSide);
    along_y_.resize(static_cast<size_t>((side_z_ + 2 * halo_[0]) * kSide * 2 * kSide));
    other_.resize(rule.bells.size() * static_cast<size_t>(side_z_ * kSide * kSide));
    depth_.resize(static_cast<size_t>(side_z_ * kSide * kSide));
  }

  // Works out the shares of the other class around all voxels that the cells of a brick touch.
  void enter(const CellSet::Brick& brick) {
    read_rows({rule_.ndim == 3 ? brick.z * kEdge - 1 : 0, brick.y * kEdge - 1, brick.x * kEdge - 1});
    for (size_t b = 0; b < rule_.bells.size(); ++b) {
      if (rule_.needs_both_classes) {
        spread<2>(b);
      } else {
        spread<1>(b);
      }
    }
    std::fill(depth_.begin(), depth_.end(), -1.0);
  }

  // Where the edge along an axis from a voxel to the next is cut, 0 to 1.
  double cut(size_t axis, const std::array<int64_t, 3>& low) {
    std::array<int64_t, 3> before = low, high = low, after = low;
    before[axis] -= 1;
    high[axis] += 1;
    after[axis] += 2;
    if (is_inside(before) != is_inside(low) || is_inside(high) != is_inside(after)) return 0.5;
    const double from = depth(low), to = depth(high);
    if (from + to <= 0) return 0.5;
    return std::min(std::max(from / (from + to), rule_.margin), 1 - rule_.margin);
  }

 private:
  bool is_inside(const std::array<int64_t, 3>& at) const {
    return rows_[static_cast<size_t>((at[0] + halo_[0]) * row_count_ + at[1] + halo_[1])] >> (at[2] + halo_[2]) & 1;
  }

  size_t place_of(const std::array<int64_t, 3>& at) const {
    return static_cast<size_t>((at[0] * kSide + at[1]) * kSide + at[2]);
  }

  void read_rows(const std::array<int64_t, 3>& first) {
    size_t row = 0;
    for (int64_t z = first[0] - halo_[0]; z < first[0] + side_z_ + halo_[0]; ++z)
      for (int64_t y = first[1] - halo_[1]; y < first[1] + kSide + halo_[1]; ++y, ++row) {
        const bool exists = z >= 0 && z < mask_.nz && y >= 0 && y < mask_.ny;
        rows_[row] = exists ? bits_from(mask_.row(z, y), first[2] - halo_[2]) : 0;
      }
  }

  // 64 voxels of a row from any position on; outside there is background.
  uint64_t bits_from(const uint64_t* row, int64_t x) const {
    auto word = [&](int64_t i) { return i < 0 || i >= mask_.row_words ? uint64_t{0} : row[i]; };
    const int64_t whole = x >> 6, bits = x & 63;  // rounds down, also below zero
    return bits == 0 ? word(whole) : word(whole) >> bits | word(whole + 1) << (64 - bits);
  }

  // Works out one bell: along the rows, along y, along z. A row holds the share of foreground for each of its voxels and,
  // where both are needed, that of background.
  template <int kClasses>
  void spread(size_t number) {
    constexpr size_t kShares = kClasses * kSide;
    const SubvoxelRule::Bell& bell = rule_.bells[number];
    const int64_t first_z = halo_[0] - bell.radius[0], planes = side_z_ + 2 * bell.radius[0];
    const int64_t first_y = halo_[1] - bell.radius[1], lines = kSide + 2 * bell.radius[1];
    const uint64_t window = (uint64_t{1} << (2 * bell.radius[2] + 1)) - 1;
    for (int64_t z = first_z; z < first_z + planes; ++z)
      for (int64_t y = first_y; y < first_y + lines; ++y) {
        const auto row = static_cast<size_t>(z * row_count_ + y);
        const uint64_t bits = rows_[row] >> (halo_[2] - bell.radius[2]);
        double* shares = along_x_.data() + row * kShares;
        for (int64_t x = 0; x < kSide; ++x) {
          const uint64_t seen = bits >> x & window;
          shares[x] = bell.of_bits[seen];
          if (kClasses == 2) shares[kSide + x] = bell.of_bits[~seen & window];
        }
      }
    for (int64_t z = first_z; z < first_z + planes; ++z)
      for (int64_t y = 0; y < kSide; ++y)
        add_up<kShares>(along_x_.data() + static_cast<size_t>(z * row_count_ + y + first_y) * kShares, kShares,
                        bell.along[1], along_y_.data() + static_cast<size_t>(z * kSide + y) * kShares);
    double* other = other_.data() + number * depth_.size();
    for (int64_t z = 0; z < side_z_; ++z)
      for (int64_t y = 0; y < kSide; ++y) {
        double shares[kShares];
        add_up<kShares>(along_y_.data() + static_cast<size_t>((z + first_z) * kSide + y) * kShares, kSide * kShares,
                        bell.along[0], shares);
        for (int64_t x = 0; x < kSide; ++x, ++other) {
          const double background = kClasses == 2 ? shares[kShares - kSide + x] : 1 - shares[x];
          *other = is_inside({z, y, x}) ? background : shares[x];
        }
      }
  }

  template <size_t kShares>
  static void add_up(const double* first, size_t stride, const std::vector<double>& weights, double* sum) {
    double total[kShares] = {};
    for (const double weight : weights) {
      for (size_t i = 0; i < kShares; ++i) total[i] += weight * first[i];
      first += stride;
    }
    std::copy_n(total, kShares, sum);
  }

  double depth(const std::array<int64_t, 3>& at) {
    const size_t place = place_of(at);
    if (depth_[place] < 0) {
      double found[3];
      for (size_t b = 0; b < 3; ++b) {
        const double share = std::min(std::max(other_[b * depth_.size() + place], rule_.least_share), rule_.largest_share);
        found[b] = -rule_.bells[b].width * quantile_(share);
      }
      const double smooth = 2 * found[1] - found[0], sharp = 2 * found[2] - found[1];
      const double thin = (found[1] - found[0] - rule_.thin_from) / (rule_.thin_to - rule_.thin_from);
      depth_[place] = std::max(smooth + (sharp - smooth) * std::min(std::max(thin, 0.0), 1.0), 0.0);
    }
    return depth_[place];
  }

  const BitVolume& mask_;
  const SubvoxelRule& rule_;
  const NormalQuantile& quantile_ = NormalQuantile::table();
  std::array<int64_t, 3> halo_{};  // voxels around the brick's own that are looked at
  int64_t side_z_ = 1, row_count_ = 0;
  std::vector<uint64_t> rows_;
  std::vector<double> along_x_, along_y_;
  std::vector<double> other_;  // by bell and voxel
  std::vector<double> depth_;  // by voxel; -1 where nobody asked yet
};

}  // namespace segauge
