"""Matching: which predicted lesions answer which ground-truth lesions.

A lesion is a connected component. Only pairs of lesions that meet are ever looked at, so the cost follows the number
of lesions and never the product of both numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.geometry.components import (
    Components,
    ComponentTable,
    SharedVoxels,
    centroid_pairs,
    component_table,
    shared_voxels,
)

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]

#: Share of a volume by which a lesion may miss it and still have it: edges of 0.7 mm have no exact number, and pass
#: through 32-bit headers.
VOLUME_ROUNDING = 1e-6

MatchRule = Literal["iou", "overlap", "centroid"]
Assignment = Literal["greedy", "optimal", "many-to-one"]


@dataclass(frozen=True)
class DetectionRules:
    """When a predicted lesion answers a ground-truth lesion.

    Attributes:
        match: the rule that a pair must pass. "iou": intersection over union of at least `iou_threshold`.
            "overlap": one shared voxel. "centroid": the centroid of the predicted lesion lies in the ground-truth
            lesion (voxels with their borders).
        assign: who gets whom among the pairs that pass.
            "greedy": one to one, highest IoU first; of equal IoUs the one whose ground-truth lesion, then whose
            predicted lesion, comes first in raster order.
            "optimal": one to one such that the sum of the IoUs is greatest.
            "many-to-one": first one to one as "greedy". Each predicted lesion that is left goes to the ground-truth
            lesion with which it shares the most voxels (the first in raster order of equals), under "centroid" among
            those that hold its centroid. Under "iou" it is merged there only if it raises the IoU of the union; the
            predictions are tried in descending order of their share inside the lesion, which gives the union of
            highest IoU. A ground-truth lesion is found if this IoU is at least `iou_threshold`. Under "overlap" and
            "centroid" everything that goes to a lesion is merged, and the lesion is found. A merge can therefore only
            add found lesions to those of "greedy". What was merged into a found lesion is true, everything else is a
            false positive.
        iou_threshold: above 0, up to 1; only "iou" looks at it.
        connectivity: what makes voxels one lesion: 6, 18 or 26 neighbours (4 or 8 in 2-D), or scipy's rank 1, 2, 3;
            None is faces only.
        min_volume_ml: ground-truth lesions smaller than this are left out: they are neither found nor missed and
            take part in no assignment. A predicted lesion that was assigned to nothing but passes the rule with
            a left-out lesion is left out too; all other predictions count, whatever their size.

    """

    match: MatchRule = "iou"
    assign: Assignment = "greedy"
    iou_threshold: float = 0.1
    connectivity: int | None = None
    min_volume_ml: float | None = None

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("match", self.match, get_args(MatchRule)),
            ("assign", self.assign, get_args(Assignment)),
        ):
            if value not in allowed:
                raise InvalidInput(f"{name}: expected one of {', '.join(map(repr, allowed))}, got {value!r}.")
        if not 0 < self.iou_threshold <= 1:
            raise InvalidInput(
                f"iou_threshold: expected a number above 0 and up to 1, got {self.iou_threshold!r}. "
                "For lesions that share any voxel, pass match='overlap'."
            )
        if self.connectivity not in (None, 1, 2, 3, 4, 6, 8, 18, 26):
            raise InvalidInput(f"connectivity: expected 6, 18 or 26 (4 or 8 in 2-D), got {self.connectivity!r}.")
        if self.min_volume_ml is not None and not (np.isfinite(self.min_volume_ml) and self.min_volume_ml >= 0):
            raise InvalidInput(f"min_volume_ml: expected a volume of 0 ml or more, got {self.min_volume_ml!r}.")


#: The rules of detection as options of an evaluation, as they are if nobody says otherwise.
DETECTION_OPTIONS: Mapping[str, Any] = MappingProxyType(
    {
        "detection_match": "iou",
        "detection_assign": "greedy",
        "detection_iou": 0.1,
        "detection_connectivity": None,
        "detection_min_volume_ml": None,
    }
)


def detection_of(options: Mapping[str, Any]) -> DetectionRules:
    """Return the rules that options state; those that they do not state are the usual ones.

    Raises:
        InvalidInput: with the name of the option that cannot be used.

    """
    try:
        return DetectionRules(*(options.get(key, default) for key, default in DETECTION_OPTIONS.items()))
    except InvalidInput as error:
        name, _, words = str(error).partition(":")
        raise InvalidInput(f"detection_{'iou' if name == 'iou_threshold' else name}:{words}") from None


@dataclass(frozen=True, eq=False)
class LesionMatching:
    """The lesions of both masks and who answers whom.

    Attributes:
        pred, gt: voxels, centroids and boxes of the lesions, numbered in raster order.
        pairs: (n, 2), predicted lesion and the ground-truth lesion that it answers, sorted by the latter.
        gt_iou: IoU of each found ground-truth lesion with (the union of) its predictions, NaN where not found.
        gt_kept, pred_kept: False where a lesion was left out (`DetectionRules.min_volume_ml`).

    """

    pred: ComponentTable
    gt: ComponentTable
    pairs: Int64Array
    gt_iou: FloatArray
    gt_kept: BoolArray
    pred_kept: BoolArray

    @property
    def gt_found(self) -> BoolArray:
        """True where a ground-truth lesion was found."""
        return ~np.isnan(self.gt_iou)

    @property
    def pred_matched(self) -> BoolArray:
        """True where a predicted lesion answers a ground-truth lesion."""
        matched = np.zeros(len(self.pred), dtype=np.bool_)
        matched[self.pairs[:, 0]] = True
        return matched


@dataclass(frozen=True, eq=False)
class _Meetings:
    """Pairs of lesions with the voxels that they share and their IoU."""

    pairs: Int64Array
    shared: Int64Array
    iou: FloatArray

    def where(self, chosen: npt.NDArray[np.bool_] | Int64Array) -> _Meetings:
        return _Meetings(self.pairs[chosen], self.shared[chosen], self.iou[chosen])

    @property
    def pred(self) -> Int64Array:
        return self.pairs[:, 0]

    @property
    def gt(self) -> Int64Array:
        return self.pairs[:, 1]

    def __len__(self) -> int:
        return len(self.iou)


def match_lesions(
    pred: Components, gt: Components, rules: DetectionRules, voxel_volume_mm3: float | None = None
) -> LesionMatching:
    """Return who answers whom among the components of two masks; `min_volume_ml` needs the voxel volume."""
    pred_table, gt_table = component_table(pred), component_table(gt)
    gt_kept = _large_enough(gt_table, rules.min_volume_ml, voxel_volume_mm3)
    meetings = _meetings(shared_voxels(pred, gt), pred_table, gt_table)
    if rules.match == "centroid":
        meetings = _centroid_meetings(centroid_pairs(pred, gt), meetings, len(gt_table))
    passing = meetings.where(meetings.iou >= rules.iou_threshold) if rules.match == "iou" else meetings
    kept = passing.where(gt_kept[passing.gt])
    chosen = kept.where(_optimal(kept) if rules.assign == "optimal" else _greedy(kept))
    pairs = chosen.pairs
    gt_iou = np.full(len(gt_table), np.nan)
    gt_iou[chosen.gt] = chosen.iou
    if rules.assign == "many-to-one":
        pairs = _merge(chosen, meetings.where(gt_kept[meetings.gt]), pred_table, gt_table, rules, gt_iou)
    pred_kept = np.ones(len(pred_table), dtype=np.bool_)
    pred_kept[passing.pred[~gt_kept[passing.gt]]] = False
    pred_kept[pairs[:, 0]] = True
    pairs = pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))]
    return LesionMatching(pred_table, gt_table, pairs, gt_iou, gt_kept, pred_kept)


def _large_enough(table: ComponentTable, min_volume_ml: float | None, voxel_volume_mm3: float | None) -> BoolArray:
    if min_volume_ml is None:
        return np.ones(len(table), dtype=np.bool_)
    if voxel_volume_mm3 is None:
        raise InvalidInput("min_volume_ml needs the size of a voxel: pass spacing=(...) in mm with a 3-D image.")
    large: BoolArray = table.voxels * voxel_volume_mm3 / 1000.0 >= min_volume_ml * (1.0 - VOLUME_ROUNDING)
    return large


def _meetings(shared: SharedVoxels, pred: ComponentTable, gt: ComponentTable) -> _Meetings:
    union = pred.voxels[shared.pairs[:, 0]] + gt.voxels[shared.pairs[:, 1]] - shared.voxels
    return _Meetings(shared.pairs, shared.voxels, shared.voxels / union)


def _centroid_meetings(pairs: Int64Array, overlapping: _Meetings, gt_number: int) -> _Meetings:
    """Return the pairs by centroid with what they share, which may be nothing."""
    key, known = pairs @ [gt_number, 1], overlapping.pairs @ [gt_number, 1]  # both ascending
    at = np.searchsorted(known, key)
    overlaps = np.zeros(len(key), dtype=np.bool_)
    overlaps[at < len(known)] = known[at[at < len(known)]] == key[at < len(known)]
    shared, iou = np.zeros(len(key), dtype=np.int64), np.zeros(len(key))
    shared[overlaps], iou[overlaps] = overlapping.shared[at[overlaps]], overlapping.iou[at[overlaps]]
    return _Meetings(pairs, shared, iou)


def _uncontested(meetings: _Meetings) -> BoolArray:
    """Return which pairs have no rival on either side."""
    if len(meetings) == 0:
        return np.zeros(0, dtype=np.bool_)
    alone: BoolArray = (np.bincount(meetings.pred)[meetings.pred] == 1) & (np.bincount(meetings.gt)[meetings.gt] == 1)
    return alone


def _greedy(meetings: _Meetings) -> BoolArray:
    """Return which pairs are taken, one to one, highest IoU first, ties in raster order."""
    taken = _uncontested(meetings)
    contested = np.flatnonzero(~taken)
    order = contested[np.lexsort((meetings.pred[contested], meetings.gt[contested], -meetings.iou[contested]))]
    busy_pred, busy_gt = set(), set()
    for i, pred, gt in zip(order.tolist(), meetings.pred[order].tolist(), meetings.gt[order].tolist(), strict=True):
        if pred not in busy_pred and gt not in busy_gt:
            busy_pred.add(pred)
            busy_gt.add(gt)
            taken[i] = True
    return taken


def _optimal(meetings: _Meetings) -> BoolArray:
    """Return which pairs are taken, one to one, such that the sum of IoUs is greatest.

    Each group of lesions that meet, directly or through others, is a problem of its own; most groups are one pair.
    Pairs that share no voxel (by centroid) add nothing to the sum and are taken last, where both sides are free.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    taken = _uncontested(meetings)
    contested = np.flatnonzero(~taken & (meetings.iou > 0))
    if len(contested):
        pred, gt = meetings.pred[contested], meetings.gt[contested]
        preds = int(pred.max()) + 1
        nodes = preds + int(gt.max()) + 1
        graph = coo_array((np.ones(len(contested)), (pred, preds + gt)), shape=(nodes, nodes))
        group = connected_components(graph, directed=False)[1][pred]
        order = np.argsort(group, kind="stable")
        for members in np.split(contested[order], np.flatnonzero(np.diff(group[order])) + 1):
            taken[members[_best_assignment(meetings.where(members))]] = True
    busy_pred, busy_gt = set(meetings.pred[taken].tolist()), set(meetings.gt[taken].tolist())
    for i in np.flatnonzero(meetings.iou == 0).tolist():
        pred_i, gt_i = meetings.pairs[i].tolist()
        if pred_i not in busy_pred and gt_i not in busy_gt:
            taken[i] = True
            busy_pred.add(pred_i)
            busy_gt.add(gt_i)
    return taken


def _best_assignment(group: _Meetings) -> Int64Array:
    """Return the positions of the pairs with the greatest sum of IoUs in one group."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    preds, row = np.unique(group.pred, return_inverse=True)
    gts, column = np.unique(group.gt, return_inverse=True)
    if len(preds) == 1 or len(gts) == 1:
        return np.array([np.lexsort((group.pred, group.gt, -group.iou))[0]])
    # Every prediction may also stay alone, in a column of its own, at weight 1: an IoU adds to that.
    alone = np.arange(len(preds))
    weights = np.concatenate([1.0 + group.iou, np.ones(len(preds))])
    rows, columns = np.concatenate([row, alone]), np.concatenate([column, len(gts) + alone])
    table = csr_array((weights, (rows, columns)), shape=(len(preds), len(gts) + len(preds)))
    chosen = min_weight_full_bipartite_matching(table, maximize=True)
    pairs = set(zip(chosen[0].tolist(), chosen[1].tolist(), strict=True))
    return np.array([i for i, pair in enumerate(zip(row.tolist(), column.tolist(), strict=True)) if pair in pairs])


def _merge(
    seeds: _Meetings,
    meetings: _Meetings,
    pred: ComponentTable,
    gt: ComponentTable,
    rules: DetectionRules,
    gt_iou: FloatArray,
) -> Int64Array:
    """Return the pairs where several predictions may answer one lesion, and write the unions' IoUs to `gt_iou`.

    `seeds` are the one-to-one pairs. IoU is shared / (gt + predicted voxels outside): among all unions the highest has
    the predictions with the largest shares inside the lesion, so they are tried in that order.
    """
    seed_of = dict(zip(seeds.gt.tolist(), range(len(seeds)), strict=True))
    left = _closest(meetings.where(~np.isin(meetings.pred, seeds.pred)))
    left = left.where(np.lexsort((left.pred, -left.shared / pred.voxels[left.pred], left.gt)))
    merged = [seeds.pairs]
    for members in np.split(np.arange(len(left)), np.flatnonzero(np.diff(left.gt)) + 1) if len(left) else ():
        number = int(left.gt[members[0]])
        seed = seed_of.get(number)
        inside, size = (0, 0) if seed is None else (int(seeds.shared[seed]), int(pred.voxels[seeds.pred[seed]]))
        shared = np.concatenate([[inside], inside + np.cumsum(left.shared[members])])
        voxels = np.concatenate([[size], size + np.cumsum(pred.voxels[left.pred[members]])])
        iou = shared / (voxels + gt.voxels[number] - shared)
        taken = int(np.argmax(iou)) if rules.match == "iou" else len(members)
        if seed is not None or rules.match != "iou" or iou[taken] >= rules.iou_threshold:
            gt_iou[number] = iou[taken]
            merged.append(left.pairs[members[:taken]])
    return np.concatenate(merged)


def _closest(meetings: _Meetings) -> _Meetings:
    """Return for each prediction its pair with the most shared voxels, the first in raster order of equals."""
    order = np.lexsort((meetings.gt, -meetings.shared, meetings.pred))
    return meetings.where(order[np.unique(meetings.pred[order], return_index=True)[1]])
