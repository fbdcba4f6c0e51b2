"""`segauge compare --gt LABELS --pred A=DIR --pred B=DIR`: measure several models on the same cases, and compare."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segauge.cli.boards import print_board
from segauge.cli.eval import add_measuring, add_pairing, add_reading, add_running, cases_of, evaluated, exit_code
from segauge.cli.parsing import PATH
from segauge.cli.sources import console, named_source, one_line
from segauge.cli.structures import Chosen, chosen_structures, structure_file
from segauge.errors import InvalidInput
from segauge.evaluation import EvaluationResult
from segauge.io.layouts.finding import find_pairs
from segauge.io.outputs import check_outputs, write_json
from segauge.report.comparison import ModelComparison
from segauge.report.comparison_page import comparison_illustrations, write_comparison
from segauge.report.files import write_figures
from segauge.report.requirements import check_report_extra


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "compare",
        description="Measure the predictions of several models against the same ground truth, and compare them pair "
        "by pair: by --metric, which decides, and by nsd, hd95 and assd beside it. Verdicts hold for all pairs by one "
        "metric together, not over the metrics. Finished cases are kept in --cache (by default beside the first output "
        "file). Exit codes: 0 fine, "
        "1 tool error, 2 usage, 3 some cases failed, 4 some were refused for their geometry.",
        examples=(
            "segauge compare --gt labels --pred A=predictions_a --pred B=predictions_b --report comparison.html",
        ),
    )
    parser.add_argument("--gt", required=True, type=PATH, metavar="PATH", help="ground truth: a folder, or one file")
    parser.add_argument(
        "--pred",
        required=True,
        action="append",
        metavar="[NAME=]PATH",
        help="predictions of one model, called as the folder unless named; give it per model",
    )
    add_pairing(parser)
    parser.add_argument("--metric", metavar="KEY", help="the metric that decides (default: dice, or the first)")
    parser.set_defaults(metadata=None, key=None)
    add_measuring(parser.add_argument_group("measuring"))
    add_reading(parser.add_argument_group("reading and placing"))
    add_running(parser)
    outputs = parser.add_argument_group("outputs")
    outputs.add_argument("--report", type=Path, metavar="FILE", help="report as one HTML file")
    outputs.add_argument("--title", metavar="TEXT", help="title of the report")
    outputs.add_argument("--json", type=Path, metavar="FILE", help="boards of all leading metrics, as JSON")
    outputs.add_argument("--figures", type=Path, metavar="FOLDER", help="every figure as SVG, PDF and PNG")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
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
            console().print(f"{one_line(name)}: {one_line(warning)}", markup=False)
        # By the first model: what is measured may not differ between them.
        chosen = chosen or chosen_structures(pairing, cases, args)
        results[name] = evaluated(cases, chosen.structures, args, _cache(args))
    comparison = ModelComparison(results, args.metric, args.confidence, max(args.n_resamples, 1000), args.seed)
    names = {info.key: info.name for info in comparison.leading}
    over = "" if len(comparison.structures) == 1 else f", average of {len(comparison.structures)} structures"
    for key, board in comparison.boards.items():
        print_board(console(), board, title=f"{names[key]}{over}")
    told = f"note: {chosen.words}" if chosen is not None and chosen.words else ""
    for line in filter(None, (told, comparison.family, comparison.unranked, *comparison.floor_sentences())):
        console().print(one_line(line), markup=False)
    if args.json is not None:
        document = {key: {**board.to_dict(), **_floors(comparison, key)} for key, board in comparison.boards.items()}
        write_json(args.json, document)
    if args.report is not None:
        write_comparison(comparison, args.report, title=args.title)
    if args.figures is not None:
        write_figures(comparison_illustrations(comparison), args.figures)
    for path in (args.json, args.report, args.figures):
        if path is not None:
            console().print(f"written: {path}", markup=False)
    return max(exit_code(result, allow_missing=args.allow_missing) for result in results.values())


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
