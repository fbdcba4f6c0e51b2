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
_LOADED_WHEN_ASKED = {
    "CATALOG": "segauge.metrics.catalog",
    "DEFAULT_METRICS": "segauge.metrics.catalog",
    "Case": "segauge.evaluation",
    "Comparison": "segauge.stats",
    "DetectionRules": "segauge.metrics.matching",
    "DetectionScores": "segauge.metrics.detection",
    "Difference": "segauge.stats",
    "Estimate": "segauge.stats",
    "EvaluationResult": "segauge.evaluation",
    "LesionwiseRules": "segauge.metrics.lesions",
    "LesionwiseScores": "segauge.metrics.lesions",
    "Measurement": "segauge.measurement",
    "MissingPolicy": "segauge.stats",
    "NoiseFloor": "segauge.metrics.noise",
    "PairedComparison": "segauge.stats",
    "Placement": "segauge.placement",
    "Ranking": "segauge.stats",
    "RankingResult": "segauge.stats",
    "Reading": "segauge.io",
    "SlowEngineWarning": "segauge.geometry.engine",
    "SurfaceDistances": "segauge.geometry.distances",
    "Verification": "segauge.evaluation",
    "assd": "segauge.metrics.surface",
    "bootstrap_ci": "segauge.stats",
    "boundary_iou": "segauge.metrics.surface",
    "cases_for_half_width": "segauge.stats",
    "cases_to_separate": "segauge.stats",
    "centerline_dice": "segauge.metrics.overlap",
    "compare": "segauge.stats",
    "compute_surface_distances": "segauge.metrics.surface",
    "confusion": "segauge.metrics.overlap",
    "define_metric": "segauge.metrics.catalog",
    "detection_scores": "segauge.metrics.detection",
    "dice": "segauge.metrics.overlap",
    "difference": "segauge.stats",
    "estimate": "segauge.stats",
    "estimate_groups": "segauge.stats",
    "evaluate": "segauge.evaluation",
    "false_volumes": "segauge.metrics.lesions",
    "hausdorff": "segauge.metrics.surface",
    "hausdorff95": "segauge.metrics.surface",
    "hausdorff_percentile": "segauge.metrics.surface",
    "hd": "segauge.metrics.surface",
    "hd95": "segauge.metrics.surface",
    "iou": "segauge.metrics.overlap",
    "lesionwise_scores": "segauge.metrics.lesions",
    "load_mask": "segauge.io",
    "load_rtstruct": "segauge.io",
    "masd": "segauge.metrics.surface",
    "measure": "segauge.measurement",
    "metric": "segauge.metrics.catalog",
    "noise_floor": "segauge.metrics.noise",
    "nsd": "segauge.metrics.surface",
    "nsd_curve": "segauge.metrics.surface",
    "paired_significance": "segauge.stats",
    "place": "segauge.placement",
    "rank": "segauge.stats",
    "rank_tasks": "segauge.stats",
    "ranking_stability": "segauge.stats",
    "read_labels": "segauge.io",
    "read_metadata": "segauge.io.tables",
    "read_result": "segauge.evaluation",
    "read_scores": "segauge.io.tables",
    "surface_metrics": "segauge.metrics.surface",
    "verify": "segauge.evaluation",
    "write_scores": "segauge.io.tables",
}

__all__ = [
    "CATALOG",
    "DEFAULT_METRICS",
    "Case",
    "Comparison",
    "DetectionRules",
    "DetectionScores",
    "Difference",
    "Estimate",
    "EvaluationResult",
    "Grid",
    "LabelMap",
    "Labeling",
    "LesionwiseRules",
    "LesionwiseScores",
    "Mask",
    "Measurement",
    "MetricInfo",
    "Missing",
    "MissingPolicy",
    "NoiseFloor",
    "PairedComparison",
    "Placement",
    "Ranking",
    "RankingResult",
    "Reading",
    "Score",
    "ScoreTable",
    "SlowEngineWarning",
    "Status",
    "SurfaceDistances",
    "Verification",
    "assd",
    "bootstrap_ci",
    "boundary_iou",
    "cases_for_half_width",
    "cases_to_separate",
    "centerline_dice",
    "compare",
    "compute_surface_distances",
    "confusion",
    "define_metric",
    "detection_scores",
    "dice",
    "difference",
    "estimate",
    "estimate_groups",
    "evaluate",
    "false_volumes",
    "hausdorff",
    "hausdorff95",
    "hausdorff_percentile",
    "hd",
    "hd95",
    "iou",
    "lesionwise_scores",
    "load_mask",
    "load_rtstruct",
    "masd",
    "measure",
    "metric",
    "noise_floor",
    "nsd",
    "nsd_curve",
    "paired_significance",
    "place",
    "rank",
    "rank_tasks",
    "ranking_stability",
    "read_labels",
    "read_metadata",
    "read_result",
    "read_scores",
    "surface_metrics",
    "verify",
    "write_scores",
]


def __getattr__(name: str) -> Any:
    if name in _LOADED_WHEN_ASKED:
        found = getattr(import_module(_LOADED_WHEN_ASKED[name]), name)
        globals()[name] = found  # the next time it is simply there
        return found
    raise AttributeError(f"module 'segauge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
