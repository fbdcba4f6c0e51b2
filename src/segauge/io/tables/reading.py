"""read_scores: any known result file or folder to score tables, and the catalog of formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from segauge.errors import InvalidInput, option
from segauge.io.tables import long, monai, nnunet, panoptica, results_json, touchstone, wide
from segauge.io.tables.audit import Audit, Repairs, assemble
from segauge.io.tables.cells import Cell, Names, Reading
from segauge.io.tables.frames import Frame, frame_table, is_frame
from segauge.io.tables.rules import NamedRules, Rules
from segauge.metrics.catalog import described
from segauge.plural import agreeing
from segauge.scores import ScoreTable


@dataclass(frozen=True)
class TableFormat:
    """The facts of one format."""

    key: str
    name: str
    recognises: Callable[[Path], bool]
    read: Callable[[Path, Names], Reading]


#: In the order in which they are tried: the particular ones before the general.
FORMATS: dict[str, TableFormat] = {
    found.key: found
    for found in (
        TableFormat("touchstone", "Touchstone folder (dsc.csv, nsd.csv)", touchstone.recognises, touchstone.read),
        TableFormat("nnunet", "nnU-Net summary.json", nnunet.recognises, nnunet.read),
        TableFormat("monai", "MONAI *_raw.csv", monai.recognises, monai.read),
        TableFormat("segauge", "segauge or segbench JSON", results_json.recognises, results_json.read),
        TableFormat("panoptica", "panoptica TSV, JSONL or JSON", panoptica.recognises, panoptica.read),
        TableFormat("long", "long table (challengeR, Rankings Reloaded)", long.recognises, long.read),
        TableFormat("wide", "wide table (CSV or Parquet)", wide.recognises, wide.read),
    )
}


@dataclass(frozen=True)
class ImportedScores:
    """Score tables of several models, where they came from, what the audit found, and how each was measured.

    `rules` has an entry per file that says how it was measured, with the name of the model. `metadata` is what the
    files know of each case, as text; of a case that several know, the first counts, and the audit tells where they
    disagree.
    """

    tables: Mapping[str, ScoreTable]
    audit: Audit
    formats: tuple[str, ...]
    rules: NamedRules = ()
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


#: A file, a folder, or a data frame of pandas or polars.
Source = str | Path | Frame


def read_scores(
    sources: Source | Sequence[Source] | Mapping[str, Source],
    *,
    format: str = "auto",  # noqa: A002 - the word users know, and the command line's
    model: str | None = None,
    metric: str | None = None,
    structure: str | None = None,
    columns: Mapping[str, str] | None = None,
    repairs: Repairs | None = None,
) -> ImportedScores:
    """Read per-case scores from result files or data frames, and audit them.

    Args:
        sources: a file, a folder or a data frame (pandas, polars), several, or a mapping of model name to one. A frame
            is wide or long, as a CSV file may be; that of `EvaluationResult.to_pandas` comes back as it was.
        format: a key of `FORMATS`, or "auto" to recognise it.
        model: name of the model, where the file does not say.
        metric: name of the metric, where the file does not say.
        structure: name of the structure, where the file does not say.
        columns: for tables with unusual headers: role ("model", "case", "structure", "metric", "value") to column name.
            A file with such columns is a plain table, and a column with a role is taken for nothing else.
        repairs: what to do with problems; all are refused by default.

    """
    named = _named_sources(sources, model)
    cells: list[Cell] = []
    remarks: list[str] = []
    rules: list[tuple[str, Rules]] = []
    metadata: dict[str, dict[str, str]] = {}
    formats = []
    for name, source in named:
        key, reading = _read(source, format, Names(name, metric, structure, dict(columns or {})))
        cells += reading.cells
        remarks += reading.remarks
        rules += reading.rules
        remarks += _join_metadata(metadata, reading.metadata, source)
        formats.append(key)
    known = {metric: described(metric) for metric in {cell.metric for cell in cells}}
    # A value outside of the bounds of a metric that is known is a mistake in the file.
    bounds = {metric: info.bounds for metric, info in known.items() if info is not None}
    tables, audit = assemble(cells, repairs or Repairs(), bounds, list(dict.fromkeys(remarks)))
    return ImportedScores(tables, audit, tuple(dict.fromkeys(formats)), tuple(rules), metadata)


def _join_metadata(
    known: dict[str, dict[str, str]], more: Mapping[str, Mapping[str, str]], source: Source
) -> list[str]:
    """Add what another file knows of the cases; return what has to be said where it says otherwise."""
    unlike = [
        f"{name} of {case!r} is {known[case][name]!r} and {value!r}"
        for case, row in more.items()
        for name, value in row.items()
        if value and known.get(case, {}).get(name, value) not in ("", value)
    ]
    for case, row in more.items():
        mine = known.setdefault(case, {})
        mine.update({name: value for name, value in row.items() if not mine.get(name)})
    if not unlike:
        return []
    count = agreeing(len(unlike), "value of its metadata differs", "values of its metadata differ")
    return [f"{source}: {count} from another file, such as: {unlike[0]}; the first counts"]


def _named_sources(
    sources: Source | Sequence[Source] | Mapping[str, Source], model: str | None
) -> list[tuple[str | None, Source]]:
    if isinstance(sources, Mapping):
        return list(sources.items())
    if isinstance(sources, (str, Path)) or is_frame(sources):
        return [(model, sources)]
    return [(model, source) for source in cast("Sequence[Source]", sources)]


def _read(source: Source, key: str, names: Names) -> tuple[str, Reading]:
    """Return the key of the format, and what was read."""
    if is_frame(source):
        return "data frame", wide.cells_of_table(frame_table(source), names)
    path = Path(cast("str | Path", source))
    found = _format_of(path, key, names)
    try:
        return found.key, found.read(path, names)
    except InvalidInput:
        raise
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{path.name}: is not built as its kind ({found.name}) is: {error!r}.") from error


def _format_of(path: Path, key: str, names: Names) -> TableFormat:
    if not path.exists():
        raise InvalidInput(f"{path}: there is no such file or folder.")
    if key != "auto":
        if key not in FORMATS:
            raise InvalidInput(f"No table format {key!r}; there are {', '.join(FORMATS)}.")
        return FORMATS[key]
    if names.columns and path.suffix.lower() in (".csv", ".tsv", ".txt", ".parquet"):
        return FORMATS["wide"]  # whose reader takes a long table for what it is
    for found in FORMATS.values():
        if found.recognises(path):
            return found
    raise InvalidInput(
        f"{path.name}: is none of the known kinds of result files ({', '.join(f.name for f in FORMATS.values())}). "
        "A plain table needs a column named case (or name, subject, image_id ...); or pass "
        f"{option('format', ...)} and {option('columns', ...)}."
    )
