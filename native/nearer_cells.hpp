// Which of the cells around a cell can be nearer to its samples than what the other surface has in the very same cell.
#pragma once

#include "known.hpp"
#include "pieces_beside.hpp"

namespace segauge {

// By the codes of both surfaces in a cell, one bit for each place around it. Where two surfaces pass the same cell most cells
// around cannot matter, whatever their codes: of 15 that the surface passes, 3 or 4 are left.
class NearerCells {
 public:
  static constexpr uint32_t kAll = (uint32_t{1} << PiecesBeside::kPlaces) - 1;

  explicit NearerCells(const Patterns& patterns)
      : patterns_(patterns), views_(*patterns.views), beside_(*patterns.beside),
        row_(patterns.same_as.size()), column_(patterns.same_as.size()) {
    for (size_t code = 0; code < column_.size(); ++code) {
      const auto same = static_cast<size_t>(patterns.same_as[code]);
      const bool has_pieces = patterns.target_start[same + 1] > patterns.target_start[same];
      column_[code] = static_cast<uint8_t>(!has_pieces ? 0 : same == code ? ++kinds_ : column_[same]);
    }
    for (size_t code = 0; code < row_.size(); ++code) row_[code] = static_cast<uint32_t>(column_[code] * (kinds_ + 1));
    cells_.assign((kinds_ + 1) * (kinds_ + 1), 0);
    for (size_t kind = 0; kind <= kinds_; ++kind) cells_[kind * (kinds_ + 1)] = kAll;
    shown_.assign(views_.standing_code.size() * (kinds_ + 1), 0);
    find_directions();
  }

  // The places around a cell of the samples' code at which anything can be nearer than the pieces of code `same` in that cell,
  // and the cell itself; all of them where it has none.
  uint32_t around(uint32_t from, uint32_t same, KnownDistances& known) {
    uint32_t& cells = cells_[row_[from] + column_[same]];
    if (cells == 0) cells = work_out(from, same, known);
    return cells;
  }

 private:
  static constexpr size_t kMiddle = PiecesBeside::kPlaces / 2;

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
      const auto w = PiecesBeside::components(number);
      Vec3 slope{};
      for (size_t axis = 0; axis < 3; ++axis)
        for (size_t k = 0; k < 3; ++k) slope[k] += static_cast<double>(w[axis]) * across[axis][k] / volume;
      const double length = std::sqrt(dot(slope, slope));
      direction_[number] = {{slope[0] / length, slope[1] / length, slope[2] / length}, 1 / length};
    }
  }

  uint32_t work_out(uint32_t from, uint32_t same, KnownDistances& known) {
    const size_t view = views_.standing[from].view;
    const uint32_t shown = as_shown(from, same, known);
    const uint8_t* place = views_.seen_place.data() + view * PiecesBeside::kPlaces;
    uint32_t cells = 0;
    for (size_t i = 0; i < PiecesBeside::kPlaces; ++i) cells |= (shown >> place[i] & 1) << i;
    return cells;
  }

  // The places as the view shows them in which distances are known; mirrored combinations share them, too.
  uint32_t as_shown(uint32_t from, uint32_t same, KnownDistances& known) {
    const LatticeViews::Standing& standing = views_.standing[from];
    const uint8_t* seen = views_.seen_code.data() + standing.view * patterns_.same_as.size();
    uint32_t& cells = shown_[standing.number * (kinds_ + 1) + column_[seen[same]]];
    if (cells != 0) return cells;
    const uint32_t step = KnownDistances::number_of_step(0, 0, 0);
    const double* squared = known.groups(from, same, step, known.entries()[known.from(from).to(same, step)])->squared;
    const auto groups = static_cast<size_t>(patterns_.group_start[from + 1] - patterns_.group_start[from]);
    cells = groups == 1 ? may_be_nearer<1>(seen[from], seen[same], squared)
            : groups == 2 ? may_be_nearer<2>(seen[from], seen[same], squared)
                          : may_be_nearer<KnownDistances::kMostGroups>(seen[from], seen[same], squared);
    return cells;
  }

  // The places where anything can come nearer to any of the samples than their squared distances.
  template <size_t kGroups>
  uint32_t may_be_nearer(size_t from, size_t same, const double* squared) const {
    constexpr size_t kSamples = kGroups * SampleGroup::kSize;
    double height[PiecesBeside::kDirections][kSamples];  // of the samples along each direction, mm
    const SampleGroup* groups = patterns_.group.data() + patterns_.group_start[from];
    const auto last = static_cast<size_t>(patterns_.group_start[from + 1] - patterns_.group_start[from]) - 1;
    for (size_t d = 0; d < direction_.size(); ++d) {
      const Vec3& normal = direction_[d].normal;
      for (size_t i = 0; i < kGroups; ++i) {
        const SampleGroup& group = groups[std::min(i, last)];
        for (size_t k = 0; k < SampleGroup::kSize; ++k)
          height[d][SampleGroup::kSize * i + k] = normal[0] * group.x[k] + normal[1] * group.y[k] + normal[2] * group.z[k];
      }
    }
    uint32_t cells = uint32_t{1} << kMiddle;
    for (size_t place = 0; place < PiecesBeside::kPlaces; ++place) {
      if (place == kMiddle) continue;
      const auto& earliest = beside_.earliest_of(same, place);
      double gap[kSamples] = {};
      for (size_t k = 0; k < earliest.size(); ++k) {
        const size_t d = beside_.towards[place][k];
        const double begin = earliest[k] * direction_[d].mm_of_step;
        for (size_t i = 0; i < kSamples; ++i) gap[i] = std::max(gap[i], begin - height[d][i]);
      }
      bool any = false;
      for (size_t i = 0; i < kSamples; ++i) any |= gap[i] * gap[i] * (1 - 1e-9) < squared[i];
      cells |= uint32_t{any} << place;
    }
    return cells;
  }

  const Patterns& patterns_;
  const LatticeViews& views_;
  const PiecesBeside& beside_;
  std::vector<uint32_t> row_;     // by code of the samples: where its places begin
  std::vector<uint8_t> column_;   // by code of the pieces: which of them; 0 for none
  size_t kinds_ = 0;              // of pieces
  std::vector<uint32_t> cells_;   // 0 where nobody has asked yet
  std::vector<uint32_t> shown_;   // the same, by number of the standing code, as its view shows it
  std::array<Direction, PiecesBeside::kDirections> direction_{};
};

}  // namespace segauge
