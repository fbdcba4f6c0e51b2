"""Records of earlier rules: their analysis recomputed, in the form that these versions wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segauge import CATALOG
from segauge.stats import AVERAGE, Board, BoardRow
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
