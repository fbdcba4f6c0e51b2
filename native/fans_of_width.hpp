// The functions of lanes.hpp for fans and discs; included after lanes_of_width.hpp.
namespace segauge {
namespace {

// The x, y and z of a fan's spokes, or of those that follow them.
inline LanePoints load_spokes(const double* x, size_t row) { return {load(x), load(x + row), load(x + 2 * row)}; }
inline Lanes dot(const LanePoints& a, const LanePoints& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline LanePoints cross(const LanePoints& a, const LanePoints& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// From a point, given from the middle of a fan, to the triangles between spokes u and those that follow them, v: the foot
// point on the plane of a triangle where it lies inside, else the nearer of the spoke and the edge between the two ends.
// Triangles whose spokes are parallel but for rounding, as those of a segment, have no plane.
inline Lanes squared_to_triangles(const LanePoints& d, const LanePoints& u, const LanePoints& v) {
  const Lanes du = dot(d, u), dv = dot(d, v), uu = dot(u, u), uv = dot(u, v), vv = dot(v, v);
  const Lanes along = clamped(du / uu);
  const Lanes spoke = square({d.x - along * u.x, d.y - along * u.y, d.z - along * u.z});
  const Lanes end = clamped((dv - du + (uu - uv)) / (uu - 2 * uv + vv)), begin = 1 - end;
  const Lanes rim =
      square({d.x - begin * u.x - end * v.x, d.y - begin * u.y - end * v.y, d.z - begin * u.z - end * v.z});
  const LanePoints normal = cross(u, v);
  const Lanes squared_normal = square(normal), height = dot(d, normal);
  const Lanes s = du * vv - dv * uv, r = dv * uu - du * uv, rest = (uu * vv - uv * uv) - (s + r);
  const Lanes plane = squared_normal > uu * vv * 1e-20 ? height * height / squared_normal : rim;
  return lowest(spoke, (lowest(lowest(s, r), rest) >= 0) ? plane : rim);
}

// The least of all numbers in a register: by halves, which takes fewer steps than one after the other.
inline double least_of(Lanes a) {
#if SEGAUGE_LANES == 4
  a = lowest(a, __builtin_shufflevector(a, a, 2, 3, 0, 1));
#endif
  return a[0] < a[1] ? a[0] : a[1];
}

inline double squared_to_fans(const Vec3& point, const FanTable::Shape& shape, const double* numbers) {
  const Lanes none{};
  Lanes best = none + __builtin_inf();
  for (size_t f = 0; f < shape.fans; ++f) {
    const LanePoints d{none + (point[0] - numbers[0]), none + (point[1] - numbers[1]), none + (point[2] - numbers[2])};
    const size_t corners = shape.corners[f], row = FanNumbers::row_of(corners);
    const double* spokes = numbers + FanNumbers::kSpokes;
    for (size_t k = 0; k < corners; k += SEGAUGE_LANES)
      best = lowest(best, squared_to_triangles(d, load_spokes(spokes + k, row), load_spokes(spokes + k + 1, row)));
    numbers += FanNumbers::room_for(corners);
  }
  return least_of(best);
}

inline Lanes root(Lanes a) {
  for (size_t k = 0; k < SEGAUGE_LANES; ++k) a[k] = __builtin_sqrt(a[k]);
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
  const Lanes none{}, x = none + middle[0], y = none + middle[1], z = none + middle[2];
  auto spokes = [&](size_t k) { return LanePoints{load(corners.x + k) - x, load(corners.y + k) - y, load(corners.z + k) - z}; };
  constexpr size_t kMost = FanTable::kMostCorners + FanNumbers::kTogether;
  double twice_area[kMost], nx[kMost], ny[kMost], nz[kMost];
  double* to = numbers + FanNumbers::kSpokes;
  for (size_t k = 0; k + 1 < row; k += SEGAUGE_LANES) {
    const LanePoints u = spokes(k), normal = cross(u, spokes(k + 1));
    __builtin_memcpy(to + k, &u.x, sizeof u.x);
    __builtin_memcpy(to + row + k, &u.y, sizeof u.x);
    __builtin_memcpy(to + 2 * row + k, &u.z, sizeof u.x);
    const Lanes length = root(square(normal));
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
  Lanes aside{}, along{};  // squared
  for (size_t k = 0; k < count; k += SEGAUGE_LANES) {
    const LanePoints u = spokes(k);
    const Lanes height = dot(u, out.normal), squared_height = height * height * per_squared;
    along = highest(along, squared_height);
    aside = highest(aside, square(u) - squared_height);
  }
  for (size_t k = 0; k < SEGAUGE_LANES; ++k) {
    out.radius = aside[k] > out.radius ? aside[k] : out.radius;
    out.half_thickness = along[k] > out.half_thickness ? along[k] : out.half_thickness;
  }
  out.radius = __builtin_sqrt(out.radius);
  out.half_thickness = __builtin_sqrt(out.half_thickness);
  if (count == 2) return {2 * out.radius, {0, 0, 0}, out.radius, 0};
  return out;
}

typedef float Rough __attribute__((vector_size(8 * SEGAUGE_LANES)));
constexpr size_t kRoughs = 2 * SEGAUGE_LANES;

inline Rough load_rough(const float* from) {
  Rough lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
#if defined(__AVX__) && SEGAUGE_LANES == 4
inline Rough positive(Rough a) { return (Rough)_mm256_max_ps((__m256)a, _mm256_setzero_ps()); }
#elif defined(__SSE2__) && SEGAUGE_LANES == 2
inline Rough positive(Rough a) { return (Rough)_mm_max_ps((__m128)a, _mm_setzero_ps()); }
#else
inline Rough positive(Rough a) { return a > Rough{} ? a : Rough{}; }
#endif
inline Rough root(Rough a) {
  for (size_t k = 0; k < kRoughs; ++k) a[k] = __builtin_sqrtf(a[k]);
  return a;
}

// Discs side by side: middle, radius, normal, half thickness.
struct RoughDiscs {
  Rough x, y, z, radius, nx, ny, nz, half_thickness;
};

inline Rough height_over(Rough x, Rough y, Rough z, const RoughDiscs& disc) { return x * disc.nx + y * disc.ny + z * disc.nz; }

// A bound on the squared distances of points from discs: how far above it, and how far aside, at least `aside`. `squared`: that
// from the middle. What is left of it without the height is a small difference of large numbers, so it is lessened by more than
// rounding can add to it.
inline Rough squared_to_discs(Rough height, Rough squared, Rough aside, const RoughDiscs& disc) {
  const Rough squared_aside = squared * (1 - 4e-6f) - height * height;
  const Rough beyond_rim = root(positive(squared_aside)) - disc.radius;
  const Rough out = positive(beyond_rim > aside ? beyond_rim : aside);
  const Rough above = positive((height > -height ? height : -height) - disc.half_thickness);
  return above * above + out * out;
}

void weigh_by_discs(const RoughPoints& points, Candidate* first, Candidate* last) {
  const Rough none = Rough{} + __builtin_inff();
  for (; first != last; ++first) {
    const Disc& disc = *first->disc;
    const Rough zero{};
    const RoughDiscs all{zero, zero, zero, zero + disc.radius, zero + disc.normal[0], zero + disc.normal[1],
                         zero + disc.normal[2], zero + disc.half_thickness};
    const auto shift_x = static_cast<float>(first->shift[0] - disc.middle[0]);
    const auto shift_y = static_cast<float>(first->shift[1] - disc.middle[1]);
    const auto shift_z = static_cast<float>(first->shift[2] - disc.middle[2]);
    float least = __builtin_inff();
    first->groups = 0;
    for (size_t i = 0; i < points.count; i += kRoughs) {
      const Rough x = load_rough(points.x + i) + shift_x, y = load_rough(points.y + i) + shift_y,
                  z = load_rough(points.z + i) + shift_z;
      const Rough bound = squared_to_discs(height_over(x, y, z, all), x * x + y * y + z * z, zero, all);
      const Rough possible = bound <= load_rough(points.allowed + i) ? bound : none;
      for (size_t k = 0; k < kRoughs; k += SampleGroup::kSize) {
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

typedef float Quarter __attribute__((vector_size(16)));  // of a disc half: middle and radius, or normal and thickness

inline Quarter load_quarter(const float* from) {
  Quarter lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

// Takes four rows of registers, each of which holds quarters of several discs, to four columns.
#if defined(__SSE2__) && SEGAUGE_LANES == 4
inline Rough side_by_side(Quarter a, Quarter b) {
  return (Rough)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)a), (__m128)b, 1);
}
inline void transpose(Rough& a, Rough& b, Rough& c, Rough& d) {
  const __m256 ab = _mm256_unpacklo_ps((__m256)a, (__m256)b), cd = _mm256_unpacklo_ps((__m256)c, (__m256)d);
  const __m256 AB = _mm256_unpackhi_ps((__m256)a, (__m256)b), CD = _mm256_unpackhi_ps((__m256)c, (__m256)d);
  a = (Rough)_mm256_shuffle_ps(ab, cd, 0x44);
  b = (Rough)_mm256_shuffle_ps(ab, cd, 0xEE);
  c = (Rough)_mm256_shuffle_ps(AB, CD, 0x44);
  d = (Rough)_mm256_shuffle_ps(AB, CD, 0xEE);
}
inline uint32_t signs_of(decltype(Rough{} < Rough{}) is_true) {
  return static_cast<uint32_t>(_mm256_movemask_ps((__m256)is_true));
}
#else
inline void transpose(Rough& a, Rough& b, Rough& c, Rough& d) {
  const Rough w = a, x = b, y = c, z = d;
  a = Rough{w[0], x[0], y[0], z[0]};
  b = Rough{w[1], x[1], y[1], z[1]};
  c = Rough{w[2], x[2], y[2], z[2]};
  d = Rough{w[3], x[3], y[3], z[3]};
}
inline uint32_t signs_of(decltype(Rough{} < Rough{}) is_true) {
  uint32_t bits = 0;
  for (size_t k = 0; k < kRoughs; ++k) bits |= static_cast<uint32_t>(is_true[k] & 1) << k;
  return bits;
}
#endif

inline float least_of(Rough a) {
#if SEGAUGE_LANES == 4
  const Rough b = __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3);
  a = a < b ? a : b;
  const Rough c = __builtin_shufflevector(a, a, 2, 3, 0, 1, 6, 7, 4, 5);
#else
  const Rough c = __builtin_shufflevector(a, a, 2, 3, 0, 1);
#endif
  a = a < c ? a : c;
  return a[0] < a[1] ? a[0] : a[1];
}

// Cells side by side: where they begin, in mm from the cell of a point, and the discs in them, in mm from where they begin.
struct RoughCells {
  Rough x, y, z;
  RoughDiscs disc;
};

// A query's cells from the i-th on, as many as fill a register.
inline RoughCells load_cells(const CellContents& of, const CellQuery& query, size_t i) {
  static_assert(sizeof(Disc) == 8 * sizeof(float));
  auto offset = [&](size_t at) { return load_quarter(of.offsets[query.place[at]].rough); };
  auto disc = [&](size_t at) { return reinterpret_cast<const float*>(&of.cells[query.index[at]].disc); };
  Rough begin[4], low[4], high[4];
  for (size_t k = i; k < i + 4; ++k) {
#if SEGAUGE_LANES == 4
    begin[k - i] = side_by_side(offset(k), offset(k + 4));
    low[k - i] = side_by_side(load_quarter(disc(k)), load_quarter(disc(k + 4)));
    high[k - i] = side_by_side(load_quarter(disc(k) + 4), load_quarter(disc(k + 4) + 4));
#else
    begin[k - i] = offset(k);
    low[k - i] = load_quarter(disc(k));
    high[k - i] = load_quarter(disc(k) + 4);
#endif
  }
  transpose(begin[0], begin[1], begin[2], begin[3]);
  transpose(low[0], low[1], low[2], low[3]);
  transpose(high[0], high[1], high[2], high[3]);
  return {begin[0], begin[1], begin[2], {low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]}};
}

// How far places are from a stretch of an axis that begins at 0.
inline Rough beyond(Rough at, float length) {
  const Rough after = at - length;
  return positive(after > -at ? after : -at);
}

// A bound on the squared distances of a point, given from where cells begin, from the pieces in them. These lie in the cell and
// in its disc: the point's foot on the disc's plane is as far from them as it is outside of either, but for the thickness.
inline Rough squared_to_cells(Rough x, Rough y, Rough z, const RoughDiscs& disc, const float* step) {
  const Rough dx = x - disc.x, dy = y - disc.y, dz = z - disc.z, height = height_over(dx, dy, dz, disc);
  const Rough out_x = beyond(x - height * disc.nx, step[0]), out_y = beyond(y - height * disc.ny, step[1]),
              out_z = beyond(z - height * disc.nz, step[2]);
  const Rough aside = root(out_x * out_x + out_y * out_y + out_z * out_z) - disc.half_thickness;
  return squared_to_discs(height, dx * dx + dy * dy + dz * dz, aside, disc);
}

// Works out which of a query's cells can hold the nearest piece.
inline void weigh(CellQuery& query, const CellContents& of) {
  constexpr size_t kMostRegisters = CellQuery::kMost / kRoughs;
  const Rough none{};
  const Rough px = none + static_cast<float>(query.point[0]), py = none + static_cast<float>(query.point[1]),
              pz = none + static_cast<float>(query.point[2]);
  Rough nearest = none + __builtin_inff(), bounds[kMostRegisters];
  const size_t registers = (query.count + kRoughs - 1) / kRoughs;
  for (size_t r = 0; r < registers; ++r) {
    const RoughCells cells = load_cells(of, query, r * kRoughs);
    float* least = query.least.data() + r * kRoughs;
    const Rough of_pieces = squared_to_cells(px - cells.x, py - cells.y, pz - cells.z, cells.disc, of.step);
    const Rough of_cell = load_rough(least);
    bounds[r] = of_pieces > of_cell ? of_pieces : of_cell;
    nearest = bounds[r] < nearest ? bounds[r] : nearest;
    __builtin_memcpy(least, &bounds[r], sizeof bounds[r]);
  }
  const Rough found = none + least_of(nearest);
  query.nearest = 0;
  for (size_t r = 0; r < registers; ++r) query.nearest |= signs_of(bounds[r] <= found) << (r * kRoughs);
}

// Forgets the cells of a query that cannot hold anything nearer than its best.
inline void exclude(CellQuery& query, const CellContents& of) {
  const Rough limit = Rough{} + (static_cast<float>(query.best) * (1 + 1e-5f) + of.slack);
  uint32_t cells = 0;
  for (size_t k = 0; k < query.count; k += kRoughs) cells |= signs_of(load_rough(query.least.data() + k) <= limit) << k;
  query.left &= cells;
}

inline void look_into(CellQuery& query, const CellContents& of, size_t i) {
  const Vec3& offset = of.offsets[query.place[i]].exact;
  const Fans::OfCell& cell = of.cells[query.index[i]];
  const Vec3 point{query.point[0] - offset[0], query.point[1] - offset[1], query.point[2] - offset[2]};
  const double squared = squared_to_fans(point, of.shapes[cell.code], of.numbers + cell.begin);
  query.best = squared < query.best ? squared : query.best;
  query.left &= ~(1u << i);
}

// Step by step for all queries: a processor works on several at once where none waits for what another found.
void look_into_cells(CellQuery* first, CellQuery* last, const CellContents& of) {
  for (CellQuery* query = first; query != last; ++query) {
    query->left = query->count < CellQuery::kMost ? (1u << query->count) - 1 : ~uint32_t{0};
    weigh(*query, of);
  }
  for (CellQuery* query = first; query != last; ++query) {
    exclude(*query, of);
    const uint32_t nearest = query->left & query->nearest;
    if (nearest != 0) look_into(*query, of, static_cast<size_t>(__builtin_ctz(nearest)));
  }
  for (CellQuery* query = first; query != last; ++query)
    while (query->left != 0) {
      exclude(*query, of);
      if (query->left != 0) look_into(*query, of, static_cast<size_t>(__builtin_ctz(query->left)));
    }
}

constexpr LaneFunctions kLanesOfWidth{squared_distances, squared_to_fans, write_fan, weigh_by_discs, look_into_cells, sum_rows};

}  // namespace
}  // namespace segauge
