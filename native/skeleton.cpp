#include "skeleton.hpp"

#include <algorithm>
#include <utility>

namespace segauge {
namespace {

// A neighbourhood of 3 x 3 x 3 voxels as 27 bits; bit 9 z + 3 y + x, so the voxel itself is bit 13.
constexpr uint32_t kCenter = uint32_t{1} << 13;

// Squared distances are counted in a table: a structure of more than 4096 voxels to its middle is refused.
constexpr uint32_t kLargestSquare = uint32_t{1} << 24;

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

// The part of a set of neighbours that hangs together with `seed` by corners, edges or faces.
uint32_t touching_part(uint32_t seed, uint32_t set) {
  for (uint32_t grown = seed;; seed = grown) {
    grown |= along_x(grown);
    grown |= along_y(grown);
    grown = (grown | along_z(grown)) & set;
    if (grown == seed) return seed;
  }
}

// The same by faces only.
uint32_t face_sharing_part(uint32_t seed, uint32_t set) {
  for (;;) {
    const uint32_t grown = (seed | along_x(seed) | along_y(seed) | along_z(seed)) & set;
    if (grown == seed) return seed;
    seed = grown;
  }
}

// A voxel is simple if removing it changes no topology: its neighbours in the mask are one piece, and so are the
// background voxels around it that touch one of its faces, connected by faces within the 18-neighbourhood.
bool is_simple(uint32_t around) {
  const uint32_t mask = around & ~kCenter;
  const uint32_t background = ~around & kFacesAndEdges;
  const uint32_t open = background & kFaces;
  if (mask == 0 || open == 0) return false;
  if (touching_part(mask & (~mask + 1), mask) != mask) return false;
  return (open & ~face_sharing_part(open & (~open + 1), background)) == 0;
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
        changed_(layout_.size()), chosen_(layout_.size()) {
    if (mask.ndim == 3) directions_ = {-layout_.plane, layout_.plane};
    for (const int64_t step : {-layout_.row, layout_.row, int64_t{-1}, int64_t{1}}) directions_.push_back(step);
  }

  // Shallow voxels first; where the depth is the same, those with less depth around them.
  void run() {
    const BitField mask = left_;
    const Distances distances(mask, layout_, ndim_);
    const std::vector<int64_t> order = by_depth(mask, distances.squares());
    std::vector<std::pair<uint64_t, int64_t>> bucket;
    size_t at = 0;
    for (const int64_t count : bucket_sizes_) {
      bucket.clear();
      for (const size_t end = at + static_cast<size_t>(count); at < end; ++at)
        bucket.emplace_back(distances.sum_around(order[at]), order[at]);
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
    if (largest > kLargestSquare) throw std::invalid_argument("the mask is more than 8192 voxels thick");
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
    std::vector<int64_t> pool;
    for (size_t from = 0, to = 0; from < bucket.size(); from = to) {
      pool.clear();
      for (; to < bucket.size() && bucket[to].first == bucket[from].first; ++to) pool.push_back(bucket[to].second);
      for (const int64_t voxel : pool) reached_.set(voxel);
      while (!pool.empty()) pool = pass(pool);
    }
  }

  // Once through all directions. Returns the voxels whose neighbourhood has changed: what stayed and did not change
  // need not be looked at again.
  std::vector<int64_t> pass(const std::vector<int64_t>& pool) {
    std::vector<int64_t> changed;
    for (const int64_t voxel : pool) pooled_.set(voxel);
    for (const int64_t direction : directions_) {
      chosen_list_.clear();
      for (const int64_t voxel : pool) choose(voxel, direction);
      for (const int64_t voxel : changed)
        if (!pooled_.get(voxel)) choose(voxel, direction);
      std::sort(chosen_list_.begin(), chosen_list_.end());
      for (const int64_t voxel : chosen_list_) chosen_.set(voxel);
      for (const int64_t voxel : chosen_list_) remove(voxel, changed);
      for (const int64_t voxel : chosen_list_) chosen_.clear(voxel);
    }
    for (const int64_t voxel : pool) pooled_.clear(voxel);
    for (const int64_t voxel : changed) changed_.clear(voxel);
    changed.erase(std::remove_if(changed.begin(), changed.end(), [&](int64_t v) { return !left_.get(v); }),
                  changed.end());
    return changed;
  }

  void choose(int64_t voxel, int64_t direction) {
    if (!left_.get(voxel) || left_.get(voxel + direction)) return;
    const uint32_t around = neighbourhood(voxel);
    if (!is_single(around & ~kCenter) && is_simple(around)) chosen_list_.push_back(voxel);
  }

  // A voxel with a single neighbour is the end of a curve, unless that neighbour stays in this turn: then it is the
  // last of a layer. Without this rule a row of voxels would be eaten up one after the other.
  void remove(int64_t voxel, std::vector<int64_t>& changed) {
    const uint32_t around = neighbourhood(voxel);
    const uint32_t others = around & ~kCenter;
    if (!is_simple(around)) return;
    if (is_single(others) && chosen_.get(voxel + offset(lowest_bit(others)))) return;
    left_.clear(voxel);
    for (uint32_t todo = others; todo != 0; todo &= todo - 1) {
      const int64_t neighbour = voxel + offset(lowest_bit(todo));
      if (!reached_.get(neighbour) || changed_.get(neighbour)) continue;
      changed_.set(neighbour);
      changed.push_back(neighbour);
    }
  }

  int64_t offset(int bit) const {
    return (bit / 9 - 1) * layout_.plane + (bit / 3 % 3 - 1) * layout_.row + (bit % 3 - 1);
  }

  uint32_t neighbourhood(int64_t voxel) const {
    uint32_t around = 0;
    int shift = 0;
    for (int64_t z = -1; z <= 1; ++z)
      for (int64_t y = -1; y <= 1; ++y, shift += 3)
        around |= left_.window(voxel + z * layout_.plane + y * layout_.row - 1) << shift;
    return around;
  }

  const int ndim_;
  const Layout layout_;
  BitField left_;                                 // what has not been removed
  BitField reached_, pooled_, changed_, chosen_;  // marks of voxels
  std::vector<int64_t> directions_, chosen_list_, bucket_sizes_;
};

}  // namespace

BitVolume skeletonize(const BitVolume& mask) {
  Thinning thinning(mask);
  thinning.run();
  return thinning.result(mask);
}

}  // namespace segauge
