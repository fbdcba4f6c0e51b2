#include "labels/boxes.hpp"

#include "core/parallel.hpp"
#include "labels/runs.hpp"

namespace segauge {
namespace {

// What one plane across the axis that is walked slowest has: rows of `length` items.
template <class T>
class PlaneBox {
 public:
  PlaneBox(const LabelView& labels, const std::array<int, 3>& order, int64_t i, IndexBox& box)
      : a_(static_cast<size_t>(order[0])),
        b_(static_cast<size_t>(order[1])),
        c_(static_cast<size_t>(order[2])),
        i_(i),
        rows_(labels.shape[b_]),
        length_(labels.shape[c_]),
        row_step_(labels.stride[b_]),
        step_(labels.stride[c_]),
        plane_(static_cast<const T*>(labels.data) + i * labels.stride[a_]),
        box_(box) {}

  void include() {
    if (step_ == 1 && row_step_ == length_) return include_whole();
    for (int64_t j = 0; j < rows_; ++j) {
      const int64_t first = step_ == 1 ? run_end<T>(row(j), 0, length_, 0) : first_set_strided(row(j));
      if (first < length_) include_row(j, first);
    }
  }

 private:
  const T* row(int64_t j) const { return plane_ + j * row_step_; }

  // Rows that follow each other in memory: from each that has something to the next.
  void include_whole() {
    for (int64_t at = 0, end = rows_ * length_; (at = run_end<T>(plane_, at, end, 0)) < end;) {
      const int64_t j = at / length_;
      include_row(j, at - j * length_);
      at = (j + 1) * length_;
    }
  }

  int64_t first_set_strided(const T* row) const {
    int64_t x = 0;
    while (x < length_ && row[x * step_] == 0) ++x;
    return x;
  }

  void include_row(int64_t j, int64_t first) {
    int64_t end = length_;
    if (step_ == 1) end = run_begin<T>(row(j), std::min(box_.stop[c_], length_), length_, 0);
    while (step_ != 1 && end > box_.stop[c_] && row(j)[(end - 1) * step_] == 0) --end;
    IndexBox found;
    found.start[a_] = i_, found.start[b_] = j, found.start[c_] = first;
    found.stop[a_] = i_ + 1, found.stop[b_] = j + 1, found.stop[c_] = end;
    box_.include(found);
  }

  const size_t a_, b_, c_;
  const int64_t i_, rows_, length_, row_step_, step_;
  const T* plane_;
  IndexBox& box_;
};

template <class T>
IndexBox box_of(const LabelView& labels, int threads) {
  const std::array<int, 3> order = walking_order(labels);
  const int64_t length = labels.shape[static_cast<size_t>(order[0])];
  const int64_t slabs = std::min<int64_t>(length, std::max(threads, 1));
  std::vector<IndexBox> parts(static_cast<size_t>(slabs));
  parallel_for(slabs, threads, [&](int64_t slab) {
    for (int64_t i = length * slab / slabs; i < length * (slab + 1) / slabs; ++i)
      PlaneBox<T>(labels, order, i, parts[static_cast<size_t>(slab)]).include();
  });
  IndexBox box;
  for (const IndexBox& part : parts) box.include(part);
  return box;
}

}  // namespace

IndexBox foreground_box(const LabelView& labels, int threads) {
  switch (labels.item_bytes) {
    case 1: return box_of<uint8_t>(labels, threads);
    case 2: return box_of<uint16_t>(labels, threads);
    case 4: return box_of<uint32_t>(labels, threads);
    default: return box_of<uint64_t>(labels, threads);
  }
}

}  // namespace segauge
