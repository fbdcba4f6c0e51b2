#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/arrays.hpp"
#include "surface/cell_distances.hpp"
#include "topology/components.hpp"

namespace segauge {
namespace {

nb::tuple shape(const Components& c) {
  if (c.ndim == 2) return nb::make_tuple(c.ny, c.nx);
  return nb::make_tuple(c.nz, c.ny, c.nx);
}

void require_rank(int rank) {
  if (rank < 1 || rank > 3) throw std::invalid_argument("the rank of a neighbourhood is 1, 2 or 3");
}

Components label(const BitVolume& mask, int rank) {
  require_rank(rank);
  nb::gil_scoped_release release;
  return label_components(mask, rank);
}

nb::tuple component_table(const Components& components) {
  const std::vector<ComponentStatistics> all = component_statistics(components);
  const size_t n = all.size(), d = static_cast<size_t>(components.ndim), skip = 3 - d;
  std::vector<int64_t> voxels(n), sums(n * d), boxes(2 * n * d);
  for (size_t i = 0; i < n; ++i) {
    voxels[i] = all[i].voxels;
    for (size_t axis = 0; axis < d; ++axis) {
      sums[i * d + axis] = all[i].index_sum[axis + skip];
      boxes[2 * i * d + axis] = all[i].first[axis + skip];
      boxes[2 * i * d + d + axis] = all[i].stop[axis + skip];
    }
  }
  return nb::make_tuple(to_numpy(std::move(voxels), {n}), to_numpy(std::move(sums), {n, d}),
                        to_numpy(std::move(boxes), {n, 2, d}));
}

nb::ndarray<nb::numpy, int32_t> component_labels(const Components& c) {
  const auto z = static_cast<size_t>(c.nz), y = static_cast<size_t>(c.ny), x = static_cast<size_t>(c.nx);
  std::vector<int32_t> labels(z * y * x, 0);
  for (size_t row = 0; row < z * y; ++row)
    for (int64_t i = c.row_begin[row]; i < c.row_begin[row + 1]; ++i) {
      const Run& run = c.runs[static_cast<size_t>(i)];
      std::fill(labels.begin() + static_cast<std::ptrdiff_t>(row * x) + run.start,
                labels.begin() + static_cast<std::ptrdiff_t>(row * x) + run.stop, run.component + 1);
    }
  if (c.ndim == 2) return to_numpy(std::move(labels), {y, x});
  return to_numpy(std::move(labels), {z, y, x});
}

nb::tuple shared(const Components& a, const Components& b) {
  const std::vector<ComponentOverlap> overlaps = shared_voxels(a, b);
  const size_t n = overlaps.size();
  std::vector<int64_t> pairs(2 * n), voxels(n);
  for (size_t i = 0; i < n; ++i) {
    pairs[2 * i] = overlaps[i].a;
    pairs[2 * i + 1] = overlaps[i].b;
    voxels[i] = overlaps[i].voxels;
  }
  return nb::make_tuple(to_numpy(std::move(pairs), {n, 2}), to_numpy(std::move(voxels), {n}));
}

nb::ndarray<nb::numpy, int64_t> centroids_in(const Components& a, const Components& b) {
  const auto found = centroid_pairs(a, b);
  std::vector<int64_t> pairs(2 * found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    pairs[2 * i] = found[i].first;
    pairs[2 * i + 1] = found[i].second;
  }
  return to_numpy(std::move(pairs), {found.size(), 2});
}

BitVolume select(const Components& c, std::vector<int32_t> chosen, const std::vector<int64_t>& start,
                 const std::vector<int64_t>& stop) {
  const size_t d = static_cast<size_t>(c.ndim), skip = 3 - d;
  if (start.size() != d || stop.size() != d) throw std::invalid_argument("the box needs one range an axis");
  const std::array<int64_t, 3> extent{c.nz, c.ny, c.nx};
  std::array<int64_t, 3> from{0, 0, 0}, to{1, 1, 1};
  for (size_t axis = 0; axis < d; ++axis) {
    from[axis + skip] = start[axis];
    to[axis + skip] = stop[axis];
    if (start[axis] < 0 || start[axis] >= stop[axis] || stop[axis] > extent[axis + skip])
      throw std::invalid_argument("the box leaves the image");
  }
  std::sort(chosen.begin(), chosen.end());
  return select_components(c, chosen, from, to);
}

BitVolume dilated(const BitVolume& mask, int rank, int64_t iterations) {
  require_rank(rank);
  nb::gil_scoped_release release;
  return dilate(mask, rank, iterations);
}

nb::tuple cells(const BitVolume& a, const BitVolume& b, const std::vector<double>& spacing,
                const InputArray<double>& areas, int threads) {
  const size_t d = static_cast<size_t>(a.ndim);
  if (spacing.size() != d) throw std::invalid_argument("the spacing needs one edge an axis");
  if (areas.size() != (d == 2 ? 16 : 256)) throw std::invalid_argument("the table needs one area a code");
  std::array<double, 3> edges{1.0, 1.0, 1.0};
  std::copy(spacing.begin(), spacing.end(), edges.begin() + static_cast<std::ptrdiff_t>(3 - d));
  std::array<CellSurface, 2> both;
  {
    nb::gil_scoped_release release;
    both = cell_distances(a, b, edges, areas.data(), threads);
  }
  const size_t n = both[0].areas.size(), m = both[1].areas.size();
  return nb::make_tuple(to_numpy(std::move(both[0].distances), {n}), to_numpy(std::move(both[0].areas), {n}),
                        to_numpy(std::move(both[1].distances), {m}), to_numpy(std::move(both[1].areas), {m}));
}

}  // namespace

void bind_topology(nb::module_& m) {
  nb::class_<Components>(m, "Components", "The voxels of a mask, numbered by connected component, as runs.")
      .def_prop_ro("shape", &shape)
      .def("__len__", [](const Components& c) { return c.count; });
  m.def("label_components", &label, nb::arg("mask"), nb::arg("rank"));
  m.def("component_table", &component_table, nb::arg("components"));
  m.def("component_labels", &component_labels, nb::arg("components"));
  m.def("shared_voxels", &shared, nb::arg("a"), nb::arg("b"));
  m.def("centroid_pairs", &centroids_in, nb::arg("a"), nb::arg("b"));
  m.def("restrict_components", &restrict_components, nb::arg("zones"), nb::arg("mask"));
  m.def("select_components", &select, nb::arg("components"), nb::arg("chosen"), nb::arg("start"), nb::arg("stop"));
  m.def("dilate", &dilated, nb::arg("mask"), nb::arg("rank"), nb::arg("iterations"));
  m.def("cell_distances", &cells, nb::arg("a"), nb::arg("b"), nb::arg("spacing"), nb::arg("areas"), nb::arg("threads"));
}

}  // namespace segauge
