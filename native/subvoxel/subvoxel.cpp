#include "subvoxel/subvoxel.hpp"

#include <cmath>
#include <utility>

#include "core/parallel.hpp"
#include "simd/operations.hpp"
#include "subvoxel/caps.hpp"
#include "subvoxel/edge_owners.hpp"
#include "subvoxel/outlines.hpp"

namespace segauge {
namespace {

// Writes the fans of cells, where there is room for them.
class FanWriter {
 public:
  FanWriter(const CellGrid& grid, const EdgeVertices& cuts, const SubvoxelRule& rule, Fans& out)
      : grid_(grid), cuts_(cuts), rule_(rule), out_(out), owners_(grid) {
    for (size_t e = 0; e < edge_.size(); ++e) {
      const FanTable::Edge& edge = rule.fans.edge[e];
      edge_[e] = {edge.axis, EdgeOwners::places(edge.low[0], edge.low[1], edge.low[2]),
                  rule.lattice.offset(edge.low[0], edge.low[1], edge.low[2]), rule.lattice.step[edge.axis]};
    }
    const Vec3 &z = rule.lattice.step[0], &y = rule.lattice.step[1], &x = rule.lattice.step[2];
    slack_ = 1e-6 * (std::sqrt(dot(z, z)) + std::sqrt(dot(y, y)) + std::sqrt(dot(x, x)));
  }

  // Those of all cells of a brick.
  void write_brick(size_t number) {
    const CellGrid::Brick& brick = grid_.bricks[number];
    owners_.enter(brick);
    for (auto i = static_cast<size_t>(brick.begin); i < static_cast<size_t>(grid_.end_of(number)); ++i) write(i);
  }

 private:
  struct Edge {
    size_t axis;
    int64_t owner;     // so many places on is the cell that it begins at
    Vec3 begin, step;  // its lower end, in mm from the cell's origin, and the way to the upper one
  };

  void write(size_t number) {
    Fans::OfCell& out = out_.cell[number];
    const FanTable::Shape& shape = rule_.fans.shape[out.code];
    const uint32_t* owner = owners_.from(grid_.cells[number]);
    double* const first = out_.numbers.data() + out.begin;
    double* numbers = first;
    const uint8_t* edges = shape.edge.data();
    Vec3 normal{0, 0, 0};
    FanMeasures measures{};
    for (size_t f = 0; f < shape.fans; ++f) {
      const size_t count = shape.corners[f];
      find_corners(edges, count, owner);
      measures = simd_.write_fan(corners_, count, numbers);
      out_.area[out.fan + f] = measures.area;
      for (size_t i = 0; i < 3; ++i) normal[i] += measures.normal[i];
      numbers += FanNumbers::room_for(count);
      edges += count;
    }
    const Vec3 middle{first[0], first[1], first[2]};
    if (shape.fans > 1) measure_all(first, shape, normal, measures);
    out.disc = BoundingDisc(middle, normal, measures.radius, measures.half_thickness, slack_);
  }

  void find_corners(const uint8_t* edges, size_t count, const uint32_t* owner) {
    for (size_t k = 0; k < count; ++k) {
      const Edge& edge = edge_[edges[k]];
      const double cut = cuts_.cut[owner[edge.owner]][edge.axis];
      corners_.x[k] = edge.begin[0] + cut * edge.step[0];
      corners_.y[k] = edge.begin[1] + cut * edge.step[1];
      corners_.z[k] = edge.begin[2] + cut * edge.step[2];
    }
    for (size_t k = count; k < FanNumbers::row_of(count); ++k) {
      corners_.x[k] = corners_.x[k - count];
      corners_.y[k] = corners_.y[k - count];
      corners_.z[k] = corners_.z[k - count];
    }
  }

  // How far all corners of a cell with several fans lie from the middle of the first one.
  static void measure_all(const double* first, const FanTable::Shape& shape, const Vec3& normal, FanMeasures& out) {
    const double squared = dot(normal, normal), per_squared = squared > 0 ? 1 / squared : 0;
    double aside = 0, above = 0;
    const double* numbers = first;
    for (size_t f = 0; f < shape.fans; ++f) {
      const size_t row = FanNumbers::row_of(shape.corners[f]);
      for (size_t k = 0; k < shape.corners[f]; ++k) {
        Vec3 d;
        for (size_t i = 0; i < 3; ++i) d[i] = numbers[i] + numbers[FanNumbers::kSpokes + i * row + k] - first[i];
        const double height = dot(d, normal), squared_height = height * height * per_squared;
        above = std::max(above, squared_height);
        aside = std::max(aside, dot(d, d) - squared_height);
      }
      numbers += FanNumbers::room_for(shape.corners[f]);
    }
    out.radius = std::sqrt(aside);
    out.half_thickness = std::sqrt(above);
  }

  const CellGrid& grid_;
  const EdgeVertices& cuts_;
  const SubvoxelRule& rule_;
  Fans& out_;
  const SimdOperations& simd_ = SimdOperations::here();
  std::array<Edge, 12> edge_;
  double slack_;  // mm that outweigh rounding to float
  EdgeOwners owners_;
  FanCorners corners_;
};

// Makes room for the fans of every cell; returns the codes of the cells.
std::vector<uint8_t> make_room(const CellGrid& grid, const SubvoxelRule& rule, Fans& out) {
  std::vector<uint8_t> codes(grid.cells.size());
  std::vector<std::array<uint32_t, 2>> needed;  // by code: fans, and their numbers
  for (const FanTable::Shape& shape : rule.fans.shape) {
    uint32_t room = 0;
    for (size_t f = 0; f < shape.fans; ++f) room += static_cast<uint32_t>(FanNumbers::room_for(shape.corners[f]));
    needed.push_back({shape.fans, room});
  }
  out.cell.resize(grid.cells.size());
  uint64_t begin = 0;
  uint32_t fan = 0;
  for (size_t i = 0; i < grid.cells.size(); ++i) {
    const uint32_t code = grid.cells[i].code;
    codes[i] = static_cast<uint8_t>(code);
    out.cell[i].begin = begin;
    out.cell[i].fan = fan;
    out.cell[i].code = code;
    fan += needed[code][0];
    begin += needed[code][1];
  }
  out.numbers.resize(begin);
  out.area.resize(fan);
  return codes;
}

// Moves the cuts to where the shape of the object in the layers around says, where it says more than gaussians. What it
// says depends on where the Gaussians cut the lines of voxels, and not on the order of the axes.
void move_by_wider_view(EdgeVertices& cuts, const BitVolume& mask, const CellGrid& grid, const SubvoxelRule& rule,
                        int threads) {
  if (rule.has_caps == std::array<bool, 3>{} && rule.is_thick == std::array<bool, 3>{}) return;
  const VerticesOnLines lines(cuts, grid, padded_size(mask), rule);
  move_to_outlines(cuts, mask, grid, lines, rule, threads);
  move_to_caps(cuts, mask, grid, lines, rule, threads);
}

}  // namespace

SubvoxelSurface find_subvoxel_surface(const BitVolume& mask, const BitVolume* ignore, const SubvoxelRule& rule,
                                      int threads) {
  SubvoxelSurface out;
  out.grid = find_cells(mask, ignore, SurfaceKind::marching_cubes, rule.lattice, threads);
  EdgeVertices cuts = find_edge_vertices(mask, out.grid, make_room(out.grid, rule, out.fans), rule, threads);
  move_by_wider_view(cuts, mask, out.grid, rule, threads);
  const auto bricks = static_cast<int64_t>(out.grid.bricks.size());
  std::vector<FanWriter> writers(static_cast<size_t>(worker_count(bricks, threads)),
                                 FanWriter(out.grid, cuts, rule, out.fans));
  parallel_for(bricks, threads, [&](int64_t brick, int worker) {
    writers[static_cast<size_t>(worker)].write_brick(static_cast<size_t>(brick));
  });
  return out;
}

}  // namespace segauge
