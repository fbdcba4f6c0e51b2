"""From the records of cases to the result: one table over all structures, and what concerns the dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from segauge.errors import InvalidInput, option
from segauge.evaluation.scoring import Record, ScoringOptions
from segauge.io.compat import causes_of
from segauge.measurement import measure
from segauge.metrics.catalog import resolve_metrics
from segauge.plural import agreeing, counted
from segauge.scores import Missing, Place, ScoreTable, Status

#: Cases that a warning names one by one.
_NAMED = 10


def score_table(records: Mapping[str, Record], options: ScoringOptions) -> tuple[ScoreTable, list[str]]:
    """Return the table of all cases, in their order, and warnings about the dataset.

    Raises:
        InvalidInput: if a structure that was asked for occurs in no ground truth.

    """
    structures, warnings = _structures(records, options)
    warnings += _dataset_warnings(records)
    if any(info.needs in ("surface", "band") for info in resolve_metrics(options.metrics)):
        warnings += _warnings_of_one_slice([case for case, record in records.items() if record.get("one_slice")])
    shape = (len(records), len(structures), len(options.metrics))
    values = np.full(shape, np.nan)
    status = np.empty(shape[:2], dtype=object)
    missing: dict[Place, Missing] = {}
    for i, (case, record) in enumerate(records.items()):
        for j, name in enumerate(structures):
            status[i, j], causes, row = _cell(record, name, options.metrics)
            values[i, j] = [np.nan if value is None else value for value in row]
            for metric, cause in causes.items():
                missing[(case, name, metric) if metric else (case, name)] = cause
    return ScoreTable(tuple(records), structures, options.metrics, values, status, missing), warnings


def _cell(
    record: Record, name: str, metrics: tuple[str, ...]
) -> tuple[Status, dict[str, Missing], Sequence[float | None]]:
    """Return status, causes by metric ("" for all) and values; a structure that no file of the case has is absent.

    So is one that the ground truth lacks where there is no prediction that could be compared with it.
    """
    if record["status"]:
        nothing: list[float | None] = [None] * len(metrics)
        status, reason = Status(record["status"]), record["reason"]
        if name in record.get("in_gt", (name,)):
            return status, {"": Missing.of(status, reason)}, nothing
        return Status.ABSENT, {"": Missing.lacking(status, reason)}, nothing
    if name in record["structures"]:
        state, causes, row = record["structures"][name]
        if state == Status.SPURIOUS.value and name in record.get("unnamed", ()):
            # It is not known to be a false positive: the region may be there under another name.
            left_out = Status.REGION_NOT_FOUND
            return left_out, {"": Missing.of(left_out, record["unnamed"][name])}, [None] * len(metrics)
        return Status(state), causes_of(Status(state), causes), row
    return Status.ABSENT, {}, _absent(record["ndim"], metrics)


@cache
def _absent(ndim: int, metrics: tuple[str, ...]) -> tuple[float | None, ...]:
    """Return the values of a structure that is in neither mask, as measuring two empty masks gives them."""
    empty = np.zeros((1,) * ndim, dtype=np.uint8)
    found = measure(empty, empty, {"nothing": 1}, metrics)
    return tuple(found["nothing", key].value for key in metrics)


def _structures(records: Mapping[str, Record], options: ScoringOptions) -> tuple[tuple[str, ...], list[str]]:
    """Return the structures of the dataset, and what was predicted but occurs in no ground truth."""
    read = [record for record in records.values() if "in_gt" in record]
    in_gt = {name for record in read for name in record["in_gt"]}
    if options.spec.mode == "foreground":
        return ("foreground",), []
    if options.spec.mode == "named":
        absent = [name for name in options.spec.parts if name not in in_gt and not options.spec.may_be_absent]
        if absent and read:
            raise InvalidInput(_no_such(absent, in_gt, len(read)))
        return tuple(options.spec.parts), []
    seen = list(dict.fromkeys(name for record in read for name in (*record["in_gt"], *record.get("structures", {}))))
    warnings = [
        f"{name!r} was predicted in {counted(count, 'case')} but occurs in no ground truth; it is not measured"
        for name in seen
        if name not in in_gt and (count := sum(name in record.get("structures", {}) for record in read))
    ]
    found = sorted((name for name in seen if name in in_gt), key=_natural)
    return tuple(found) or ("foreground",), [*warnings, *_spelling_warnings(found)]


def _spelling_warnings(names: Sequence[str]) -> list[str]:
    """Say which names differ in capitals, hyphens and blanks alone: most likely one structure, written in two ways."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault("".join(letter for letter in name.casefold() if letter.isalnum()), []).append(name)
    twice = [found for plain, found in alike.items() if plain and len(found) > 1]
    if not twice:
        return []
    shown = "; ".join(" and ".join(map(repr, found)) for found in twice[:3]) + (" ..." if len(twice) > 3 else "")
    alike_words = agreeing(len(twice), "structure is", "structures are")
    return [f"{alike_words} spelled in several ways, and measured apart: {shown}. Rename the files."]


def _dataset_warnings(records: Mapping[str, Record]) -> list[str]:
    """Say once what concerns many cases and would change what their numbers mean."""
    assumed = [case for case, record in records.items() if record.get("spacing_assumed")]
    together, pred_together = (
        [case for case, record in records.items() if record.get("together") == side] for side in ("gt", "pred")
    )
    warnings = _warnings_of_outside({case: n for case, record in records.items() if (n := record.get("outside"))})
    if assumed:
        warnings.append(
            f"{agreeing(len(assumed), 'ground truth knows', 'ground truths know')} no voxel edges, such as that of "
            f"{assumed[0]!r}: 1 mm was assumed, so distances are in voxels and volumes in 1000 voxels. "
            "Give the spacing in mm."
        )
    warnings += _warnings_of_names(records)
    if together:
        warnings.append(
            f"ground truths that hold several labels: {len(together)}, such as that of {together[0]!r}. All of them "
            f"were taken together as foreground; {option('structures', 'all')} measures each."
        )
    if pred_together:
        warnings.append(
            f"predictions that hold several labels where the ground truth has one: {len(pred_together)}, such as that "
            f"of {pred_together[0]!r}. All of them were taken together as foreground. If one of them is meant, map "
            f"them: {option('structures', {'NAME': 1})} and {option('pred_structures', {'NAME': 2})}."
        )
    return warnings


def _warnings_of_names(records: Mapping[str, Record]) -> list[str]:
    """Say which structures some patients have no region for: it may be there under another name."""
    unnamed: dict[str, list[str]] = {}
    for case, record in records.items():
        for name in record.get("unnamed", ()):
            unnamed.setdefault(name, []).append(case)
    return [
        f"{agreeing(len(cases), 'ground truth has', 'ground truths have')} no region called {name!r}, such as that of "
        f"{cases[0]!r}: left out there, and counted. The notes list the regions that it has. If one of them is meant, "
        f"list its names in a YAML file, `{name}: [{name}, OTHER NAME]`, and give that as structures."
        for name, cases in unnamed.items()
    ]


def _warnings_of_one_slice(cases: Sequence[str]) -> list[str]:
    """Say whose flat faces count as surface, which nobody means who has images of one slice."""
    if not cases:
        return []
    volumes = agreeing(len(cases), "ground truth is a volume", "ground truths are volumes")
    return [
        f"{volumes} of one slice, such as that of {cases[0]!r}: measured in 3-D, where the two flat faces count as "
        "surface, so that distances come out smaller and nsd larger than in the plane. To measure in 2-D, give the "
        "ground truth or the prediction as a 2-D image, without the axis of one slice."
    ]


def _warnings_of_outside(voxels: Mapping[str, int]) -> list[str]:
    """Say in which cases false positives may have vanished: what was predicted beyond the ground truth's image."""
    shown = [f"{case!r} ({counted(number, 'voxel')})" for case, number in voxels.items()]
    if not shown:
        return []
    more = f" and {len(shown) - _NAMED} more, see their notes" if len(shown) > _NAMED else ""
    return [
        f"foreground that was predicted outside of the ground truth's image is not counted, neither as wrong nor as "
        f"right: {', '.join(shown[:_NAMED])}{more}."
    ]


def _no_such(absent: list[str], in_gt: set[str], n: int) -> str:
    names = ", ".join(map(repr, absent))
    have = ", ".join(repr(name) for name in sorted(in_gt, key=_natural))
    advice = f"Those that occur: {have}. Check the labels, or leave it out of structures."
    return f"{names} occurs in none of {counted(n, 'ground truth')}, so there is nothing to measure it against. " + (
        advice
        if have
        else f"Check the labels with `segauge doctor FILE`; {option('structures', 'all')} measures those that occur."
    )


def _natural(name: str) -> tuple[Any, ...]:
    """Sort "label 2" before "label 10"."""
    head, _, tail = name.rpartition(" ")
    return (head, int(tail), "") if tail.isdecimal() and head == "label" else (name, 0, name)
