"""Membership: which cases are in which group, which of them cannot be told, and which groups overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segbench.analysis.groups.declaration import Family, Metadata

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Overlap:
    """Two groups that have cases in common."""

    a: str
    b: str
    n: int


@dataclass(frozen=True, eq=False)
class Membership:
    """The groups of one family on given cases.

    Attributes:
        family: the declared groups.
        cases: case ids, in the order of the masks.
        masks: per group which cases are in it.
        unknown: per group how many cases cannot be told, for want of metadata.
        overlaps: pairs of groups with cases in common.
        ungrouped: cases in no group.

    """

    family: Family
    cases: tuple[str, ...]
    masks: Mapping[str, Flags]
    unknown: Mapping[str, int]
    overlaps: tuple[Overlap, ...]
    ungrouped: int

    @property
    def sizes(self) -> dict[str, int]:
        """Cases per group."""
        return {name: int(mask.sum()) for name, mask in self.masks.items()}


def membership(family: Family, cases: Sequence[str], metadata: Metadata) -> Membership:
    """Return which of the cases are in which group of a family; a case without metadata is in none but listed ones."""
    answers = {
        name: [condition.holds(case, metadata.get(case, {})) for case in cases]
        for name, condition in family.groups.items()
    }
    masks = {name: np.array([answer is True for answer in found], dtype=bool) for name, found in answers.items()}
    unknown = {name: sum(answer is None for answer in found) for name, found in answers.items()}
    names = list(masks)
    overlaps = [
        Overlap(one, other, count)
        for i, one in enumerate(names)
        for other in names[i + 1 :]
        if (count := int((masks[one] & masks[other]).sum()))
    ]
    in_any = np.any(list(masks.values()), axis=0) if masks else np.zeros(len(cases), dtype=bool)
    return Membership(family, tuple(cases), masks, unknown, tuple(overlaps), int((~in_any).sum()))
