"""explain(): one metric in words, and one pair measured under every convention."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from segauge.errors import InvalidInput
from segauge.grid import Grid
from segauge.labelmap import LabelMap
from segauge.measurement import measure
from segauge.metrics.catalog import metric
from segauge.metrics.conventions import CONVENTIONS
from segauge.phantoms import Ball, distance_truth
from segauge.scores import MetricInfo

#: How we measure, in the words that the other conventions are described in.
OWN_SURFACE = "the surface through the voxel centres at one half (marching cubes), to the nearest point of a triangle"
OWN_PERCENTILE = "the larger of the two directions, weighted by area"

#: Two balls on thick slices: what a lesion looks like on a clinical scan, and the truth is known.
_SPACING_MM = (0.8, 0.8, 2.5)
_GT = Ball((20.3, 20.1, 20.2), 14.0)
_PRED = Ball((21.8, 19.7, 21.0), 14.5)

#: Metrics that are a percentile of the distances: hd, hd95, hd97.5.
_PERCENTILE = re.compile(r"hd(\d+(?:\.\d+)?)?")


@dataclass(frozen=True)
class Answer:
    """What one tool's convention gives for the pair.

    Attributes:
        convention: key of the convention; "segauge" for our own, "truth" for the closed form.
        tool: name and version of the tool.
        value: the number, None where the tool does not have it.
        surface: what the tool takes as surface and distance.
        percentile: how it makes one percentile of two directions; "" for a metric that is no percentile.

    """

    convention: str
    tool: str
    value: float | None
    surface: str
    percentile: str


@dataclass(frozen=True)
class Explanation:
    """A metric's facts, the pair it was measured on, and the answers of all conventions on that pair."""

    metric: MetricInfo
    pair: str
    answers: tuple[Answer, ...]


def explain(
    key: str,
    pred: LabelMap | None = None,
    gt: LabelMap | None = None,
    *,
    label: int = 1,
    nsd_tolerance: float = 1.0,
) -> Explanation:
    """Explain a metric; one of surfaces is computed under every convention, on a pair of one's own or a built-in one.

    Args:
        key: of the catalog, such as "hd95" or "nsd@2".
        pred: predicted label map; with `gt`, or neither.
        gt: ground-truth label map on the same grid.
        label: which label of the two maps is measured.
        nsd_tolerance: in mm, for NSD.

    """
    info = metric(key)
    if (pred is None) != (gt is None):
        raise InvalidInput("explain: give pred and gt both, or neither for the built-in pair.")
    if info.needs != "surface":
        return Explanation(info, "", ())
    truth = None if gt is not None else _truth(key, nsd_tolerance)
    if pred is None or gt is None:
        pred, gt = _built_in_pair()
        pair = f"two balls (radius {_PRED.radius_mm:g} and {_GT.radius_mm:g} mm) on voxels of {_words(_SPACING_MM)} mm"
    else:
        pair = f"{pred.source} and {gt.source}, label {label}"
    answers = [Answer("truth", "closed form", truth, "the balls themselves", "as segauge")] if truth is not None else []
    for name in ("segauge", *CONVENTIONS):
        score = measure(
            pred, gt, {"structure": label}, [key], convention=name, nsd_tolerance=nsd_tolerance
        )["structure", key]  # fmt: skip
        convention = CONVENTIONS.get(name)
        answers.append(
            Answer(name, "segauge", score.value, OWN_SURFACE, OWN_PERCENTILE)
            if convention is None
            else Answer(name, convention.tool, score.value, convention.surface, convention.percentile)
        )
    if not _PERCENTILE.fullmatch(key):
        answers = [replace(answer, percentile="") for answer in answers]
    return Explanation(info, pair, tuple(answers))


def _words(numbers: tuple[float, ...]) -> str:
    return " x ".join(f"{number:g}" for number in numbers)


def _built_in_pair() -> tuple[LabelMap, LabelMap]:
    grid = Grid.from_spacing((52, 52, 17), _SPACING_MM)
    pred, gt = (
        LabelMap.from_array(ball.rasterize(grid).array.astype("uint8"), _SPACING_MM, source=name)
        for ball, name in ((_PRED, "pred"), (_GT, "gt"))
    )
    return pred, gt


def _truth(key: str, nsd_tolerance: float) -> float | None:
    """Return the closed form of a metric for the built-in pair, None where there is none."""
    truth = distance_truth(_PRED, _GT)
    percentile = _PERCENTILE.fullmatch(key)
    if percentile:
        return truth.hd_percentile(float(percentile.group(1) or 100))
    tolerance = float(key.partition("@")[2] or nsd_tolerance)
    known: Mapping[str, float] = {"assd": truth.assd(), "masd": truth.masd(), "nsd": truth.nsd(tolerance)}
    return known.get(key.partition("@")[0])
