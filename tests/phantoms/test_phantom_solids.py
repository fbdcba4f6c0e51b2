"""Every phantom: volume, area, distance and mask agree with each other, with brute force and with voxel counts."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy.spatial import cKDTree

from segauge.errors import InvalidInput
from segauge.grid import Grid
from segauge.phantoms import (
    Ball,
    Box,
    Cylinder,
    Disk,
    Ellipse,
    Ellipsoid,
    Phantom,
    Rectangle,
    Shell,
    Torus,
    Tube,
    rotation_about,
)

TURNED = rotation_about((1.0, 2.0, 3.0), 40.0)

SOLIDS: dict[str, Phantom] = {
    "ball": Ball((0.3, -0.2, 0.1), 7.0),
    "ellipsoid": Ellipsoid((0.3, -0.2, 0.1), (9.0, 6.0, 3.0), TURNED),
    "pancake": Ellipsoid((0.0, 0.0, 0.0), (8.0, 8.0, 2.0)),
    "cigar": Ellipsoid((0.0, 0.0, 0.0), (3.0, 3.0, 9.0), TURNED),
    "box": Box((0.3, -0.2, 0.1), (12.0, 9.0, 7.0)),
    "shell": Shell((0.3, -0.2, 0.1), 8.0, 4.5),
    "torus": Torus((0.3, -0.2, 0.1), 8.0, 3.0, (1.0, -2.0, 0.5)),
    "cylinder": Cylinder((-4.0, -3.0, -5.0), (4.0, 2.0, 6.0), 4.0),
    "capsule": Tube(((-4.0, -3.0, -5.0), (4.0, 2.0, 6.0)), 3.5),
    "bent tube": Tube(((-9.0, 0.0, 0.0), (0.0, 0.0, 0.0), (2.0, 9.0, 2.0), (-4.0, 12.0, 10.0)), 2.5),
    "sharp bend": Tube(((-9.0, 0.0, 0.0), (0.0, 0.0, 0.0), (-6.0, 8.0, 0.0)), 2.0),
    "disk": Disk((0.3, -0.2), 7.0),
    "ellipse": Ellipse((0.3, -0.2), (9.0, 4.0), ((0.8, -0.6), (0.6, 0.8))),
    "rectangle": Rectangle((0.3, -0.2), (12.0, 7.0)),
}

#: Solids whose surface has no edge, with the Euler characteristic of the surface.
SMOOTH = {"ball": 2, "ellipsoid": 2, "shell": 4, "torus": 0, "capsule": 2}


def grid_around(solid: Phantom, spacing: float, offset=0.0, margin: float = 2.0) -> Grid:
    low, high = solid.bounds_mm()
    shape = np.ceil((high - low + 2 * margin) / spacing).astype(int) + 1
    return Grid.from_spacing(tuple(shape), spacing, tuple(low - margin + np.asarray(offset) * spacing))


def sheared_grid(spacing: float) -> Grid:
    turn = np.asarray(rotation_about((3.0, 1.0, -1.0), 25.0))
    axes = turn @ np.array([[1.0, 0.3, 0.0], [0.0, 1.0, -0.2], [0.0, 0.0, 1.5]]) * spacing
    shape = (int(60 / spacing), int(60 / spacing), int(40 / spacing))
    affine = np.eye(4)
    affine[:3, :3] = axes
    affine[:3, 3] = -axes @ (np.asarray(shape) - 1) / 2
    return Grid(shape, affine)


def all_centers(grid: Grid) -> np.ndarray:
    index = np.moveaxis(np.indices(grid.shape), 0, -1)
    return index @ grid.affine[:-1, :-1].T + grid.affine[:-1, -1]


@pytest.fixture(params=SOLIDS, ids=lambda name: name.replace(" ", "-"))
def solid(request) -> Phantom:
    return SOLIDS[request.param]


def test_surface_samples_lie_on_the_surface_and_weigh_its_area(solid):
    samples = solid.surface_samples(20_000)
    # Coordinates of some 10 mm: rounding alone.
    assert np.abs(solid.distance(samples.points)).max() < 1e-12
    # Product rules over smooth patches: the error falls at least like the area of a tile, 1/20000 of the whole.
    assert samples.weights.sum() == pytest.approx(solid.surface_area_mm2, rel=1e-4)


def test_bounds_are_tight(solid):
    low, high = solid.bounds_mm()
    points = solid.surface_samples(40_000).points
    # A smooth surface leaves its tangent plane like h²/2r, with h the distance of samples; edges by h itself.
    step = (solid.surface_area_mm2 / 40_000) ** (1 / (solid.ndim - 1))
    assert np.all(points >= low - 1e-9)
    assert np.all(points <= high + 1e-9)
    assert np.all(points.min(axis=0) <= low + 2 * step)
    assert np.all(points.max(axis=0) >= high - 2 * step)


def test_distance_is_that_to_the_nearest_surface_point(solid):
    low, high = solid.bounds_mm()
    points = np.random.default_rng(1).uniform(low - 4, high + 4, (2000, solid.ndim))
    n = 40_000 if solid.ndim == 3 else 10_000
    nearest_sample, _ = cKDTree(solid.surface_samples(n).points).query(points)
    excess = nearest_sample - solid.distance(points)
    # No sample is nearer than the surface; the nearest one is at most about two tile edges further.
    step = (solid.surface_area_mm2 / n) ** (1 / (solid.ndim - 1))
    assert excess.min() > -1e-12
    assert excess.max() < 2 * step
    assert np.median(excess) < 0.1 * step


def test_sign_of_distance_is_inside_and_outside(solid):
    low, high = solid.bounds_mm()
    points = np.random.default_rng(2).uniform(low - 1, high + 1, (5000, solid.ndim))
    inside = solid.level(list(points.T)) <= 0
    assert np.array_equal(solid.signed_distance(points) <= 0, inside)
    assert 0.1 < inside.mean() < 0.9


def test_shifting_moves_the_distance_field(solid):
    offset = [1.25, -0.5, 2.0][: solid.ndim]
    points = np.random.default_rng(3).uniform(-10, 10, (500, solid.ndim))
    moved = solid.shifted(offset)
    assert moved.signed_distance(points + offset) == pytest.approx(solid.signed_distance(points), abs=1e-12)
    assert moved.volume_mm3 == pytest.approx(solid.volume_mm3, rel=1e-14)
    assert type(moved) is type(solid)


@pytest.mark.parametrize("flips", [(False, False, False), (True, False, True)])
def test_mask_is_every_voxel_whose_center_is_inside(solid, flips):
    grid = grid_around(solid, 0.9).reoriented(tuple(reversed(range(solid.ndim))), flips[: solid.ndim])
    expected = solid.level(list(np.moveaxis(all_centers(grid), -1, 0))) <= 0
    mask = solid.rasterize(grid)
    assert mask.grid is grid
    assert np.array_equal(mask.array, expected)
    assert expected.any()


@pytest.mark.parametrize("name", [name for name, solid in SOLIDS.items() if solid.ndim == 3])
def test_mask_on_a_sheared_grid(name):
    solid = SOLIDS[name]
    grid = sheared_grid(1.0)
    expected = solid.level(list(np.moveaxis(all_centers(grid), -1, 0))) <= 0
    mask = solid.rasterize(grid).array
    assert np.array_equal(mask, expected)
    # Some 200 to 2000 voxels: the count scatters by the root of the number of border voxels, at most 4 %.
    assert mask.sum() * grid.voxel_volume_mm3 == pytest.approx(solid.volume_mm3, rel=0.15)


def test_solid_outside_or_across_the_grid(solid):
    grid = grid_around(solid, 1.0)
    far = solid.shifted([500.0] * solid.ndim)
    assert not far.rasterize(grid).array.any()
    low, high = solid.bounds_mm()
    cut = Grid.from_spacing([8] * solid.ndim, 1.0, tuple((low + high) / 2))
    expected = solid.level(list(np.moveaxis(all_centers(cut), -1, 0))) <= 0
    assert np.array_equal(solid.rasterize(cut).array, expected)


def turned_grid(solid: Phantom, spacing: float, draw: np.random.Generator) -> Grid:
    """A grid that covers the solid, at a random angle and offset, with a spacing within 15 % of the given one."""
    edge = spacing * draw.uniform(0.85, 1.15)
    axes, _ = np.linalg.qr(draw.normal(size=(solid.ndim, solid.ndim)))
    low, high = solid.bounds_mm()
    n = math.ceil(np.linalg.norm(high - low) / edge) + 2
    affine = np.eye(solid.ndim + 1)
    affine[:-1, :-1] = axes * edge
    affine[:-1, -1] = (low + high) / 2 - axes @ (draw.uniform(0, 1, solid.ndim) + n / 2 - 1) * edge
    return Grid((n,) * solid.ndim, affine)


@pytest.mark.parametrize("name", [name for name in SOLIDS if name not in ("box", "rectangle")])
def test_voxel_volume_converges(name):
    solid = SOLIDS[name]

    def rms_error(spacing: float) -> float:
        draw = np.random.default_rng(4)
        grids = [turned_grid(solid, spacing, draw) for _ in range(16)]
        volumes = [solid.rasterize(grid).array.sum() * grid.voxel_volume_mm3 for grid in grids]
        return math.sqrt(np.mean((np.asarray(volumes) / solid.volume_mm3 - 1) ** 2))

    coarse, fine = rms_error(1.6), rms_error(0.4)
    # The border's voxels err independently: the root mean square falls like h² in 3-D (16 times from 1.6 to 0.4 mm),
    # like h^1.5 in 2-D (8 times). The quotient of two rms of 16 draws scatters by a quarter: half the rate is two
    # standard errors below, and well above the rate of a wrong border (4 times).
    assert coarse / fine > (8 if solid.ndim == 3 else 4.5)
    assert fine < 5e-3


@pytest.mark.parametrize("kind", [Box, Rectangle])
def test_block_on_voxel_borders_is_exact(kind):
    size = (12.0, 9.0, 6.0)[: kind.ndim]
    solid = kind(tuple(edge / 2 for edge in size), size)
    spacing = (2.0, 1.5, 3.0)[: kind.ndim]
    grid = Grid.from_spacing([12] * kind.ndim, spacing, [-edge * 1.5 for edge in spacing])
    count = math.prod(int(edge / step) for edge, step in zip(size, spacing, strict=True))
    assert solid.rasterize(grid).array.sum() == count
    assert count * grid.voxel_volume_mm3 == pytest.approx(solid.volume_mm3, rel=1e-14)


@pytest.mark.parametrize("name", SMOOTH)
def test_area_from_voxels_within_a_millimetre_of_the_surface(name):
    solid = SOLIDS[name]
    grid = grid_around(solid, 0.25, (0.1, 0.4, 0.7))
    width = 0.8
    near = solid.distance(all_centers(grid)) <= width
    # Steiner: the layer of half width w has volume 2 w A + 2/3 w³ (total curvature, 2 π times Euler characteristic),
    # as long as w is less than every radius of curvature (1 mm at the tips of the ellipsoid).
    expected = 2 * width * solid.surface_area_mm2 + 2 / 3 * width**3 * 2 * math.pi * SMOOTH[name]
    # Two surfaces of some 10^4 voxels each: they err by a third of a voxel, independently: 2e-3 at most.
    assert near.sum() * grid.voxel_volume_mm3 == pytest.approx(expected, rel=2e-3)


def test_known_volumes_and_areas():
    assert Ball((0, 0, 0), 3).volume_mm3 == pytest.approx(113.09733552923255)
    assert Shell((0, 0, 0), 3, 2).surface_area_mm2 == pytest.approx(52 * math.pi)
    assert Torus((0, 0, 0), 5, 2).volume_mm3 == pytest.approx(40 * math.pi**2)
    assert Cylinder((0, 0, 0), (0, 3, 4), 2).volume_mm3 == pytest.approx(20 * math.pi)
    assert Tube(((0, 0, 0), (0, 3, 4)), 2).surface_area_mm2 == pytest.approx(36 * math.pi)
    # A sphere is an ellipsoid; a thin pancake has two sides of π a²; Ramanujan's ellipse a=2, b=1.
    assert Ellipsoid((0, 0, 0), (3, 3, 3)).surface_area_mm2 == pytest.approx(36 * math.pi)
    assert Ellipsoid((0, 0, 0), (3, 3, 1e-6)).surface_area_mm2 == pytest.approx(18 * math.pi)
    assert Ellipse((0, 0), (2, 1)).surface_area_mm2 == pytest.approx(9.688448220547675)
    assert Rectangle((0, 0), (2, 3)).surface_area_mm2 == 10
    assert Box((0, 0, 0), (1, 2, 3)).surface_area_mm2 == 22


def test_points_on_a_line_are_a_straight_tube():
    straight = Tube(((0, 0, 0), (0, 0, 20)), 3)
    same = Tube(((0, 0, 0), (0, 0, 8), (0, 0, 20)), 3)
    points = np.random.default_rng(5).uniform(-6, 26, (2000, 3))
    assert same.volume_mm3 == pytest.approx(straight.volume_mm3)
    assert same.signed_distance(points) == pytest.approx(straight.signed_distance(points), abs=1e-12)


def test_ellipsoid_distance_on_its_symmetry_planes():
    solid = Ellipsoid((0, 0, 0), (6, 4, 2))
    samples = solid.surface_samples(400_000).points
    for point in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (5, 0, 0), (0, 0, 1.5), (1e-9, 0, 0), (0, 1e-300, 0)):
        brute = np.linalg.norm(samples - point, axis=1).min()
        # The nearest of samples that are about 0.02 mm apart, as for every solid above.
        assert solid.distance(point) == pytest.approx(brute, abs=0.02), point
        assert solid.distance(point) <= brute + 1e-12, point


def test_ellipsoid_distance_far_outside_and_on_the_axes():
    solid = Ellipsoid((0, 0, 0), (6, 4, 2))
    assert solid.signed_distance([[1e6, 0, 0], [0, 0, 3], [0, -7, 0], [6, 0, 0]]) == pytest.approx(
        [1e6 - 6, 1, 3, 0], abs=1e-9
    )
    # The middle is nearest to the ends of the shortest axis.
    assert solid.signed_distance([0, 0, 0]) == pytest.approx(-2, abs=1e-14)


def test_signed_distance_keeps_the_shape_of_the_points():
    assert Ball((0, 0, 0), 1).signed_distance(np.zeros((4, 5, 3))).shape == (4, 5)
    assert Ball((0, 0, 0), 1).signed_distance((0, 0, 0)).shape == ()


def test_memory_stays_that_of_the_mask():
    grid = Grid.from_spacing((300, 300, 300), 0.1)
    solid = Ellipsoid((15, 15, 15), (14, 14, 14), TURNED)
    solid.rasterize(Grid.from_spacing((2, 2, 2)))
    tracemalloc.start()
    solid.rasterize(grid)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 27 MB of mask, and a slab of 2^17 voxels with some ten float64 arrays.
    assert peak < 27e6 + 20e6


def test_phantoms_are_values():
    assert Ball([1, 2, 3], 4) == Ball((1.0, 2.0, 3.0), 4.0)
    assert hash(Torus((0, 0, 0), 5, 2, (0, 0, 2))) == hash(Torus((0, 0, 0), 5, 2))
    assert Ball((0, 0, 0), 4) != Ball((0, 0, 0), 5)
    with pytest.raises(AttributeError):
        Ball((0, 0, 0), 1).radius_mm = 2


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Ball((0, 0), 1), "center_mm: expected 3"),
        (lambda: Ball((0, 0, math.nan), 1), "center_mm: expected 3 finite"),
        (lambda: rotation_about((0, 0, 0), 10), "axis: expected a direction, got the zero vector"),
        (lambda: rotation_about((0, 1), 10), "axis: expected 3 finite"),
        (lambda: Ball((0, 0, 0), 0), "radius_mm: expected a positive"),
        (lambda: Ball((0, 0, 0), math.inf), "radius_mm: expected a positive"),
        (lambda: Shell((0, 0, 0), 2, 3), "inner_radius_mm: expected less"),
        (lambda: Torus((0, 0, 0), 2, 3), "tube_radius_mm: expected less"),
        (lambda: Torus((0, 0, 0), 3, 2, (0, 0, 0)), "axis: expected a direction"),
        (lambda: Box((0, 0, 0), (1, -1, 1)), "size_mm: expected positive"),
        (lambda: Ellipsoid((0, 0, 0), (1, 1, 1), ((1, 0, 0), (0, 2, 0), (0, 0, 1))), "rotation: expected 3 x 3"),
        (lambda: Cylinder((0, 0, 0), (0, 0, 0), 1), "end_mm: expected another point"),
        (lambda: Tube(((0, 0, 0),), 1), "points_mm: expected two points"),
        (lambda: Tube(((0, 0, 0), (0, 0, 0)), 1), "points_mm: expected two points"),
        (lambda: Ball((0, 0, 0), 1).rasterize(Grid.from_spacing((4, 4))), "needs a 3-D grid"),
        (lambda: Ball((0, 0, 0), 1).signed_distance([0, 0]), "points_mm: expected 3 coordinates"),
        (lambda: Tube(((0, 0, 0), (0, 0, 9), (0, 1, 0)), 1).volume_mm3, "runs into itself"),
        (lambda: Tube(((0, 0, 0), (0, 0, 9), (0, 3, 9), (0, 3, 0)), 1.6).volume_mm3, "runs into itself"),
    ],
)
def test_bad_arguments_are_named(make, word):
    with pytest.raises(InvalidInput, match=word):
        make()


def test_a_tube_that_runs_into_itself_can_still_be_drawn():
    knot = Tube(((0, 0, 0), (0, 0, 9), (0, 1, 0)), 1)
    assert knot.rasterize(Grid.from_spacing((4, 8, 16), 0.7, (-2, -2, -2))).array.any()
