"""What the commands on score tables share: naming the files, choosing the scores, and repairing them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

from segauge.cli.flags import add_policy, policy_of
from segauge.cli.parsing import add_interval_arguments
from segauge.cli.terminal import tell
from segauge.errors import InvalidInput
from segauge.io.tables import FORMATS, ImportedScores, Repairs, Rules, read_scores, rule_differences
from segauge.io.tables.cells import ROLES
from segauge.io.tables.reading import metadata_column, read_metadata
from segauge.metrics.catalog import called
from segauge.scores import Scale
from segauge.stats.matrix import ScoreMatrix
from segauge.stats.missing import scale_of
from segauge.stats.shared_cases import score_matrix

#: Help of `--key`, wherever there is metadata.
KEY_HELP = "column of the case ids in the metadata (default: recognised, such as case, case_id, name or id)"


#: Help of `--columns`, wherever plain tables are read.
COLUMNS_HELP = "names of the columns of a plain table: case=patient_id,model=team,value=score"


def add_source_arguments(parser: argparse.ArgumentParser, *, fewest: str | None = "+") -> None:
    """Add the arguments that choose which files to read and how: one or more files, none or more ("*"), or no list."""
    if fewest is not None:
        parser.add_argument(
            "sources", nargs=fewest, metavar="SOURCE", help="result file or folder, or NAME=PATH to name the model"
        )
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--format", default="auto", choices=("auto", *FORMATS), help="kind of file (default: recognised)"
    )
    group.add_argument(
        "--columns", action="append", default=[], metavar="ROLE=NAME", help=COLUMNS_HELP,
    )  # fmt: skip
    add_repair_arguments(group, get_type_hints(Repairs))


#: The problems that can be repaired, in words; the choices of each are those of `Repairs`.
_REPAIRS = {
    "duplicates": "a case that is listed twice with different values: take the first, the last or the mean",
    "cases": "models scored on different cases: keep each model's own, take the cases common to all, or count "
    "missing ones as failed",
    "empty": "empty cells where another model has a score: count as failures, or as absent structures",
    "out_of_range": "values outside the metric's scale: drop them, which counts as a failure",
}


def add_repair_arguments(group: Any, names: Iterable[str]) -> None:
    """Add a switch for each kind of problem in score files."""
    hints = get_type_hints(Repairs)
    for name in names:
        group.add_argument(
            f"--{name.replace('_', '-')}", default="refuse", choices=get_args(hints[name]),
            help=f"{_REPAIRS[name]} (default: refuse)",
        )  # fmt: skip


def add_choice_arguments(parser: argparse.ArgumentParser, *, with_policy: bool = True) -> Any:
    """Add the arguments that choose scores; return their section. With a policy also those of summaries."""
    group = parser.add_argument_group("which scores")
    group.add_argument("--structure", metavar="NAME", help="only this structure")
    group.add_argument("--metric", metavar="KEY", help="only this metric; the name of the metric if the file has none")
    group.add_argument("--higher-is-better", choices=("yes", "no"), help="for metrics that segauge does not know")
    group.add_argument("--bounds", metavar="LOW,HIGH", help="ends of the scale, for metrics that segauge does not know")
    group.add_argument(
        "--allow-different-rules", action="store_true",
        help="compare also results that were measured by different rules or against different ground truths",
    )  # fmt: skip
    group.add_argument("--metadata", type=Path, metavar="FILE", help="table with a row per case: age, sex, patient ...")
    group.add_argument("--key", metavar="COLUMN", help=KEY_HELP)
    group.add_argument("--cluster", metavar="COLUMN", help="metadata column of the patient; resampled together")
    if with_policy:
        summarised = parser.add_argument_group("how it is summarised")
        add_policy(summarised)
        add_interval_arguments(summarised, n_resamples=10_000)
    return group


def read_sources(sources: Sequence[str], args: argparse.Namespace) -> ImportedScores:
    """Read the files that the arguments name."""
    named = [named_source(source) for source in sources]
    if any(name for name, _ in named) and not all(name for name, _ in named):
        raise InvalidInput("Name all models (NAME=PATH) or none of them.")
    files: Any = {name: path for name, path in named if name} or [path for _, path in named]
    repairs = Repairs(**{name: getattr(args, name) for name in get_type_hints(Repairs)})
    return read_scores(
        files, format=args.format, metric=args.metric, columns=named_columns(args.columns), repairs=repairs
    )


def require_same_rules(
    named: Sequence[tuple[str, Rules]], structures: Iterable[str], metrics: Iterable[str], args: argparse.Namespace
) -> list[str]:
    """Refuse to compare what was measured by different rules; where that is allowed, say and return the differences."""
    found = rule_differences(named, structures, metrics)
    for words in found.readings:
        tell(f"note: predictions were not read alike: {words}")
    if found.rules and not args.allow_different_rules:
        raise InvalidInput(
            f"Refused: the results were not measured by the same rules. {'; '.join(found.rules)}. Measure them again "
            "by one rule, choose a metric that does not depend on it with --metric, or go on all the same with "
            "--allow-different-rules."
        )
    tell(*(f"warning: not measured by the same rules: {words}" for words in found.rules))
    return list(found.rules)


def print_audit(imported: ImportedScores, owner: str = "") -> None:
    """Print what the audit of the files found and assumed: every number that follows rests on it."""
    tell(*(f"note: {owner}{finding!s}" for finding in imported.audit.findings))


def named_source(source: str) -> tuple[str, Path]:
    """Return name and path of NAME=PATH; without a name where the text is the path of a file that is there."""
    name, sign, path = source.partition("=")
    return (name, Path(path)) if sign and not Path(source).exists() else ("", Path(source))


def paths_of(sources: Iterable[str]) -> list[Path]:
    """Return the files and folders that sources name, with or without a model's name."""
    return [named_source(source)[1] for source in sources]


def named_columns(given: Iterable[str]) -> dict[str, str]:
    """Return the columns by role of ROLE=NAME,ROLE=NAME; a comma before anything else belongs to the name."""
    found: dict[str, str] = {}
    for text in (part for one in given for part in re.split(rf",(?=\s*(?:{'|'.join(ROLES)})\s*=)", one)):
        role, sign, name = (part.strip() for part in text.partition("="))
        if not (sign and name):
            raise InvalidInput(f"--columns: expected ROLE=NAME, such as case=patient_id, got {text!r}.")
        if found.setdefault(role, name) != name:
            raise InvalidInput(f"--columns: {role} was given twice, as {found[role]!r} and {name!r}.")
    return found


def metadata_of(args: argparse.Namespace, *imported: ImportedScores) -> Mapping[str, Mapping[str, str]] | None:
    """Return the metadata of the cases: the file that the arguments name, or what the result files know; or None."""
    if args.metadata is not None:
        return read_metadata(args.metadata, key=args.key)
    return next((found.metadata for found in imported if found.metadata), None)


def clusters_of(args: argparse.Namespace, *imported: ImportedScores) -> dict[str, str] | None:
    """Return the patient of each case, None where --cluster is not given."""
    if args.cluster is None:
        return None
    metadata = metadata_of(args, *imported)
    if metadata is None:
        raise InvalidInput("--cluster needs --metadata FILE that has the column.")
    return metadata_column(metadata, args.cluster)


def matrix_of(imported: ImportedScores, structure: str, metric: str, args: argparse.Namespace) -> ScoreMatrix:
    """Return the scores of all models on one structure and metric, as the arguments say."""
    return score_matrix(
        imported.tables,
        structure=structure,
        metric=metric,
        scale=scale_for(metric, args),
        policy=policy_of(args),
        cases="common" if args.cases in ("common", "keep") else "failed" if args.cases == "failed" else "same",
        cluster=clusters_of(args, imported),
    )


def scale_for(metric: str, args: argparse.Namespace) -> Scale:
    """Return the scale of a metric: the one the arguments tell, or the known one."""
    if args.higher_is_better is None:
        return scale_of(metric)
    low, high = (-float("inf"), float("inf")) if args.bounds is None else _bounds(args.bounds)
    return Scale(args.higher_is_better == "yes", (low, high))


def _bounds(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"Expected --bounds LOW,HIGH, such as 0,1, got {text!r}.") from None
    return low, high


def chosen_metric(known: Sequence[str], wanted: str | None) -> str:
    """Return the metric to work on: the wanted one, Dice, or the first."""
    if wanted is not None:
        return called(wanted, known)
    return "dice" if "dice" in known else known[0]
