#include "topology/skeleton.hpp"

#include <algorithm>

#include "core/parallel.hpp"
#include "topology/squared_edt.hpp"

namespace segauge {
namespace {

// A neighbourhood of 3 x 3 x 3 voxels as 27 bits; bit 9 z + 3 y + x, so the voxel itself is bit 13.
constexpr uint32_t kCenter = uint32_t{1} << 13;

constexpr uint32_t bits_where(bool (*chosen)(int z, int y, int x)) {
  uint32_t bits = 0;
  for (int i = 0; i < 27; ++i)
    if (chosen(i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1)) bits |= uint32_t{1} << i;
  return bits;
}

constexpr uint32_t kFaces = bits_where([](int z, int y, int x) { return z * z + y * y + x * x == 1; });
constexpr uint32_t kFacesAndEdges =
    bits_where([](int z, int y, int x) { return z * z + y * y + x * x == 1 || z * z + y * y + x * x == 2; });
constexpr uint32_t kNotLeft = bits_where([](int, int, int x) { return x > -1; });
constexpr uint32_t kNotRight = bits_where([](int, int, int x) { return x < 1; });
constexpr uint32_t kNotFront = bits_where([](int, int y, int) { return y > -1; });
constexpr uint32_t kNotBack = bits_where([](int, int y, int) { return y < 1; });
constexpr uint32_t kAll = (uint32_t{1} << 27) - 1;

constexpr bool is_single(uint32_t bits) { return bits != 0 && (bits & (bits - 1)) == 0; }

constexpr uint32_t along_x(uint32_t bits) { return (bits & kNotRight) << 1 | (bits & kNotLeft) >> 1; }
constexpr uint32_t along_y(uint32_t bits) { return (bits & kNotBack) << 3 | (bits & kNotFront) >> 3; }
constexpr uint32_t along_z(uint32_t bits) { return (bits << 9 | bits >> 9) & kAll; }

constexpr uint32_t lowest_of(uint32_t bits) { return bits & (~bits + 1); }

// A set of neighbours and all that touch it by a corner, an edge or a face.
constexpr uint32_t with_touching(uint32_t bits) {
  bits |= along_x(bits);
  bits |= along_y(bits);
  return bits | along_z(bits);
}

// The neighbours that share a face with one of a set.
constexpr uint32_t sharing_face(uint32_t bits) { return along_x(bits) | along_y(bits) | along_z(bits); }

// A neighbour across a face touches most of the others, so the piece that begins there is soon complete.
bool is_one_touching_piece(uint32_t grid) {
  for (uint32_t piece = lowest_of((grid & kFaces) != 0 ? grid & kFaces : grid); piece != 0;) {
    const uint32_t grown = with_touching(piece) & grid;
    if (grown == grid) return true;
    if (grown == piece) return false;
    piece = grown;
  }
  return false;
}

// Whether the background voxels that touch the voxel's faces hang together by faces within the 18-neighbourhood.
bool is_open_on_one_side(uint32_t background) {
  const uint32_t open = background & kFaces;
  for (uint32_t piece = lowest_of(open); piece != 0;) {
    if ((open & ~piece) == 0) return true;
    const uint32_t beside = piece | (sharing_face(piece) & background);
    const uint32_t grown = beside | (sharing_face(beside) & background);
    if (grown == piece) return false;
    piece = grown;
  }
  return false;
}

// A voxel is simple if removing it changes no topology: its neighbours in the mask are one piece, and so is the
// background around it.
bool is_simple(uint32_t around) {
  return is_open_on_one_side(~around & kFacesAndEdges) && is_one_touching_piece(around & ~kCenter);
}

// Whether a simple voxel is simple whatever other voxels of `chosen` are removed with it (Bertrand's P-simple points).
// What stays for certain must be one piece that every chosen neighbour touches; and past every chosen face neighbour
// the background must have a way, over another face neighbour and the edge neighbour between the two.
bool is_simple_among(uint32_t around, uint32_t chosen) {
  const uint32_t staying = around & ~chosen & ~kCenter, leaving = chosen & ~kCenter;
  if (!is_one_touching_piece(staying) || (leaving & ~with_touching(staying)) != 0) return false;
  const uint32_t background = ~around & kFacesAndEdges;
  const uint32_t ways = sharing_face(background & kFaces) & background & ~kFaces;
  return (leaving & kFaces & ~sharing_face(ways)) == 0;
}

// Bits by address, in bytes: the nine rows around a voxel begin at the same bit of a byte.
class BitField {
 public:
  explicit BitField(const PaddedLayout& layout)
      : row_(layout.row / 8), plane_(layout.plane / 8), bytes_(static_cast<size_t>(layout.size() / 8 + 1), 0) {}
  BitField(const PaddedLayout& layout, const std::vector<uint64_t>& words) : BitField(layout) {
    for (size_t i = 0; i + 1 < bytes_.size(); ++i) bytes_[i] = static_cast<uint8_t>(words[i / 8] >> (8 * (i % 8)));
  }

  bool get(int64_t at) const { return bytes_[static_cast<size_t>(at >> 3)] >> (at & 7) & 1; }
  void set(int64_t at) { bytes_[static_cast<size_t>(at >> 3)] |= static_cast<uint8_t>(1 << (at & 7)); }
  void clear(int64_t at) { bytes_[static_cast<size_t>(at >> 3)] &= static_cast<uint8_t>(~(1 << (at & 7))); }
  uint64_t word(int64_t i) const {
    uint64_t out = 0;
    for (int64_t k = 0; k < 8; ++k) out |= uint64_t{bytes_[static_cast<size_t>(8 * i + k)]} << (8 * k);
    return out;
  }

  // The 27 bits around a voxel that is not on the border of the padded volume.
  uint32_t around(int64_t at) const {
    const int shift = static_cast<int>((at - 1) & 7);
    const uint8_t* middle = bytes_.data() + ((at - 1) >> 3);
    return plane_around(middle - plane_, shift) | plane_around(middle, shift) << 9 |
           plane_around(middle + plane_, shift) << 18;
  }

 private:
  uint32_t plane_around(const uint8_t* middle, int shift) const {
    return three(middle - row_, shift) | three(middle, shift) << 3 | three(middle + row_, shift) << 6;
  }
  static uint32_t three(const uint8_t* byte, int shift) { return (byte[0] | uint32_t{byte[1]} << 8) >> shift & 7; }

  int64_t row_, plane_;  // in bytes
  std::vector<uint8_t> bytes_;
};

class Thinning {
 public:
  explicit Thinning(const BitVolume& mask)
      : layout_(mask), left_(layout_, padded_words(mask, layout_)), live_(layout_), pooled_(layout_), marked_(layout_) {
    if (mask.ndim == 3) directions_ = {-layout_.plane, layout_.plane};
    for (const int64_t step : {-layout_.row, layout_.row, int64_t{-1}, int64_t{1}}) directions_.push_back(step);
  }

  // Shallow voxels first; where the depth is the same, those with less depth around them. The outermost are all
  // alike: in a mask that is nowhere deeper, an order among them would only wear away the ends.
  void run(const DepthOrder& order) {
    for (size_t square = 1; square + 1 < order.begin.size(); ++square)
      for (size_t at = order.begin[square]; at < order.begin[square + 1];) {
        const uint64_t sum = order.sum(at);
        for (; at < order.begin[square + 1] && order.sum(at) == sum; ++at) {
          live_.set(order.address(at));
          consider(order.address(at));
        }
        thin();
      }
  }

  BitVolume result(const BitVolume& like) const {
    BitVolume out(like.ndim, like.nz, like.ny, like.nx);
    for (int64_t z = 0; z < out.nz; ++z)
      for (int64_t y = 0; y < out.ny; ++y) {
        const int64_t first = layout_.address(z, y) / 64;
        for (int64_t i = 0; i < out.row_words; ++i) {
          uint64_t word = left_.word(first + i) >> 1;
          if (i * 64 + 64 < layout_.row) word |= left_.word(first + i + 1) << 63;
          out.row(z, y)[i] = word;
        }
      }
    return out;
  }

 private:
  struct Voxel {
    int64_t at;
    uint32_t around;  // what is left of its neighbours
  };

  // Removes all that can be removed of what has been reached. At the end nothing of that is removable any more, so
  // the next depth starts with its own voxels only.
  void thin() {
    for (; !waiting_.empty(); take_from_pool()) {
      bool any = remove_together(waiting_), changed = any;
      if (going_.size() == waiting_.size()) continue;
      for (const int64_t direction : directions_) {
        if (changed) keep_removable(waiting_);
        if (waiting_.empty()) break;
        open_.clear();
        for (const Voxel& voxel : waiting_)
          if (!left_.get(voxel.at + direction)) open_.push_back(voxel);
        changed = remove_together(open_);
        any |= changed;
      }
      if (!any) remove_apart();
      for (const Voxel& voxel : waiting_) pool(voxel.at);
    }
  }

  void pool(int64_t voxel) {
    if (pooled_.get(voxel)) return;
    pooled_.set(voxel);
    pool_.push_back(voxel);
  }

  void take_from_pool() {
    waiting_.clear();
    for (const int64_t at : pool_) {
      pooled_.clear(at);
      consider(at);
    }
    pool_.clear();
  }

  // Lets a voxel wait if it is removable: simple and not the end of a curve. One that is not becomes so only by a
  // change around it, which brings it back into the pool.
  void consider(int64_t at) {
    const uint32_t around = left_.around(at);
    if (is_removable(around)) waiting_.push_back({at, around});
  }

  static bool is_removable(uint32_t around) {
    return (around & kCenter) != 0 && !is_single(around & ~kCenter) && is_simple(around);
  }

  void keep_removable(std::vector<Voxel>& voxels) const {
    size_t kept = 0;
    for (const Voxel& voxel : voxels) {
      if (!left_.get(voxel.at)) continue;
      const uint32_t around = left_.around(voxel.at);
      if (is_removable(around)) voxels[kept++] = {voxel.at, around};
    }
    voxels.resize(kept);
  }

  // Removes those of the chosen voxels, all removable, that can go whichever of the others go with them, all at once:
  // the order in which they are listed plays no role.
  bool remove_together(const std::vector<Voxel>& chosen) {
    going_.clear();
    if (chosen.size() == 1) {
      going_.push_back(chosen[0].at);
    } else {
      for (const Voxel& voxel : chosen) marked_.set(voxel.at);
      for (const Voxel& voxel : chosen) {
        const uint32_t others = marked_.around(voxel.at) & ~kCenter;
        if (others == 0 || is_simple_among(voxel.around, others)) going_.push_back(voxel.at);
      }
      for (const Voxel& voxel : chosen) marked_.clear(voxel.at);
    }
    remove_going();
    return !going_.empty();
  }

  // Where all wait for each other: one after the other, but no two neighbours.
  void remove_apart() {
    std::sort(waiting_.begin(), waiting_.end(), [](const Voxel& a, const Voxel& b) { return a.at < b.at; });
    for (const Voxel& voxel : waiting_) {
      if (marked_.around(voxel.at) != 0) continue;
      marked_.set(voxel.at);
      going_.push_back(voxel.at);
    }
    for (const int64_t voxel : going_) marked_.clear(voxel);
    remove_going();
  }

  void remove_going() {
    for (const int64_t voxel : going_) {
      left_.clear(voxel);
      live_.clear(voxel);
    }
    for (const int64_t voxel : going_)
      for (uint32_t todo = live_.around(voxel); todo != 0; todo &= todo - 1) pool(voxel + offset(lowest_bit(todo)));
  }

  int64_t offset(int bit) const {
    return (bit / 9 - 1) * layout_.plane + (bit / 3 % 3 - 1) * layout_.row + (bit % 3 - 1);
  }

  const PaddedLayout layout_;
  BitField left_, live_;       // what has not been removed; of that, what is as deep as the current depth or less
  BitField pooled_, marked_;   // in pool_; chosen for a turn
  std::vector<int64_t> pool_;  // holds every live voxel that may be removable
  std::vector<Voxel> waiting_, open_;
  std::vector<int64_t> going_, directions_;
};

}  // namespace

BitVolume skeletonize(const BitVolume& mask) {
  Thinning thinning(mask);
  thinning.run(DepthOrder(mask, PaddedLayout(mask)));
  return thinning.result(mask);
}

std::pair<BitVolume, BitVolume> skeletonize_pair(const BitVolume& a, const BitVolume& b, int threads) {
  // Thinning takes up to 12 bytes a voxel of the mask: large masks take turns.
  constexpr int64_t kMostAtOnce = int64_t{1} << 25;
  std::pair<BitVolume, BitVolume> out;
  parallel_for(2, a.count() + b.count() <= kMostAtOnce ? threads : 1,
               [&](int64_t i) { (i == 0 ? out.first : out.second) = skeletonize(i == 0 ? a : b); });
  return out;
}

}  // namespace segauge
