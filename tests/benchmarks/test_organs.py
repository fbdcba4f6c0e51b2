import json
import re

import numpy as np
import pytest
from benchmarks.accuracy import organs
from benchmarks.accuracy.smooth_objects import SmoothObject, distances_between, distances_to, grid_lines, surface_of
from benchmarks.accuracy.surfaces import Answer
from scipy import ndimage

from segauge.geometry.reference import surfaces as reference
from segauge.metrics.surface import assd, hausdorff, hausdorff95, nsd, surface_metrics
from segauge.phantoms import Ball, distance_truth

LINES = [np.arange(-12, 15, 0.5)] * 3


def _ball_depths(center, radius):
    places = np.stack(np.meshgrid(*LINES, indexing="ij"), axis=-1)
    return radius - np.linalg.norm(places - center, axis=-1)


def test_surfaces_of_balls_are_as_far_apart_as_their_closed_form_says():
    pred, gt = Ball((0.4, 0.7, 1.1), 8.0), Ball((0.1, -0.2, 0.0), 9.0)
    surfaces = [surface_of(_ball_depths(ball.center_mm, ball.radius_mm), LINES) for ball in (pred, gt)]
    found, truth = distances_between(*surfaces), distance_truth(pred, gt)
    # A chord of 0.5 mm lies at most 0.5² / (8 * 8) = 0.004 mm below the sphere, a cell's diagonal twice that.
    assert assd(found) == pytest.approx(truth.assd(), abs=0.004)
    assert hausdorff95(found) == pytest.approx(truth.hd_percentile(95.0), abs=0.008)
    assert hausdorff(found) == pytest.approx(truth.hd(), abs=0.01)
    assert nsd(found, 1.5) == pytest.approx(truth.nsd(1.5), abs=0.01)
    assert surfaces[0].areas.sum() == pytest.approx(4 * np.pi * 64, rel=0.002)


def test_a_flat_face_stays_where_it_is_and_depths_are_distances():
    box = SmoothObject(np.ones((40, 40, 40), dtype=np.bool_), (1.0, 0.5, 0.8), 1.0)
    # 19 to 20 widths from all other faces: nothing of them is left in a double. Face at -0.5 voxels.
    depths = box.depths([np.array([-1.5, -0.5, 0.25, 1.5]), np.array([9.75]), np.array([15.6])])
    assert depths.ravel() == pytest.approx([-1.0, 0.0, 0.75, 2.0], abs=1e-9)


def _object(seed):
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=(24, 24, 24)), 3)
    return SmoothObject(noise > noise.mean(), (1.0, 0.8, 0.8), 1.0)


def test_the_nearest_triangle_is_among_those_whose_middles_are_nearest():
    pair = _object(1), _object(2)
    lines = grid_lines(pair, (0.5, 0.5, 0.5), (0, 0, 0))
    pred, gt = (surface_of(item.depths(lines), lines) for item in pair)
    points = pred.points[::10]
    triangles = gt.triangles
    targets = reference.Targets(
        triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0],
        np.zeros(len(triangles), dtype=np.bool_),
    )  # fmt: skip
    exact = reference.distances_to(points, targets)
    found = distances_to(points, triangles)
    assert (found >= exact - 1e-12).all()
    # Where a sliver's middle is far, the next triangle is met instead: rarely, and by much less than the step.
    assert np.mean(found > exact + 1e-9) < 0.01
    assert (found - exact).max() < 0.02


def test_what_a_grid_shows_is_what_lies_inside_wherever_its_lines_are():
    organ = organs.Organ("made", "cyst", _object(1), _object(2))
    pairs = list(organ.coarse_pairs((5.0, 0.8, 0.8), offsets=3))
    assert len(pairs) == 3
    assert len({pair.gt.tobytes() for pair in pairs}) == 3
    again = next(organ.coarse_pairs((5.0, 0.8, 0.8)))
    assert np.array_equal(again.pred, pairs[0].pred)
    lines = grid_lines([organ.pred, organ.gt], (2.0, 2.0, 2.0), (0.25, 0.5, 0.75))
    pair = organ.sampled((2.0, 2.0, 2.0), (0.25, 0.5, 0.75))
    inside = np.argwhere(pair.gt)[17]
    one = organ.gt.depths([np.array([line[i]]) for line, i in zip(lines, inside, strict=True)])
    assert one.item() > 0
    assert not any(side.any() for side in (pair.gt[0], pair.gt[:, 0], pair.gt[:, :, -1]))


def test_a_finer_grid_does_not_change_the_truth():
    places = np.indices((20, 20, 20)).transpose(1, 2, 3, 0)
    balls = [np.linalg.norm(places - center, axis=-1) < 7 for center in ((9, 9, 9), (10.5, 9.5, 9))]
    coarse, fine = (
        organs.true_values(*(SmoothObject(ball, (1.0,) * 3, 1.0) for ball in balls), step) for step in (0.7, 0.5)
    )
    # Chords of 0.7 mm lie up to 0.7² / (8 * 7) = 0.009 mm below a ball of 7 mm, those of 0.5 mm half as much.
    assert coarse == pytest.approx(fine, abs=0.009)


def test_without_the_masks_the_section_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SEGAUGE_SHARED", str(tmp_path))
    assert organs.main([]) == []
    assert "Left out: needs the readers' masks" in capsys.readouterr().out


@pytest.mark.shared
@pytest.mark.long
def test_readers_organs_are_measured(shared, monkeypatch, tmp_path):
    monkeypatch.setattr(organs, "CASES", {"case_00254": "kits23_readers"})
    monkeypatch.setattr(organs, "KINDS", {"cyst": (3,)})
    monkeypatch.setattr(organs, "_CACHE", tmp_path / "truth.json")
    organ = next(organs.reader_organs(shared / "data"))
    truth = organ.truth()
    assert organ.truth() == truth == organs.true_values(organ.pred, organ.gt, organs.FINE_MM)
    assert len(json.loads((tmp_path / "truth.json").read_text())) == 1
    for spacing in organs.SPACINGS:
        for pair in organ.coarse_pairs(spacing, offsets=1):
            found = surface_metrics(pair.pred, pair.gt, spacing, pair.tolerance_mm, surface="subvoxel")
            # No surface through voxel centres is further from the object than a voxel's diagonal, and so are both.
            assert abs(found["hd"] - truth["hd"]) <= 2 * np.linalg.norm(spacing)


def test_tables_hold_a_tool_against_the_truth_and_against_itself():
    true, own = {"hd": 2.0, "assd": 1.0}, {"hd": 2.5, "assd": 1.0}
    found = {"hd": 3.0, "assd": 1.25}
    answers = [Answer("cyst", (2.0, 2.0, 2.0), "segauge", found, kept) for kept in (true, own)]
    failed = Answer("cyst", (2.0, 2.0, 2.0), "monai", {}, true, "MemoryError")
    text = organs.report([(answers[0], answers[1]), (failed, failed)])
    assert "1 pairs of masks (1 of a cyst)" in text
    from_truth, from_own = (row for row in text.splitlines() if "2 x 2 x 2: segauge" in row)
    assert re.findall(r"\d\.\d+ ± 0.000", from_truth) == ["1.000 ± 0.000", "0.250 ± 0.000"]
    assert re.findall(r"\d\.\d+ ± 0.000", from_own) == ["0.500 ± 0.000", "0.250 ± 0.000"]
    assert "- monai: MemoryError" in text
