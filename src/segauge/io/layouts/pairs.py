"""Pair and Pairing: which prediction belongs to which ground truth. The ground truths are the denominator.

A pairing can be written as a table, edited and read back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from segauge.errors import InvalidInput
from segauge.io.formats import image_stem
from segauge.io.gate import are_identical
from segauge.io.outputs import write_whole
from segauge.io.streams import list_folder
from segauge.io.tables.delimited import read_delimited
from segauge.labeling import Labeling
from segauge.plural import agreeing, counted
from segauge.tables import csv_text


@dataclass(frozen=True)
class Pair:
    """One case: its ground truth, and its prediction or None."""

    case_id: str
    pred: Path | None
    gt: Path


@dataclass(frozen=True)
class Pairing:
    """All cases of two folders, the structures that the layout declares, and what found no partner.

    `structures` is a labeling, "all" where files name their structures themselves, or None where nothing is known.
    """

    layout: str
    pairs: tuple[Pair, ...]
    warnings: tuple[str, ...] = ()
    structures: Labeling | str | None = None

    @property
    def copies(self) -> tuple[str, ...]:
        """Warnings about predictions that are their ground truth byte for byte: they are perfect, whoever made them."""
        same = [pair.case_id for pair in self.pairs if pair.pred is not None and are_identical(pair.pred, pair.gt)]
        if not same:
            return ()
        which = agreeing(len(same), "prediction is its ground truth", "predictions are their ground truths")
        return (f"{which}, byte for byte: {_some(same)}",)

    @property
    def missing(self) -> tuple[str, ...]:
        """Cases without a prediction."""
        return tuple(pair.case_id for pair in self.pairs if pair.pred is None)


class NamesDiffer(InvalidInput):
    """The names of predictions and ground truths do not agree, and what belongs together is in doubt."""

    def __init__(self, preds: Mapping[str, Path], gts: Mapping[str, Path], message: str) -> None:
        super().__init__(message)
        self.preds, self.gts = preds, gts


def image_files(folder: Path, ending: str | None = None) -> dict[str, Path]:
    """Return the segmentation files of a folder by case id; refuse two that differ only in suffix or case."""
    files = [path for path in list_folder(folder) if not path.name.startswith(".") and not path.is_dir()]
    return once_each((stem, path) for path in files if (stem := _case_of(path.name, ending)))


def _case_of(name: str, ending: str | None) -> str | None:
    if ending is not None:
        return name.removesuffix(ending) if name.endswith(ending) else None
    return name[:-4] if name.lower().endswith(".dcm") else image_stem(name)


def once_each(entries: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    """Return files by case id; refuse a second one for a case, whatever its suffix and whether in capitals."""
    found: dict[str, Path] = {}
    folded: dict[str, Path] = {}
    for case, path in entries:
        other = folded.setdefault(case.casefold(), path)
        if other is not path:
            raise InvalidInput(f"{other} and {path} are both case {case!r}. Which one counts? Remove one.")
        found[case] = path
    return found


def paired(
    layout: str,
    preds: Mapping[str, Path],
    gts: Mapping[str, Path],
    *,
    structures: Labeling | str | None = None,
    warnings: Iterable[str] = (),
) -> Pairing:
    """Pair by case id: a ground truth without a prediction stays, a prediction without a ground truth is warned of."""
    if not gts:
        raise InvalidInput(
            "No ground truth was found in the folder given as --gt; expected files such as case_01.nii.gz."
        )
    said = list(warnings)
    if preds and not preds.keys() & gts.keys():
        names = guessed_names(preds, gts)
        if not names:
            raise NamesDiffer(
                preds,
                gts,
                f"No prediction has the name of a ground truth: predictions such as {_some(preds)}, ground truths such "
                f"as {_some(gts)}. Rename one side, or list them in a table with the columns case, pred and gt: "
                "--pairs FILE (`segauge doctor --pairs-out FILE` begins it).",
            )
        said.append(said_of_guess(names))
        preds = {names[name]: path for name, path in preds.items()}
    extra = [case for case in preds if case not in gts]
    if extra:
        lone = agreeing(
            len(extra), "prediction has no ground truth and is not", "predictions have no ground truth and are not"
        )
        said.append(f"{lone} measured: {_some(extra)}")
    pairs = tuple(Pair(case, preds.get(case), gt) for case, gt in sorted(gts.items()))
    missing = [pair.case_id for pair in pairs if pair.pred is None]
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        said.append(f"{len(missing)} of {counted(len(pairs), 'case')} {verb} no prediction: {_some(missing)}")
    return Pairing(layout, pairs, tuple(said), structures)


#: Words around a case id that say what a file is, and not which case.
_WORDS = frozenset(
    [
        "seg",
        "segmentation",
        "segmentations",
        "label",
        "labels",
        "labelled",
        "mask",
        "masks",
        "pred",
        "prediction",
        "predicted",
        "gt",
        "truth",
        "img",
        "image",
        "images",
        "ct",
        "mr",
        "mri",
        "case",
        "patient",
        "subject",
    ]
)


def guessed_names(preds: Iterable[str], gts: Iterable[str]) -> dict[str, str]:
    """Return the ground truth's name of each prediction that has it under another name; {} where that is in doubt.

    What all names of a side have in common, and words such as "seg", say nothing of the case. What is left must be
    different for each file of a side, and each prediction must find its ground truth.

    >>> guessed_names(["case_01_0000", "case_02_0000"], ["case_01", "case_02"])
    {'case_01_0000': 'case_01', 'case_02_0000': 'case_02'}
    """
    pred_names, gt_names = list(preds), list(gts)
    pred_keys, gt_keys = _keys(pred_names), _keys(gt_names)
    if len(set(pred_keys)) < len(pred_keys) or len(set(gt_keys)) < len(gt_keys):
        return {}
    known = dict(zip(gt_keys, gt_names, strict=True))
    if not pred_names or not all(key and key in known for key in pred_keys):
        return {}
    return {name: known[key] for name, key in zip(pred_names, pred_keys, strict=True)}


def _keys(names: Sequence[str]) -> list[tuple[str, ...]]:
    parts = [re.findall(r"[A-Za-z]+|\d+", name) for name in names]
    in_how_many = Counter(part.casefold() for found in parts for part in set(found))
    shared = {part for part, count in in_how_many.items() if count == len(names) > 1}
    return [
        tuple(part.casefold() for part in found if part.casefold() not in shared and part.casefold() not in _WORDS)
        for found in parts
    ]


def said_of_guess(names: Mapping[str, str]) -> str:
    """Return the line that shows a guess, so that a wrong one is seen."""
    shown = ", ".join(f"{pred} is {gt}" for pred, gt in list(names.items())[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"names differ and were matched: {shown}{more}; `segauge doctor --pairs-out FILE` writes all for --pairs"


def _some(names: Iterable[str]) -> str:
    listed = sorted(names)
    return ", ".join(map(repr, listed[:3])) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


#: Columns of a table of pairs; of each the first name is written, and all are read.
_COLUMNS = {
    "case": ("case", "case_id", "id"),
    "pred": ("pred", "prediction"),
    "gt": ("gt", "ground_truth", "label"),
    "image": ("image",),
    "structures": ("structures",),
}


def write_pairs(path: Path, pairing: Pairing, images: Mapping[str, Path] | None = None) -> None:
    """Write the cases of a pairing as a table that `read_pairs` takes; one without a prediction has an empty cell."""
    images = images or {}
    rows = [(pair.case_id, pair.pred or "", pair.gt, images.get(pair.case_id, ""), "") for pair in pairing.pairs]
    write_whole(path, csv_text(list(_COLUMNS), [list(map(str, row)) for row in rows]))


def read_pairs(path: Path, *, pred: Path | None = None, gt: Path | None = None) -> Pairing:
    """Return the cases that a table lists; files are looked for below `pred` and `gt`, else next to the table."""
    table = read_delimited(path)
    at = {name: table.column(*names) for name, names in _COLUMNS.items()}
    if at["gt"] is None or at["pred"] is None:
        raise InvalidInput(f"{path.name}: expected columns {', '.join(_COLUMNS)}; it has {', '.join(table.header)}.")
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


def structure_column(path: Path) -> tuple[str, ...]:
    """Return the structures that the rows of a table of pairs name, as they are written; without empty cells."""
    table = read_delimited(path)
    at = table.column("structures")
    return () if at is None else tuple(text for row in table.rows if (text := row[at].strip()))


def _file(text: str, folder: Path, where: str) -> Path | None:
    """Return the file of a cell, which may be relative to a folder; None for an empty cell."""
    if not text.strip():
        return None
    for place in (Path(text.strip()), folder / text.strip()):
        if place.exists():
            return place
    raise InvalidInput(f"{where}: there is no file {text.strip()!r}, neither here nor in {folder}.")
