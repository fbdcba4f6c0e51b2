"""Which labels make each structure in two files that may number them differently.

A number is a label of the ground truth. The prediction has it under the name that the ground truth gives to it, where
both files have names; otherwise under the same number. Every part of a union is looked up by itself: the user's word
for a union names no label. In a folder of masks labels are numbered by the order of files, so names alone count there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from segauge.errors import InvalidInput, UnknownStructure, UnusableOption, option
from segauge.io.layouts.structure_files import read_aliases, read_structures
from segauge.io.reading import Reading
from segauge.labeling import Labeling, check_ignore
from segauge.labelmap import is_several
from segauge.options import Labels, Measuring, StructureChoice


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

    def to_dict(self) -> dict[str, Any]:
        """Return what a protocol records."""
        return {
            "structures": self.parts if self.mode == "named" else self.mode,
            **({} if self.pred_parts is None else {"pred_structures": self.pred_parts}),
            **({"allow_absent": True} if self.may_be_absent else {}),
            "ignore": self.ignore,
        }


def spec_of(measuring: Measuring) -> StructureSpec:
    """Return which structures are asked for."""
    check_ignore(measuring.ignore)
    asked = _asked(measuring.structures, measuring.label, measuring.ignore)
    asked = replace(asked, may_be_absent=measuring.allow_absent)
    pred_structures = measuring.pred_structures
    if pred_structures is None:
        return asked
    named = pred_structures.structures if isinstance(pred_structures, Labeling) else pred_structures
    given = {str(name): parts for name, parts in named.items()}
    missing = [name for name in asked.parts if name not in given]
    if asked.mode != "named" or missing:
        raise InvalidInput(
            "pred_structures: expected the labels of every structure in the predictions, for structures that are named"
            + (f"; {missing[0]!r} is missing." if missing else ".")
        )
    return replace(asked, pred_parts={name: _parts(name, given[name]) for name in asked.parts})


def _asked(structures: StructureChoice | None, label: int | None, ignore: int | None) -> StructureSpec:
    if structures is None:
        if label is None:
            return StructureSpec("foreground", ignore=ignore)
        structures = [label]
    elif label is not None:
        raise InvalidInput("Give a label or structures, not both: a structure lists the labels that it is made of.")
    if isinstance(structures, (str, os.PathLike)):
        text = os.fspath(structures)
        if text in ("all", "foreground"):
            return StructureSpec("all" if text == "all" else "foreground", ignore=ignore)
        structures = _of_file(text) if text.lower().endswith((".json", ".yaml", ".yml")) else [text]
    if isinstance(structures, Labeling):
        ignore = structures.ignore if ignore is None else ignore
        structures = dict(structures.structures)
    if not is_several(structures):
        raise InvalidInput(
            "structures: expected names with their labels, such as {'liver': 1}, or a list of label values or names, "
            f"got {structures!r}."
        )
    if not isinstance(structures, Mapping):
        structures = {part if isinstance(part, str) else f"label {int(part)}": part for part in structures}
    if not structures:
        raise InvalidInput("structures: expected at least one structure, got none.")
    named = {str(name): _parts(str(name), parts) for name, parts in structures.items()}
    if len(named) < len(structures):
        raise InvalidInput(f"Two structures have one name: {', '.join(map(repr, structures))}.")
    both = next((name for name, parts in named.items() if ignore is not None and ignore in parts), None)
    if both is not None:
        raise InvalidInput(f"Structure {both!r} contains the ignore label {ignore}: it can be only one of them.")
    return StructureSpec("named", named, ignore)


def _parts(name: str, parts: Labels) -> tuple[int | str, ...]:
    listed = tuple(parts) if is_several(parts) else (parts,)
    if not listed or any(isinstance(part, bool) or not isinstance(part, (int, np.integer, str)) for part in listed):
        raise InvalidInput(f"Structure {name!r}: expected label values or names, got {parts!r}.")
    listed = tuple(part if isinstance(part, str) else int(part) for part in listed)
    if 0 in listed:
        raise InvalidInput(f"Structure {name!r} contains label 0, which is the background.")
    return tuple(dict.fromkeys(listed))


def _of_file(path: str) -> StructureChoice:
    """Return the structures that a file lists: by number, or with the names that files use for each."""
    return read_aliases(path) or read_structures(path)


Parts = tuple[int | str, ...]


@dataclass(frozen=True)
class LabelPair:
    """The labels of each structure in the ground truth and in the prediction.

    `unknown` are labels of the prediction that nobody asked for. `by_name` has the numbers that were asked for and that
    the prediction has under other numbers, with their name and the labels there; `otherwise` those that it lacks, since
    its label of that number is another structure by name, with that name.
    """

    gt: Mapping[str, tuple[int, ...]]
    pred: Mapping[str, tuple[int, ...]]
    unknown: tuple[int, ...] = ()
    by_name: Mapping[int, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    otherwise: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Side:
    """One file of a pair: its reading, and the labels that occur in it."""

    reading: Reading
    labels: tuple[int, ...]

    @property
    def is_folder(self) -> bool:
        """True where labels are numbered by the order of files, so that only their names mean anything."""
        return self.reading.format == "folder"

    @cached_property
    def names(self) -> dict[int, str]:
        """Names of labels in the file itself; a blank one is none."""
        return {label: name for label, name in self.reading.labels.names.items() if name.strip()}

    @property
    def unused(self) -> tuple[int]:
        """A label that does not occur."""
        return (max((0, *self.labels, *self.names)) + 1,)

    def named(self, name: str) -> tuple[int, ...]:
        """Return the labels of that name, exact or else in other capitals."""
        exact = tuple(label for label, known in self.names.items() if known == name)
        return exact or tuple(label for label, known in self.names.items() if known.casefold() == name.casefold())


def label_pair(spec: StructureSpec, gt: Side, pred: Side, segment_number: int) -> LabelPair:
    """Return which labels make each structure in the two files of a case.

    Raises:
        UnknownStructure: if a name is asked for in a file that has no names.
        UnusableOption: if a union of numbers is asked for in a folder of masks that has only names.

    """
    if spec.mode == "foreground":
        return _foregrounds(spec, gt, pred, segment_number)
    if spec.mode == "all":
        return _all_pairs(spec, gt, pred)
    search = _Search(gt, pred, _words(spec.parts))
    in_gt = {name: search.labels_in(gt, name, parts) for name, parts in spec.parts.items()}
    if spec.pred_parts is not None:
        search = _Search(gt, pred, _words(spec.pred_parts))
        return LabelPair(in_gt, {name: search.labels_in(pred, name, parts) for name, parts in spec.pred_parts.items()})
    in_pred = {name: search.labels_in_pred(name, parts) for name, parts in spec.parts.items()}
    known = {label for labels in in_pred.values() for label in labels} | {spec.ignore} | set(gt.labels)
    unknown = () if pred.names else tuple(label for label in pred.labels if label not in known)
    return LabelPair(in_gt, in_pred, unknown, search.by_name, search.otherwise)


def _foregrounds(spec: StructureSpec, gt: Side, pred: Side, segment_number: int) -> LabelPair:
    """Pair all that is not 0; of a DICOM-SEG its chosen segment, which the prediction may have under another number."""
    in_gt = _foreground(gt, spec.ignore, segment_number)
    if gt.reading.format == pred.reading.format == "dicom-seg":
        search = _Search(gt, pred, {})
        found = search.number_in_pred(segment_number, ()) or pred.unused
        if found != (segment_number,):
            return LabelPair({"foreground": in_gt}, {"foreground": found}, (), search.by_name, search.otherwise)
    return LabelPair({"foreground": in_gt}, {"foreground": _foreground(pred, spec.ignore, segment_number)})


def _foreground(side: Side, ignore: int | None, segment_number: int) -> tuple[int, ...]:
    if side.reading.format == "dicom-seg":
        if segment_number not in side.names and segment_number not in side.labels:
            known = ", ".join(f"{number} ({name})" for number, name in side.names.items())
            raise UnknownStructure(
                f"{side.reading.labels.source}: has no segment {segment_number}; it has {known}. "
                f"Pass {option('segment_number', ...)}, or {option('structures', ...)} with their names."
            )
        return (segment_number,)
    return tuple(label for label in side.labels if label != ignore) or side.unused


def _words(structures: Mapping[str, Parts]) -> dict[int, tuple[str, ...]]:
    """Return the user's own words for single numbers; the word for a union is none for its parts."""
    words: dict[int, tuple[str, ...]] = {}
    for name, parts in structures.items():
        if len(parts) == 1 and isinstance(parts[0], int):
            words[parts[0]] = (*words.get(parts[0], ()), name)
    return words


@dataclass(frozen=True)
class _Search:
    """Finds what was asked for in the two files of a case, and keeps what was found by name or lies otherwise there."""

    gt: Side
    pred: Side
    words: Mapping[int, tuple[str, ...]]
    by_name: dict[int, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    otherwise: dict[int, str] = field(default_factory=dict)

    def labels_in(self, side: Side, name: str, parts: Parts) -> tuple[int, ...]:
        """Return the labels of a structure in the file whose numbers were given; an unused one where it has none."""
        found: list[int] = []
        for part in parts:
            if isinstance(part, str):
                found += self._named(side, part)
            elif side.is_folder:
                found += self._in_folder(side, part, name, parts)
            else:
                found.append(part)
        return tuple(dict.fromkeys(found)) or side.unused

    def labels_in_pred(self, name: str, parts: Parts) -> tuple[int, ...]:
        """Return the labels in a prediction of a structure whose parts are the ground truth's."""
        found: list[int] = []
        for part in parts:
            if isinstance(part, str):
                found += self._named(self.pred if self.pred.names or self.gt.is_folder else self.gt, part)
            elif self.pred.is_folder:
                found += self._by_gt_name(part) or self._in_folder(self.pred, part, name, parts)
            else:
                found += self.number_in_pred(part, (name,) if len(parts) == 1 else self.words.get(part, ()))
        return tuple(dict.fromkeys(found)) or self.pred.unused

    def number_in_pred(self, number: int, words: tuple[str, ...]) -> tuple[int, ...]:
        """Return the labels of a prediction, which is no folder, that a number of the ground truth stands for.

        Writers number what they found from 1 on: without a liver, the spleen is their label 1. So a label with the name
        of another number is not this one.
        """
        if not self.pred.names:
            return (number,)
        has_names = bool(self.gt.names) and not self.gt.is_folder
        found = self._by_gt_name(number) if has_names else self._by_words(number, words)
        if found:
            return found
        if not self._is_called_otherwise(number):
            return (number,)
        # Its own word is left; the ground truth must not call another label so.
        found = self._by_words(number, tuple(word for word in words if not self.gt.named(word)))
        if not found:
            self.otherwise[number] = self.pred.names[number]
        return found

    def _by_gt_name(self, number: int) -> tuple[int, ...]:
        name = None if self.gt.is_folder else self.gt.names.get(number)
        return () if name is None else self._by_words(number, (name,))

    def _by_words(self, number: int, words: tuple[str, ...]) -> tuple[int, ...]:
        """Return the labels of the first of these names that the prediction has; of several, that of the number."""
        for word in words:
            found = self.pred.named(word)
            if number in found:
                return (number,)
            if found:
                if not self.pred.is_folder:
                    self.by_name[number] = (word, found)
                return found
        return ()

    def _is_called_otherwise(self, number: int) -> bool:
        """Say whether the prediction's label of a number has the name of another number."""
        own, others = set[str](), set[str]()
        named = {} if self.gt.is_folder else {label: (name,) for label, name in self.gt.names.items()}
        for known in (self.words, named):
            for label, words in known.items():
                (own if label == number else others).update(word.casefold() for word in words)
        return self.pred.names.get(number, "").casefold() in others - own

    def _named(self, side: Side, name: str) -> tuple[int, ...]:
        if not side.names:
            raise UnknownStructure(
                f"{side.reading.labels.source}: has no names for its labels, so {name!r} cannot be found in it. "
                f"Give its label: {option('structures', {name: 1})}."
            )
        return side.named(name)

    def _in_folder(self, side: Side, number: int, structure: str, parts: Parts) -> tuple[int, ...]:
        """Return the label of the mask that is called as the user calls the number.

        A union has no such word. Where both sides are folders, its name means the same mask in both.
        """
        words = (structure,) if len(parts) == 1 else self.words.get(number, ())
        if not words and self.gt.is_folder and self.pred.is_folder:
            words = (structure,)
        if not words:
            raise UnusableOption(
                f"{side.reading.labels.source}: its masks have names and no numbers, so label {number} of "
                f"{structure!r} cannot be found among them. Name that label, too, or name the masks that make "
                f"{structure!r}."
            )
        return next((found for word in words if (found := side.named(word))), ())


def _all_pairs(spec: StructureSpec, gt: Side, pred: Side) -> LabelPair:
    """Pair every label of both files: by name where both have names, otherwise by number."""
    by_name = bool(gt.names and pred.names)
    if not by_name and gt.is_folder != pred.is_folder:
        nameless = pred if gt.is_folder else gt
        raise UnknownStructure(
            f"{nameless.reading.labels.source}: has no names for its labels, the other side is a folder of named "
            f"masks. Map the labels: {option('structures', {'liver': 1})} and so on."
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
            in_gt.setdefault(name, (gt.named(name) if by_name else ()) or gt.unused)
    return LabelPair(in_gt, in_pred)
