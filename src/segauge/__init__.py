"""segauge measures predicted segmentations against ground truth: exactly, every structure in one pass.

>>> import numpy as np, segauge
>>> pred, gt = np.zeros((2, 20, 20, 20), dtype=np.uint8)
>>> pred[4:14, 4:14, 4:14], gt[4:14, 4:14, 6:16] = 1, 1
>>> round(segauge.dice(pred, gt), 3)
0.8
>>> segauge.surface_metrics(pred, gt, spacing=(1, 1, 2.5))["hd"]
5.0
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from segauge.grid import Grid
from segauge.labeling import Labeling
from segauge.labelmap import LabelMap, Mask
from segauge.scores import MetricInfo, Missing, Score, ScoreTable, Status

if TYPE_CHECKING:
    from segauge.evaluation import Case, EvaluationResult, Verification, evaluate, read_result, verify
    from segauge.geometry.distances import SurfaceDistances
    from segauge.geometry.engine import SlowEngineWarning
    from segauge.io import Reading, load_mask, load_rtstruct, read_labels
    from segauge.io.tables import read_metadata, read_scores, write_scores
    from segauge.measurement import Measurement, measure
    from segauge.metrics.catalog import CATALOG, DEFAULT_METRICS, define_metric, metric
    from segauge.metrics.detection import DetectionScores, detection_scores
    from segauge.metrics.lesions import LesionwiseRules, LesionwiseScores, false_volumes, lesionwise_scores
    from segauge.metrics.matching import DetectionRules
    from segauge.metrics.noise import NoiseFloor, noise_floor
    from segauge.metrics.overlap import centerline_dice, confusion, dice, iou
    from segauge.metrics.surface import (
        assd,
        boundary_iou,
        compute_surface_distances,
        hausdorff,
        hausdorff95,
        hausdorff_percentile,
        hd,
        hd95,
        masd,
        nsd,
        nsd_curve,
        surface_metrics,
    )
    from segauge.placement import Placement, place
    from segauge.stats import (
        Comparison,
        Difference,
        Estimate,
        MissingPolicy,
        PairedComparison,
        Ranking,
        RankingResult,
        bootstrap_ci,
        cases_for_half_width,
        cases_to_separate,
        compare,
        difference,
        estimate,
        estimate_groups,
        paired_significance,
        rank,
        rank_tasks,
        ranking_stability,
    )

__version__ = "0.3.0.dev0"

#: Where each name lives that is loaded when it is first asked for: whoever only measures pays for nothing else, and
#: whoever only asks for help pays for nothing at all.
_ROOMS = {
    "segauge.evaluation": "Case EvaluationResult Verification evaluate read_result verify",
    "segauge.geometry.distances": "SurfaceDistances",
    "segauge.geometry.engine": "SlowEngineWarning",
    "segauge.io": "Reading load_mask load_rtstruct read_labels",
    "segauge.io.tables": "read_metadata read_scores write_scores",
    "segauge.measurement": "Measurement measure",
    "segauge.metrics.catalog": "CATALOG DEFAULT_METRICS define_metric metric",
    "segauge.metrics.detection": "DetectionScores detection_scores",
    "segauge.metrics.lesions": "LesionwiseRules LesionwiseScores false_volumes lesionwise_scores",
    "segauge.metrics.matching": "DetectionRules",
    "segauge.metrics.noise": "NoiseFloor noise_floor",
    "segauge.metrics.overlap": "centerline_dice confusion dice iou",
    "segauge.metrics.surface": (
        "assd boundary_iou compute_surface_distances hausdorff hausdorff95 hausdorff_percentile hd hd95 masd "
        "nsd nsd_curve surface_metrics"
    ),
    "segauge.placement": "Placement place",
    "segauge.stats": (
        "Comparison Difference Estimate MissingPolicy PairedComparison Ranking RankingResult bootstrap_ci "
        "cases_for_half_width cases_to_separate compare difference estimate estimate_groups "
        "paired_significance rank rank_tasks ranking_stability"
    ),
}
_LOADED_WHEN_ASKED = {name: room for room, names in _ROOMS.items() for name in names.split()}

__all__ = [
    "CATALOG", "DEFAULT_METRICS", "Case", "Comparison", "DetectionRules", "DetectionScores", "Difference",
    "Estimate", "EvaluationResult", "Grid", "LabelMap", "Labeling", "LesionwiseRules", "LesionwiseScores", "Mask",
    "Measurement", "MetricInfo", "Missing", "MissingPolicy", "NoiseFloor", "PairedComparison", "Placement",
    "Ranking", "RankingResult", "Reading", "Score", "ScoreTable", "SlowEngineWarning", "Status", "SurfaceDistances",
    "Verification", "assd", "bootstrap_ci", "boundary_iou", "cases_for_half_width", "cases_to_separate",
    "centerline_dice", "compare", "compute_surface_distances", "confusion", "define_metric", "detection_scores",
    "dice", "difference", "estimate", "estimate_groups", "evaluate", "false_volumes", "hausdorff", "hausdorff95",
    "hausdorff_percentile", "hd", "hd95", "iou", "lesionwise_scores", "load_mask", "load_rtstruct", "masd",
    "measure", "metric", "noise_floor", "nsd", "nsd_curve", "paired_significance", "place", "rank", "rank_tasks",
    "ranking_stability", "read_labels", "read_metadata", "read_result", "read_scores", "surface_metrics", "verify",
    "write_scores",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LOADED_WHEN_ASKED:
        found = getattr(import_module(_LOADED_WHEN_ASKED[name]), name)
        globals()[name] = found  # the next time it is simply there
        return found
    raise AttributeError(f"module 'segauge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
