// Points of neighbouring cells that are searched together: most of a far search is to find the cells that are worth
// looking at.
#pragma once

#include "core/vectors.hpp"
#include "surface/cell_patterns.hpp"

namespace segauge {

// No more than kMost, in groups as registers take them, and the box around them.
template <size_t kMost>
class PointBatch {
 public:
  static_assert(kMost % SampleGroup::kSize == 0, "groups are whole");

  size_t count() const { return count_; }
  bool is_empty() const { return count_ == 0; }
  bool is_full() const { return count_ == kMost; }
  const SampleGroup* groups() const { return groups_.data(); }
  const Box& box() const { return box_; }

  void add(const Vec3& at) {
    // what follows in the group repeats it until there is more
    SampleGroup& group = groups_[count_ / SampleGroup::kSize];
    for (size_t k = count_ % SampleGroup::kSize; k < SampleGroup::kSize; ++k) {
      group.x[k] = at[0];
      group.y[k] = at[1];
      group.z[k] = at[2];
    }
    box_.include(at);
    ++count_;
  }

  void clear() {
    count_ = 0;
    box_ = Box();
  }

 private:
  size_t count_ = 0;
  Box box_;
  std::array<SampleGroup, kMost / SampleGroup::kSize> groups_;
};

}  // namespace segauge
