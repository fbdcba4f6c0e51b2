"""Metrics under other tools' names: what they are called there, and those that segauge itself does not compute.

Tables of scores come from many tools; a comparison needs to know of a column only which way is better, the ends of its
scale and its unit. Beside the catalog this is the one place that says so.
"""

from __future__ import annotations

import math
from types import MappingProxyType

from segauge.scores import Direction, MetricInfo

#: Names of other tools for metrics of the catalog. Where definitions differ in detail (a surface of voxel centres, say)
#: the scale is the same, and only that is taken from here.
ALIASES = MappingProxyType(
    {
        "dsc": "dice",
        "f1": "dice",
        "jaccard": "iou",
        "surface_dice": "nsd",
        "boundary_iou": "biou",
        "recall": "sensitivity",
        "rec": "sensitivity",
        "prec": "precision",
        "fbeta": "fbeta@2",
        "hausdorff": "hd",
        "surface_distance": "assd",
        "asd": "assd",
        "msd": "masd",
        "false_positives": "lesion_fp",
        "false_negatives": "lesion_fn",
        "fp": "lesion_fp",
        "fn": "lesion_fn",
    }
)


def _foreign(
    key: str, direction: Direction, bounds: tuple[float, float], unit: str = "1", when_absent: float | None = None
) -> MetricInfo:
    definition = "Computed by another tool."
    return MetricInfo(key, key, unit, direction, bounds, "", definition, lambda _: None, when_absent=when_absent)


#: Metrics that other tools compute and segauge does not.
FOREIGN = MappingProxyType(
    {
        info.key: info
        for info in (
            *(_foreign(key, "higher", (0.0, 1.0)) for key in ("accuracy", "auc", "auroc", "ap")),
            *(_foreign(key, "higher", (0.0, 1.0)) for key in ("pq_dsc", "sq_dsc", "global_bin_dsc")),
            *(_foreign(key, "higher", (-1.0, 1.0)) for key in ("mcc", "kappa")),
            # in ml here, in mm³ there
            *(_foreign(key, "lower", (0.0, math.inf), "", 0.0) for key in ("fp_volume", "fn_volume")),
            _foreign("sq_assd", "lower", (0.0, math.inf), "mm"),
        )
    }
)
