#include "labels/packing.hpp"

#include <cstring>

#include "core/parallel.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace segauge {
namespace {

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

// 64 labels (or fewer at the end of a row) along an axis of unit stride, in the axis's own direction. `end`: of the
// array.
template <class T>
uint64_t word_along(const Membership<T>& wanted, const T* at, int64_t stride, int64_t count, const T* end) {
  if (count == 64 && stride == 1) return wanted.of_64(at);
  if (count == 64 && stride == -1) return reverse_bits(wanted.of_64(at - 63));
  if (stride != 1) return wanted.of(at, stride, count);
  const uint64_t own = (uint64_t{1} << count) - 1;
  if (end - at >= 64) return wanted.of_64(at) & own;  // the next rows are read, too
  T whole[64] = {};                                   // not beyond the end: memory that is not ours
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
void pack(const LabelView& view, const Values& wanted, const std::array<int64_t, 3>& start, BitVolume& out,
          int threads) {
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

BitVolume pack_labels(const LabelView& labels, const std::vector<int64_t>& values, const std::array<int64_t, 3>& start,
                      const std::array<int64_t, 3>& stop, int threads) {
  return pack_box(labels, {values, false}, start, stop, threads);
}

BitVolume pack_foreground(const LabelView& labels, const std::array<int64_t, 3>& start,
                          const std::array<int64_t, 3>& stop, int threads) {
  return pack_box(labels, {{0}, true}, start, stop, threads);
}

}  // namespace segauge
