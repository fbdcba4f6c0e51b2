"""Records of earlier versions: the analysis in the form that they wrote, and the statistics of segauge 0.2.

Those of segauge 0.2 and its harness are recomputed from per-case scores to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from segauge import CATALOG, bootstrap_ci, paired_significance, ranking_stability
from segauge.stats import AVERAGE, Board, BoardRow
from segauge.stats.missing import is_measurement, scale_of
from segbench.boards import Leaderboard
from segbench.records import RunRecord

#: Texts and what only these versions wrote: they follow from the numbers, which are checked.
_WORDS = ("sentence", "rule", "notes", "policy")


def as_written(found: Leaderboard, record: RunRecord) -> dict[str, Any]:
    """Return a leaderboard as segbench-3 and segbench-4 wrote it."""
    return {
        "rules": found.rules,
        "settings": dict(found.settings),
        "boards": [_board(board, record) for board in found.boards],
        "averages": [_board(board, record) for board in found.averages],
    }


def numbers_of(analysis: Any) -> Any:
    """Return an analysis without its texts."""
    if isinstance(analysis, Mapping):
        return {key: numbers_of(value) for key, value in analysis.items() if key not in _WORDS}
    return [numbers_of(one) for one in analysis] if isinstance(analysis, (list, tuple)) else analysis


def _board(board: Board, record: RunRecord) -> dict[str, Any]:
    has_order = not board.no_order
    return {
        "structure": board.structure,
        "metric": board.metric,
        "higher_is_better": board.higher_is_better,
        "unit": CATALOG[key].unit if (key := board.metric.partition("@")[0]) in CATALOG else board.unit,
        "n_cases": 0 if board.is_average and not has_order else board.n_cases,
        "deciding_cases": dict(board.flips) if has_order else None,
        "flip_share": board.flip_share,
        "schemes": board.schemes if has_order else None,
        "standings": [_standing(board, row, record) for row in board.rows],
        "pairs": [{name: getattr(pair, name) for name in _PAIR} for pair in board.pairs],
        "plans": [{**vars(plan), "more_cases": plan.more_cases} for plan in board.plans],
    }


_PAIR = ("a", "b", "n", "delta", "ci_low", "ci_high", "p_value", "effect_size", "wins", "verdict", "favored")


def _standing(board: Board, row: BoardRow, record: RunRecord) -> dict[str, Any]:
    suspects = [one for one in record.suspects if one.model == row.model]
    is_known = not board.is_average or row.ranked
    return {
        "model": row.model,
        "estimate": None if row.estimate is None or not is_known else row.estimate.to_dict(),
        "mean": row.value if row.ranked or row.estimate is None else row.estimate.value,
        "ranked": row.ranked,
        "exposure": record[row.model].exposure.level.value,
        "suspect": any(board.structure in (one.structure, AVERAGE) for one in suspects),
        "place": row.place,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "win_frequency": row.win_frequency,
        "win_probability": row.win_probability,
        "failure_share": _failure_share(board, row),
    }


def _failure_share(board: Board, row: BoardRow) -> float | None:
    if board.is_by_ranks and row.ranked:  # of the cases that have ranks, those with nothing to find among them
        return row.failed / max(pair.n for pair in board.pairs)
    return row.failure_share if row.n or row.estimate is not None else None


def reference_statistics(record: RunRecord) -> dict[str, Any]:
    """Return summary and analysis as the reference harness publishes them.

    Every model that the file has scores of takes part: whom that harness took for clean is in its own file. A pair's
    interval has the level 1 - (1 - confidence) / pairs (Bonferroni); pairs are listed best model first.
    """
    settings = record.settings
    summary = {
        name: {
            structure: {metric: _summary(table.column(structure, metric), settings) for metric in record.metrics}
            for structure in table.structures
        }
        for name, table in record.tables.items()
    }
    analysis = {
        structure: {metric: _analysis(record, structure, metric) for metric in record.metrics}
        for structure in record.structures
    }
    return {"summary": summary, "analysis": analysis}


def _summary(values: Any, settings: Mapping[str, Any]) -> dict[str, float | None]:
    found = bootstrap_ci(
        values, confidence=settings["confidence"], n_resamples=settings["n_resamples"], seed=settings["seed"]
    )
    return {"value": found.value, "ci_low": found.ci_low, "ci_high": found.ci_high}


def _analysis(record: RunRecord, structure: str, metric: str) -> dict[str, Any]:
    settings, scale = record.settings, None if is_measurement(metric) else scale_of(metric)
    higher = scale is not None and scale.higher_is_better
    tables = {name: table for name, table in record.tables.items() if structure in table.structures}
    first = next(iter(tables.values()))
    cases = [case for case in first.cases if all(case in table.cases for table in tables.values())]
    columns = {}
    for name, table in tables.items():
        rows = {case: i for i, case in enumerate(table.cases)}
        columns[name] = table.column(structure, metric)[[rows[case] for case in cases]]
    ranking = ranking_stability(
        columns, higher_is_better=higher, n_resamples=settings["n_resamples"], seed=settings["seed"], metric=metric
    )
    names = [stat.name for stat in ranking.stats]
    pairs = list(combinations(names, 2))
    level = 1.0 - (1.0 - settings["confidence"]) / len(pairs) if len(pairs) > 1 else settings["confidence"]
    return {
        "n_cases": ranking.n_cases,
        "confidence": settings["confidence"],
        "n_comparisons": len(pairs),
        "correction": "bonferroni" if len(pairs) > 1 else "none",
        "adjusted_confidence": level,
        "ranking": {
            "metric": metric,
            "higher_is_better": higher,
            "n_cases": ranking.n_cases,
            "n_resamples": ranking.n_resamples,
            "stats": [{key: _plain(value) for key, value in vars(stat).items()} for stat in ranking.stats],
        },
        "pairwise": [_pair(columns, a, b, higher, level, settings) for a, b in pairs],
    }


def _pair(
    columns: Mapping[str, Any], a: str, b: str, higher: bool, level: float, settings: Mapping[str, Any]
) -> dict[str, Any]:
    found = paired_significance(
        columns[a], columns[b], a_name=a, b_name=b, higher_is_better=higher, confidence=level,
        n_resamples=settings["n_resamples"], seed=settings["seed"],
    )  # fmt: skip
    return dict(vars(found))


def _plain(value: Any) -> Any:
    return None if isinstance(value, (float, np.floating)) and math.isnan(value) else value
