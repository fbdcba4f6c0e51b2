"""Which structures are measured, and which labels make them in two files that may number them differently."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from segauge.errors import InvalidInput, UnknownStructure
from segauge.io.layouts.structure_files import read_structures
from segauge.io.reading import Reading
from segauge.labeling import Labeling

Labels = int | str | Iterable[int | str]
StructureChoice = Labeling | Mapping[str, Labels] | Iterable[int | str] | str | os.PathLike[str]


@dataclass(frozen=True)
class StructureSpec:
    """What a user asked for.

    mode "foreground": every non-zero voxel is one structure; "all": every label that occurs in a ground truth;
    "named": `parts`, per structure the label values or the names (as the files have them) that make it up, and
    `pred_parts`, the same for predictions that number their labels otherwise.
    """

    mode: Literal["foreground", "all", "named"]
    parts: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    ignore: int | None = None
    pred_parts: Mapping[str, tuple[int | str, ...]] | None = None


def spec_of(
    structures: StructureChoice | None,
    *,
    label: int | None = None,
    ignore: int | None = None,
    pred_structures: Mapping[str, Labels] | Labeling | None = None,
) -> StructureSpec:
    """Return what the arguments of `evaluate` ask for."""
    asked = _asked(structures, label, ignore)
    if pred_structures is None:
        return asked
    given = pred_structures.structures if isinstance(pred_structures, Labeling) else pred_structures
    lacking = [name for name in asked.parts if name not in given]
    if asked.mode != "named" or lacking:
        raise InvalidInput(
            "pred_structures: expected the labels of every structure in the predictions, for structures that are named"
            + (f"; {lacking[0]!r} is missing." if lacking else ".")
        )
    return replace(asked, pred_parts={name: _parts(name, given[name]) for name in asked.parts})


def _asked(structures: StructureChoice | None, label: int | None, ignore: int | None) -> StructureSpec:
    if structures is None:
        if label is None:
            return StructureSpec("foreground", ignore=ignore)
        structures = [label]
    elif label is not None:
        raise InvalidInput("Give label= or structures=, not both: a structure says which labels it is made of.")
    if isinstance(structures, (str, os.PathLike)):
        text = os.fspath(structures)
        if text == "all":
            return StructureSpec("all", ignore=ignore)
        structures = read_structures(text) if text.lower().endswith((".json", ".yaml", ".yml")) else [text]
    if isinstance(structures, Labeling):
        ignore = structures.ignore if ignore is None else ignore
        structures = dict(structures.structures)
    if not isinstance(structures, Mapping):
        structures = {part if isinstance(part, str) else f"label {int(part)}": part for part in structures}
    if not structures:
        raise InvalidInput("structures: expected at least one structure, got none.")
    return StructureSpec("named", {str(name): _parts(str(name), parts) for name, parts in structures.items()}, ignore)


def _parts(name: str, parts: Labels) -> tuple[int | str, ...]:
    listed = (parts,) if isinstance(parts, (int, str)) else tuple(parts)
    if not listed or any(isinstance(part, bool) or not isinstance(part, (int, str)) for part in listed):
        raise InvalidInput(f"Structure {name!r}: expected label values or names, got {parts!r}.")
    if 0 in listed:
        raise InvalidInput(f"Structure {name!r} contains label 0, which is the background.")
    return tuple(dict.fromkeys(listed))


@dataclass(frozen=True)
class LabelPair:
    """The labels of each structure in the ground truth and in the prediction, and those that nobody asked for."""

    gt: Mapping[str, tuple[int, ...]]
    pred: Mapping[str, tuple[int, ...]]
    unknown: tuple[int, ...] = ()


@dataclass(frozen=True)
class Side:
    """One file of a pair: its reading, and the labels that occur in it."""

    reading: Reading
    labels: tuple[int, ...]

    @property
    def is_folder(self) -> bool:
        """True where labels are numbered by the order of files, so that only their names say anything."""
        return self.reading.format == "folder"

    @property
    def names(self) -> dict[int, str]:
        """Names of labels in the file itself."""
        return dict(self.reading.labels.names)

    @property
    def unused(self) -> tuple[int]:
        """A label that does not occur."""
        return (max((0, *self.labels, *self.names)) + 1,)

    def named(self, name: str) -> tuple[int, ...] | None:
        """Return the labels of that name, exact or but for case; None if there is none."""
        exact = tuple(label for label, known in self.names.items() if known == name)
        folded = tuple(label for label, known in self.names.items() if known.casefold() == name.casefold())
        return exact or folded or None


def label_pair(spec: StructureSpec, gt: Side, pred: Side, segment_number: int) -> LabelPair:
    """Return which labels make each structure in the two files of a case."""
    if spec.mode == "foreground":
        return LabelPair(
            {"foreground": _foreground(gt, spec.ignore, segment_number)},
            {"foreground": _foreground(pred, spec.ignore, segment_number)},
        )
    if spec.mode == "all":
        return _all_pairs(spec, gt, pred)
    in_gt = {name: _labels_in(gt, name, parts) for name, parts in spec.parts.items()}
    if spec.pred_parts is None:
        in_pred = {name: _labels_in_pred(pred, gt, name, parts) for name, parts in spec.parts.items()}
    else:
        in_pred = {name: _labels_in(pred, name, parts) for name, parts in spec.pred_parts.items()}
    known = {label for labels in in_pred.values() for label in labels} | {spec.ignore} | set(gt.labels)
    unknown = (
        () if pred.names or spec.pred_parts is not None else tuple(label for label in pred.labels if label not in known)
    )
    return LabelPair(in_gt, in_pred, unknown)


def _foreground(side: Side, ignore: int | None, segment_number: int) -> tuple[int, ...]:
    if side.reading.format == "dicom-seg":
        if segment_number not in side.names and segment_number not in side.labels:
            known = ", ".join(f"{number} ({name})" for number, name in side.names.items())
            raise UnknownStructure(
                f"{side.reading.labels.source}: has no segment {segment_number}; it has {known}. "
                "Pass segment_number=, or structures= with their names."
            )
        return (segment_number,)
    return tuple(label for label in side.labels if label != ignore) or side.unused


def _labels_in(side: Side, name: str, parts: tuple[int | str, ...]) -> tuple[int, ...]:
    """Return the labels of a structure in the ground truth; a label that does not occur where the file lacks it."""
    source = side.reading.labels.source
    found: list[int] = []
    for part in parts:
        if isinstance(part, int) and not side.is_folder:
            found.append(part)
            continue
        wanted = part if isinstance(part, str) else name
        if not side.names:
            raise UnknownStructure(
                f"{source}: has no names for its labels, so {wanted!r} cannot be found in it. "
                f"Say which label it is: structures={{{wanted!r}: 1}}."
            )
        found.extend(side.named(wanted) or ())
    return tuple(dict.fromkeys(found)) or side.unused


def _labels_in_pred(pred: Side, gt: Side, name: str, parts: tuple[int | str, ...]) -> tuple[int, ...]:
    """Return the labels in the prediction: by name where it has names, otherwise with the ground truth's numbers."""
    if pred.names or gt.is_folder:
        return _labels_in(pred, name, parts)
    return _labels_in(gt, name, parts)


def _all_pairs(spec: StructureSpec, gt: Side, pred: Side) -> LabelPair:
    """Pair every label of both files: by name where both have names, otherwise by number."""
    by_name = bool(gt.names and pred.names)
    if not by_name and gt.is_folder != pred.is_folder:
        nameless = pred if gt.is_folder else gt
        raise UnknownStructure(
            f"{nameless.reading.labels.source}: has no names for its labels, the other side is a folder of named "
            "masks. Say which label is which: structures={'liver': 1, ...}."
        )
    in_gt: dict[str, tuple[int, ...]] = {}
    in_pred: dict[str, tuple[int, ...]] = {}
    for label in gt.labels:
        if label != spec.ignore:
            name = gt.names.get(label, f"label {label}")
            in_gt[name] = (*in_gt.get(name, ()), label)
    for name, labels in in_gt.items():
        in_pred[name] = (pred.named(name) or pred.unused) if by_name else labels
    taken = {label for labels in in_pred.values() for label in labels}
    for label in pred.labels:
        if label not in taken and label != spec.ignore:
            names = pred.names if by_name else gt.names
            name = names.get(label, f"label {label}")
            in_pred[name] = (*in_pred.get(name, ()), label)
            in_gt.setdefault(name, (gt.named(name) if by_name else None) or gt.unused)
    return LabelPair(in_gt, in_pred)
