#include "topology/components.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace segauge {
namespace {

constexpr int64_t kMostRuns = std::numeric_limits<int32_t>::max();

// How far along x a neighbour in a row (dz, dy) away may be shifted; -1 where that row has no neighbours at all.
int reach_along_row(int dz, int dy, int rank) {
  const int used = (dz != 0) + (dy != 0);
  if (used > rank) return -1;
  return used < rank ? 1 : 0;
}

// Appends the runs of one row. A bit of `edges` is a voxel that differs from the one before it.
void append_runs(const uint64_t* row, int64_t words, int64_t nx, std::vector<Run>& runs) {
  uint64_t last = 0;
  bool inside = false;
  for (int64_t w = 0; w < words; ++w) {
    uint64_t edges = row[w] ^ (row[w] << 1 | last);
    last = row[w] >> 63;
    for (; edges != 0; edges &= edges - 1) {
      const auto x = static_cast<int32_t>(64 * w + lowest_bit(edges));
      if (inside) {
        runs.back().stop = x;
      } else {
        runs.push_back({x, x, -1});
      }
      inside = !inside;
    }
  }
  if (inside) runs.back().stop = static_cast<int32_t>(nx);  // a row that ends in a full word and a set bit
}

Components runs_of(const BitVolume& mask) {
  if (mask.nx >= kMostRuns) throw std::length_error("a row is too long");
  Components out;
  out.ndim = mask.ndim;
  out.nz = mask.nz;
  out.ny = mask.ny;
  out.nx = mask.nx;
  const int64_t rows = mask.nz * mask.ny;
  out.row_begin.reserve(static_cast<size_t>(rows + 1));
  out.row_begin.push_back(0);
  for (int64_t row = 0; row < rows; ++row) {
    append_runs(mask.bits.data() + row * mask.row_words, mask.row_words, mask.nx, out.runs);
    out.row_begin.push_back(static_cast<int64_t>(out.runs.size()));
  }
  if (static_cast<int64_t>(out.runs.size()) > kMostRuns) throw std::length_error("too many runs of voxels");
  return out;
}

// Sets of runs; the first run of a set is its root, so roots come in raster order of first voxels.
class RunSets {
 public:
  explicit RunSets(size_t runs) : parent_(runs) {
    for (size_t i = 0; i < runs; ++i) parent_[i] = static_cast<int32_t>(i);
  }

  int32_t root(int32_t run) {
    while (parent_[at(run)] != run) {
      parent_[at(run)] = parent_[at(parent_[at(run)])];
      run = parent_[at(run)];
    }
    return run;
  }

  void unite(int32_t a, int32_t b) {
    const int32_t root_a = root(a), root_b = root(b);
    if (root_a < root_b) {
      parent_[at(root_b)] = root_a;
    } else {
      parent_[at(root_a)] = root_b;
    }
  }

 private:
  static size_t at(int32_t run) { return static_cast<size_t>(run); }
  std::vector<int32_t> parent_;
};

// Calls `meet(i, j)` for each run i of the first range and j of the second that come within `reach` along the row.
template <class Meet>
void meeting_runs(const Run* a, const Run* a_end, const Run* b, const Run* b_end, int reach, Meet&& meet) {
  while (a != a_end && b != b_end) {
    if (b->stop + reach <= a->start) {
      ++b;
    } else if (a->stop + reach <= b->start) {
      ++a;
    } else {
      meet(a, b);
      if (a->stop < b->stop) {
        ++a;
      } else {
        ++b;
      }
    }
  }
}

const Run* row_first(const Components& c, int64_t row) { return c.runs.data() + c.row_begin[static_cast<size_t>(row)]; }
const Run* row_last(const Components& c, int64_t row) { return row_first(c, row + 1); }

void unite_with_row(const Components& c, RunSets& sets, int64_t row, int64_t earlier, int reach) {
  const Run* first = c.runs.data();
  meeting_runs(row_first(c, row), row_last(c, row), row_first(c, earlier), row_last(c, earlier), reach,
               [&](const Run* i, const Run* j) {
                 sets.unite(static_cast<int32_t>(i - first), static_cast<int32_t>(j - first));
               });
}

void number_components(Components& c, RunSets& sets) {
  for (size_t i = 0; i < c.runs.size(); ++i) {
    const auto root = static_cast<size_t>(sets.root(static_cast<int32_t>(i)));
    c.runs[i].component = root == i ? c.count++ : c.runs[root].component;
  }
}

int32_t component_at(const Components& c, int64_t z, int64_t y, int64_t x) {
  const int64_t row = z * c.ny + y;
  const Run* run =
      std::upper_bound(row_first(c, row), row_last(c, row), x, [](int64_t at, const Run& r) { return at < r.stop; });
  return run != row_last(c, row) && run->start <= x ? run->component : -1;
}

// Stable counting sort by one of the two numbers: linear, where comparing would cost a logarithm more.
template <int32_t ComponentOverlap::*number>
std::vector<ComponentOverlap> sorted_by(const std::vector<ComponentOverlap>& overlaps, int32_t count) {
  std::vector<size_t> place(static_cast<size_t>(count) + 1, 0);
  for (const ComponentOverlap& o : overlaps) ++place[static_cast<size_t>(o.*number) + 1];
  for (size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
  std::vector<ComponentOverlap> out(overlaps.size());
  for (const ComponentOverlap& o : overlaps) out[place[static_cast<size_t>(o.*number)]++] = o;
  return out;
}

template <class A, class B>
void require_same_extent(const A& a, const B& b) {
  if (a.ndim != b.ndim || a.nz != b.nz || a.ny != b.ny || a.nx != b.nx)
    throw std::invalid_argument("two volumes of different shape");
}

// The voxel, or the two voxels, in which a mean index along one axis lies.
struct NearestIndices {
  int64_t first, last;
  NearestIndices(int64_t sum, int64_t count) {
    const int64_t whole = sum / count, twice_rest = 2 * (sum % count);
    first = twice_rest > count ? whole + 1 : whole;
    last = twice_rest >= count ? whole + 1 : whole;
  }
};

void set_range(uint64_t* row, int64_t start, int64_t stop) {
  const int64_t first = start >> 6, last = (stop - 1) >> 6;
  const uint64_t from = ~uint64_t{0} << (start & 63), to = ~uint64_t{0} >> (63 - ((stop - 1) & 63));
  if (first == last) {
    row[first] |= from & to;
    return;
  }
  row[first] |= from;
  for (int64_t w = first + 1; w < last; ++w) row[w] = ~uint64_t{0};
  row[last] |= to;
}

// Every row with its bits also moved by one to either side.
BitVolume spread_along_rows(const BitVolume& mask) {
  BitVolume out = mask;
  const uint64_t valid = ~uint64_t{0} >> (63 - ((mask.nx - 1) & 63));  // the bits past nx stay zero
  for (int64_t row = 0; row < mask.nz * mask.ny; ++row) {
    const uint64_t* in = mask.bits.data() + row * mask.row_words;
    uint64_t* to = out.bits.data() + row * mask.row_words;
    for (int64_t w = 0; w < mask.row_words; ++w) {
      const uint64_t before = w > 0 ? in[w - 1] >> 63 : 0;
      const uint64_t after = w + 1 < mask.row_words ? in[w + 1] << 63 : 0;
      to[w] = in[w] | in[w] << 1 | before | in[w] >> 1 | after;
    }
    to[mask.row_words - 1] &= valid;
  }
  return out;
}

BitVolume dilate_once(const BitVolume& mask, int rank) {
  const BitVolume spread = spread_along_rows(mask);
  BitVolume out = spread;
  for (int64_t z = 0; z < mask.nz; ++z) {
    for (int64_t y = 0; y < mask.ny; ++y) {
      uint64_t* to = out.row(z, y);
      for (int dz = -1; dz <= 1; ++dz) {
        for (int dy = -1; dy <= 1; ++dy) {
          const int reach = reach_along_row(dz, dy, rank);
          if (reach < 0 || (dz == 0 && dy == 0)) continue;
          if (z + dz < 0 || z + dz >= mask.nz || y + dy < 0 || y + dy >= mask.ny) continue;
          const uint64_t* from = (reach == 1 ? spread : mask).row(z + dz, y + dy);
          for (int64_t w = 0; w < mask.row_words; ++w) to[w] |= from[w];
        }
      }
    }
  }
  return out;
}

}  // namespace

Components label_components(const BitVolume& mask, int rank) {
  Components c = runs_of(mask);
  RunSets sets(c.runs.size());
  constexpr std::array<std::pair<int, int>, 4> kEarlier{{{0, -1}, {-1, -1}, {-1, 0}, {-1, 1}}};
  for (int64_t z = 0; z < c.nz; ++z) {
    for (int64_t y = 0; y < c.ny; ++y) {
      const int64_t row = z * c.ny + y;
      if (row_first(c, row) == row_last(c, row)) continue;
      for (const auto& [dz, dy] : kEarlier) {
        const int reach = reach_along_row(dz, dy, rank);
        if (reach < 0 || z + dz < 0 || y + dy < 0 || y + dy >= c.ny) continue;
        unite_with_row(c, sets, row, row + dz * c.ny + dy, reach);
      }
    }
  }
  number_components(c, sets);
  return c;
}

std::vector<ComponentStatistics> component_statistics(const Components& c) {
  std::vector<ComponentStatistics> out(static_cast<size_t>(c.count));
  for (int64_t row = 0; row < c.nz * c.ny; ++row) {
    const int64_t z = row / c.ny, y = row % c.ny;
    for (const Run* run = row_first(c, row); run != row_last(c, row); ++run) {
      ComponentStatistics& s = out[static_cast<size_t>(run->component)];
      const int64_t length = run->stop - run->start;
      const std::array<int64_t, 3> first{z, y, run->start}, stop{z + 1, y + 1, run->stop};
      for (size_t axis = 0; axis < 3; ++axis) {
        s.first[axis] = s.voxels == 0 ? first[axis] : std::min(s.first[axis], first[axis]);
        s.stop[axis] = std::max(s.stop[axis], stop[axis]);
      }
      s.voxels += length;
      s.index_sum[0] += z * length;
      s.index_sum[1] += y * length;
      s.index_sum[2] += (int64_t{run->start} + run->stop - 1) * length / 2;
    }
  }
  return out;
}

std::vector<ComponentOverlap> shared_voxels(const Components& a, const Components& b) {
  require_same_extent(a, b);
  std::vector<ComponentOverlap> found;
  for (int64_t row = 0; row < a.nz * a.ny; ++row) {
    meeting_runs(row_first(a, row), row_last(a, row), row_first(b, row), row_last(b, row), 0,
                 [&](const Run* i, const Run* j) {
                   const int64_t voxels = std::min(i->stop, j->stop) - std::max(i->start, j->start);
                   found.push_back({i->component, j->component, voxels});
                 });
  }
  found = sorted_by<&ComponentOverlap::a>(sorted_by<&ComponentOverlap::b>(found, b.count), a.count);
  std::vector<ComponentOverlap> out;
  for (const ComponentOverlap& o : found) {
    if (!out.empty() && out.back().a == o.a && out.back().b == o.b) {
      out.back().voxels += o.voxels;
    } else {
      out.push_back(o);
    }
  }
  return out;
}

std::vector<std::pair<int32_t, int32_t>> centroid_pairs(const Components& a, const Components& b) {
  require_same_extent(a, b);
  const std::vector<ComponentStatistics> statistics = component_statistics(a);
  std::vector<std::pair<int32_t, int32_t>> out;
  for (int32_t i = 0; i < a.count; ++i) {
    const ComponentStatistics& s = statistics[static_cast<size_t>(i)];
    if (s.voxels == 0) continue;
    const NearestIndices zs(s.index_sum[0], s.voxels), ys(s.index_sum[1], s.voxels), xs(s.index_sum[2], s.voxels);
    const size_t before = out.size();
    for (int64_t z = zs.first; z <= zs.last; ++z)
      for (int64_t y = ys.first; y <= ys.last; ++y)
        for (int64_t x = xs.first; x <= xs.last; ++x) {
          const int32_t j = component_at(b, z, y, x);
          if (j >= 0) out.emplace_back(i, j);
        }
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
    out.erase(std::unique(out.begin() + static_cast<std::ptrdiff_t>(before), out.end()), out.end());
  }
  return out;
}

Components restrict_components(const Components& zones, const BitVolume& mask) {
  require_same_extent(zones, mask);
  const Components voxels = runs_of(mask);
  Components out = zones;
  out.runs.clear();
  for (int64_t row = 0; row < zones.nz * zones.ny; ++row) {
    meeting_runs(row_first(voxels, row), row_last(voxels, row), row_first(zones, row), row_last(zones, row), 0,
                 [&](const Run* i, const Run* j) {
                   out.runs.push_back({std::max(i->start, j->start), std::min(i->stop, j->stop), j->component});
                 });
    out.row_begin[static_cast<size_t>(row) + 1] = static_cast<int64_t>(out.runs.size());
  }
  return out;
}

BitVolume select_components(const Components& c, const std::vector<int32_t>& chosen,
                            const std::array<int64_t, 3>& start, const std::array<int64_t, 3>& stop) {
  BitVolume out(c.ndim, stop[0] - start[0], stop[1] - start[1], stop[2] - start[2]);
  for (int64_t z = start[0]; z < stop[0]; ++z) {
    for (int64_t y = start[1]; y < stop[1]; ++y) {
      const Run* last = row_last(c, z * c.ny + y);
      const Run* run = std::upper_bound(row_first(c, z * c.ny + y), last, start[2],
                                        [](int64_t at, const Run& r) { return at < r.stop; });
      for (; run != last && run->start < stop[2]; ++run) {
        if (!std::binary_search(chosen.begin(), chosen.end(), run->component)) continue;
        set_range(out.row(z - start[0], y - start[1]), std::max<int64_t>(run->start, start[2]) - start[2],
                  std::min<int64_t>(run->stop, stop[2]) - start[2]);
      }
    }
  }
  return out;
}

BitVolume dilate(const BitVolume& mask, int rank, int64_t iterations) {
  BitVolume out = mask;
  for (int64_t i = 0; i < iterations; ++i) {
    BitVolume next = dilate_once(out, rank);
    if (next.bits == out.bits) break;  // the volume is full, or empty
    out = std::move(next);
  }
  return out;
}

}  // namespace segauge
