#include "labels/pair_table.hpp"

#include <stdexcept>
#include <unordered_map>

#include "core/parallel.hpp"
#include "labels/runs.hpp"

namespace segauge {
namespace {

// More distinct pairs than this are not a label map (each costs memory); instance maps stay far below.
constexpr size_t kMostPairs = size_t{1} << 22;

template <class T>
int64_t run_end_strided(const T* row, int64_t stride, int64_t from, int64_t end, T value) {
  int64_t x = from;
  while (x < end && row[x * stride] == value) ++x;
  return x;
}

// Finds the slot of a label pair: by table for bytes, by hashing otherwise. Asked once a run, not once a voxel.
template <class T, class U>
class PairSlots {
 public:
  PairSlots() {
    if constexpr (kBytes) table_.assign(65536, -1);
  }

  PairStatistics& of(T pred, U gt) {
    if (current_ >= 0 && pred == pred_ && gt == gt_) return slots[static_cast<size_t>(current_)];
    pred_ = pred;
    gt_ = gt;
    current_ = find(pred, gt);
    return slots[static_cast<size_t>(current_)];
  }

  std::vector<PairStatistics> slots;
  std::vector<std::pair<T, U>> labels;

 private:
  static constexpr bool kBytes = sizeof(T) == 1 && sizeof(U) == 1;

  struct Hash {
    size_t operator()(const std::pair<T, U>& key) const {
      uint64_t h = static_cast<uint64_t>(key.first) * 0x9E3779B97F4A7C15ull;
      h = (h ^ (h >> 29)) + static_cast<uint64_t>(key.second);
      h *= 0xBF58476D1CE4E5B9ull;
      return static_cast<size_t>(h ^ (h >> 32));
    }
  };

  int64_t find(T pred, U gt) {
    if constexpr (kBytes) {
      int64_t& slot = table_[(static_cast<size_t>(pred) << 8) | static_cast<size_t>(gt)];
      if (slot < 0) slot = add(pred, gt);
      return slot;
    } else {
      auto [entry, is_new] = map_.try_emplace({pred, gt}, static_cast<int64_t>(slots.size()));
      if (is_new) add(pred, gt);
      return entry->second;
    }
  }

  int64_t add(T pred, U gt) {
    if (slots.size() >= kMostPairs) throw std::length_error("too many different label pairs");
    slots.emplace_back();
    labels.emplace_back(pred, gt);
    return static_cast<int64_t>(slots.size()) - 1;
  }

  std::vector<int64_t> table_;
  std::unordered_map<std::pair<T, U>, int64_t, Hash> map_;
  T pred_{};
  U gt_{};
  int64_t current_ = -1;
};

template <class T, class U>
void tabulate_rows(const LabelView& pred, const LabelView& gt, const std::array<int, 3>& order, int64_t begin,
                   int64_t end, PairSlots<T, U>& slots) {
  const auto [a, b, c] = std::tuple(order[0], order[1], order[2]);
  const int64_t length = gt.shape[c], step_p = pred.stride[c], step_g = gt.stride[c];
  const bool dense = step_p == 1 && step_g == 1;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < gt.shape[b]; ++j) {
      const T* p = static_cast<const T*>(pred.data) + i * pred.stride[a] + j * pred.stride[b];
      const U* g = static_cast<const U*>(gt.data) + i * gt.stride[a] + j * gt.stride[b];
      int64_t p_end = 0, g_end = 0;
      for (int64_t x = 0; x < length;) {
        const T pl = p[x * step_p];
        const U gl = g[x * step_g];
        if (p_end <= x) p_end = dense ? run_end(p, x, length, pl) : run_end_strided(p, step_p, x, length, pl);
        if (g_end <= x) g_end = dense ? run_end(g, x, length, gl) : run_end_strided(g, step_g, x, length, gl);
        const int64_t stop = std::min(p_end, g_end), run = stop - x;
        PairStatistics& s = slots.of(pl, gl);
        s.count += run;
        s.index_sum[a] += i * run;
        s.index_sum[b] += j * run;
        s.index_sum[c] += (x + stop - 1) * run / 2;
        s.first[a] = std::min(s.first[a], i);
        s.last[a] = std::max(s.last[a], i);
        s.first[b] = std::min(s.first[b], j);
        s.last[b] = std::max(s.last[b], j);
        s.first[c] = std::min(s.first[c], x);
        s.last[c] = std::max(s.last[c], stop - 1);
        x = stop;
      }
    }
  }
}

void merge(PairStatistics& into, const PairStatistics& part) {
  into.count += part.count;
  for (int axis = 0; axis < 3; ++axis) {
    into.index_sum[axis] += part.index_sum[axis];
    into.first[axis] = std::min(into.first[axis], part.first[axis]);
    into.last[axis] = std::max(into.last[axis], part.last[axis]);
  }
}

bool by_labels(const PairStatistics& x, const PairStatistics& y) {
  return std::pair(x.pred_label, x.gt_label) < std::pair(y.pred_label, y.gt_label);
}

template <class T, class U>
std::vector<PairStatistics> tabulate(const LabelView& pred, const LabelView& gt, int threads) {
  const auto order = walking_order(gt);
  const int64_t length = gt.shape[order[0]];
  const int64_t slabs = std::min<int64_t>(length, std::max(threads, 1));
  std::vector<std::vector<PairStatistics>> parts(static_cast<size_t>(slabs));
  parallel_for(slabs, threads, [&](int64_t slab) {
    PairSlots<T, U> slots;
    tabulate_rows<T, U>(pred, gt, order, length * slab / slabs, length * (slab + 1) / slabs, slots);
    for (size_t i = 0; i < slots.slots.size(); ++i) {
      slots.slots[i].pred_label = label_value(slots.labels[i].first, pred.is_signed);
      slots.slots[i].gt_label = label_value(slots.labels[i].second, gt.is_signed);
    }
    parts[static_cast<size_t>(slab)] = std::move(slots.slots);
  });
  std::vector<PairStatistics> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::stable_sort(all.begin(), all.end(), by_labels);
  std::vector<PairStatistics> merged;
  for (const auto& s : all) {
    if (!merged.empty() && !by_labels(merged.back(), s)) {
      merge(merged.back(), s);
    } else {
      merged.push_back(s);
    }
  }
  if (merged.size() > kMostPairs) throw std::length_error("too many different label pairs");
  return merged;
}

template <class T>
std::vector<PairStatistics> tabulate_for_pred(const LabelView& pred, const LabelView& gt, int threads) {
  switch (gt.item_bytes) {
    case 1: return tabulate<T, uint8_t>(pred, gt, threads);
    case 2: return tabulate<T, uint16_t>(pred, gt, threads);
    case 4: return tabulate<T, uint32_t>(pred, gt, threads);
    default: return tabulate<T, uint64_t>(pred, gt, threads);
  }
}

}  // namespace

std::vector<PairStatistics> tabulate_pairs(const LabelView& pred, const LabelView& gt, int threads) {
  switch (pred.item_bytes) {
    case 1: return tabulate_for_pred<uint8_t>(pred, gt, threads);
    case 2: return tabulate_for_pred<uint16_t>(pred, gt, threads);
    case 4: return tabulate_for_pred<uint32_t>(pred, gt, threads);
    default: return tabulate_for_pred<uint64_t>(pred, gt, threads);
  }
}

}  // namespace segauge
