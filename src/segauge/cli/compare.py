"""`segauge compare`: models on the same cases, from their scores or from their predictions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segauge.cli.boards import print_board, rank_scores
from segauge.cli.eval import add_layout, add_measuring, cases_of, evaluated, exit_code
from segauge.cli.flags import first_flags, resolve_options
from segauge.cli.groups import compare_groups, print_groups
from segauge.cli.parsing import PATH
from segauge.cli.sources import add_choice_arguments, add_source_arguments, named_source
from segauge.cli.structures import Chosen, chosen_structures, structure_file
from segauge.cli.terminal import console, say_written, show, tell
from segauge.errors import InvalidInput
from segauge.evaluation import EvaluationResult, read_result
from segauge.io.layouts import find_pairs
from segauge.io.outputs import check_outputs, write_json
from segauge.io.tables import ImportedScores, read_metadata
from segauge.io.tables.audit import Audit
from segauge.options import Options
from segauge.report import check_report_extra
from segauge.report.comparison import ModelComparison
from segauge.report.comparison_page import comparison_illustrations, write_comparison
from segauge.report.exports import write_figures
from segauge.stats import SCHEMES


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "compare",
        description="Compare models on the same cases. From score or result files (SOURCE): means with intervals, "
        "ranks, and all pairs; with --by, groups of cases. From predictions (--gt and one --pred per model): measure "
        "them first. Several structures are ranked one by one and over all. Exit codes: 0 fine, 1 tool error or "
        "refused files, 2 usage, 3 some cases failed, 4 some were refused for their geometry.",
        examples=(
            "segauge compare A=a.json B=b.json",
            "segauge compare A=a.json B=b.json --metadata patients.csv --by sex",
            "segauge compare --gt labels --pred A=predictions_a --pred B=predictions_b --report comparison.html",
        ),
        more_usage=" [SOURCE ...]",
        first_screen=(
            *("--gt", "--pred", "--metadata", "--by", "--metric", *first_flags(), "--policy", "--margin", "--protocol"),
            *("--json", "--report", "--figures"),
        ),
    )
    add_source_arguments(parser, fewest="*")
    compared = parser.add_argument_group("predictions instead of scores")
    compared.add_argument("--gt", type=PATH, metavar="PATH", help="ground truth: a folder, or one file")
    compared.add_argument(
        "--pred", action="append", default=[], metavar="[NAME=]PATH",
        help="predictions of one model, named after the folder unless named; give it per model",
    )  # fmt: skip
    add_layout(compared)
    choice = add_choice_arguments(parser, with_policy=False)
    choice.add_argument("--by", metavar="COLUMN", help="metadata column that makes groups of cases")
    choice.add_argument("--edges", metavar="VALUES", help="edges of bins for a numeric column: 18,40,65")
    choice.add_argument(
        "--minimum", type=int, default=5, metavar="N", help="smaller groups are named, not estimated (default: 5)"
    )
    add_measuring(parser)
    ranked = parser.add_argument_group("how models are ranked")
    ranked.add_argument("--scheme", default="mean", choices=tuple(SCHEMES), help="what the order is by (default: mean)")
    ranked.add_argument("--margin", type=float, metavar="VALUE", help="differences within it do not matter in practice")
    ranked.add_argument("--all-pairs", action="store_true", help="print the comparison of every pair of models")
    outputs = parser.add_argument_group("what is written (- is standard output)")
    outputs.add_argument("--json", type=Path, metavar="FILE", help="rankings, or groups, as JSON")
    outputs.add_argument("--report", type=Path, metavar="FILE", help="report on predictions as one HTML file")
    outputs.add_argument("--title", metavar="TEXT", help="title of the report")
    outputs.add_argument(
        "--figures",
        type=Path,
        metavar="FOLDER",
        help="every figure as SVG, PDF and PNG, of predictions or of one result",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare from scores, by groups, or from predictions."""
    from_scores = not hasattr(args, "n_resamples")
    options = resolve_options(args)
    if not args.sources:
        if args.gt is None:
            args.refuse("needs score files (SOURCE ...), or --gt and one --pred per model")
        if args.by is not None and args.metadata is None:
            args.refuse("--by needs --metadata FILE, a table with a row per case")
        return _from_predictions(args, options)
    if args.gt is not None or args.pred:
        args.refuse("takes score files (SOURCE ...) or --gt and --pred, not both")
    if args.figures is not None and len(args.sources) == 1:
        read_result(args.sources[0]).to_figures(args.figures)
        say_written(args.figures)
        return 0
    if args.report is not None or args.figures is not None:
        args.refuse("--report and --figures need predictions: --gt and one --pred per model")
    if from_scores:
        args.n_resamples = 10_000
    return rank_scores(args) if args.by is None else compare_groups(args)


def _from_predictions(args: argparse.Namespace, options: Options) -> int:
    """Measure every model, compare, print and write."""
    models = _models(args.pred)
    check_outputs((args.report, args.json), (args.gt, *models.values(), structure_file(args)))
    if args.report is not None or args.figures is not None:
        check_report_extra()
    results: dict[str, EvaluationResult] = {}
    chosen: Chosen | None = None
    for name, path in models.items():
        pairing = find_pairs(path, args.gt, layout=args.layout, follow_links=args.follow_links)
        cases, warnings = cases_of(pairing, args)
        for warning in (*pairing.warnings, *pairing.copies, *warnings):
            tell(f"warning: {name}: {warning}")
        # By the first model: what is measured may not differ between them.
        chosen = chosen or chosen_structures(pairing, cases, args)
        results[name] = evaluated(cases, chosen.structures, args, options, _cache(args))
    comparison = ModelComparison(results, args.metric, args.confidence, max(args.n_resamples, 1000), args.seed)
    names = {info.key: info.name for info in comparison.leading}
    over = "" if len(comparison.structures) == 1 else f", average of {len(comparison.structures)} structures"
    for key, board in comparison.boards.items():
        print_board(console(), board, title=f"{names[key]}{over}")
    show(*filter(None, (comparison.family, comparison.unranked, *comparison.floor_sentences())))
    if chosen is not None and chosen.words:
        tell(f"note: {chosen.words}")
    document: dict[str, Any] = {
        key: {**board.to_dict(), **_floors(comparison, key)} for key, board in comparison.boards.items()
    }
    if args.by is not None:
        metadata = read_metadata(args.metadata, key=args.key)
        tables = {name: result.table for name, result in results.items()}
        document = {**document, "groups": print_groups(ImportedScores(tables, Audit(), (), (), metadata), args)}
    if args.json is not None:
        write_json(args.json, document)
    if args.report is not None:
        write_comparison(comparison, args.report, title=args.title)
    if args.figures is not None:
        write_figures(comparison_illustrations(comparison), args.figures)
    say_written(args.json, args.report, args.figures)
    left_out = options.summarising.policy.missing == "exclude"
    return max(exit_code(result, allow_missing=left_out) for result in results.values())


def _floors(comparison: ModelComparison, metric: str) -> dict[str, Any]:
    """Return the noise floor of every pair by one metric, nothing where it was not measured."""
    info = next(info for info in comparison.leading if info.key == metric)
    pairs = [(pair, comparison.floor(info, pair.a, pair.b)) for pair in comparison.boards[metric].pairs]
    rows = [
        {"a": pair.a, "b": pair.b, "floor": floor, "is_below": abs(pair.delta) < floor}
        for pair, floor in pairs
        if floor is not None
    ]
    return {"noise_floors": rows} if rows else {}


def _models(given: list[str]) -> dict[str, Path]:
    """Return the folders by the names of the models."""
    models: dict[str, Path] = {}
    for text in given:
        name, path = named_source(text)
        name = name or path.resolve().name
        if not name or text.endswith("="):
            raise InvalidInput(f"Expected --pred NAME=PATH, such as --pred nnunet=results/nnunet, got {text!r}.")
        if name in models:
            raise InvalidInput(f"Two models are called {name!r}: give each a name of its own, --pred NAME=PATH.")
        models[name] = path
    if len(models) < 2:
        raise InvalidInput("A comparison needs two models or more: give --pred NAME=PATH twice.")
    return models


def _cache(args: argparse.Namespace) -> Path | None:
    """Return the folder that keeps finished cases: one for all models, whose files are not the same."""
    if args.cache is not None:
        return Path(args.cache)
    first = next((path for path in (args.report, args.json) if path), None)
    return None if first is None else Path(first).with_name(f"{Path(first).name}.cache")
