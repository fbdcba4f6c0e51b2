"""read_scores: any known result file or folder to score tables, and the catalog of formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from segauge.errors import InvalidInput
from segauge.io.tables import long, monai, nnunet, panoptica, results_json, touchstone, wide
from segauge.io.tables.audit import Audit, Repairs, assemble
from segauge.io.tables.cells import Cell, Names, Reading
from segauge.metrics.catalog import described
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
    """Score tables of several models, where they came from, and what the audit found."""

    tables: Mapping[str, ScoreTable]
    audit: Audit
    formats: tuple[str, ...]


def read_scores(
    sources: str | Path | Sequence[str | Path] | Mapping[str, str | Path],
    *,
    format: str = "auto",  # noqa: A002 - the word users know, and the command line's
    model: str | None = None,
    metric: str | None = None,
    structure: str | None = None,
    columns: Mapping[str, str] | None = None,
    repairs: Repairs | None = None,
) -> ImportedScores:
    """Read per-case scores from result files, and audit them.

    Args:
        sources: a file or folder, several, or a mapping of model name to file.
        format: a key of `FORMATS`, or "auto" to recognise it.
        model: name of the model, where the file does not say.
        metric: name of the metric, where the file does not say.
        structure: name of the structure, where the file does not say.
        columns: for tables with unusual headers: role ("model", "case", "structure", "metric", "value") to column name.
        repairs: what to do with problems; all are refused by default.

    """
    named = _named_sources(sources, model)
    cells: list[Cell] = []
    remarks: list[str] = []
    formats = []
    for name, path in named:
        found = _format_of(path, format)
        reading = found.read(path, Names(name, metric, structure, dict(columns or {})))
        cells += reading.cells
        remarks += reading.remarks
        formats.append(found.key)
    known = {metric: described(metric) for metric in {cell.metric for cell in cells}}
    # A value outside of the bounds of a metric that is known is a mistake in the file.
    bounds = {metric: info.bounds for metric, info in known.items() if info is not None}
    tables, audit = assemble(cells, repairs or Repairs(), bounds, list(dict.fromkeys(remarks)))
    return ImportedScores(tables, audit, tuple(dict.fromkeys(formats)))


def _named_sources(
    sources: str | Path | Sequence[str | Path] | Mapping[str, str | Path], model: str | None
) -> list[tuple[str | None, Path]]:
    if isinstance(sources, Mapping):
        return [(name, Path(path)) for name, path in sources.items()]
    if isinstance(sources, (str, Path)):
        return [(model, Path(sources))]
    return [(model, Path(path)) for path in sources]


def _format_of(path: Path, key: str) -> TableFormat:
    if not path.exists():
        raise InvalidInput(f"{path}: there is no such file or folder.")
    if key != "auto":
        if key not in FORMATS:
            raise InvalidInput(f"No table format {key!r}; there are {', '.join(FORMATS)}.")
        return FORMATS[key]
    for found in FORMATS.values():
        if found.recognises(path):
            return found
    raise InvalidInput(
        f"{path.name}: is none of the known kinds of result files ({', '.join(f.name for f in FORMATS.values())}). "
        "A plain table needs a column named case (or name, subject, image_id ...); or say format= and columns=."
    )
