#include "labels.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>

#include "parallel.hpp"
#include "runs.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace segauge {
namespace {

// More distinct pairs than this are not a label map (each costs memory); instance maps stay far below.
constexpr size_t kMostPairs = size_t{1} << 22;

template <class T>
int64_t label_value(T raw, bool is_signed) {
  return is_signed ? static_cast<int64_t>(static_cast<std::make_signed_t<T>>(raw)) : static_cast<int64_t>(raw);
}

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

uint64_t reverse_bits(uint64_t w) {
  w = ((w >> 1) & 0x5555555555555555ull) | ((w & 0x5555555555555555ull) << 1);
  w = ((w >> 2) & 0x3333333333333333ull) | ((w & 0x3333333333333333ull) << 2);
  w = ((w >> 4) & 0x0F0F0F0F0F0F0F0Full) | ((w & 0x0F0F0F0F0F0F0F0Full) << 4);
  return __builtin_bswap64(w);
}

// out[i] bit j = in[j] bit i, by exchanging ever smaller off-diagonal blocks.
void transpose_64x64(uint64_t w[64]) {
  uint64_t mask = 0x00000000FFFFFFFFull;
  for (int width = 32; width != 0; width >>= 1, mask ^= mask << width) {
    for (int k = 0; k < 64; k = ((k | width) + 1) & ~width) {
      const uint64_t t = ((w[k] >> width) ^ w[k | width]) & mask;
      w[k] ^= t << width;
      w[k | width] ^= t;
    }
  }
}

// Says of 64 labels in a row which belong to the wanted ones.
template <class T>
class Membership {
 public:
  // The labels of `values`, or all but them.
  Membership(const std::vector<int64_t>& values, bool is_signed, bool all_but) : all_but_(all_but) {
    for (const int64_t value : values) {
      const T raw = static_cast<T>(value);
      if (label_value(raw, is_signed) == value) values_.push_back(raw);  // others cannot occur in this type
    }
    never_ = values_.empty() && !all_but;
    std::sort(values_.begin(), values_.end());
    if constexpr (sizeof(T) == 1) {
      table_.fill(all_but);
      for (const T value : values_) table_[value] = !all_but;
    }
  }

  bool has(T label) const {
    if constexpr (sizeof(T) == 1) return table_[label];
    return std::binary_search(values_.begin(), values_.end(), label) != all_but_;
  }

  uint64_t of_64(const T* labels) const {
    if (never_) return 0;
#if defined(__SSE2__)
    if constexpr (sizeof(T) == 1) {
      if (values_.size() <= 8) return of_64_bytes(labels) ^ flipped();
    }
    if constexpr (sizeof(T) == 2) {
      if (values_.size() <= 8) return of_64_shorts(labels) ^ flipped();
    }
#endif
    return of(labels, 1, 64);
  }

  uint64_t of(const T* labels, int64_t stride, int64_t count) const {
    uint64_t word = 0;
    T last = labels[0];
    bool is_in = !never_ && has(last);
    for (int64_t i = 0; i < count; ++i) {
      const T label = labels[i * stride];
      if (label != last) {
        last = label;
        is_in = !never_ && has(label);
      }
      word |= static_cast<uint64_t>(is_in) << i;
    }
    return word;
  }

 private:
  uint64_t flipped() const { return all_but_ ? ~uint64_t{0} : 0; }

#if defined(__SSE2__)
  uint64_t of_64_bytes(const T* labels) const {
    uint64_t word = 0;
    for (int part = 0; part < 4; ++part) {
      const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(labels + 16 * part));
      __m128i hit = _mm_setzero_si128();
      for (const T value : values_) hit = _mm_or_si128(hit, _mm_cmpeq_epi8(v, _mm_set1_epi8(static_cast<char>(value))));
      word |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(hit))) << (16 * part);
    }
    return word;
  }

  uint64_t of_64_shorts(const T* labels) const {
    uint64_t word = 0;
    for (int part = 0; part < 4; ++part) {
      const auto* at = reinterpret_cast<const __m128i*>(labels + 16 * part);
      const __m128i low = _mm_loadu_si128(at), high = _mm_loadu_si128(at + 1);
      __m128i hit_low = _mm_setzero_si128(), hit_high = _mm_setzero_si128();
      for (const T value : values_) {
        const __m128i wanted = _mm_set1_epi16(static_cast<short>(value));
        hit_low = _mm_or_si128(hit_low, _mm_cmpeq_epi16(low, wanted));
        hit_high = _mm_or_si128(hit_high, _mm_cmpeq_epi16(high, wanted));
      }
      const int bits = _mm_movemask_epi8(_mm_packs_epi16(hit_low, hit_high));
      word |= static_cast<uint64_t>(static_cast<uint32_t>(bits)) << (16 * part);
    }
    return word;
  }
#endif

  std::vector<T> values_;
  std::array<uint8_t, 256> table_{};
  bool all_but_, never_;
};

// 64 labels (or fewer at the end of a row) along an axis of unit stride, in the axis's own direction. `end`: of the array.
template <class T>
uint64_t word_along(const Membership<T>& wanted, const T* at, int64_t stride, int64_t count, const T* end) {
  if (count == 64 && stride == 1) return wanted.of_64(at);
  if (count == 64 && stride == -1) return reverse_bits(wanted.of_64(at - 63));
  if (stride != 1) return wanted.of(at, stride, count);
  const uint64_t own = (uint64_t{1} << count) - 1;
  if (end - at >= 64) return wanted.of_64(at) & own;  // the next rows are read, too
  T whole[64] = {};  // not beyond the end: somebody else's memory, or none
  std::memcpy(whole, at, static_cast<size_t>(count) * sizeof(T));
  return wanted.of_64(whole) & own;
}

template <class T>
struct Packer {
  const LabelView& view;
  Membership<T> wanted;
  std::array<int64_t, 3> start;
  BitVolume& out;
  const T* end = end_of(view);

  // One past the item that lies last in memory.
  static const T* end_of(const LabelView& view) {
    const T* last = static_cast<const T*>(view.data);
    for (size_t axis = 0; axis < 3; ++axis) last += std::max<int64_t>(0, (view.shape[axis] - 1) * view.stride[axis]);
    return last + 1;
  }

  const T* at(int64_t z, int64_t y, int64_t x) const {
    return static_cast<const T*>(view.data) + (start[0] + z) * view.stride[0] + (start[1] + y) * view.stride[1] +
           (start[2] + x) * view.stride[2];
  }

  void rows_in_memory_order(int64_t z) {
    for (int64_t y = 0; y < out.ny; ++y) {
      uint64_t* row = out.row(z, y);
      for (int64_t w = 0; w < out.row_words; ++w) {
        const int64_t count = std::min<int64_t>(64, out.nx - 64 * w);
        row[w] = word_along(wanted, at(z, y, 64 * w), view.stride[2], count, end);
      }
    }
  }

  // Memory runs along another axis (Fortran order): read 64 x 64 blocks along it and transpose the bits.
  void blocks_across(int64_t index, int fast) {
    const int64_t length = fast == 0 ? out.nz : out.ny;
    uint64_t block[64];
    for (int64_t w = 0; w < out.row_words; ++w) {
      const int64_t columns = std::min<int64_t>(64, out.nx - 64 * w);
      for (int64_t f = 0; f < length; f += 64) {
        const int64_t count = std::min<int64_t>(64, length - f);
        uint64_t any = 0;
        for (int64_t c = 0; c < columns; ++c) {
          const T* from = fast == 0 ? at(f, index, 64 * w + c) : at(index, f, 64 * w + c);
          any |= block[c] = word_along(wanted, from, view.stride[static_cast<size_t>(fast)], count, end);
        }
        if (any == 0) continue;  // the volume starts out empty
        std::fill(block + columns, block + 64, 0);
        transpose_64x64(block);
        for (int64_t r = 0; r < count; ++r) {
          (fast == 0 ? out.row(f + r, index) : out.row(index, f + r))[w] = block[r];
        }
      }
    }
  }
};

struct Values {
  std::vector<int64_t> labels;
  bool all_but;  // instead of these all others
};

template <class T>
void pack(const LabelView& view, const Values& wanted, const std::array<int64_t, 3>& start, BitVolume& out, int threads) {
  Packer<T> packer{view, Membership<T>(wanted.labels, view.is_signed, wanted.all_but), start, out};
  const bool across_0 = std::abs(view.stride[0]) == 1 && out.nz > 1;
  const bool across_1 = std::abs(view.stride[1]) == 1 && out.ny > 1;
  if (std::abs(view.stride[2]) != 1 && (across_0 || across_1)) {
    const int fast = across_0 ? 0 : 1;
    parallel_for(fast == 0 ? out.ny : out.nz, threads, [&](int64_t index) { packer.blocks_across(index, fast); });
  } else {
    parallel_for(out.nz, threads, [&](int64_t z) { packer.rows_in_memory_order(z); });
  }
}

BitVolume pack_box(const LabelView& labels, const Values& wanted, const std::array<int64_t, 3>& start,
                   const std::array<int64_t, 3>& stop, int threads) {
  BitVolume out(labels.ndim, stop[0] - start[0], stop[1] - start[1], stop[2] - start[2]);
  switch (labels.item_bytes) {
    case 1: pack<uint8_t>(labels, wanted, start, out, threads); break;
    case 2: pack<uint16_t>(labels, wanted, start, out, threads); break;
    case 4: pack<uint32_t>(labels, wanted, start, out, threads); break;
    default: pack<uint64_t>(labels, wanted, start, out, threads); break;
  }
  return out;
}

}  // namespace

std::array<int, 3> walking_order(const LabelView& view) {
  std::array<int, 3> order{0, 1, 2};
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const int64_t step_a = view.shape[a] == 1 ? INT64_MAX : std::abs(view.stride[a]);
    const int64_t step_b = view.shape[b] == 1 ? INT64_MAX : std::abs(view.stride[b]);
    return step_a > step_b;
  });
  return order;
}

std::vector<PairStatistics> tabulate_pairs(const LabelView& pred, const LabelView& gt, int threads) {
  switch (pred.item_bytes) {
    case 1: return tabulate_for_pred<uint8_t>(pred, gt, threads);
    case 2: return tabulate_for_pred<uint16_t>(pred, gt, threads);
    case 4: return tabulate_for_pred<uint32_t>(pred, gt, threads);
    default: return tabulate_for_pred<uint64_t>(pred, gt, threads);
  }
}

BitVolume pack_labels(const LabelView& labels, const std::vector<int64_t>& values, const std::array<int64_t, 3>& start,
                      const std::array<int64_t, 3>& stop, int threads) {
  return pack_box(labels, {values, false}, start, stop, threads);
}

BitVolume pack_foreground(const LabelView& labels, const std::array<int64_t, 3>& start, const std::array<int64_t, 3>& stop,
                          int threads) {
  return pack_box(labels, {{0}, true}, start, stop, threads);
}

}  // namespace segauge
