"""Read any known result file or folder as score tables, and metadata of the cases; the catalog of formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from segauge.errors import InvalidInput, option
from segauge.io.tables import score_files, text_tables, tools
from segauge.io.tables.audit import Audit, Repairs, assemble
from segauge.io.tables.cells import Cell, Names, Reading
from segauge.io.tables.delimited import Frame, TextTable, frame_table, is_frame, read_delimited
from segauge.io.tables.rules import NamedRules, Rules
from segauge.io.tables.text_tables import COLUMNS
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
        TableFormat("touchstone", "Touchstone folder (dsc.csv, nsd.csv)", tools.is_touchstone, tools.read_touchstone),
        TableFormat("nnunet", "nnU-Net summary.json", tools.is_nnunet, tools.read_nnunet),
        TableFormat("monai", "MONAI *_raw.csv", tools.is_monai, tools.read_monai),
        TableFormat("segauge", "segauge or segbench JSON", score_files.recognises, score_files.read),
        TableFormat("panoptica", "panoptica TSV, JSONL or JSON", tools.is_panoptica, tools.read_panoptica),
        TableFormat("long", "long table (challengeR, Rankings Reloaded)", text_tables.is_long, text_tables.read_long),
        TableFormat("wide", "wide table (CSV or Parquet)", text_tables.is_wide, text_tables.read_wide),
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
        return "data frame", text_tables.cells_of_table(frame_table(source), names)
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


def read_metadata(path: str | Path | Frame, *, key: str | None = None) -> dict[str, dict[str, str]]:
    """Return the metadata of each case id, as text; an empty cell is "".

    Args:
        path: delimited text with a header, any separator; or a data frame of pandas or polars.
        key: the column with the case ids; one with a usual name (case, name, image_id ...) if left out. Or a pattern
            that makes the ids from columns, whole or in part: "AutoPET_{Subject ID[-10:]}_{Study UID[-5:]}". Then
            several rows of one case (its series, say) become one, with the columns in which they agree.

    """
    table = frame_table(path) if is_frame(path) else read_delimited(Path(cast("str | Path", path)))
    if key is not None and "{" in key:
        return _merged(table, key)
    column = table.column(key) if key else table.column(*COLUMNS["case"])
    if column is None:
        raise InvalidInput(
            f"{table.path.name}: no column {repr(key) if key else 'with a usual name for the case ids'}; "
            f"pass {option('key', ...)} with one of {', '.join(map(repr, table.header))}."
        )
    found: dict[str, dict[str, str]] = {}
    for i, row in enumerate(table.rows):
        if row[column] in found:
            raise InvalidInput(f"{table.where(i)}: the case {row[column]!r} appears twice in the metadata.")
        found[row[column]] = {name: row[j] for j, name in enumerate(table.header) if j != column and name}
    return found


#: A column in a pattern of ids, whole or from one character to another.
_PART = re.compile(r"\{([^{}\[\]]+)(?:\[(-?\d*):(-?\d*)\])?\}")


def _merged(table: TextTable, pattern: str) -> dict[str, dict[str, str]]:
    """Return the metadata of ids that a pattern makes; rows of one id keep the columns in which they agree."""
    for part in _PART.finditer(pattern):
        if table.column(part[1]) is None:
            known = ", ".join(map(repr, table.header))
            raise InvalidInput(f"{table.path.name}: the key names the column {part[1]!r}; there are {known}.")
    if not _PART.search(pattern):
        raise InvalidInput(f"key: expected columns in braces, such as '{{subject}}_{{study[-5:]}}', got {pattern!r}.")
    values: dict[str, dict[str, set[str]]] = {}
    for row in table.rows:

        def cell(part: re.Match[str], row: Sequence[str] = row) -> str:
            text = row[cast(int, table.column(part[1]))]
            return text[slice(*(int(end) if end else None for end in (part[2], part[3])))]

        columns = values.setdefault(_PART.sub(cell, pattern), {name: set() for name in table.header if name})
        for name, text in zip(table.header, row, strict=True):
            if name and text:
                columns[name].add(text)
    return {
        case: {name: next(iter(known)) if len(known) == 1 else "" for name, known in columns.items()}
        for case, columns in values.items()
    }


def metadata_column(metadata: Mapping[str, Mapping[str, str]], name: str) -> dict[str, str]:
    """Return one column per case id, without the empty cells."""
    known = dict.fromkeys(column for row in metadata.values() for column in row)
    if name not in known:
        raise InvalidInput(f"No metadata column {name!r}; there are {', '.join(known)}.")
    return {case: row[name] for case, row in metadata.items() if row.get(name)}
