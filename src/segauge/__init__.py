"""segauge measures predicted segmentations against ground truth: exactly, every structure in one pass.

>>> import numpy as np, segauge
>>> pred, gt = np.zeros((2, 20, 20, 20), dtype=np.uint8)
>>> pred[4:14, 4:14, 4:14], gt[4:14, 4:14, 6:16] = 1, 1
>>> round(segauge.dice(pred, gt), 3)
0.8
>>> segauge.surface_metrics(pred, gt, spacing=(1, 1, 2.5))["hd"]
5.0
"""

from segauge.geometry.distances import SurfaceDistances
from segauge.geometry.engine import SlowEngineWarning
from segauge.grid import Grid
from segauge.labeling import Labeling
from segauge.labelmap import LabelMap, Mask
from segauge.measurement import Measurement, measure
from segauge.metrics.catalog import CATALOG, DEFAULT_METRICS, metric
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

__version__ = "0.3.0.dev0"

__all__ = [
    "CATALOG",
    "DEFAULT_METRICS",
    "DetectionRules",
    "DetectionScores",
    "Grid",
    "LabelMap",
    "Labeling",
    "LesionwiseRules",
    "LesionwiseScores",
    "Mask",
    "Measurement",
    "MetricInfo",
    "Score",
    "ScoreTable",
    "SlowEngineWarning",
    "Status",
    "SurfaceDistances",
    "assd",
    "boundary_iou",
    "compute_surface_distances",
    "confusion",
    "detection_scores",
    "dice",
    "false_volumes",
    "hausdorff",
    "hausdorff95",
    "hausdorff_percentile",
    "iou",
    "lesionwise_scores",
    "masd",
    "measure",
    "metric",
    "nsd",
    "nsd_curve",
    "surface_metrics",
]
