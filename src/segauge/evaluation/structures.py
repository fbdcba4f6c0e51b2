"""Which labels make each structure in two files that may number them differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from segauge.errors import UnknownStructure
from segauge.io.reading import Reading


@dataclass(frozen=True)
class StructureSpec:
    """What a user asked for.

    mode "foreground": every non-zero voxel is one structure; "all": every label that occurs in a ground truth;
    "named": `parts`, per structure the label values or the names (as the files have them) that make it up, and
    `pred_parts`, the same for predictions that number their labels otherwise. With `may_be_absent`, a structure that
    occurs in no ground truth is not a mistake.
    """

    mode: Literal["foreground", "all", "named"]
    parts: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    ignore: int | None = None
    pred_parts: Mapping[str, tuple[int | str, ...]] | None = None
    may_be_absent: bool = False


@dataclass(frozen=True)
class LabelPair:
    """The labels of each structure in the ground truth and in the prediction.

    `unknown` are labels of the prediction that nobody asked for; `by_name` the structures that the prediction's own
    names put under other numbers than those asked for; `otherwise` those whose number is another structure there, by
    name, with what it is called.
    """

    gt: Mapping[str, tuple[int, ...]]
    pred: Mapping[str, tuple[int, ...]]
    unknown: tuple[int, ...] = ()
    by_name: tuple[str, ...] = ()
    otherwise: Mapping[str, str] = field(default_factory=dict)


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
    if spec.pred_parts is not None:
        return LabelPair(in_gt, {name: _labels_in(pred, name, parts) for name, parts in spec.pred_parts.items()})
    in_pred = {name: _labels_in_pred(pred, gt, name, spec) for name in spec.parts}
    known = {label for labels in in_pred.values() for label in labels} | {spec.ignore} | set(gt.labels)
    unknown = () if pred.names else tuple(label for label in pred.labels if label not in known)
    moved = {name: parts for name, parts in spec.parts.items() if _is_numbered(parts) and in_pred[name] != parts}
    if pred.is_folder:
        return LabelPair(in_gt, in_pred, unknown)
    otherwise = {
        name: next(pred.names[part] for part in parts if part in pred.names)
        for name, parts in moved.items()
        if in_pred[name] == pred.unused and not pred.names.keys().isdisjoint(parts)
    }
    return LabelPair(in_gt, in_pred, unknown, tuple(name for name in moved if name not in otherwise), otherwise)


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


def _labels_in_pred(pred: Side, gt: Side, name: str, spec: StructureSpec) -> tuple[int, ...]:
    """Return the labels in the prediction: by name where it has names, otherwise with the ground truth's numbers.

    A number that was asked for is the ground truth's: where the prediction has the structure's name under another one
    (the regions of a structure set are numbered as they were drawn), the name is right.
    """
    parts = spec.parts[name]
    if _is_numbered(parts) and not pred.is_folder and pred.names:
        numbers = [part for part in parts if isinstance(part, int)]
        found = pred.named(name) or [label for part in numbers for label in _number_in_pred(pred, gt, part, spec)]
        return tuple(dict.fromkeys(found)) or pred.unused
    if pred.names or gt.is_folder:
        return _labels_in(pred, name, parts)
    return _labels_in(gt, name, parts)


def _number_in_pred(pred: Side, gt: Side, number: int, spec: StructureSpec) -> tuple[int, ...]:
    """Return the labels in a prediction with names that a number of the ground truth stands for.

    Writers number what they found from 1 on: without a liver, the spleen is their label 1. So a label that has the name
    of another number is not this one.
    """
    single = {parts[0]: name for name, parts in spec.parts.items() if len(parts) == 1 and isinstance(parts[0], int)}
    for known in (single, gt.names):
        if number in known and (found := pred.named(known[number])):
            return found
    others = {word.casefold() for known in (single, gt.names) for other, word in known.items() if other != number}
    own = {known[number].casefold() for known in (single, gt.names) if number in known}
    return () if pred.names.get(number, "").casefold() in others - own else (number,)


def _is_numbered(parts: tuple[int | str, ...]) -> bool:
    return all(isinstance(part, int) for part in parts)


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
