import json
import math

import pytest
from benchmarks.accuracy.surfaces import OURS, TOLERANCE_MM, Answer, describe, main, true_values

from segauge.phantoms import Ball


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
