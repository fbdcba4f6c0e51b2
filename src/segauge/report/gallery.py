"""The gallery of the worst cases: pictures, a 3-D view and the kind of failure, made from the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from segauge.errors import SegaugeError
from segauge.evaluation import Case, EvaluationResult
from segauge.report.backgrounds import ImageSource, background
from segauge.report.failures import Diagnosis, diagnose
from segauge.report.notable import NotableCase, worst_cases
from segauge.report.pairs import CasePair, read_pair
from segauge.report.slices import Plane, planes
from segauge.report.surfaces import Surface, surface_of
from segauge.scores import MetricInfo, Status

#: Structures of one case in the gallery; a case that fails altogether shall not fill it.
MOST_PER_CASE = 2


@dataclass(frozen=True, eq=False)
class GalleryItem:
    """One structure of one case: what happened, its slices, and its surface; or why there are no pictures."""

    case: str
    structure: str
    reason: str
    scores: tuple[tuple[str, str], ...]
    diagnosis: Diagnosis | None = None
    planes: tuple[Plane, ...] = ()
    surface: Surface | None = None
    surface_words: str = ""
    largest_mm: float = 0.0
    remark: str = ""


def gallery(
    result: EvaluationResult,
    cases: Iterable[Case],
    leading: tuple[MetricInfo, ...],
    *,
    images: Mapping[str, ImageSource] | None = None,
    most: int = 8,
) -> list[GalleryItem]:
    """Return the worst structures of cases with their pictures; a case that cannot be read again says so."""
    chosen = _chosen(result, leading[0], most)
    wanted = {one.case for one in chosen}
    known = {case.case_id: case for case in cases if case.case_id in wanted}
    options = result.protocol.get("options", {})
    items: list[GalleryItem] = []
    for case_id in dict.fromkeys(one.case for one in chosen):
        pair, trouble = _read(known.get(case_id), options)
        image, remark = (None, "") if pair is None else background((images or {}).get(case_id), pair.gt)
        for one in (one for one in chosen if one.case == case_id):
            scores = _scores(result, one, leading)
            if pair is None:
                items.append(GalleryItem(one.case, one.structure, one.reason, scores, remark=trouble))
            else:
                items.append(_item(pair, one, scores, image, remark))
    order = {(one.case, one.structure): i for i, one in enumerate(chosen)}
    return sorted(items, key=lambda item: order[item.case, item.structure])


def _chosen(result: EvaluationResult, info: MetricInfo, most: int) -> list[NotableCase]:
    """Return what to draw: structures missed or invented fill at most half of the gallery, the worst others follow."""
    failed = _few_per_case(worst_cases(result, info, 8 * most, among=(Status.MISSED, Status.SPURIOUS)))
    present = _few_per_case(worst_cases(result, info, 8 * most, among=(Status.PRESENT,)))
    room = max(most // 2, most - len(present))
    return [*failed[:room], *present][:most]


def _few_per_case(found: Iterable[NotableCase]) -> list[NotableCase]:
    kept: list[NotableCase] = []
    for one in found:
        if sum(other.case == one.case for other in kept) < MOST_PER_CASE:
            kept.append(one)
    return kept


def _read(case: Case | None, options: Mapping[str, Any]) -> tuple[CasePair | None, str]:
    if case is None:
        return None, "no pictures: this case was not among those given to the report"
    try:
        return read_pair(case, options), ""
    except SegaugeError as error:
        return None, f"no pictures: {error}"


def _scores(result: EvaluationResult, one: NotableCase, leading: tuple[MetricInfo, ...]) -> tuple[tuple[str, str], ...]:
    found = []
    for info in leading:
        score = result.table[one.case, one.structure, info.key]
        unit = "" if info.unit in ("", "1", "count") else f" {info.unit}"
        found.append((info.name, f"{score.value:.3g}{unit}" if score.value is not None else "no number"))
    return tuple(found)


def _item(
    pair: CasePair,
    one: NotableCase,
    scores: tuple[tuple[str, str], ...],
    image: npt.NDArray[Any] | None,
    remark: str,
) -> GalleryItem:
    pred, gt = pair.masks(one.structure)
    shown, other, words = (pred, gt, "prediction") if pred.any() else (gt, pred, "ground truth, nothing was predicted")
    surface = surface_of(shown, other, pair.upright.spacing) if shown.any() and shown.shape[2] > 1 else None
    largest = float(surface.distances.max()) if surface is not None else 0.0
    return GalleryItem(
        one.case,
        one.structure,
        one.reason,
        scores,
        diagnose(pair, one.structure),
        tuple(planes(pred, gt, pair.upright.spacing, image=image, oriented=pair.gt.in_space)),
        surface,
        words,
        largest,
        remark,
    )
