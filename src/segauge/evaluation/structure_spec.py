"""From a user's words to the structures that are measured: names, labels, regions, or a file that lists them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from segauge.errors import InvalidInput
from segauge.io.layouts.structure_files import read_aliases, read_structures
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
