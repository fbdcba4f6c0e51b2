"""Which files belong together, listed in a table that can be written, edited and taken back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from segauge.errors import InvalidInput
from segauge.io.layouts.pairs import Pair, Pairing
from segauge.io.outputs import write_whole
from segauge.io.tables.delimited import read_delimited
from segauge.tables import csv_text

#: Columns of a table of pairs; of each the first name is written, and all are read.
_COLUMNS = {
    "case": ("case", "case_id", "id"),
    "pred": ("pred", "prediction"),
    "gt": ("gt", "ground_truth", "label"),
    "image": ("image",),
}


def write_pairs(path: Path, pairing: Pairing, images: Mapping[str, Path] | None = None) -> None:
    """Write the cases of a pairing as a table that `read_pairs` takes; one without a prediction has an empty cell."""
    rows = [(pair.case_id, pair.pred or "", pair.gt, (images or {}).get(pair.case_id, "")) for pair in pairing.pairs]
    write_whole(path, csv_text(list(_COLUMNS), [list(map(str, row)) for row in rows]))


def read_pairs(path: Path, *, pred: Path | None = None, gt: Path | None = None) -> Pairing:
    """Return the cases that a table lists; files are looked for below `pred` and `gt`, else next to the table."""
    table = read_delimited(path)
    at = {name: table.column(*names) for name, names in _COLUMNS.items()}
    if at["gt"] is None or at["pred"] is None:
        raise InvalidInput(f"{path.name}: expected columns case, pred, gt, image; it has {', '.join(table.header)}.")
    pairs: dict[str, Pair] = {}
    for number, row in enumerate(table.rows, start=table.first_row[1]):
        where = f"{path.name}: line {number}"
        truth = _file(row[at["gt"]], gt or path.parent, where)
        if truth is None:
            raise InvalidInput(f"{where}: has no ground truth; each row needs one.")
        case = row[at["case"]].strip() if at["case"] is not None else ""
        case = case or truth.name.partition(".")[0]
        if case in pairs:
            raise InvalidInput(f"{where}: the case {case!r} is listed twice.")
        pairs[case] = Pair(case, _file(row[at["pred"]], pred or path.parent, where), truth)
    if not pairs:
        raise InvalidInput(f"{path.name}: lists no case.")
    missing = [pair.case_id for pair in pairs.values() if pair.pred is None]
    said = [f"{len(missing)} of {len(pairs)} cases have no prediction in {path.name}"] if missing else []
    return Pairing("pairs", tuple(pairs.values()), tuple(said))


def image_column(path: Path) -> dict[str, Path]:
    """Return the images that a table of pairs names, by case id."""
    table = read_delimited(path)
    case, image = table.column(*_COLUMNS["case"]), table.column("image")
    if case is None or image is None:
        return {}
    found = {row[case].strip(): _file(row[image], path.parent, path.name) for row in table.rows}
    return {name: place for name, place in found.items() if place is not None}


def _file(text: str, folder: Path, where: str) -> Path | None:
    """Return the file of a cell, which may be relative to a folder; None for an empty cell."""
    if not text.strip():
        return None
    for place in (Path(text.strip()), folder / text.strip()):
        if place.exists():
            return place
    raise InvalidInput(f"{where}: there is no file {text.strip()!r}, neither here nor in {folder}.")
