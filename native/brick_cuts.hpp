// Where the sub-voxel surface cuts the edges between the voxels of one brick of cells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lanes.hpp"
#include "normal_quantile.hpp"
#include "subvoxel.hpp"

namespace segauge {

// Places are counted from the brick's first voxel, the lower corner of its first cell. A brick is entered, told which
// edges will be asked for, and prepared; then its cuts can be had.
class BrickCuts {
 public:
  using Place = std::array<int64_t, 3>;
  static constexpr int64_t kEdge = CellSet::kBrickEdge;
  static constexpr int64_t kSide = kEdge + 1;  // voxels along the edge of a brick of cells

  BrickCuts(const BitVolume& mask, const SubvoxelRule& rule) : mask_(mask), rule_(rule) {
    for (const auto& bell : rule.bells)
      for (size_t axis = 0; axis < 3; ++axis) halo_[axis] = std::max(halo_[axis], bell.radius[axis]);
    side_z_ = rule.ndim == 3 ? kSide : 1;
    row_count_ = kSide + 2 * halo_[1];
    rows_.resize(static_cast<size_t>((side_z_ + 2 * halo_[0]) * row_count_));
    row_kinds_.resize(static_cast<size_t>(side_z_ + 2 * halo_[0]));
    along_x_.resize(rows_.size() * kShares);
    along_y_.resize(row_kinds_.size() * kSide * kShares);
    for (auto& shares : shares_) shares.resize(rule.bells.size() * static_cast<size_t>(side_z_ * kSide) * kShares);
    depth_.resize(static_cast<size_t>(side_z_ * kSide * kSide));
  }

  void enter(const CellSet::Brick& brick) {
    read_rows({rule_.ndim == 3 ? brick.z * kEdge - 1 : 0, brick.y * kEdge - 1, brick.x * kEdge - 1});
    needed_ = {};
  }

  // Says that the edge along an axis from a voxel to the next will be asked for.
  void need(size_t axis, const Place& low) {
    const bool is_low_inside = is_inside(low);
    needed_[share_for(is_low_inside)][static_cast<size_t>(low[1])] |= 1u << low[0];
    needed_[share_for(!is_low_inside)][static_cast<size_t>(low[1] + (axis == 1))] |= 1u << (low[0] + (axis == 0));
  }

  // Works out the shares of the classes around the voxels at the ends of the edges.
  void prepare() {
    for (size_t b = 0; b < rule_.bells.size(); ++b)
      for (size_t share = 0; share < (rule_.needs_both_classes ? 2 : 1); ++share) spread(b, share);
    std::fill(depth_.begin(), depth_.end(), -1.0);
  }

  // Where the edge along an axis from a voxel to the next is cut, 0 to 1.
  double cut(size_t axis, const Place& low) {
    Place before = low, high = low, after = low;
    before[axis] -= 1;
    high[axis] += 1;
    after[axis] += 2;
    if (is_inside(before) != is_inside(low) || is_inside(high) != is_inside(after)) return 0.5;
    const double from = depth(low), to = depth(high);
    if (from + to <= 0) return 0.5;
    return std::min(std::max(from / (from + to), rule_.margin), 1 - rule_.margin);
  }

 private:
  static constexpr size_t kShares = RowSum::kWidth;  // of the voxels of a row, and a few beyond it
  enum Share : size_t { kOfForeground, kOfBackground };
  static_assert(kSide <= static_cast<int64_t>(kShares), "a row of shares holds those of a brick");
  // Of some rows, one bit each: what is the same all along a row need not be added up voxel by voxel.
  struct Kinds {
    uint32_t mixed = 0, whole = 0;  // of both classes; all of the class whose share is worked out

    Kinds seen(int64_t first, uint32_t window) const { return {mixed >> first & window, whole >> first & window}; }
  };

  // Which of the shares a voxel asks for: that of the other class, or of foreground in any case.
  size_t share_for(bool is_inside) const { return rule_.needs_both_classes && is_inside ? kOfBackground : kOfForeground; }

  bool is_inside(const Place& at) const {
    return rows_[static_cast<size_t>((at[0] + halo_[0]) * row_count_ + at[1] + halo_[1])] >> (at[2] + halo_[2]) & 1;
  }

  void read_rows(const Place& first) {
    const uint64_t seen = (uint64_t{1} << (kSide + 2 * halo_[2])) - 1;
    size_t row = 0;
    Kinds* kinds = row_kinds_.data();
    for (int64_t z = first[0] - halo_[0]; z < first[0] + side_z_ + halo_[0]; ++z, ++kinds) {
      *kinds = {};
      for (int64_t k = 0; k < row_count_; ++k, ++row) {
        const int64_t y = first[1] - halo_[1] + k;
        const bool exists = z >= 0 && z < mask_.nz && y >= 0 && y < mask_.ny;
        rows_[row] = exists ? bits_from(mask_.row(z, y), first[2] - halo_[2]) : 0;
        const uint64_t bits = rows_[row] & seen;
        kinds->mixed |= static_cast<uint32_t>(bits != 0 && bits != seen) << k;
        kinds->whole |= static_cast<uint32_t>(bits == seen) << k;
      }
    }
  }

  // 64 voxels of a row from any position on; outside there is background.
  uint64_t bits_from(const uint64_t* row, int64_t x) const {
    auto word = [&](int64_t i) { return i < 0 || i >= mask_.row_words ? uint64_t{0} : row[i]; };
    const int64_t whole = x >> 6, bits = x & 63;  // rounds down, also below zero
    return bits == 0 ? word(whole) : word(whole) >> bits | word(whole + 1) << (64 - bits);
  }

  // Works out the share of one class within one bell: along the rows, along y, along z, where it is needed.
  void spread(size_t number, size_t share) {
    const SubvoxelRule::Bell& bell = rule_.bells[number];
    const int64_t first_z = halo_[0] - bell.radius[0], planes = side_z_ + 2 * bell.radius[0];
    std::array<Kinds, kSide> line_kinds{};  // by y, the planes
    for (int64_t p = 0; p < planes; ++p) spread_plane(p, p + first_z, bell, share, line_kinds);
    double* shares = shares_[share].data() + number * static_cast<size_t>(side_z_ * kSide) * kShares;
    for (int64_t y = 0; y < kSide; ++y)
      for (uint32_t left = needed_[share][static_cast<size_t>(y)]; left != 0; left &= left - 1) {
        const int64_t z = lowest_bit(left);
        const Kinds kinds = line_kinds[static_cast<size_t>(y)].seen(z, window_of(bell.radius[0]));
        add_up(kinds, along_y_.data() + static_cast<size_t>((z + first_z) * kSide + y) * kShares, kSide * kShares, bell, 0,
               shares + static_cast<size_t>(z * kSide + y) * kShares);
      }
  }

  // One plane, the p-th that the bell looks at: along its rows, and along y.
  void spread_plane(int64_t p, int64_t plane, const SubvoxelRule::Bell& bell, size_t share,
                    std::array<Kinds, kSide>& line_kinds) {
    const uint32_t lines = lines_needed(share, p, bell.radius[0]), window = window_of(bell.radius[1]);
    const auto first = static_cast<size_t>(plane * row_count_ + halo_[1] - bell.radius[1]);
    Kinds rows = row_kinds_[static_cast<size_t>(plane)].seen(halo_[1] - bell.radius[1], ~uint32_t{0});
    if (share == kOfBackground) rows.whole = ~(rows.mixed | rows.whole);
    uint32_t reached = 0;
    for (int64_t k = 0; k <= 2 * bell.radius[1]; ++k) reached |= lines << k;
    for (uint32_t left = reached & rows.mixed; left != 0; left &= left - 1)
      along_row(first + static_cast<size_t>(lowest_bit(left)), bell, share);
    for (uint32_t left = lines; left != 0; left &= left - 1) {
      const int64_t y = lowest_bit(left);
      const Kinds kinds = rows.seen(y, window);
      const bool is_same = kinds.mixed == 0 && (kinds.whole == 0 || kinds.whole == window);
      Kinds& line = line_kinds[static_cast<size_t>(y)];
      line.mixed |= static_cast<uint32_t>(!is_same) << p;
      line.whole |= static_cast<uint32_t>(is_same && kinds.whole != 0) << p;
      if (!is_same)
        add_up(kinds, along_x_.data() + (first + static_cast<size_t>(y)) * kShares, kShares, bell, 1,
               along_y_.data() + static_cast<size_t>(plane * kSide + y) * kShares);
    }
  }

  static uint32_t window_of(int64_t radius) { return (uint32_t{2} << (2 * radius)) - 1; }

  // Which lines of the p-th plane that a bell looks at are needed: one bit for each y.
  uint32_t lines_needed(size_t share, int64_t p, int64_t radius) const {
    uint32_t lines = 0;
    for (size_t y = 0; y < kSide; ++y)
      lines |= static_cast<uint32_t>((needed_[share][y] << (2 * radius) >> p & window_of(radius)) != 0) << y;
    return lines;
  }

  void along_row(size_t row, const SubvoxelRule::Bell& bell, size_t share) {
    const uint64_t bits = (share == kOfForeground ? rows_[row] : ~rows_[row]) >> (halo_[2] - bell.radius[2]);
    const uint64_t window = window_of(bell.radius[2]);
    double* shares = along_x_.data() + row * kShares;
    for (size_t x = 0; x < kSide; ++x) shares[x] = bell.of_bits[2][bits >> x & window];
  }

  // Adds up rows of shares, the first of which is given, `stride` numbers apart, weighed as along an axis.
  void add_up(const Kinds& kinds, const double* first, size_t stride, const SubvoxelRule::Bell& bell, size_t axis,
              double* sum) const {
    sum_rows_(first, stride, bell.along[axis].data(), kinds.mixed, bell.of_bits[axis][kinds.whole], sum);
  }

  double depth(const Place& at) {
    const auto row = static_cast<size_t>(at[0] * kSide + at[1]), x = static_cast<size_t>(at[2]);
    double& depth = depth_[row * kSide + x];
    if (depth >= 0) return depth;
    const bool inside = is_inside(at);
    const size_t asked = share_for(inside);
    double found[3];
    for (size_t b = 0; b < 3; ++b) {
      const size_t place = (b * static_cast<size_t>(side_z_ * kSide) + row) * kShares + x;
      const double share = shares_[asked][place], other = inside && asked == kOfForeground ? 1 - share : share;
      found[b] = -rule_.bells[b].width * quantile_(std::min(std::max(other, rule_.least_share), rule_.largest_share));
    }
    const double smooth = 2 * found[1] - found[0], sharp = 2 * found[2] - found[1];
    const double thin = (found[1] - found[0] - rule_.thin_from) / (rule_.thin_to - rule_.thin_from);
    return depth = std::max(smooth + (sharp - smooth) * std::min(std::max(thin, 0.0), 1.0), 0.0);
  }

  const BitVolume& mask_;
  const SubvoxelRule& rule_;
  const NormalQuantile& quantile_ = NormalQuantile::table();
  RowSum::Function sum_rows_ = RowSum::here();
  Place halo_{};  // voxels around the brick's own that are looked at
  int64_t side_z_ = 1, row_count_ = 0;
  std::array<std::array<uint32_t, kSide>, 2> needed_{};  // by share and y: one bit for each z of a row that is needed
  std::vector<uint64_t> rows_;
  std::vector<Kinds> row_kinds_;  // by plane, for the share of foreground
  std::vector<double> along_x_, along_y_;
  std::array<std::vector<double>, 2> shares_;  // of foreground and background, by bell and voxel
  std::vector<double> depth_;                  // by voxel; -1 where nobody asked yet
};

}  // namespace segauge
