"""The gallery of the worst cases: pictures, what the viewer shows and the kind of failure, made from the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from segauge.errors import SegaugeError
from segauge.evaluation import Case, EvaluationResult
from segauge.report.failures import Diagnosis, diagnose
from segauge.report.notable import NotableCase, once_per_case, worst_cases
from segauge.report.pairs import CasePair, ImageSource, background, read_pair
from segauge.report.slices import Plane, planes
from segauge.report.surfaces import Surface, surface_of
from segauge.report.viewer import MaskPair, ViewedCase, niivue
from segauge.scores import MetricInfo, Status

#: Structures of one case that the viewer offers: the one that the gallery names, then the others in their order.
MOST_STRUCTURES = 8
#: What the only model of a report is called in the viewer, which can show several.
ONLY_MODEL = "prediction"


@dataclass(frozen=True, eq=False)
class GalleryItem:
    """The worst structure of one case: what happened, its slices, and its surface; or why there are no pictures.

    `viewed` is what the viewer shows of the case, None without pictures.
    """

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
    viewed: dict[str, Any] | None = None


def gallery(
    result: EvaluationResult,
    cases: Iterable[Case],
    leading: tuple[MetricInfo, ...],
    *,
    images: Mapping[str, ImageSource] | None = None,
    most: int = 6,
) -> list[GalleryItem]:
    """Return the worst cases with their pictures, each case once; one that cannot be read again tells why."""
    chosen = _chosen(result, leading[0], most)
    wanted = {one.case for one in chosen}
    known = {case.case_id: case for case in cases if case.case_id in wanted}
    options = result.protocol.get("options", {})
    items: list[GalleryItem] = []
    for one in chosen:
        pair, trouble = _read(known.get(one.case), options)
        scores = _scores(result, one.case, one.structure, leading)
        if pair is None:
            items.append(GalleryItem(one.case, one.structure, one.reason, scores, remark=trouble))
            continue
        image, remark = background((images or {}).get(one.case), pair.gt)
        viewed = None if niivue() is None else _viewed(result, pair, one.structure, leading, image).packed()
        items.append(replace(_item(pair, one, scores, image, remark), viewed=viewed))
    return items


def _chosen(result: EvaluationResult, info: MetricInfo, most: int) -> list[NotableCase]:
    """Return what to draw: structures missed or invented fill at most half of the gallery, the worst others follow."""
    every = len(result.table.structures) * len(result.table.cases)
    failed = once_per_case(worst_cases(result, info, every, among=(Status.MISSED, Status.SPURIOUS)))
    present = once_per_case(worst_cases(result, info, every, among=(Status.PRESENT,)))
    room = max(most // 2, most - len(present))
    return once_per_case([*failed[:room], *present])[:most]


def _viewed(
    result: EvaluationResult,
    pair: CasePair,
    first: str,
    leading: tuple[MetricInfo, ...],
    image: npt.NDArray[Any] | None,
) -> ViewedCase:
    """Return what the viewer shows of a case: the structure that the gallery names, then the others."""
    masks: dict[str, MaskPair] = {}
    scores = {}
    for name in dict.fromkeys([first, *pair.structures]):
        pred, gt = pair.masks(name)
        if len(masks) == MOST_STRUCTURES or not (pred.any() or gt.any()):
            continue
        masks[name] = MaskPair.of(gt, {ONLY_MODEL: pred})
        scores[name] = {ONLY_MODEL: _scores(result, pair.case_id, name, leading)}
    return ViewedCase(
        pair.case_id, masks, pair.upright.spacing, image, pair.gt.in_space, scores, tuple(masks),
        [(key, str(value)) for key, value in result.metadata.get(pair.case_id, {}).items()],
    )  # fmt: skip


def _read(case: Case | None, options: Mapping[str, Any]) -> tuple[CasePair | None, str]:
    if case is None:
        return None, "no pictures: this case was not among those given to the report"
    try:
        return read_pair(case, options), ""
    except SegaugeError as error:
        return None, f"no pictures: {error}"


def _scores(
    result: EvaluationResult, case: str, structure: str, leading: tuple[MetricInfo, ...]
) -> tuple[tuple[str, str], ...]:
    found = []
    for info in leading:
        score = result.table[case, structure, info.key]
        found.append((info.name, info.text(score.value) if score.value is not None else "undefined"))
    return tuple(found)


def _item(
    pair: CasePair,
    one: NotableCase,
    scores: tuple[tuple[str, str], ...],
    image: npt.NDArray[Any] | None,
    remark: str,
) -> GalleryItem:
    pred, gt = pair.masks(one.structure)
    shown, other, words = (pred, gt, "prediction") if pred.any() else (gt, pred, "ground truth (no prediction)")
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
