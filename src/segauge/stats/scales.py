"""Scale: which way is better, and the ends of the scale; and those of the metrics that tables usually hold.

Tables come from many tools, with metrics that segauge does not compute; a comparison needs to know only this much of
them. A key may carry a parameter after "@" ("nsd@2"), which changes nothing here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from segauge.errors import UnknownMetric


@dataclass(frozen=True)
class Scale:
    """Which way a metric is better, and its smallest and largest value (infinite where there is none)."""

    higher_is_better: bool = True
    bounds: tuple[float, float] = (-math.inf, math.inf)
    unit: str = ""

    @property
    def is_bounded(self) -> bool:
        """True if both ends are finite."""
        return all(map(math.isfinite, self.bounds))

    @property
    def worst(self) -> float:
        """The worst possible value; infinite where there is none."""
        return self.bounds[0] if self.higher_is_better else self.bounds[1]

    @property
    def best(self) -> float:
        """The best possible value; infinite where there is none."""
        return self.bounds[1] if self.higher_is_better else self.bounds[0]


_SHARE = Scale(True, (0.0, 1.0))
_DISTANCE_MM = Scale(False, (0.0, math.inf), "mm")
_COUNT = Scale(False, (0.0, math.inf))

_SHARES = (
    "dice dsc f1 fbeta iou jaccard nsd surface_dice boundary_iou cldice precision recall sensitivity specificity "
    "accuracy det_f1 det_precision det_recall lesion_f1 lesion_precision lesion_recall pq sq rq pq_dsc sq_dsc prec rec "
    "global_bin_dsc auc auroc ap"
)
_DISTANCES = "hd hd95 hd99 assd asd masd msd sq_assd surface_distance hausdorff centroid_distance"
_COUNTS = "fp fn false_positives false_negatives fp_volume fn_volume"

KNOWN: dict[str, Scale] = {
    **dict.fromkeys(_SHARES.split(), _SHARE),
    **dict.fromkeys(_DISTANCES.split(), _DISTANCE_MM),
    **dict.fromkeys(_COUNTS.split(), _COUNT),
    "mcc": Scale(True, (-1.0, 1.0)),
    "kappa": Scale(True, (-1.0, 1.0)),
}


def scale_of(metric: str) -> Scale:
    """Return the scale of a metric known by name; an unknown one is refused, never guessed."""
    base = metric.split("@", 1)[0].strip().lower()
    if base not in KNOWN:
        raise UnknownMetric(
            f"Whether a higher {metric!r} is better is not known. Say it (higher_is_better=True or False, and the "
            f"bounds of its scale), or use a known name: {', '.join(sorted(KNOWN)[:12])}, ..."
        )
    return KNOWN[base]
