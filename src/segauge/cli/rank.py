"""Rankings from score files, as `segauge compare` prints them."""

from __future__ import annotations

import argparse
from typing import Any

from segauge.cli.sources import chosen_metric, matrix_of, paths_of, print_audit, read_sources, require_same_rules
from segauge.cli.tables import print_table
from segauge.cli.terminal import console, one_line, show
from segauge.errors import InvalidInput
from segauge.io.outputs import check_outputs, write_json
from segauge.io.tables import ImportedScores
from segauge.plural import chance_text, counted
from segauge.stats import Ranking, rank, rank_tasks


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
    _print(rankings, imported, args)
    if args.json is not None:
        write_json(args.json, {**document, **({"rule_differences": differences} if differences else {})})
    return 0


def _print(rankings: list[Ranking], imported: ImportedScores, args: argparse.Namespace) -> None:
    print_audit(imported)
    for ranking in rankings:
        print_ranking(ranking, pairs=args.all_pairs)


def print_ranking(ranking: Ranking, *, pairs: bool = False) -> None:
    """Print a ranking as a table, with what has to be said about it."""
    right = ("place", "n", "failed", "ranks", "wins again")
    print_table(console(), f"{ranking.title}, {counted(ranking.n_cases, 'case')}", _cells(ranking), keys=2, right=right)
    show(*_remarks(ranking))
    if pairs:
        show(*(f"  {pair}" for pair in ranking.comparison.pairs))
    show("")


def _cells(ranking: Ranking) -> list[list[str]]:
    score = "mean rank" if ranking.is_by_ranks else "mean"
    rows = [["place", "model", f"{score} [{100 * ranking.level:g} %]", "n", "failed", "ranks", "wins again"]]
    for model in ranking.models:
        failed = f"{100 * model.failure_share:.0f} %" if model.failure_share else ""
        ranks = f"{model.rank_low}-{model.rank_high}" if model.rank_low < model.rank_high else f"{model.rank_low}"
        score, wins = str(model.score), chance_text(model.win_probability)
        rows.append([str(model.place), one_line(model.name), score, str(model.score.n), failed, ranks, wins])
    return rows


def _remarks(ranking: Ranking) -> list[str]:
    lines = [ranking.rule, *ranking.notes]
    share = f"Leaving out one case changes some rank in {100 * ranking.flip_share:.0f} % of the cases"
    deciding = ranking.deciding_cases
    shown = ", ".join(deciding[:5]) + (" ..." if len(deciding) > 5 else "")
    lines.append(share + (f"; another model would win without {shown}." if deciding else "."))
    best = {
        key: [name for name, place in ranks.items() if place == min(ranks.values())]
        for key, ranks in ranking.schemes.items()
    }
    others = {key: names for key, names in best.items() if ranking.models[0].name not in names and len(names) == 1}
    lines += [f"By {key} the winner would be {names[0]}." for key, names in others.items()]
    return lines
