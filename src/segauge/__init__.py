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

from segauge.geometry.distances import SurfaceDistances
from segauge.geometry.engine import SlowEngineWarning
from segauge.grid import Grid
from segauge.labeling import Labeling
from segauge.labelmap import LabelMap, Mask
from segauge.measurement import Measurement, measure
from segauge.metrics.catalog import CATALOG, DEFAULT_METRICS, metric
from segauge.metrics.centerline import centerline_dice
from segauge.metrics.detection import DetectionScores, detection_scores
from segauge.metrics.lesions import LesionwiseRules, LesionwiseScores, false_volumes, lesionwise_scores
from segauge.metrics.matching import DetectionRules
from segauge.metrics.overlap import confusion, dice, iou
from segauge.metrics.surface import (
    assd,
    boundary_iou,
    compute_surface_distances,
    hausdorff,
    hausdorff95,
    hausdorff_percentile,
    masd,
    nsd,
    nsd_curve,
    surface_metrics,
)
from segauge.scores import MetricInfo, Score, ScoreTable, Status

if TYPE_CHECKING:
    from segauge.evaluation import Case, EvaluationResult, Verification, evaluate, verify
    from segauge.io import Reading, load_mask, load_rtstruct, read_labels
    from segauge.io.tables import read_metadata, read_scores, write_scores
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

#: Names of the rooms that not everybody enters, loaded when asked for: whoever only measures pays for nothing else.
_LOADED_WHEN_ASKED = {
    "Case": "segauge.evaluation",
    "Comparison": "segauge.stats",
    "Difference": "segauge.stats",
    "Estimate": "segauge.stats",
    "MissingPolicy": "segauge.stats",
    "EvaluationResult": "segauge.evaluation",
    "PairedComparison": "segauge.stats",
    "Placement": "segauge.placement",
    "Ranking": "segauge.stats",
    "RankingResult": "segauge.stats",
    "Reading": "segauge.io",
    "Verification": "segauge.evaluation",
    "bootstrap_ci": "segauge.stats",
    "cases_for_half_width": "segauge.stats",
    "cases_to_separate": "segauge.stats",
    "compare": "segauge.stats",
    "difference": "segauge.stats",
    "estimate": "segauge.stats",
    "estimate_groups": "segauge.stats",
    "evaluate": "segauge.evaluation",
    "load_mask": "segauge.io",
    "load_rtstruct": "segauge.io",
    "paired_significance": "segauge.stats",
    "place": "segauge.placement",
    "rank": "segauge.stats",
    "rank_tasks": "segauge.stats",
    "ranking_stability": "segauge.stats",
    "read_labels": "segauge.io",
    "read_metadata": "segauge.io.tables",
    "read_scores": "segauge.io.tables",
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
    "MissingPolicy",
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
    "iou",
    "lesionwise_scores",
    "load_mask",
    "load_rtstruct",
    "masd",
    "measure",
    "metric",
    "nsd",
    "nsd_curve",
    "paired_significance",
    "place",
    "rank",
    "rank_tasks",
    "ranking_stability",
    "read_labels",
    "read_metadata",
    "read_scores",
    "surface_metrics",
    "verify",
    "write_scores",
]


def __getattr__(name: str) -> Any:
    if name in _LOADED_WHEN_ASKED:
        return getattr(import_module(_LOADED_WHEN_ASKED[name]), name)
    raise AttributeError(f"module 'segauge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
