// Which of the cells around a cell can be nearer to its samples than what the other surface has in the very same cell.
#pragma once

#include "search/near/neighbour_bounds.hpp"
#include "search/near/pair_cache.hpp"

namespace segauge {

// By the codes of both surfaces in a cell, one bit for each place around it. Where two surfaces pass the same cell most
// cells around cannot matter, whatever their codes: of 15 that the surface passes, 3 or 4 are left.
class CandidateMasks {
 public:
  static constexpr uint32_t kAll = (uint32_t{1} << NeighbourBounds::kPlaces) - 1;

  explicit CandidateMasks(const CellPatterns& patterns)
      : patterns_(patterns),
        symmetries_(*patterns.symmetries),
        neighbours_(*patterns.beside),
        row_(patterns.same_as.size()),
        column_(patterns.same_as.size()) {
    for (size_t code = 0; code < column_.size(); ++code) {
      const auto same = static_cast<size_t>(patterns.same_as[code]);
      const bool has_pieces = patterns.target_start[same + 1] > patterns.target_start[same];
      column_[code] = static_cast<uint8_t>(!has_pieces ? 0 : same == code ? ++kinds_ : column_[same]);
    }
    for (size_t code = 0; code < row_.size(); ++code) row_[code] = static_cast<uint32_t>(column_[code] * (kinds_ + 1));
    cells_.assign((kinds_ + 1) * (kinds_ + 1), 0);
    for (size_t kind = 0; kind <= kinds_; ++kind) cells_[kind * (kinds_ + 1)] = kAll;
    canonical_cells_.assign(symmetries_.canonical_code.size() * (kinds_ + 1), 0);
    find_directions();
  }

  // The places around a cell of the samples' code at which anything can be nearer than the pieces of code `same` in
  // that cell, and the cell itself; all of them where it has none.
  uint32_t around(uint32_t from, uint32_t same, PairCache& cache) {
    uint32_t& cells = cells_[row_[from] + column_[same]];
    if (cells == 0) cells = work_out(from, same, cache);
    return cells;
  }

 private:
  static constexpr size_t kMiddle = NeighbourBounds::kPlaces / 2;

  // What goes from steps along a direction to mm.
  struct Direction {
    Vec3 normal;        // unit
    double mm_of_step;  // between planes across it
  };

  void find_directions() {
    const Vec3 across[3] = {cross(patterns_.step[1], patterns_.step[2]), cross(patterns_.step[2], patterns_.step[0]),
                            cross(patterns_.step[0], patterns_.step[1])};
    const double volume = dot(patterns_.step[0], across[0]);
    for (size_t number = 0; number < direction_.size(); ++number) {
      if (number == kMiddle) continue;
      const auto w = NeighbourBounds::components(number);
      Vec3 slope{};
      for (size_t axis = 0; axis < 3; ++axis)
        for (size_t k = 0; k < 3; ++k) slope[k] += static_cast<double>(w[axis]) * across[axis][k] / volume;
      const double length = std::sqrt(dot(slope, slope));
      direction_[number] = {{slope[0] / length, slope[1] / length, slope[2] / length}, 1 / length};
    }
  }

  uint32_t work_out(uint32_t from, uint32_t same, PairCache& cache) {
    const size_t symmetry = symmetries_.canonical[from].symmetry;
    const uint32_t in_canonical_frame = canonical_cells(from, same, cache);
    const uint8_t* place = symmetries_.image_place.data() + symmetry * NeighbourBounds::kPlaces;
    uint32_t cells = 0;
    for (size_t i = 0; i < NeighbourBounds::kPlaces; ++i) cells |= (in_canonical_frame >> place[i] & 1) << i;
    return cells;
  }

  // The places in the frame of the canonical code; mirrored combinations share them, too.
  uint32_t canonical_cells(uint32_t from, uint32_t same, PairCache& cache) {
    const Symmetries::Canonical& canonical = symmetries_.canonical[from];
    const uint8_t* image = symmetries_.image_code.data() + canonical.symmetry * patterns_.same_as.size();
    uint32_t& cells = canonical_cells_[canonical.number * (kinds_ + 1) + column_[image[same]]];
    if (cells != 0) return cells;
    const uint32_t step = PairCache::number_of_step(0, 0, 0);
    const double* squared = cache.groups(from, same, step, cache.entries()[cache.from(from).to(same, step)])->squared;
    const auto groups = static_cast<size_t>(patterns_.group_start[from + 1] - patterns_.group_start[from]);
    cells = groups == 1   ? may_be_nearer<1>(image[from], image[same], squared)
            : groups == 2 ? may_be_nearer<2>(image[from], image[same], squared)
                          : may_be_nearer<PairCache::kMostGroups>(image[from], image[same], squared);
    return cells;
  }

  // The places where anything can come nearer to any of the samples than their squared distances.
  template <size_t kGroups>
  uint32_t may_be_nearer(size_t from, size_t same, const double* squared) const {
    constexpr size_t kSamples = kGroups * SampleGroup::kSize;
    double height[NeighbourBounds::kDirections][kSamples];  // of the samples along each direction, mm
    const SampleGroup* groups = patterns_.group.data() + patterns_.group_start[from];
    const auto last = static_cast<size_t>(patterns_.group_start[from + 1] - patterns_.group_start[from]) - 1;
    for (size_t d = 0; d < direction_.size(); ++d) {
      const Vec3& normal = direction_[d].normal;
      for (size_t i = 0; i < kGroups; ++i) {
        const SampleGroup& group = groups[std::min(i, last)];
        for (size_t k = 0; k < SampleGroup::kSize; ++k)
          height[d][SampleGroup::kSize * i + k] =
              normal[0] * group.x[k] + normal[1] * group.y[k] + normal[2] * group.z[k];
      }
    }
    uint32_t cells = uint32_t{1} << kMiddle;
    for (size_t place = 0; place < NeighbourBounds::kPlaces; ++place) {
      if (place == kMiddle) continue;
      const auto& earliest = neighbours_.earliest_of(same, place);
      double gap[kSamples] = {};
      for (size_t k = 0; k < earliest.size(); ++k) {
        const size_t d = neighbours_.towards[place][k];
        const double begin = earliest[k] * direction_[d].mm_of_step;
        for (size_t i = 0; i < kSamples; ++i) gap[i] = std::max(gap[i], begin - height[d][i]);
      }
      bool any = false;
      for (size_t i = 0; i < kSamples; ++i) any |= gap[i] * gap[i] * (1 - 1e-9) < squared[i];
      cells |= uint32_t{any} << place;
    }
    return cells;
  }

  const CellPatterns& patterns_;
  const Symmetries& symmetries_;
  const NeighbourBounds& neighbours_;
  std::vector<uint32_t> row_;              // by code of the samples: where its places begin
  std::vector<uint8_t> column_;            // by code of the pieces: which of them; 0 for none
  size_t kinds_ = 0;                       // of pieces
  std::vector<uint32_t> cells_;            // 0: not computed yet
  std::vector<uint32_t> canonical_cells_;  // the same, by number of the canonical code, in its frame
  std::array<Direction, NeighbourBounds::kDirections> direction_{};
};

}  // namespace segauge
