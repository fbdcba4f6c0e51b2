"""Smooth solids: the finer the grid, the nearer the answer to the closed form, at the rate that a staircase allows.

The surface of a binary mask lies within half a voxel of the true one, so a distance converges like the voxel size h.
Means over the area are another matter: the area of a staircase depends on how the surface lies to the axes and does not
converge, so an area-weighted mean of distances that vary over the surface keeps a small bias at any h (some percent for
balls). Where the distance is the same everywhere the weights do not matter, and means converge too.
"""

import numpy as np
import pytest

from segauge import Grid, assd, compute_surface_distances, hausdorff, hausdorff95, masd
from segauge.geometry.patterns import SURFACES, cell_patterns
from segauge.geometry.reference.surfaces import find_cells, sample_points
from segauge.phantoms import Ball, Disk, Ellipsoid, Shell, Torus, distance_truth, sampled_truth

SPACINGS = (0.5, 0.7, 1.0, 1.4, 2.0)
FLAT_SPACINGS = (0.02, 0.04, 0.08, 0.16)  # in two dimensions fine grids cost little


def masks(pair, h, half_width, ndim=3):
    steps = int(2 * half_width / h) + 1
    grid = Grid.from_spacing((steps,) * ndim, h, (-half_width,) * ndim)
    return [phantom.rasterize(grid).array for phantom in pair], grid


def errors(make_pair, truth_of, half_width, surface, ndim=3, spacings=SPACINGS):
    """Return the root mean square errors of hd, hd95, assd and masd over random places and sizes, a row per spacing."""
    table = []
    for h in spacings:
        rows = []
        for seed in range(5):
            pair = make_pair(np.random.default_rng(seed), ndim)
            truth = truth_of(*pair)
            (pred, gt), _ = masks(pair, h, half_width, ndim)
            sd = compute_surface_distances(pred, gt, h, surface=surface)
            ours = (hausdorff(sd), hausdorff95(sd), assd(sd), masd(sd))
            rows.append(np.subtract(ours, (truth.hd(), truth.hd_percentile(95), truth.assd(), truth.masd())))
        table.append(np.sqrt(np.square(rows).mean(axis=0)))
    return np.array(table)


def order_of(column, spacings=SPACINGS):
    """Return the exponent p of a fit error = c h^p. A staircase promises 1; by chance of the place it scatters."""
    return float(np.polyfit(np.log(spacings), np.log(column), 1)[0])


def place(rng, ndim=3):
    return tuple(rng.uniform(-1, 1, ndim))


def concentric(kind):
    def make_pair(rng, ndim):
        centre, inner = place(rng, ndim), rng.uniform(8, 11)
        return kind(centre, inner + rng.uniform(1, 4)), kind(centre, inner)

    return make_pair


def tori(rng, ndim):
    centre, ring, tube = place(rng, ndim), rng.uniform(10, 11), rng.uniform(3, 4)
    return Torus(centre, ring, tube + rng.uniform(0.5, 2)), Torus(centre, ring, tube)


#: What converges like the voxel; the sub-voxel surface is closer to begin with (tests/geometry/test_subvoxel.py).
STAIRCASES = ("marching-cubes", "voxel")
CONSTANT_DISTANCE = {"concentric balls": concentric(Ball), "coaxial tori": tori}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("name", CONSTANT_DISTANCE)
def test_everything_converges_where_the_distance_is_constant(name, surface):
    table = errors(CONSTANT_DISTANCE[name], distance_truth, 18, surface)
    # The linear bound: each surface lies within half a voxel diagonal of the true one.
    assert np.all(table <= np.sqrt(3) / 2 * np.array(SPACINGS)[:, np.newaxis])
    # The steps seen from afar grow with distance / h up to that bound, so at these h the exponent is still below 1.
    for column in table.T:
        assert order_of(column) > 0.3


@pytest.mark.parametrize("surface", STAIRCASES)
def test_disks_converge_linearly(surface):
    table = errors(concentric(Disk), distance_truth, 18, surface, 2, FLAT_SPACINGS)
    for column in table.T:
        assert order_of(column, FLAT_SPACINGS) > 0.7  # near the exponent 1 that a staircase promises


def moved_balls(rng, ndim):
    gt = Ball(place(rng, ndim), rng.uniform(10, 12))
    return Ball(gt.center_mm, rng.uniform(10, 12)).shifted(rng.uniform(-1.5, 1.5, ndim)), gt


def moved_ellipsoids(rng, ndim):
    gt = Ellipsoid(place(rng, ndim), tuple(rng.uniform(7, 12, ndim)))
    return gt.shifted(rng.uniform(-1.5, 1.5, ndim)), gt


MOVED = {
    "balls": (moved_balls, distance_truth),
    "ellipsoids": (moved_ellipsoids, lambda a, b: sampled_truth(a, b, 5000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("name", ["balls", pytest.param("ellipsoids", marks=pytest.mark.long)])
def test_the_hausdorff_distance_converges_and_means_stay_within_their_bias(name, surface):
    make_pair, truth_of = MOVED[name]
    table = errors(make_pair, truth_of, 17, surface)
    assert order_of(table[:, 0]) > 0.5
    # The bias of the means: the measured 0.05 mm (marching cubes), 0.2 mm (voxel faces, whose roughness is the voxel
    # itself) and 0.01 mm (sub-voxel) with a margin of one half; without any bound a broken weight would pass.
    assert np.all(table[0, 2:] < {"marching-cubes": 0.075, "voxel": 0.3, "subvoxel": 0.025}[surface])


@pytest.mark.parametrize("surface", STAIRCASES)
def test_every_single_distance_is_right_to_a_voxel(surface):
    """Sample by sample: both surfaces are within half a voxel diagonal of the true ones."""
    h = 1.0
    pred, gt = Ball((0.3, -0.4, 0.1), 11.0), Ball((1.7, 0.2, -0.8), 12.5)
    (pred_mask, gt_mask), grid = masks((pred, gt), h, 16)
    sd = compute_surface_distances(pred_mask, gt_mask, h, surface=surface)
    box = np.argwhere(pred_mask | gt_mask)
    start, stop = box.min(axis=0), box.max(axis=0) + 1
    cut = pred_mask[tuple(slice(a, b) for a, b in zip(start, stop, strict=True))]
    # cells of marching cubes are counted from the voxel before the box
    shift = start - (1 if surface == "marching-cubes" else 0)
    points = sample_points(find_cells(cut, None, surface), cell_patterns(surface, np.eye(3) * h)) + shift * h
    exact = gt.distance(points + grid.affine[:3, 3])
    assert np.abs(sd.d_pg - exact).max() <= h * np.sqrt(3) / 2


def test_the_surface_of_a_shell_is_both_its_sides():
    (mask,), grid = masks([Shell((0.0, 0.0, 0.0), 12.0, 8.0)], 0.5, 14)
    sd = compute_surface_distances(mask, mask, grid.spacing)
    # a staircase has up to a tenth more area than the sphere: 8.8 % on average over all directions
    assert sd.area_gt == pytest.approx(4 * np.pi * (12**2 + 8**2), rel=0.12)
    assert sd.area_gt > 4 * np.pi * (12**2 + 8**2)
