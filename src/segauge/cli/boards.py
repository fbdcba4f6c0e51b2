"""How boards and rankings are printed in a terminal, and rankings of score files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from segauge.cli.sources import chosen_metric, matrix_of, paths_of, print_audit, read_sources, require_same_rules
from segauge.cli.tables import print_table
from segauge.cli.terminal import console, one_line, show
from segauge.digits import fixed, unit_word
from segauge.errors import InvalidInput
from segauge.io.outputs import check_outputs, write_json
from segauge.plural import chance_text, counted
from segauge.stats import Board, BoardRow, RankedModel, Ranking, rank, rank_tasks
from segauge.stats.comparison import TOGETHER
from segauge.stats.matrix import NOTHING_TO_FIND, RANKED_WITHIN_CASES

_RIGHT = ("place", "n", "failed", "rank range", "chance to lead on new cases", "mean rank")


def print_board(
    out: Any, board: Board, *, title: str = "", extra: str = "", further: Callable[[BoardRow], str] | None = None
) -> None:
    """Print a board as a table, its verdict, and what must be known about it; `extra` heads the column of `further`."""
    unit = f" in {word}" if (word := unit_word(board.unit)) else ""
    named = title or f"{board.structure} {board.metric}".strip() + unit
    if board.rows:
        rows = [
            _titles(board, extra),
            *(_cells(board, row, None if further is None else further(row)) for row in board.rows),
        ]
        print_table(out, one_line(f"{named}, {counted(board.n_cases, 'case')}"), rows, keys=2, right=_RIGHT)
    else:
        show(named)
    notes = (note for note in board.notes if note == RANKED_WITHIN_CASES or NOTHING_TO_FIND in note)
    show(board.sentence, *notes, "")


def _titles(board: Board, extra: str) -> list[str]:
    by_ranks = ["mean rank"] if board.is_by_ranks else []
    last = [extra] if extra else []
    level = f"{100 * board.level:g} %"
    middle = ["place", "model", *by_ranks, f"mean [{level}]", "n", "failed", "rank range"]
    gap = [f"difference to the leader ({TOGETHER})"] if board.pairs else []
    return [*middle, *gap, "chance to lead on new cases", *last]


def _cells(board: Board, row: BoardRow, last: str | None) -> list[str]:
    estimate = row.estimate
    by_ranks = ["" if row.value is None else f"{row.value:.2f}"] if board.is_by_ranks else []
    cells = [
        str(row.place or "-"),
        row.model,
        *by_ranks,
        "no value" if estimate is None else str(estimate),
        "" if estimate is None else str(estimate.n),
        f"{row.failed} of {row.n}" if row.n else "",
        row.rank_range,
        *([_gap(board, row)] if board.pairs else []),
        chance_text(row.win_probability),
        *([] if last is None else [last]),
    ]
    return [one_line(cell) for cell in cells]


def _gap(board: Board, row: BoardRow) -> str:
    pair = board.to_first(row.model)
    return "" if pair is None else f"{fixed(pair.delta, pair.decimals, signed=True)} {pair.interval_text()}"


def rank_scores(args: argparse.Namespace) -> int:
    """Rank the models of score files, print, and write."""
    check_outputs([args.json], [args.metadata, *paths_of(args.sources)])
    imported = read_sources(args.sources, args)
    if len(imported.tables) < 2:
        raise InvalidInput(
            f"A comparison needs two models or more, got {', '.join(imported.tables)}. Give a file per model: "
            "`segauge compare A=a.json B=b.json`."
        )
    known = next(iter(imported.tables.values()))
    metric = chosen_metric(known.metrics, args.metric)
    structures = [args.structure] if args.structure else list(known.structures)
    differences = require_same_rules(imported.rules, structures, [metric], args)
    matrices = {structure: matrix_of(imported, structure, metric, args) for structure in structures}
    options = {key: getattr(args, key) for key in ("scheme", "ci", "margin", "n_resamples", "seed")}
    options["level"] = args.confidence
    several = len(matrices) > 1 and not any(matrix.has_failures_without_value for matrix in matrices.values())
    document: dict[str, Any]
    if several:
        found = rank_tasks(matrices, **options)
        rankings, document = [*found.tasks.values(), found.average], found.to_dict()
    else:
        rankings = [rank(matrix, **options) for matrix in matrices.values()]
        document = {"tasks": dict(zip(matrices, [ranking.to_dict() for ranking in rankings], strict=True))}
    print_audit(imported)
    for ranking in rankings:
        _print_ranking(ranking, pairs=args.all_pairs)
    if args.json is not None:
        write_json(args.json, {**document, **({"rule_differences": differences} if differences else {})})
    return 0


def _print_ranking(ranking: Ranking, *, pairs: bool) -> None:
    """Print a ranking as a table, then its rule, its notes and how stable it is."""
    rows = [_ranking_titles(ranking), *map(_ranking_cells, ranking.models)]
    print_table(console(), f"{ranking.title}, {counted(ranking.n_cases, 'case')}", rows, keys=2, right=_RIGHT)
    show(ranking.rule, *ranking.notes, *_stability(ranking))
    if pairs:
        show(*(f"  {pair}" for pair in ranking.comparison.pairs))
    show("")


def _ranking_titles(ranking: Ranking) -> list[str]:
    score = f"{'mean rank' if ranking.is_by_ranks else 'mean'} [{100 * ranking.level:g} %]"
    return ["place", "model", score, "n", "failed", "rank range", "chance to lead on new cases"]


def _ranking_cells(model: RankedModel) -> list[str]:
    low, high = model.rank_low, model.rank_high
    n = model.score.n
    return [
        str(model.place),
        one_line(model.name),
        str(model.score),
        str(n),
        f"{round(model.failure_share * n)} of {n}",
        f"{low} to {high}" if low < high else f"{low}",
        chance_text(model.win_probability),
    ]


def _stability(ranking: Ranking) -> Iterator[str]:
    """Yield how the ranking changes without single cases, and by other schemes."""
    changed = f"{round(ranking.flip_share * ranking.n_cases)} of the {counted(ranking.n_cases, 'case')}"
    yield f"Dropping a single case changes the ranking for {changed}."
    deciding = ranking.deciding_cases
    if deciding:
        yield f"Another model would lead without {', '.join(deciding[:5])}{' ...' * (len(deciding) > 5)}."
    for key, ranks in ranking.schemes.items():
        best = [name for name, place in ranks.items() if place == min(ranks.values())]
        if len(best) == 1 and best[0] != ranking.models[0].name:
            yield f"Ranked by {key}, {best[0]} would lead."
