"""Cell: one number of a result file with all its names; what every reader yields, whatever the format."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from segauge.errors import InvalidInput
from segauge.io.tables.rules import NamedRules
from segauge.scores import Missing, Status


class Cell(NamedTuple):
    """One number: its model, case, structure and metric, the value (NaN if none), its status if known, and where from.

    A status of None means that the file does not tell it; an empty cell is then judged by the audit. `reason` has the
    words of the file for the status, if any, and `causes` by metric ("" for all metrics) why values are missing, where
    the file has that as data.
    """

    model: str
    case: str
    structure: str
    metric: str
    value: float
    status: Status | None
    where: str
    reason: str = ""
    causes: Mapping[str, Missing] = MappingProxyType({})


@dataclass(frozen=True)
class Reading:
    """What a reader found: cells, remarks on the file that the user should know, and by which rules it was measured.

    A file that does not say how it was measured has no rules. `metadata` is what it knows of each case, as text.
    """

    cells: list[Cell]
    remarks: list[str] = field(default_factory=list)
    rules: NamedRules = ()
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


#: What a column of a plain table can be.
ROLES = ("model", "case", "structure", "metric", "value")


@dataclass(frozen=True)
class Names:
    """What the user says about a file that does not say it itself: model, metric, and which columns are what."""

    model: str | None = None
    metric: str | None = None
    structure: str | None = None
    columns: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [role for role in self.columns if role not in ROLES]
        if unknown:
            raise InvalidInput(f"columns: no role {unknown[0]!r}; there are {', '.join(ROLES)}.")
        named = list(self.columns.values())
        twice = next((name for name in named if named.count(name) > 1), None)
        if twice is not None:
            raise InvalidInput(f"columns: {twice!r} was given two roles; a column has one.")


_ALIASES = {
    "dsc": "dice",
    "mean_dice": "dice",
    "dice_score": "dice",
    "dicemetric": "dice",
    "jaccard": "iou",
    "hausdorff95": "hd95",
    "hausdorff_distance_95": "hd95",
    "hd_95": "hd95",
    "hausdorff_distance": "hd",
    "normalized_surface_dice": "nsd",
    "normalised_surface_dice": "nsd",
    "average_symmetric_surface_distance": "assd",
}
_NOTHING = frozenset({"", "na", "nan", "n/a", "null", "none", "-", "missing"})
_IMAGE_ENDINGS = (".nii.gz", ".nii", ".nrrd", ".mha", ".mhd", ".npz", ".npy", ".tif", ".tiff", ".png")
_GERMAN_DECIMAL = re.compile(r"[+-]?\d+,\d+")


def metric_key(name: str) -> str:
    """Return the key of a metric as segauge calls it: lower case, without the prefixes that tools add."""
    plain = re.sub(r"[\s\-]+", "_", name.strip().lower())
    plain = re.sub(r"^(val|test|train)_", "", plain)
    return _ALIASES.get(plain, plain)


def number(text: str, where: str) -> float:
    """Return the number in a cell: NaN for an empty one or a spelling of "not there"; anything else is refused."""
    try:
        return float(text)
    except ValueError:
        plain = text.strip()
    if plain.lower() in _NOTHING:
        return math.nan
    if _GERMAN_DECIMAL.fullmatch(plain):
        return float(plain.replace(",", "."))
    raise InvalidInput(f"{where}: expected a number or an empty cell, found {text[:40]!r}.")


def case_name(path: str) -> str:
    """Return the case that a file name speaks of: without folders and the ending of an image file."""
    name = re.split(r"[\\/]", path)[-1]
    for ending in _IMAGE_ENDINGS:
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def with_failure(value: float) -> tuple[float, Status | None]:
    """Return an infinite value as a failure without a value; others as they are, with an unknown status if NaN."""
    if math.isinf(value):
        return math.nan, Status.FAILED
    return value, None if math.isnan(value) else Status.PRESENT
