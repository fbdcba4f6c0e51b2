"""Which structures a command measures: what the user says, what the dataset declares, or what the files hold."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput, SegaugeError, UnknownStructure
from segauge.evaluation import Case
from segauge.io import Limits, read_labels
from segauge.io.layouts.pairs import Pairing, structure_column
from segauge.labeling import Labeling

#: Cases that are looked into where nobody says what to measure, spread over all of them.
LOOKED_INTO = 4


@dataclass(frozen=True)
class Chosen:
    """What `evaluate` is asked for, and what to tell the user about it ("" where that was said by themselves)."""

    structures: Any
    words: str = ""


def chosen_structures(pairing: Pairing, cases: Sequence[Case], args: argparse.Namespace) -> Chosen:
    """Return what to measure.

    What the user says, looked up among the layout's structures; otherwise all of those. Where nobody says anything,
    every label if the ground truths hold several, whatever the predictions hold, and else all that is not 0 as one
    structure.
    """
    if args.label is not None or args.pred_structures is not None or args.structures is not None:
        asked = _asked(pairing, args)
        _require_names(asked, cases)
        return Chosen(asked)
    if pairing.structures is not None or args.segment_number is not None:
        return Chosen(pairing.structures)
    if not _hold_several(cases, args):
        return Chosen(None, "all that is not 0 is measured as one structure; --structures names labels")
    return Chosen(
        "all",
        "the ground truth holds several labels, so each is measured; --structures names or joins them, and "
        "--structures foreground takes all of them as one",
    )


def structure_file(args: argparse.Namespace) -> Path | None:
    """Return the file that lists the structures, None where they are named otherwise."""
    is_file = isinstance(args.structures, str) and args.structures.lower().endswith((".json", ".yaml", ".yml"))
    return Path(args.structures) if is_file else None


def _asked(pairing: Pairing, args: argparse.Namespace) -> Any:
    if args.label is not None:
        if args.structures is not None:
            raise InvalidInput("Give --label or --structures, not both: a structure already names its labels.")
        return None
    declared = pairing.structures
    if args.structures is None:
        return declared
    if not isinstance(args.structures, str):  # a protocol file has names with their labels
        return args.structures
    if args.structures in ("all", "foreground") or structure_file(args) is not None:
        return args.structures
    wanted = comma_separated(args.structures)
    if any("=" in part for part in wanted):
        return named_structures(wanted)
    if not isinstance(declared, Labeling):
        return [int(part) if part.lstrip("-").isdigit() else part for part in wanted]
    chosen: dict[str, tuple[int, ...]] = {}
    for part in wanted:
        if not part.isdigit() and part not in declared.structures:
            raise UnknownStructure(f"No structure {part!r} in this dataset; there are {', '.join(declared)}.")
        name = part if part in declared.structures else f"label {part}"
        chosen[name] = declared.structures.get(part) or (int(part),)
    return Labeling(chosen, declared.ignore)


def _require_names(asked: Any, cases: Sequence[Case]) -> None:
    """Refuse names where the ground truth has numbers only: every case would fail by the same mistake."""
    if not isinstance(asked, list) or all(isinstance(part, int) for part in asked) or not cases:
        return
    source = cases[0].gt
    try:
        labels = read_labels(source).labels
    except (SegaugeError, OSError):  # told when the case is measured
        return
    if not labels.names:
        wanted = next(part for part in asked if isinstance(part, str))
        known = ", ".join(map(str, labels.labels())) or "none"
        raise UnknownStructure(
            f"{labels.source}: its labels have no names, so {wanted!r} cannot be found in it; it holds the labels "
            f"{known}. Map them: --structures {wanted}=1."
        )


def comma_separated(text: str) -> list[str]:
    """Return the parts of a list, without blanks and empty ones."""
    return [part.strip() for part in text.split(",") if part.strip()]


def named_structures(wanted: list[str]) -> dict[str, tuple[int | str, ...]]:
    """Return the structures of NAME=LABEL and NAME=LABEL+LABEL; labels may also be the names that files have."""
    named: dict[str, tuple[int | str, ...]] = {}
    for part in wanted:
        name, sign, labels = part.rpartition("=")
        if not sign or not name or not labels:
            raise InvalidInput(f"Expected NAME=LABEL,NAME=LABEL+LABEL for all structures, got {part!r}.")
        if name.strip() in named:
            raise InvalidInput(f"The structure {name.strip()!r} is listed twice: join its labels, as in NAME=1+2.")
        named[name.strip()] = tuple(int(one) if one.isdigit() else one for one in labels.split("+"))
    return named


def structures_of_pairs(path: Path) -> dict[str, tuple[int | str, ...]] | None:
    """Return the structures that a table of pairs names, each with every name it has in a case; None if there are none.

    Labels have no such aliases: a structure that is 1 in one case and 2 in another is refused.
    """
    found: dict[str, tuple[int | str, ...]] = {}
    for text in structure_column(path):
        for name, parts in named_structures(comma_separated(text)).items():
            before = found.setdefault(name, parts)
            if before != parts and any(isinstance(part, int) for part in (*before, *parts)):
                raise InvalidInput(
                    f"{path.name}: structures: the labels of {name!r} differ between cases "
                    f"({'+'.join(map(str, before))} and {'+'.join(map(str, parts))}). Only names can."
                )
            found[name] = tuple(dict.fromkeys((*before, *parts)))
    return found or None


def _hold_several(cases: Sequence[Case], args: argparse.Namespace) -> bool:
    """Return whether ground truths hold several labels; as far as a few of them show."""
    step = max(1, len(cases) // LOOKED_INTO)
    some = cases[::step][:LOOKED_INTO]
    return _any_several((case.gt for case in some), args)


def _any_several(sources: Iterable[Any], args: argparse.Namespace) -> bool:
    for source in sources:
        if source is None:
            continue
        try:
            labels = read_labels(source, frame=args.frame, nan=args.nan, limits=Limits(args.max_voxels)).labels.labels()
        except (SegaugeError, OSError):  # told when the case is measured
            continue
        if len(set(labels) - {args.ignore}) > 1:
            return True
    return False
