// The functions of simd/operations.hpp for fans and discs, on top of those for the pieces of binary surfaces.
#include "simd/pieces_of_width.hpp"

namespace segauge {
namespace {

// The x, y and z of a fan's spokes, or of those that follow them.
inline Points load_spokes(const double* x, size_t row) { return {load(x), load(x + row), load(x + 2 * row)}; }
inline Doubles dot(const Points& a, const Points& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Points cross(const Points& a, const Points& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// From a point, given from the middle of a fan, to the triangles between spokes u and those that follow them, v: the
// foot point on the plane of a triangle where it lies inside, else the nearer of the spoke and the edge between the two
// ends. Triangles whose spokes are parallel but for rounding, as those of a segment, have no plane.
inline Doubles squared_to_triangles(const Points& d, const Points& u, const Points& v) {
  const Doubles du = dot(d, u), dv = dot(d, v), uu = dot(u, u), uv = dot(u, v), vv = dot(v, v);
  const Doubles along = clamped(du / uu);
  const Doubles spoke = square({d.x - along * u.x, d.y - along * u.y, d.z - along * u.z});
  const Doubles end = clamped((dv - du + (uu - uv)) / (uu - 2 * uv + vv)), begin = 1 - end;
  const Doubles rim =
      square({d.x - begin * u.x - end * v.x, d.y - begin * u.y - end * v.y, d.z - begin * u.z - end * v.z});
  const Points normal = cross(u, v);
  const Doubles squared_normal = square(normal), height = dot(d, normal);
  const Doubles s = du * vv - dv * uv, r = dv * uu - du * uv, rest = (uu * vv - uv * uv) - (s + r);
  const Doubles plane = squared_normal > uu * vv * 1e-20 ? height * height / squared_normal : rim;
  return lowest(spoke, (lowest(lowest(s, r), rest) >= 0) ? plane : rim);
}

// The least of all numbers in a register: by halves, which takes fewer steps than one after the other.
inline double least_of(Doubles a) {
#if SEGAUGE_SIMD_WIDTH == 4
  a = lowest(a, __builtin_shufflevector(a, a, 2, 3, 0, 1));
#endif
  return a[0] < a[1] ? a[0] : a[1];
}

inline double squared_to_fans(const Vec3& point, const FanTable::Shape& shape, const double* numbers) {
  const Doubles none{};
  Doubles best = none + __builtin_inf();
  for (size_t f = 0; f < shape.fans; ++f) {
    const Points d{none + (point[0] - numbers[0]), none + (point[1] - numbers[1]), none + (point[2] - numbers[2])};
    const size_t corners = shape.corners[f], row = FanNumbers::row_of(corners);
    const double* spokes = numbers + FanNumbers::kSpokes;
    for (size_t k = 0; k < corners; k += SEGAUGE_SIMD_WIDTH)
      best = lowest(best, squared_to_triangles(d, load_spokes(spokes + k, row), load_spokes(spokes + k + 1, row)));
    numbers += FanNumbers::room_for(corners);
  }
  return least_of(best);
}

inline Doubles root(Doubles a) {
  for (size_t k = 0; k < SEGAUGE_SIMD_WIDTH; ++k) a[k] = __builtin_sqrt(a[k]);
  return a;
}

// Whatever is added up is added up one after the other: the same bits for any width.
FanMeasures write_fan(const FanCorners& corners, size_t count, double* numbers) {
  const size_t row = FanNumbers::row_of(count);
  Vec3 middle{0, 0, 0};
  for (size_t k = 0; k < count; ++k) {
    middle[0] += corners.x[k];
    middle[1] += corners.y[k];
    middle[2] += corners.z[k];
  }
  const double part = 1 / static_cast<double>(count);
  for (size_t i = 0; i < 3; ++i) numbers[i] = middle[i] *= part;
  const Doubles none{}, x = none + middle[0], y = none + middle[1], z = none + middle[2];
  auto spokes = [&](size_t k) {
    return Points{load(corners.x + k) - x, load(corners.y + k) - y, load(corners.z + k) - z};
  };
  constexpr size_t kMost = FanTable::kMostCorners + FanNumbers::kTogether;
  double twice_area[kMost], nx[kMost], ny[kMost], nz[kMost];
  double* to = numbers + FanNumbers::kSpokes;
  for (size_t k = 0; k + 1 < row; k += SEGAUGE_SIMD_WIDTH) {
    const Points u = spokes(k), normal = cross(u, spokes(k + 1));
    __builtin_memcpy(to + k, &u.x, sizeof u.x);
    __builtin_memcpy(to + row + k, &u.y, sizeof u.x);
    __builtin_memcpy(to + 2 * row + k, &u.z, sizeof u.x);
    const Doubles length = root(square(normal));
    __builtin_memcpy(twice_area + k, &length, sizeof length);
    __builtin_memcpy(nx + k, &normal.x, sizeof length);
    __builtin_memcpy(ny + k, &normal.y, sizeof length);
    __builtin_memcpy(nz + k, &normal.z, sizeof length);
  }
  // what follows the last register
  to[row - 1] = corners.x[row - 1] - middle[0];
  to[2 * row - 1] = corners.y[row - 1] - middle[1];
  to[3 * row - 1] = corners.z[row - 1] - middle[2];
  FanMeasures out{0, {0, 0, 0}, 0, 0};
  for (size_t k = 0; k < count; ++k) {
    out.area += twice_area[k];
    out.normal[0] += nx[k];
    out.normal[1] += ny[k];
    out.normal[2] += nz[k];
  }
  out.area /= 2;
  const double squared = out.normal[0] * out.normal[0] + out.normal[1] * out.normal[1] + out.normal[2] * out.normal[2];
  const double per_squared = squared > 0 ? 1 / squared : 0;
  Doubles aside{}, along{};  // squared
  for (size_t k = 0; k < count; k += SEGAUGE_SIMD_WIDTH) {
    const Points u = spokes(k);
    const Doubles height = dot(u, out.normal), squared_height = height * height * per_squared;
    along = highest(along, squared_height);
    aside = highest(aside, square(u) - squared_height);
  }
  for (size_t k = 0; k < SEGAUGE_SIMD_WIDTH; ++k) {
    out.radius = aside[k] > out.radius ? aside[k] : out.radius;
    out.half_thickness = along[k] > out.half_thickness ? along[k] : out.half_thickness;
  }
  out.radius = __builtin_sqrt(out.radius);
  out.half_thickness = __builtin_sqrt(out.half_thickness);
  if (count == 2) return {2 * out.radius, {0, 0, 0}, out.radius, 0};
  return out;
}

typedef float Floats __attribute__((vector_size(8 * SEGAUGE_SIMD_WIDTH)));
constexpr size_t kFloats = 2 * SEGAUGE_SIMD_WIDTH;

inline Floats load_floats(const float* from) {
  Floats lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
#if defined(__AVX__) && SEGAUGE_SIMD_WIDTH == 4
inline Floats positive(Floats a) { return (Floats)_mm256_max_ps((__m256)a, _mm256_setzero_ps()); }
#elif defined(__SSE2__) && SEGAUGE_SIMD_WIDTH == 2
inline Floats positive(Floats a) { return (Floats)_mm_max_ps((__m128)a, _mm_setzero_ps()); }
#else
inline Floats positive(Floats a) { return a > Floats{} ? a : Floats{}; }
#endif
inline Floats root(Floats a) {
  for (size_t k = 0; k < kFloats; ++k) a[k] = __builtin_sqrtf(a[k]);
  return a;
}

// Discs side by side: middle, radius, normal, half thickness.
struct FloatDiscs {
  Floats x, y, z, radius, nx, ny, nz, half_thickness;
};

inline Floats height_over(Floats x, Floats y, Floats z, const FloatDiscs& disc) {
  return x * disc.nx + y * disc.ny + z * disc.nz;
}

// A bound on the squared distances of points from discs: how far above it, and how far aside, at least `aside`.
// `squared`: that from the middle. What is left of it without the height is a small difference of large numbers, so it
// is lessened by more than rounding can add to it.
inline Floats squared_to_discs(Floats height, Floats squared, Floats aside, const FloatDiscs& disc) {
  const Floats squared_aside = squared * (1 - 4e-6f) - height * height;
  const Floats beyond_rim = root(positive(squared_aside)) - disc.radius;
  const Floats out = positive(beyond_rim > aside ? beyond_rim : aside);
  const Floats above = positive((height > -height ? height : -height) - disc.half_thickness);
  return above * above + out * out;
}

void bound_by_discs(const FloatPoints& points, Candidate* first, Candidate* last) {
  const Floats none = Floats{} + __builtin_inff();
  for (; first != last; ++first) {
    const BoundingDisc& disc = *first->disc;
    const Floats zero{};
    const FloatDiscs all{zero,
                         zero,
                         zero,
                         zero + disc.radius,
                         zero + disc.normal[0],
                         zero + disc.normal[1],
                         zero + disc.normal[2],
                         zero + disc.half_thickness};
    const auto shift_x = static_cast<float>(first->shift[0] - disc.middle[0]);
    const auto shift_y = static_cast<float>(first->shift[1] - disc.middle[1]);
    const auto shift_z = static_cast<float>(first->shift[2] - disc.middle[2]);
    float least = __builtin_inff();
    first->groups = 0;
    for (size_t i = 0; i < points.count; i += kFloats) {
      const Floats x = load_floats(points.x + i) + shift_x, y = load_floats(points.y + i) + shift_y,
                   z = load_floats(points.z + i) + shift_z;
      const Floats bound = squared_to_discs(height_over(x, y, z, all), x * x + y * y + z * z, zero, all);
      const Floats possible = bound <= load_floats(points.allowed + i) ? bound : none;
      for (size_t k = 0; k < kFloats; k += SampleGroup::kSize) {
        const float one = possible[k] < possible[k + 1] ? possible[k] : possible[k + 1];
        const float other = possible[k + 2] < possible[k + 3] ? possible[k + 2] : possible[k + 3];
        const float both = one < other ? one : other;
        first->groups |= static_cast<uint32_t>(both < __builtin_inff()) << ((i + k) / SampleGroup::kSize);
        least = both < least ? both : least;
      }
    }
    first->least = static_cast<double>(least);
  }
}

typedef float Float4 __attribute__((vector_size(16)));  // of a disc half: middle and radius, or normal and thickness

inline Float4 load_float4(const float* from) {
  Float4 lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

// Takes four rows of registers, each of which holds quarters of several discs, to four columns.
#if defined(__SSE2__) && SEGAUGE_SIMD_WIDTH == 4
inline Floats side_by_side(Float4 a, Float4 b) {
  return (Floats)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)a), (__m128)b, 1);
}
inline void transpose(Floats& a, Floats& b, Floats& c, Floats& d) {
  const __m256 ab = _mm256_unpacklo_ps((__m256)a, (__m256)b), cd = _mm256_unpacklo_ps((__m256)c, (__m256)d);
  const __m256 AB = _mm256_unpackhi_ps((__m256)a, (__m256)b), CD = _mm256_unpackhi_ps((__m256)c, (__m256)d);
  a = (Floats)_mm256_shuffle_ps(ab, cd, 0x44);
  b = (Floats)_mm256_shuffle_ps(ab, cd, 0xEE);
  c = (Floats)_mm256_shuffle_ps(AB, CD, 0x44);
  d = (Floats)_mm256_shuffle_ps(AB, CD, 0xEE);
}
inline uint32_t signs_of(decltype(Floats{} < Floats{}) is_true) {
  return static_cast<uint32_t>(_mm256_movemask_ps((__m256)is_true));
}
#else
inline void transpose(Floats& a, Floats& b, Floats& c, Floats& d) {
  const Floats w = a, x = b, y = c, z = d;
  a = Floats{w[0], x[0], y[0], z[0]};
  b = Floats{w[1], x[1], y[1], z[1]};
  c = Floats{w[2], x[2], y[2], z[2]};
  d = Floats{w[3], x[3], y[3], z[3]};
}
inline uint32_t signs_of(decltype(Floats{} < Floats{}) is_true) {
  uint32_t bits = 0;
  for (size_t k = 0; k < kFloats; ++k) bits |= static_cast<uint32_t>(is_true[k] & 1) << k;
  return bits;
}
#endif

inline float least_of(Floats a) {
#if SEGAUGE_SIMD_WIDTH == 4
  const Floats b = __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3);
  a = a < b ? a : b;
  const Floats c = __builtin_shufflevector(a, a, 2, 3, 0, 1, 6, 7, 4, 5);
#else
  const Floats c = __builtin_shufflevector(a, a, 2, 3, 0, 1);
#endif
  a = a < c ? a : c;
  return a[0] < a[1] ? a[0] : a[1];
}

// Cells side by side: where they begin, in mm from the cell of a point, and the discs in them, in mm from where they
// begin.
struct FloatCells {
  Floats x, y, z;
  FloatDiscs disc;
};

// A query's cells from the i-th on, as many as fill a register.
inline FloatCells load_cells(const CellContents& of, const CellQuery& query, size_t i) {
  static_assert(sizeof(BoundingDisc) == 8 * sizeof(float));
  auto offset = [&](size_t at) { return load_float4(of.offsets[query.place[at]].in_floats); };
  auto disc = [&](size_t at) { return reinterpret_cast<const float*>(&of.cells[query.index[at]].disc); };
  Floats begin[4], low[4], high[4];
  for (size_t k = i; k < i + 4; ++k) {
#if SEGAUGE_SIMD_WIDTH == 4
    begin[k - i] = side_by_side(offset(k), offset(k + 4));
    low[k - i] = side_by_side(load_float4(disc(k)), load_float4(disc(k + 4)));
    high[k - i] = side_by_side(load_float4(disc(k) + 4), load_float4(disc(k + 4) + 4));
#else
    begin[k - i] = offset(k);
    low[k - i] = load_float4(disc(k));
    high[k - i] = load_float4(disc(k) + 4);
#endif
  }
  transpose(begin[0], begin[1], begin[2], begin[3]);
  transpose(low[0], low[1], low[2], low[3]);
  transpose(high[0], high[1], high[2], high[3]);
  return {begin[0], begin[1], begin[2], {low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]}};
}

// How far places are from a stretch of an axis that begins at 0.
inline Floats beyond(Floats at, float length) {
  const Floats after = at - length;
  return positive(after > -at ? after : -at);
}

// A bound on the squared distances of a point, given from where cells begin, from the pieces in them. These lie in the
// cell and in its disc: the point's foot on the disc's plane is as far from them as it is outside of either, but for
// the thickness.
inline Floats squared_to_cells(Floats x, Floats y, Floats z, const FloatDiscs& disc, const float* step) {
  const Floats dx = x - disc.x, dy = y - disc.y, dz = z - disc.z, height = height_over(dx, dy, dz, disc);
  const Floats out_x = beyond(x - height * disc.nx, step[0]), out_y = beyond(y - height * disc.ny, step[1]),
               out_z = beyond(z - height * disc.nz, step[2]);
  const Floats aside = root(out_x * out_x + out_y * out_y + out_z * out_z) - disc.half_thickness;
  return squared_to_discs(height, dx * dx + dy * dy + dz * dz, aside, disc);
}

// Computes which of a query's cells can hold the nearest piece.
inline void bound_cells(CellQuery& query, const CellContents& of) {
  constexpr size_t kMostRegisters = CellQuery::kMost / kFloats;
  const Floats none{};
  const Floats px = none + static_cast<float>(query.point[0]), py = none + static_cast<float>(query.point[1]),
               pz = none + static_cast<float>(query.point[2]);
  Floats nearest = none + __builtin_inff(), bounds[kMostRegisters];
  const size_t registers = (query.count + kFloats - 1) / kFloats;
  for (size_t r = 0; r < registers; ++r) {
    const FloatCells cells = load_cells(of, query, r * kFloats);
    float* least = query.least.data() + r * kFloats;
    const Floats of_pieces = squared_to_cells(px - cells.x, py - cells.y, pz - cells.z, cells.disc, of.step);
    const Floats of_cell = load_floats(least);
    bounds[r] = of_pieces > of_cell ? of_pieces : of_cell;
    nearest = bounds[r] < nearest ? bounds[r] : nearest;
    __builtin_memcpy(least, &bounds[r], sizeof bounds[r]);
  }
  const Floats found = none + least_of(nearest);
  query.nearest = 0;
  for (size_t r = 0; r < registers; ++r) query.nearest |= signs_of(bounds[r] <= found) << (r * kFloats);
}

// Forgets the cells of a query that cannot hold anything nearer than its best.
inline void exclude(CellQuery& query, const CellContents& of) {
  const Floats limit = Floats{} + (static_cast<float>(query.best) * (1 + 1e-5f) + of.slack);
  uint32_t cells = 0;
  for (size_t k = 0; k < query.count; k += kFloats)
    cells |= signs_of(load_floats(query.least.data() + k) <= limit) << k;
  query.left &= cells;
}

inline void search_cell(CellQuery& query, const CellContents& of, size_t i) {
  const Vec3& offset = of.offsets[query.place[i]].exact;
  const Fans::OfCell& cell = of.cells[query.index[i]];
  const Vec3 point{query.point[0] - offset[0], query.point[1] - offset[1], query.point[2] - offset[2]};
  const double squared = squared_to_fans(point, of.shapes[cell.code], of.numbers + cell.begin);
  query.best = squared < query.best ? squared : query.best;
  query.left &= ~(1u << i);
}

// Step by step for all queries: a processor works on several at once where none waits for what another found.
void search_cells(CellQuery* first, CellQuery* last, const CellContents& of) {
  for (CellQuery* query = first; query != last; ++query) {
    query->left = query->count < CellQuery::kMost ? (1u << query->count) - 1 : ~uint32_t{0};
    bound_cells(*query, of);
  }
  for (CellQuery* query = first; query != last; ++query) {
    exclude(*query, of);
    const uint32_t nearest = query->left & query->nearest;
    if (nearest != 0) search_cell(*query, of, static_cast<size_t>(__builtin_ctz(nearest)));
  }
  for (CellQuery* query = first; query != last; ++query)
    while (query->left != 0) {
      exclude(*query, of);
      if (query->left != 0) search_cell(*query, of, static_cast<size_t>(__builtin_ctz(query->left)));
    }
}

constexpr SimdOperations kOperationsOfWidth{squared_distances, squared_to_fans, write_fan,
                                            bound_by_discs,    search_cells,    sum_rows};

}  // namespace
}  // namespace segauge
