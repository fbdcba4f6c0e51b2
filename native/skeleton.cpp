#include "skeleton.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

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

bool is_one_touching_piece(uint32_t set) {
  for (uint32_t piece = lowest_of(set);;) {
    const uint32_t grown = with_touching(piece) & set;
    if (grown == piece) return piece == set && set != 0;
    piece = grown;
  }
}

// Whether the background voxels that touch the voxel's faces hang together by faces within the 18-neighbourhood.
bool is_open_on_one_side(uint32_t background) {
  const uint32_t open = background & kFaces;
  for (uint32_t piece = lowest_of(open);;) {
    const uint32_t grown = (piece | sharing_face(piece)) & background;
    if (grown == piece) return (open & ~piece) == 0 && open != 0;
    piece = grown;
  }
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

// Bits by address; one word more than needed, so that a window may look past the end.
class BitField {
 public:
  explicit BitField(int64_t size) : words_(static_cast<size_t>(size / 64 + 2), 0) {}

  bool get(int64_t at) const { return words_[static_cast<size_t>(at >> 6)] >> (at & 63) & 1; }
  void set(int64_t at) { words_[static_cast<size_t>(at >> 6)] |= uint64_t{1} << (at & 63); }
  void clear(int64_t at) { words_[static_cast<size_t>(at >> 6)] &= ~(uint64_t{1} << (at & 63)); }
  uint64_t& word(int64_t i) { return words_[static_cast<size_t>(i)]; }
  uint64_t word(int64_t i) const { return words_[static_cast<size_t>(i)]; }
  int64_t word_count() const { return static_cast<int64_t>(words_.size()); }

  // The three bits from `at` on.
  uint32_t window(int64_t at) const {
    const int shift = static_cast<int>(at & 63);
    uint64_t bits = word(at >> 6) >> shift;
    if (shift > 61) bits |= word((at >> 6) + 1) << (64 - shift);
    return static_cast<uint32_t>(bits & 7);
  }

 private:
  std::vector<uint64_t> words_;
};

// A voxel is named by the address of its bit, in a volume with one empty voxel around the image: a step along an axis
// is a fixed number, and no neighbour needs a look at the border.
struct Layout {
  int64_t nz, ny, row, plane;  // rows and planes of the padded volume; bits a row and a plane

  explicit Layout(const BitVolume& mask)
      : nz(mask.nz + 2), ny(mask.ny + 2), row((mask.nx + 2 + 63) / 64 * 64), plane(row * ny) {}
  int64_t size() const { return plane * nz; }
  int64_t address(int64_t z, int64_t y) const { return (z + 1) * plane + (y + 1) * row; }
};

// Every voxel's squared distance to the nearest background voxel, in voxels, exact; kept for mask voxels only.
class Distances {
 public:
  Distances(const BitField& mask, const Layout& layout, int ndim) : mask_(mask), layout_(layout) {
    before_.resize(static_cast<size_t>(mask.word_count()));
    int64_t total = 0;
    for (int64_t i = 0; i < mask.word_count(); ++i) {
      before_[static_cast<size_t>(i)] = total;
      total += count_bits(mask.word(i));
    }
    squares_.assign(static_cast<size_t>(total), UINT32_MAX);
    sweep(1);
    sweep(layout.row);
    if (ndim == 3) sweep(layout.plane);  // a flat image has no depth: what is above it is no background
  }

  const std::vector<uint32_t>& squares() const { return squares_; }  // in the order of addresses

  // Sum over the 27 voxels around one; background counts nothing.
  uint64_t sum_around(int64_t at) const {
    uint64_t sum = 0;
    for (int64_t z = -1; z <= 1; ++z)
      for (int64_t y = -1; y <= 1; ++y) {
        const int64_t first = at + z * layout_.plane + y * layout_.row - 1;
        const uint32_t bits = mask_.window(first);
        if (bits == 0) continue;
        const size_t from = rank(first);
        for (int k = 0; k < count_bits(bits); ++k) sum += squares_[from + static_cast<size_t>(k)];
      }
    return sum;
  }

 private:
  // How many mask voxels have a smaller address.
  size_t rank(int64_t at) const {
    const uint64_t below = (uint64_t{1} << (at & 63)) - 1;
    return static_cast<size_t>(before_[static_cast<size_t>(at >> 6)] + count_bits(mask_.word(at >> 6) & below));
  }

  // One axis after the other: the least of what the voxels of the same run have and the squared way to them.
  void sweep(int64_t step) {
    std::vector<size_t> run;
    for (int64_t i = 0; i < mask_.word_count(); ++i) {
      uint64_t todo = mask_.word(i);
      for (; todo != 0; todo &= todo - 1) {
        const int64_t start = i * 64 + lowest_bit(todo);
        if (mask_.get(start - step)) continue;
        run.clear();
        for (int64_t at = start; mask_.get(at); at += step) run.push_back(rank(at));
        shorten(run);
      }
    }
  }

  // The runs end at background on both sides, so nothing beyond their ends is nearer.
  void shorten(const std::vector<size_t>& run) {
    const auto n = static_cast<int64_t>(run.size());
    old_.clear();
    for (const size_t voxel : run) old_.push_back(squares_[voxel]);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t to_end = std::min(i + 1, n - i);
      uint64_t best = std::min<uint64_t>(old_[static_cast<size_t>(i)], static_cast<uint64_t>(to_end * to_end));
      for (int64_t k = 1; k < to_end && static_cast<uint64_t>(k * k) < best; ++k) {
        const uint64_t nearer = std::min(old_[static_cast<size_t>(i - k)], old_[static_cast<size_t>(i + k)]);
        best = std::min(best, nearer + static_cast<uint64_t>(k * k));
      }
      squares_[run[static_cast<size_t>(i)]] = static_cast<uint32_t>(std::min<uint64_t>(best, UINT32_MAX));
    }
  }

  const BitField& mask_;
  const Layout layout_;
  std::vector<int64_t> before_;
  std::vector<uint32_t> squares_;
  std::vector<uint64_t> old_;
};

class Thinning {
 public:
  explicit Thinning(const BitVolume& mask)
      : ndim_(mask.ndim), layout_(mask), left_(padded(mask, layout_)), reached_(layout_.size()), pooled_(layout_.size()),
        marked_(layout_.size()) {
    if (mask.ndim == 3) directions_ = {-layout_.plane, layout_.plane};
    for (const int64_t step : {-layout_.row, layout_.row, int64_t{-1}, int64_t{1}}) directions_.push_back(step);
  }

  // Shallow voxels first; where the depth is the same, those with less depth around them. The outermost are all
  // alike: in a mask that is nowhere deeper, an order among them would only wear away the ends.
  void run() {
    const BitField mask = left_;
    const Distances distances(mask, layout_, ndim_);
    const std::vector<int64_t> order = by_depth(mask, distances.squares());
    std::vector<std::pair<uint64_t, int64_t>> bucket;
    size_t at = 0;
    for (size_t square = 1; square < bucket_sizes_.size(); ++square) {
      bucket.clear();
      for (const size_t end = at + static_cast<size_t>(bucket_sizes_[square]); at < end; ++at)
        bucket.emplace_back(square > 1 ? distances.sum_around(order[at]) : 0, order[at]);
      std::sort(bucket.begin(), bucket.end());
      thin_bucket(bucket);
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
  static BitField padded(const BitVolume& mask, const Layout& layout) {
    BitField field(layout.size());
    for (int64_t z = 0; z < mask.nz; ++z)
      for (int64_t y = 0; y < mask.ny; ++y) {
        const int64_t first = layout.address(z, y) / 64;
        for (int64_t i = 0; i < mask.row_words; ++i) {
          field.word(first + i) |= mask.row(z, y)[i] << 1;
          if (mask.row(z, y)[i] >> 63) field.word(first + i + 1) |= 1;
        }
      }
    return field;
  }

  std::vector<int64_t> by_depth(const BitField& mask, const std::vector<uint32_t>& squares) {
    const uint32_t largest = squares.empty() ? 0 : *std::max_element(squares.begin(), squares.end());
    // A voxel this deep has a disk of such voxels around it, so the table is no longer than the list of voxels.
    bucket_sizes_.assign(largest + size_t{1}, 0);
    for (const uint32_t square : squares) ++bucket_sizes_[square];
    std::vector<size_t> next(bucket_sizes_.size(), 0);
    for (size_t i = 1; i < next.size(); ++i) next[i] = next[i - 1] + static_cast<size_t>(bucket_sizes_[i - 1]);
    std::vector<int64_t> order(squares.size());
    size_t voxel = 0;
    for (int64_t i = 0; i < mask.word_count(); ++i)
      for (uint64_t todo = mask.word(i); todo != 0; todo &= todo - 1)
        order[next[squares[voxel++]]++] = i * 64 + lowest_bit(todo);
    return order;
  }

  void thin_bucket(const std::vector<std::pair<uint64_t, int64_t>>& bucket) {
    for (size_t from = 0, to = 0; from < bucket.size(); from = to) {
      for (; to < bucket.size() && bucket[to].first == bucket[from].first; ++to) {
        reached_.set(bucket[to].second);
        pool(bucket[to].second);
      }
      thin();
    }
  }

  // Removes all that can be removed of what has been reached. At the end nothing of that is removable any more, so
  // the next depth starts with its own voxels only.
  void thin() {
    for (keep_removable(pool_); !pool_.empty(); keep_removable(pool_)) {
      waiting_ = pool_;
      bool any = remove_together(waiting_);
      for (const int64_t direction : directions_) {
        keep_removable(waiting_);
        open_.clear();
        std::copy_if(waiting_.begin(), waiting_.end(), std::back_inserter(open_),
                     [&](int64_t voxel) { return !left_.get(voxel + direction); });
        any |= remove_together(open_);
      }
      if (!any) remove_apart();
    }
  }

  void pool(int64_t voxel) {
    if (pooled_.get(voxel)) return;
    pooled_.set(voxel);
    pool_.push_back(voxel);
  }

  // A voxel is removable if it is simple and not the end of a curve. One that is not becomes so only by a change
  // around it, which brings it back into the pool.
  bool is_removable(int64_t voxel) const {
    const uint32_t around = bits_around(left_, voxel);
    return left_.get(voxel) && !is_single(around & ~kCenter) && is_simple(around);
  }

  void keep_removable(std::vector<int64_t>& voxels) {
    voxels.erase(std::remove_if(voxels.begin(), voxels.end(),
                                [&](int64_t voxel) {
                                  if (is_removable(voxel)) return false;
                                  if (&voxels == &pool_) pooled_.clear(voxel);
                                  return true;
                                }),
                 voxels.end());
  }

  // Removes those of the chosen voxels that can go whichever of the others go with them, all at once: the order in
  // which they are listed plays no role.
  bool remove_together(const std::vector<int64_t>& chosen) {
    going_.clear();
    for (const int64_t voxel : chosen) marked_.set(voxel);
    for (const int64_t voxel : chosen)
      if (is_simple_among(bits_around(left_, voxel), bits_around(marked_, voxel))) going_.push_back(voxel);
    for (const int64_t voxel : chosen) marked_.clear(voxel);
    for (const int64_t voxel : going_) left_.clear(voxel);
    for (const int64_t voxel : going_) pool_around(voxel);
    return !going_.empty();
  }

  // Where all wait for each other: one after the other, but no two neighbours.
  void remove_apart() {
    going_ = pool_;
    std::sort(going_.begin(), going_.end());
    going_.erase(std::remove_if(going_.begin(), going_.end(),
                                [&](int64_t voxel) {
                                  if (bits_around(marked_, voxel) != 0) return true;
                                  marked_.set(voxel);
                                  return false;
                                }),
                 going_.end());
    for (const int64_t voxel : going_) marked_.clear(voxel);
    for (const int64_t voxel : going_) left_.clear(voxel);
    for (const int64_t voxel : going_) pool_around(voxel);
  }

  void pool_around(int64_t voxel) {
    for (uint32_t todo = bits_around(left_, voxel) & bits_around(reached_, voxel); todo != 0; todo &= todo - 1)
      pool(voxel + offset(lowest_bit(todo)));
  }

  int64_t offset(int bit) const {
    return (bit / 9 - 1) * layout_.plane + (bit / 3 % 3 - 1) * layout_.row + (bit % 3 - 1);
  }

  uint32_t bits_around(const BitField& field, int64_t voxel) const {
    uint32_t around = 0;
    int shift = 0;
    for (int64_t z = -1; z <= 1; ++z)
      for (int64_t y = -1; y <= 1; ++y, shift += 3)
        around |= field.window(voxel + z * layout_.plane + y * layout_.row - 1) << shift;
    return around;
  }

  const int ndim_;
  const Layout layout_;
  BitField left_;                       // what has not been removed
  BitField reached_, pooled_, marked_;  // of the current depth or shallower; in pool_; chosen for a turn
  std::vector<int64_t> pool_;           // holds every reached voxel that may be removable
  std::vector<int64_t> waiting_, open_, going_, directions_, bucket_sizes_;
};

}  // namespace

BitVolume skeletonize(const BitVolume& mask) {
  Thinning thinning(mask);
  thinning.run();
  return thinning.result(mask);
}

}  // namespace segauge
