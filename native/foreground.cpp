#include "foreground.hpp"

#include <cstring>

#include "parallel.hpp"

namespace segauge {
namespace {

// First place from the left that is not 0, or the length. Looks at 32 bytes at a time.
template <class T>
int64_t first_set(const T* row, int64_t length) {
  constexpr int64_t kItems = 32 / sizeof(T);
  int64_t x = 0;
  uint64_t w[4];
  for (; x + kItems <= length; x += kItems) {
    std::memcpy(w, row + x, 32);
    if ((w[0] | w[1] | w[2] | w[3]) != 0) break;
  }
  while (x < length && row[x] == 0) ++x;
  return x;
}

template <class T>
int64_t first_set_strided(const T* row, int64_t stride, int64_t length) {
  int64_t x = 0;
  while (x < length && row[x * stride] == 0) ++x;
  return x;
}

// One plane across the axis that is walked slowest.
template <class T>
void include_plane(const LabelView& labels, const std::array<int, 3>& order, int64_t i, IndexBox& box) {
  const auto a = static_cast<size_t>(order[0]), b = static_cast<size_t>(order[1]), c = static_cast<size_t>(order[2]);
  const int64_t length = labels.shape[c], step = labels.stride[c];
  for (int64_t j = 0; j < labels.shape[b]; ++j) {
    const T* row = static_cast<const T*>(labels.data) + i * labels.stride[a] + j * labels.stride[b];
    const int64_t first = step == 1 ? first_set(row, length) : first_set_strided(row, step, length);
    if (first == length) continue;
    int64_t end = length;
    while (end > box.stop[c] && row[(end - 1) * step] == 0) --end;
    IndexBox found;
    found.start[a] = i, found.start[b] = j, found.start[c] = first;
    found.stop[a] = i + 1, found.stop[b] = j + 1, found.stop[c] = end;
    box.include(found);
  }
}

template <class T>
IndexBox box_of(const LabelView& labels, int threads) {
  const std::array<int, 3> order = walking_order(labels);
  const int64_t length = labels.shape[static_cast<size_t>(order[0])];
  const int64_t slabs = std::min<int64_t>(length, std::max(threads, 1));
  std::vector<IndexBox> parts(static_cast<size_t>(slabs));
  parallel_for(slabs, threads, [&](int64_t slab) {
    for (int64_t i = length * slab / slabs; i < length * (slab + 1) / slabs; ++i)
      include_plane<T>(labels, order, i, parts[static_cast<size_t>(slab)]);
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
