"""Closed-form distances against hand calculation, against sampling, and against brute force between point clouds."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from segauge.errors import InvalidInput
from segauge.phantoms import (
    Ball,
    Box,
    Cylinder,
    Disk,
    DistanceTruth,
    Ellipse,
    Ellipsoid,
    Rectangle,
    Shell,
    Torus,
    Tube,
    distance_truth,
    rotation_about,
    sampled_truth,
)

TILTED = (1.0, -2.0, 0.5)


def along(start: float, end: float, aside: float = 0.0) -> tuple:
    """Two points on a line that is not along an axis, or on a parallel one."""
    axis, across = np.array([2.0, 3.0, 6.0]) / 7.0, np.array([6.0, 2.0, -3.0]) / 7.0
    return tuple((start * axis + aside * across).tolist()), tuple((end * axis + aside * across).tolist())


PAIRS = {
    "balls, overlapping": (Ball((0, 0, 0), 10), Ball((1, 2, 0.5), 12)),
    "balls, apart": (Ball((0, 0, 0), 10), Ball((30, 2, 0.5), 12)),
    "balls, nested": (Ball((0, 0, 0), 10), Ball((1, 0, 0), 3)),
    "balls, concentric": (Ball((1, 2, 3), 10), Ball((1, 2, 3), 8.5)),
    "balls, through the center": (Ball((0, 0, 0), 6), Ball((6, 0, 0), 5)),
    "shells": (Shell((0, 0, 0), 10, 6), Shell((1, 2, 0.5), 12, 9)),
    "shells, concentric": (Shell((0, 0, 0), 10, 6), Shell((0, 0, 0), 8, 3)),
    "ball in shell": (Ball((0, 0, 0), 10), Shell((3, 0, 0), 8, 3)),
    "disks, overlapping": (Disk((0, 0), 10), Disk((1, 2), 12)),
    "disks, apart": (Disk((0, 0), 10), Disk((30, 2), 12)),
    "disks, nested": (Disk((0, 0), 10), Disk((1, 2), 4)),
    "boxes, overlapping": (Box((0, 0, 0), (10, 8, 6)), Box((1, 2, -0.5), (9, 9, 9))),
    "boxes, nested": (Box((0, 0, 0), (10, 8, 6)), Box((1, 0.2, -0.5), (3, 4, 3))),
    "boxes, apart at a corner": (Box((0, 0, 0), (10, 8, 6)), Box((15, 12, 9), (3, 4, 3))),
    "boxes, apart at a face": (Box((0, 0, 0), (10, 8, 6)), Box((15, 1, 0.5), (3, 14, 3))),
    "boxes, shifted": (Box((0, 0, 0), (10, 8, 6)), Box((2, 0, 0), (10, 8, 6))),
    "boxes, a flat one through": (Box((0, 0, 0), (10, 8, 6)), Box((0.5, 0.3, 1), (20, 20, 0.4))),
    "rectangles": (Rectangle((0, 0), (10, 8)), Rectangle((1, 2), (9, 9))),
    "rectangles, nested": (Rectangle((0, 0), (10, 8)), Rectangle((1, 0.5), (3, 4))),
    "tori of one ring": (Torus((1, 2, 3), 20, 5, TILTED), Torus((1, 2, 3), 20, 3, TILTED)),
    "tori around one axis": (Torus((0, 0, 0), 20, 5), Torus((0, 0, 2), 18, 7, (0, 0, -1))),
    "cylinders, coaxial": (Cylinder(*along(0, 20), 5), Cylinder(*along(2, 21), 6)),
    "cylinders, nested": (Cylinder(*along(0, 20), 5), Cylinder(*along(17, 12), 2)),
    "cylinders, end to end": (Cylinder(*along(0, 20), 5), Cylinder(*along(-9, -2), 6)),
    "cylinders, side by side": (Cylinder(*along(0, 20), 5), Cylinder(*along(0, 20, 3), 6)),
    "cylinders, apart": (Cylinder(*along(0, 20), 5), Cylinder(*along(0, 20, 14), 6)),
    "flat cylinders": (Cylinder(*along(0, 3), 5), Cylinder(*along(0, 3, 2), 9)),
    "tubes, coaxial": (Tube(along(0, 20), 5), Tube(along(2, 21), 6)),
    "tubes, nested": (Tube(along(0, 20), 5), Tube(along(7, 12), 3)),
    "tubes, end to end": (Tube(along(0, 2), 5), Tube(along(3, 4), 3)),
    "tubes, side by side": (Tube(along(0, 20), 5), Tube(along(0, 20, 3), 6)),
    "tubes of one axis": (Tube(along(0, 20), 5), Tube(along(20, 0), 6)),
    "the same ellipsoid": (Ellipsoid((0, 0, 0), (3, 4, 5)), Ellipsoid((0, 0, 0), (3, 4, 5))),
}


@dataclass(frozen=True)
class Measured:
    """A pair with its truth, in closed form and sampled: worked out once for all tests."""

    pair: tuple
    exact: DistanceTruth
    sampled: DistanceTruth
    tile_mm: float


@pytest.fixture(scope="module", params=PAIRS, ids=lambda name: name.replace(" ", "-"))
def measured(request):
    pair, n = PAIRS[request.param], 20_000
    return Measured(pair, distance_truth(*pair), sampled_truth(*pair, n), tile_edge(*pair, n))


def tile_edge(pred, gt, n: int) -> float:
    return max(solid.surface_area_mm2 / n for solid in (pred, gt)) ** (1 / (pred.ndim - 1))


def test_closed_form_agrees_with_sampling(measured):
    exact, sampled, step = measured.exact, measured.sampled, measured.tile_mm
    # Every surface point has a sample within about one tile edge, and distances change no faster than places.
    assert exact.hd() == pytest.approx(sampled.hd(), abs=1.5 * step)
    assert sampled.hd() <= exact.hd() + 1e-9
    for percentage in (5, 50, 95):
        assert exact.hd_percentile(percentage) == pytest.approx(sampled.hd_percentile(percentage), abs=step)
    for percentage in (30, 95):
        one, two = (truth.hd_percentile(percentage, pooled=True) for truth in (exact, sampled))
        assert one == pytest.approx(two, abs=step)
    # Midpoint rules: the error of a mean falls like the square of the tile edge (0.3 mm at most here).
    assert exact.masd() == pytest.approx(sampled.masd(), abs=0.1 * step**2 + 1e-9)
    assert exact.assd() == pytest.approx(sampled.assd(), abs=0.1 * step**2 + 1e-9)
    assert exact.from_pred.area_mm2 == pytest.approx(sampled.from_pred.area_mm2, rel=1e-4)


def test_cumulative_shares_agree_with_sampling(measured):
    exact, sampled, step = measured.exact, measured.sampled, measured.tile_mm
    for one, two in ((exact.from_pred, sampled.from_pred), (exact.from_gt, sampled.from_gt)):
        distances = np.linspace(0, one.maximum_mm, 60)
        shares = two.share_within(distances)
        # A share is off by what lies within a step of the distance asked for: compare with the shares there.
        assert np.all(shares <= one.share_within(distances + step) + 1e-3)
        assert np.all(shares >= one.share_within(distances - step) - 1e-3)


def test_distribution_is_consistent(measured):
    for side in (measured.exact.from_pred, measured.exact.from_gt):
        distances = np.linspace(0, side.maximum_mm, 2001)
        shares = side.share_within(distances)
        beyond = 1 - shares
        assert np.all(np.diff(shares) >= -1e-12)
        assert side.share_within(-1) == 0.0
        assert shares[-1] == 1.0
        # The mean is the integral of what is further away. The trapezoidal rule of a falling function is off by half
        # a step times its fall, which is 1 at most.
        integral = side.maximum_mm * np.mean((beyond[1:] + beyond[:-1]) / 2)
        assert side.mean_mm == pytest.approx(integral, abs=side.maximum_mm / 4000 + 1e-12)


def test_a_percentile_is_the_smallest_distance_that_holds_its_share(measured):
    for side in (measured.exact.from_pred, measured.exact.from_gt):
        assert side.percentile_mm(100) == side.maximum_mm
        for percentage in (2.5, 60, 97.5):
            found = side.percentile_mm(percentage)
            # Shares are right to rounding (a few sums of parts of the area).
            assert side.share_within(found) >= percentage / 100 - 1e-9
            assert found == 0 or side.share_within(found - 1e-6 * side.maximum_mm) < percentage / 100


def test_swapping_changes_no_metric(measured):
    there, back = measured.exact, distance_truth(*reversed(measured.pair))
    for metric in (DistanceTruth.hd, DistanceTruth.assd, DistanceTruth.masd):
        assert metric(there) == pytest.approx(metric(back), rel=1e-12, abs=1e-12)
    assert there.hd_percentile(95) == pytest.approx(back.hd_percentile(95), rel=1e-9)
    assert there.nsd(1.0) == pytest.approx(back.nsd(1.0), abs=1e-9)


@pytest.mark.parametrize(
    "name", ["shells", "boxes, overlapping", "tori around one axis", "cylinders, side by side", "tubes, coaxial"]
)
def test_closed_form_agrees_with_brute_force_between_point_clouds(name):
    pred, gt = PAIRS[name]
    n = 60_000
    clouds = [solid.surface_samples(n) for solid in (pred, gt)]
    exact, step = distance_truth(pred, gt), tile_edge(pred, gt, n)
    for one, two, side in ((*clouds, exact.from_pred), (*reversed(clouds), exact.from_gt)):
        distances, _ = cKDTree(two.points).query(one.points[::13])
        weights = one.weights[::13]
        # The nearest sample lies beside the nearest point, by half a tile edge or so: where the surfaces touch the
        # distance is too large by that much, elsewhere by its square over twice the distance.
        assert np.sum(distances * weights) / weights.sum() == pytest.approx(side.mean_mm, abs=0.2 * step)
        assert distances.max() == pytest.approx(side.maximum_mm, abs=2 * step)


@given(
    radius=st.floats(0.1, 50),
    other=st.floats(0.1, 50),
    offset=st.floats(1e-6, 120),
)
@settings(max_examples=100)
def test_balls_of_any_size_and_offset(radius, other, offset):
    side = distance_truth(Ball((0, 0, 0), radius), Ball((offset, 0, 0), other)).from_pred
    low, high = abs(radius - offset), radius + offset

    def integral(r: float) -> float:  # of |r - other| r dr from 0, a cubic on either side of `other`
        if r <= other:
            return other * r**2 / 2 - r**3 / 3
        return other**3 / 3 + (r**3 / 3 - other * r**2 / 2)

    mean = (integral(high) - integral(low)) * 2 / (4 * radius * offset)
    size = radius + other + offset
    # The antiderivative cancels: its terms are of the order size³, divided by radius x offset.
    assert side.mean_mm == pytest.approx(mean, abs=1e-13 * size**3 / (radius * offset) + 1e-12 * size)
    assert side.maximum_mm == pytest.approx(max(abs(high - other), abs(low - other)), rel=1e-12)


@given(
    center=st.tuples(*[st.floats(-20, 20)] * 3),
    size=st.tuples(*[st.floats(0.5, 20)] * 3),
    other=st.tuples(*[st.floats(0.5, 20)] * 3),
)
@settings(max_examples=30)
def test_boxes_of_any_size_and_offset(center, size, other):
    pair = (Box((0, 0, 0), size), Box(center, other))
    exact, sampled, step = distance_truth(*pair), sampled_truth(*pair, 4000), 1.5 * tile_edge(*pair, 4000)
    # As for the pairs above: no quantile is off by more than a tile (its longer edge may be 1.5 times the mean one).
    assert exact.hd() == pytest.approx(sampled.hd(), abs=step)
    assert exact.masd() == pytest.approx(sampled.masd(), abs=0.2 * step)
    assert exact.hd_percentile(95) == pytest.approx(sampled.hd_percentile(95), abs=step)


def test_concentric_balls_by_hand():
    truth = distance_truth(Ball((0, 0, 0), 10), Ball((0, 0, 0), 8))
    assert (truth.hd(), truth.hd_percentile(95), truth.hd_percentile(1)) == (2, 2, 2)
    assert truth.assd() == pytest.approx(2, rel=1e-14)
    assert truth.nsd(2.0) == 1.0
    assert truth.nsd(1.999) == 0.0


def test_concentric_shells_by_hand():
    # Spheres of 10 and 6 mm against 9 and 7 mm: all 1 mm apart. Against 9 and 3 mm: 10 to 9, 6 to 9 or 3, back 9 to
    # 10, and 3 to 6.
    assert distance_truth(Shell((0, 0, 0), 10, 6), Shell((0, 0, 0), 9, 7)).masd() == pytest.approx(1)
    truth = distance_truth(Shell((0, 0, 0), 10, 6), Shell((0, 0, 0), 9, 3))
    assert truth.hd() == 3
    assert truth.from_pred.mean_mm == pytest.approx((100 * 1 + 36 * 3) / 136)
    assert truth.nsd(1.0) == pytest.approx((100 + 81) / (136 + 90))


def test_shifted_box_by_hand():
    # A 10 x 8 x 6 box moved by 2 mm along x. The two ends (48 mm² each) are 2 mm away. Of the four long sides, what
    # both boxes have is 0 away; the last 2 mm of each are u away, u from 0 to 2 (even shares: mean 1).
    truth = distance_truth(Box((0, 0, 0), (10, 8, 6)), Box((2, 0, 0), (10, 8, 6)))
    area, ends, side_strips = 2 * (80 + 60 + 48), 2 * 48, 2 * (8 + 6) * 2
    assert truth.hd() == 2
    # But the end inside the other box is within t of the other's long sides along a border: 2 - t less, t from 0 to 2,
    # around an end of (8 - 2t) x (6 - 2t): the integral of (2 - t)(28 - 8t) is 136/3.
    assert truth.masd() == pytest.approx((ends * 2 + side_strips * 1 - 136 / 3) / area, rel=1e-12)
    assert truth.nsd(2.0) == 1.0


def test_shifted_rectangle_by_hand():
    # 10 x 8 moved by 1 mm along x: one end lies outside, 1 mm away; the other inside, 1 mm away but for 1 mm at either
    # corner (mean 1/2); the two long sides overhang by 1 mm (mean 1/2).
    truth = distance_truth(Rectangle((0, 0), (10, 8)), Rectangle((1, 0), (10, 8)))
    assert truth.masd() == pytest.approx((8 + 6 + 2 * 0.5 + 2 * 0.5) / 36, rel=1e-12)
    assert truth.hd() == 1
    assert truth.nsd(0.0) == pytest.approx(18 / 36)


def test_identical_phantoms_are_zero_apart():
    truth = distance_truth(Ball((1, 2, 3), 4), Ball((1, 2, 3), 4))
    assert (truth.hd(), truth.masd(), truth.assd(), truth.hd_percentile(95), truth.nsd(0.0)) == (0, 0, 0, 0, 1)


def test_touching_faces_count_at_tolerance_zero():
    # One face of 8 x 6 mm in common; all coordinates exact. Inside-out neighbours: the rest is further away.
    truth = distance_truth(Box((0, 0, 0), (10, 8, 6)), Box((10, 0, 0), (10, 8, 6)))
    assert truth.nsd(0.0) == pytest.approx(48 / 376)


def test_torus_ring_by_hand():
    truth = distance_truth(Torus((0, 0, 0), 20, 5), Torus((0, 0, 0), 20, 3))
    assert truth.hd() == 2
    assert truth.nsd(2) == 1


def test_round_ellipsoids_are_balls():
    exact = distance_truth(Ball((0, 0, 0), 10), Ball((1, 2, 0.5), 12))
    turned = rotation_about((1, 1, 0), 30)
    sampled = sampled_truth(Ellipsoid((0, 0, 0), (10, 10, 10), turned), Ellipsoid((1, 2, 0.5), (12, 12, 12)), 20_000)
    # As in the first test: tiles of 0.3 mm.
    assert sampled.masd() == pytest.approx(exact.masd(), abs=1e-3)
    assert sampled.hd_percentile(95) == pytest.approx(exact.hd_percentile(95), abs=0.01)
    assert sampled.nsd(2.0) == pytest.approx(exact.nsd(2.0), abs=2e-3)


@pytest.mark.parametrize(
    ("pred", "gt"),
    [
        (Ellipsoid((0, 0, 0), (9, 6, 3)), Ellipsoid((1, 0, 0.5), (8, 7, 4), rotation_about((0, 0, 1), 20))),
        (Ball((0, 0, 0), 6), Box((1, 1, 0), (9, 9, 9))),
        (Torus((0, 0, 0), 8, 2), Torus((1, 0, 0), 8, 2)),
        (Cylinder((0, 0, 0), (0, 0, 20), 4), Tube(((0, 0, 0), (1, 2, 20)), 4)),
        (
            Tube(((0, 0, 0), (9, 0, 0), (12, 9, 2)), 2.5),
            Tube(((1, 0, 0), (10, 0, 0), (13, 9, 2)), 2.5),
        ),
        (Ellipse((0, 0), (9, 6)), Ellipse((1, 0), (6, 8))),
    ],
)
def test_sampled_truth_converges(pred, gt):
    coarse, fine, finest = (sampled_truth(pred, gt, n) for n in (1_000, 4_000, 32_000))
    step = tile_edge(pred, gt, 1_000)
    for truth, bound in ((coarse, step), (fine, step / 2)):
        # The finest stands for the truth: its own error is less than a third of the bound.
        assert truth.hd() == pytest.approx(finest.hd(), abs=1.5 * bound)
        assert truth.hd_percentile(95) == pytest.approx(finest.hd_percentile(95), abs=bound)
        assert truth.masd() == pytest.approx(finest.masd(), abs=0.2 * bound**2)
        assert truth.assd() == pytest.approx(finest.assd(), abs=0.2 * bound**2)


def test_sampled_truth_is_deterministic():
    pair = (Ellipsoid((0, 0, 0), (9, 6, 3)), Ball((1, 0, 0), 5))
    one, two = sampled_truth(*pair, 1000), sampled_truth(*pair, 1000)
    assert np.array_equal(one.from_pred.distances_mm, two.from_pred.distances_mm)
    with pytest.raises(ValueError, match="read-only"):
        one.from_pred.distances_mm[0] = 1


@pytest.mark.parametrize(
    "pair",
    [
        (Ball((0, 0, 0), 3), Box((0, 0, 0), (3, 3, 3))),
        (Ellipsoid((0, 0, 0), (3, 4, 5)), Ellipsoid((0, 0, 0), (3, 4, 6))),
        (Torus((0, 0, 0), 8, 2), Torus((1, 0, 0), 8, 2)),
        (Torus((0, 0, 0), 8, 2), Torus((0, 0, 0), 8, 2, (0, 1, 0))),
        (Tube(along(0, 10), 2), Tube(along(1, 10, 3), 2)),
        (Tube(along(0, 10), 2), Tube(((0, 0, 0), (0, 0, 10)), 2)),
        (Cylinder(*along(0, 10), 2), Cylinder(*along(1, 10, 3), 2)),
        (Cylinder(*along(0, 10), 2), Cylinder((0, 0, 0), (0, 0, 10), 2)),
        (Tube(((0, 0, 0), (9, 0, 0), (12, 9, 2)), 2), Tube(((1, 0, 0), (9, 0, 0), (12, 9, 2)), 2)),
    ],
)
def test_a_pair_without_closed_form_is_refused(pair):
    with pytest.raises(InvalidInput, match="sampled_truth"):
        distance_truth(*pair)


def test_bad_arguments_are_named():
    truth = distance_truth(Ball((0, 0, 0), 3), Ball((0, 0, 0), 4))
    with pytest.raises(InvalidInput, match="percentage: expected more than 0"):
        truth.hd_percentile(0)
    with pytest.raises(InvalidInput, match="percentage"):
        truth.hd_percentile(101)
    with pytest.raises(InvalidInput, match="tolerance_mm: expected 0 or more"):
        truth.nsd(-1)
    with pytest.raises(InvalidInput, match="tolerance_mm: expected 0 or more"):
        truth.nsd(math.nan)
    with pytest.raises(InvalidInput, match="2-D and 3-D"):
        sampled_truth(Disk((0, 0), 1), Ball((0, 0, 0), 1))
    with pytest.raises(InvalidInput, match="n: expected at least 1"):
        sampled_truth(Disk((0, 0), 1), Disk((0, 0), 2), 0)
