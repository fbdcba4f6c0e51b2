"""Noise floors of a table: exact, from standard deviations that are given."""

import json
import math

import numpy as np
import pytest

from segauge.scores import ScoreTable, Status
from segauge.stats.changes import difference
from segauge.stats.noise_floors import Floor, floor_of_difference, noise_floor_of, noise_floors

CASES = tuple(f"c{i:02d}" for i in range(12))


def table(hd95, noise, status=Status.PRESENT, reasons=None):
    values = np.stack([np.broadcast_to(hd95, 12), np.broadcast_to(noise, 12)], axis=-1)[:, None, :].astype(float)
    states = np.full((12, 1), Status.PRESENT, dtype=object)
    states[:, 0] = status
    return ScoreTable(CASES, ("liver",), ("hd95", "hd95_noise"), values, states, reasons or {})


def test_the_floor_is_the_root_mean_square_of_the_cases():
    floor = noise_floor_of(table(2.0, [0.3, 0.4] * 6), "liver", "hd95")
    rms = math.sqrt((0.3**2 + 0.4**2) / 2)
    assert floor.sd == pytest.approx(rms)
    assert floor.one_case == pytest.approx(1.96 * math.sqrt(2) * rms)
    assert floor.of_mean == pytest.approx(1.96 * math.sqrt(2) * rms / math.sqrt(12))
    assert (floor.n, floor.n_unknown, floor.reasons) == (12, 0, ())
    assert noise_floor_of(table(2.0, [0.3, 0.4] * 6), "liver", "hd95", CASES[::2]).sd == pytest.approx(0.3)


def test_a_mean_of_many_grids_moves_as_the_floor_says():
    """2000 means over 12 cases whose grids lie at random: 95 % of the differences of two are below the floor."""
    noise = np.linspace(0.05, 0.4, 12)
    means = np.random.default_rng(0).normal(2.0, noise, (4000, 12)).mean(axis=1)
    below = np.abs(means[:2000] - means[2000:]) < noise_floor_of(table(2.0, noise), "liver", "hd95").of_mean
    assert below.mean() == pytest.approx(0.95, abs=0.015)  # three standard errors of a share of 2000


def test_where_it_is_not_known_the_reason_is_kept():
    noise = [np.nan, np.nan, *[0.1] * 10]
    reasons = {(CASES[0], "liver"): "no hd95_noise: between the voxels", (CASES[1], "liver"): ""}
    floor = noise_floor_of(table(2.0, noise, reasons=reasons), "liver", "hd95")
    assert (floor.n, floor.n_unknown, floor.reasons) == (10, 2, ("no hd95_noise: between the voxels",))
    none = noise_floor_of(table(2.0, np.nan), "liver", "hd95")
    assert (none.sd, none.one_case, none.of_mean, none.n_unknown) == (None, None, None, 12)
    json.dumps(none.to_dict(), allow_nan=False)


def test_a_failed_case_has_no_noise_and_no_reason_to_have_one():
    missed = noise_floor_of(table([0.0, *[2.0] * 11], [np.nan, *[0.1] * 11], [Status.MISSED, *[Status.PRESENT] * 11]),
                            "liver", "hd95")  # fmt: skip
    assert (missed.n, missed.n_unknown) == (11, 0)


def test_without_noise_there_is_no_floor():
    bare = ScoreTable(CASES, ("liver",), ("hd95",), np.ones((12, 1, 1)), np.full((12, 1), Status.PRESENT, dtype=object))
    assert noise_floor_of(bare, "liver", "hd95") is None
    assert noise_floors(bare) == {}
    assert list(noise_floors(table(2.0, 0.1))["liver"]) == ["hd95"]


def test_a_difference_has_the_noise_of_both():
    one = Floor("liver", "hd95", 4, 0, 0.3)
    other = Floor("liver", "hd95", 16, 0, 0.8)
    expected = 1.96 * math.sqrt(0.3**2 / 4 + 0.8**2 / 16)
    assert floor_of_difference([(one, other)]) == pytest.approx(expected)
    # The mean of two equal structures that move independently: smaller by the root of two.
    assert floor_of_difference([(one, other), (one, other)]) == pytest.approx(expected / math.sqrt(2))
    assert floor_of_difference([(one, None)]) is None
    assert floor_of_difference([(one, Floor("liver", "hd95", 0, 2, None))]) is None
    assert floor_of_difference([]) is None


def test_a_change_below_the_floor_is_said():
    found = difference(table(2.0, 0.5), table(2.1, 0.5), n_resamples=200)
    (change,) = found.changes  # the noise is no metric of its own
    assert change.noise_floor == pytest.approx(1.96 * math.sqrt(2 * 0.5**2 / 12))
    assert change.is_below_floor
    assert any("below the noise floor" in note and "liver hd95" in note for note in found.notes)
    assert not any("not compared" in note for note in found.notes)
    assert json.loads(json.dumps(found.to_dict()))["changes"][0]["noise_floor"] == change.noise_floor
    large = difference(table(2.0, 0.5), table(3.0, 0.5), n_resamples=200)
    assert not large.changes[0].is_below_floor
    assert not any("noise floor" in note for note in large.notes)
