import json
import math

import pytest
from benchmarks.accuracy.promises import judge
from benchmarks.accuracy.solids import SHAPES, drawn_pair, voxels_across
from benchmarks.accuracy.surfaces import OURS, TOLERANCE_MM, Answer, describe, main, pairs_asked_for, true_values

from segauge.phantoms import Ball, Box, Ellipsoid, Torus


def test_the_truth_of_two_equal_balls_is_the_closed_form():
    # Centres d apart, radius r: a point at angle t of one sphere is | |p - c| - r | from the other. HD is d; of the
    # area, which is uniform in cos t, the share within tau has |sqrt(r² + d² + 2 r d cos t) - r| <= tau.
    radius, d = 15.0, 2.0
    truth = true_values(Ball((d, 0.0, 0.0), radius), Ball((0.0, 0.0, 0.0), radius))
    cosines = [((radius + side * TOLERANCE_MM) ** 2 - radius**2 - d**2) / (2 * radius * d) for side in (-1, 1)]
    assert truth["hd"] == pytest.approx(d)
    # The tolerance at which distances that exceed it by rounding still count shifts the share by less than 1e-6.
    assert truth["nsd"] == pytest.approx((min(1.0, cosines[1]) - max(-1.0, cosines[0])) / 2, abs=1e-6)
    assert truth["assd"] == pytest.approx(_mean_distance(radius, d), abs=1e-6)
    assert truth["hd95_pooled"] == pytest.approx(truth["hd95"])


def _mean_distance(radius: float, d: float, steps: int = 200_000) -> float:
    """Midpoint rule over cos t; its error is of the order of steps ** -2 away from the kink: below 1e-8."""
    cosines = (-1.0 + (2 * i + 1) / steps for i in range(steps))
    return sum(abs(math.sqrt(radius**2 + d**2 + 2 * radius * d * c) - radius) for c in cosines) / steps


def test_a_run_without_peers_is_right_about_balls(tmp_path):
    out = tmp_path / "surfaces.json"
    answers = main(["--pairs", "1", "--shapes", "ball", "--peers", "none", "--out", str(out)])
    assert {answer.tool for answer in answers} == set(OURS)
    assert not any(answer.error for answer in answers)
    # No surface through or around voxel centres is further from the solid than a voxel's diagonal.
    assert all(answer.errors("HD, mm")[0] <= math.dist((0, 0, 0), answer.spacing) for answer in answers)
    assert len(json.loads(out.read_text())) == len(answers)
    assert "1 x 1 x 1: segauge" in out.with_suffix(".md").read_text()


def test_a_pooled_percentile_is_held_against_the_pooled_truth_and_a_failure_is_shown():
    truth = {"hd": 1.0, "hd95": 2.0, "hd95_pooled": 3.0, "assd": 1.0, "masd": 1.0, "nsd": 1.0}
    pooled = Answer("ball", (1.0, 1.0, 1.0), "medpy", {"hd95_pooled": 3.5}, truth)
    failed = Answer("ball", (1.0, 1.0, 1.0), "monai", {}, truth, "MemoryError")
    assert pooled.errors("HD95, mm") == [0.5]
    assert failed.errors("HD95, mm") == []
    assert "- monai: MemoryError" in describe([pooled, failed])


def test_a_set_is_drawn_from_its_name():
    assert drawn_pair("ball", 0) == drawn_pair("ball", 0, "published")
    assert drawn_pair("ball", 0, "fresh") == drawn_pair("ball", 0, "fresh")
    pairs = [drawn_pair("ball", number, name) for name in ("published", "fresh", "other") for number in (0, 1)]
    assert all(one != two for i, one in enumerate(pairs) for two in pairs[:i])


def test_the_smallest_diameter_of_either_solid_counts():
    origin = (0.0, 0.0, 0.0)
    assert voxels_across((Ball(origin, 10.0), Ball(origin, 8.0)), (1.0, 1.0, 2.0)) == 8
    assert voxels_across((Ellipsoid(origin, (8.0, 20.0, 30.0)),) * 2, (1.0, 1.0, 5.0)) == 12
    assert voxels_across((Torus(origin, 20.0, 5.0),) * 2, (1.0, 1.0, 1.0)) == 10
    assert voxels_across((Box(origin, (30.0, 20.0, 10.0)),) * 2, (1.0, 1.0, 2.0)) == 5
    for shape in SHAPES:
        assert voxels_across(drawn_pair(shape, 0), (1.0, 1.0, 1.0)) > 0
    for shape in ("large ball", "large ellipsoid", "large torus"):
        assert min(voxels_across(drawn_pair(shape, number), (0.8, 0.8, 5.0)) for number in range(50)) > 7.6


TRUTH = {"hd": 1.0, "hd95": 1.0, "hd95_pooled": 1.0, "assd": 1.0, "masd": 1.0, "nsd": 1.0}


def off_by(shape, across, **errors):
    return [
        Answer(
            shape, (1.0, 1.0, 1.0), tool.replace("_", "-"), {"hd95": 1 + error, "assd": 1 - error}, TRUTH, "", across
        )
        for tool, error in errors.items()
    ]


def verdicts(answers):
    return {str(verdict).split(" errors of ")[0]: str(verdict) for verdict in judge(answers)[:3]}


def test_promises_are_held_against_the_nearest_package_at_every_spacing():
    kept = off_by("ball", 9.0, segauge=0.3, segauge_subvoxel=0.04, medpy=0.5, monai=0.3)
    broken = off_by("torus", 9.0, segauge=0.3, segauge_subvoxel=0.09, medpy=0.3)
    small = off_by("torus", 7.9, segauge=0.3, segauge_subvoxel=0.3, medpy=0.3)
    assert list(verdicts(kept)) == ["PASS  ASSD", "SKIP  NSD", "PASS  HD95"]
    assert list(verdicts(small)) == ["SKIP  ASSD", "SKIP  NSD", "SKIP  HD95"]
    found = verdicts([*kept, *broken, *small])
    assert list(found) == ["FAIL  ASSD", "SKIP  NSD", "PASS  HD95"]
    assert "above: torus at 1 x 1 x 1 0.300 ± nan (1 pairs)" in found["FAIL  ASSD"]


def test_a_ratio_of_errors_has_a_standard_error():
    pairs = [
        answer
        for ours, theirs in ((0.1, 0.2), (0.3, 0.2), (0.2, 0.2))
        for answer in off_by("box", 30.0, segauge=theirs, segauge_subvoxel=ours)
    ]
    # means of 0.2 and 0.2; what is left of ours beside theirs is -0.1, 0.1 and 0
    assert "largest box at 1 x 1 x 1 1.00 ± 0.289 (3 pairs)" in str(judge(pairs)[4])


def test_more_pairs_of_a_shape_can_be_asked_for():
    assert pairs_asked_for("6", ["ball", "box"]) == {"ball": 6, "box": 6}
    assert pairs_asked_for("6,box=20", ["ball", "box"]) == {"ball": 6, "box": 20}
    with pytest.raises(SystemExit, match="names tube, which is not among the shapes: ball, box"):
        pairs_asked_for("6,tube=20", ["ball", "box"])
    with pytest.raises(SystemExit, match="should be a number"):
        pairs_asked_for("many", ["ball"])


def test_what_is_small_thin_or_square_is_held_against_marching_cubes():
    answers = off_by("box", 30.0, segauge=0.3, segauge_subvoxel=0.32) + off_by(
        "lesion", 2.0, segauge=0.2, segauge_subvoxel=0.23
    )
    found = [str(verdict) for verdict in judge(answers)[3:]]
    assert [verdict[:4] for verdict in found] == ["SKIP", "FAIL", "FAIL", "SKIP"]
    assert "above: lesion at 1 x 1 x 1 1.15 ± nan (1 pairs)" in found[1]
    assert "box at" not in found[1]
