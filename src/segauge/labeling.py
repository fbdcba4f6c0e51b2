"""Labeling: which label values make a structure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from segauge.errors import InvalidInput, UnknownStructure
from segauge.labelmap import as_label, as_labels, is_several


@dataclass(frozen=True, eq=False)
class Labeling:
    """Structures by name, each a label value or a union of several (a region), and perhaps an ignore label.

    Regions may overlap: `{"kidney+masses": (1, 2, 3), "masses": (2, 3), "tumor": 2}`. Voxels whose ground truth
    carries the ignore label count for nothing, in either mask. Frozen; keeps the order of the structures.
    """

    structures: Mapping[str, tuple[int, ...]]
    ignore: int | None = None

    def __post_init__(self) -> None:
        check_ignore(self.ignore)
        structures = {str(name): _checked_labels(str(name), labels) for name, labels in self.structures.items()}
        if len(structures) < len(self.structures):
            raise InvalidInput(f"Two structures have one name: {', '.join(map(repr, self.structures))}.")
        if not structures:
            raise InvalidInput("A labeling needs at least one structure, for example {'liver': 1}.")
        for name, labels in structures.items():
            if self.ignore is not None and self.ignore in labels:
                raise InvalidInput(
                    f"Structure {name!r} contains the ignore label {self.ignore}: it can be only one of them."
                )
        object.__setattr__(self, "structures", MappingProxyType(structures))

    @classmethod
    def of(
        cls,
        structures: Labeling | Mapping[str, int | Iterable[int]] | Iterable[int],
        *,
        names: Mapping[int, str] | None = None,
        ignore: int | None = None,
    ) -> Labeling:
        """Return the labeling that a user wrote down: a mapping of names to labels, or just label values.

        Bare values get their name from `names` (what the file says), or are called "label 3"; of several that a file
        gives one name, each is called by both.
        """
        if isinstance(structures, Labeling):
            return structures
        if isinstance(structures, Mapping):
            return cls({name: as_labels(labels, f"Structure {name!r}") for name, labels in structures.items()}, ignore)
        _refuse_a_single_one(structures)
        values = list(dict.fromkeys(as_label(label, "label") for label in structures))
        known = {label: (names or {}).get(label, f"label {label}") for label in values}
        shared = {name for name, count in Counter(known.values()).items() if count > 1}
        called = {label: f"{name} (label {label})" if name in shared else name for label, name in known.items()}
        return cls({called[label]: (label,) for label in values}, ignore)

    def labels_of(self, structure: str) -> tuple[int, ...]:
        """Return the label values of a structure."""
        if structure not in self.structures:
            raise UnknownStructure(f"No structure {structure!r}; there are {', '.join(map(repr, self.structures))}.")
        return self.structures[structure]

    def __iter__(self) -> Iterator[str]:
        return iter(self.structures)

    def __len__(self) -> int:
        return len(self.structures)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labeling):
            return NotImplemented
        return list(self.structures.items()) == list(other.structures.items()) and self.ignore == other.ignore

    def __hash__(self) -> int:
        return hash((tuple(self.structures.items()), self.ignore))


def check_ignore(ignore: int | None) -> None:
    """Refuse the background as the ignore label: all that is predicted outside of a structure would count for nothing.

    Those who say 0 most often mean that the background should be no structure, which it never is.
    """
    if ignore is not None and as_label(ignore, "ignore") == 0:
        raise InvalidInput(
            "ignore: 0 is the background, and without it no false positive would count. It is never measured as a "
            "structure; leave ignore out, or give the label of voxels without annotation."
        )


def _refuse_a_single_one(structures: object) -> None:
    """Refuse a bare label, and a name, which would be taken apart into letters."""
    if not is_several(structures):
        raise InvalidInput(
            "structures: expected names with their labels, such as {'liver': 1}, or label values, such as [1, 2], got "
            f"{structures!r}."
        )


def _checked_labels(name: str, labels: int | Iterable[int]) -> tuple[int, ...]:
    values = as_labels(labels, f"Structure {name!r}")
    if not name.strip():
        raise InvalidInput("A structure needs a name.")
    if not values:
        raise InvalidInput(f"Structure {name!r} has no label values.")
    if 0 in values:
        raise InvalidInput(f"Structure {name!r} contains label 0, which is the background.")
    if len(set(values)) != len(values):
        raise InvalidInput(f"Structure {name!r} names a label twice: {values}.")
    return values
