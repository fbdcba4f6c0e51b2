"""DatasetCard, ModelCard: what is known about a dataset or a model, each fact with its source, and what is not known.

A card is a frozen value that goes to JSON and back. Unknown is not false: `None` says that nobody found out, an empty
tuple that somebody looked and found nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self, TypeVar

from segauge import Labeling
from segauge.errors import InvalidInput
from segbench.suggestions import unknown
from segbench.typed import STRICT, Checked, Expected, Is, validated


class Relation(StrEnum):
    """How a dataset is kin to another one."""

    CONTAINS = "contains"  #: has images of the other, all or some; the labels may be its own
    RELABELS = "relabels"  #: every image is one of the other's, with labels of its own
    SUBSET_OF = "subset_of"  #: every image is one of the other's


class Confidence(StrEnum):
    """How well a fact is supported."""

    HIGH = "high"  #: read in a primary source
    MEDIUM = "medium"  #: read in a secondary source, or inferred from a primary one
    UNVERIFIED = "unverified"  #: said somewhere, seen nowhere: convicts nobody, but leaves the question open


class _Card:
    """What cards and their parts have in common: plain values out, plain values in, and a way through pickle."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Return the card that was written; a key that it does not have is an error with a suggestion."""
        return validated(cls, given, cls.__name__)

    def __reduce__(self) -> tuple[Any, ...]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}
        return (_made, (type(self), plain))


E = TypeVar("E", bound=StrEnum)
C = TypeVar("C", bound=_Card)


def _made(kind: type[C], values: Mapping[str, Any]) -> C:
    return kind(**values)


def _label_map(given: Any) -> Mapping[str, tuple[int, ...]]:
    """Check the labels as a Labeling does; an empty map is fine, for cards that only stand in a lineage.

    A truth value is no label: YAML makes one of `organ: yes`, and Python would count it as 1.
    """
    if not isinstance(given, Mapping):
        raise Expected("names and labels", given)
    for name, labels in given.items():
        if any(isinstance(label, bool) for label in (labels if isinstance(labels, Iterable) else (labels,))):
            raise InvalidInput(f"Structure {name!r}: expected label values, which are whole numbers, got {labels!r}.")
    return MappingProxyType(dict(Labeling.of(dict(given)).structures)) if given else MappingProxyType({})


_LABELS = (
    '{"type": "object", "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "array", "minItems": 1, '
    '"items": {"type": "integer"}}]}}'
)

Labels = Annotated[Mapping[str, tuple[int, ...]], Checked(_label_map, _LABELS)]
Texts = Annotated[tuple[str, ...], Is("a list of texts")]


@dataclass(frozen=True)
class LineageEdge(_Card):
    """An edge of the lineage: this dataset `relation` `other`, and where that is written."""

    relation: Relation
    other: str
    source: str
    confidence: Confidence = Confidence.HIGH
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", _member(Relation, self.relation, "relation"))
        object.__setattr__(self, "confidence", _member(Confidence, self.confidence, "confidence"))
        _require_words(self, "other", "source")


@dataclass(frozen=True)
class TrainingSet(_Card):
    """A dataset that a model learned from, and where that is written."""

    dataset: str
    source: str
    confidence: Confidence = Confidence.HIGH
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", _member(Confidence, self.confidence, "confidence"))
        _require_words(self, "dataset", "source")


@dataclass(frozen=True)
class DatasetCard(_Card):
    """What is known about a dataset.

    Attributes:
        name: what configs and lineages call it: "kits23".
        title: what pages call it: "KiTS23".
        structures: per structure the labels that make it; several are a region ({"kidney": (1, 2, 3), "tumor": (2,)}).
        ignore: label whose voxels count for nothing, if any.
        licence, citation, source: as its makers say them; "" where not known.
        show_images: whether the licence lets pages show slices of it; not unless somebody made sure.
        modality: "CT", "MR", ...
        n_cases: cases with public labels; None if not known.
        splits: per split which cases it has, in words.
        metadata_columns: what is known per case: ("sex", "age").
        cluster_column: the metadata column that names the patient, where cases share patients; "" if each is its own.
        tolerances_mm: NSD tolerance of a structure where the dataset's makers set one.
        lineage: its kin; () if somebody looked and found none, None if nobody knows where its images come from.
        partial: True if `lineage` names only some of what the dataset contains; then no other dataset is known to share
            nothing with it, but for those that it lacks.
        lacks: datasets that its makers say are not among its sources.
        aliases: other names that configs and model cards may use.
        note: what a reader of its numbers must know, such as what could not be verified.

    """

    name: str
    title: str = ""
    structures: Labels = field(default_factory=dict)
    ignore: int | None = None
    licence: str = ""
    citation: str = ""
    source: str = ""
    show_images: bool = False
    modality: str = ""
    n_cases: int | None = None
    splits: Annotated[Mapping[str, str], Is("names and texts")] = field(default_factory=dict)
    metadata_columns: Texts = ()
    cluster_column: str = ""
    tolerances_mm: Annotated[Mapping[str, float], Is("names and numbers")] = field(default_factory=dict)
    lineage: Annotated[tuple[LineageEdge, ...], Is("a list of edges")] | None = None
    partial: bool = False
    lacks: Texts = ()
    aliases: Texts = ()
    note: str = ""

    def __post_init__(self) -> None:
        _require_words(self, "name")
        _set(self, title=self.title or self.name, structures=_label_map(self.structures))
        _set(self, splits=MappingProxyType(dict(self.splits)), tolerances_mm=MappingProxyType(dict(self.tolerances_mm)))
        _set(self, metadata_columns=tuple(self.metadata_columns), aliases=tuple(self.aliases), lacks=tuple(self.lacks))
        _set(self, lineage=_parts(LineageEdge, self.lineage))

    def labeling(self, structures: Iterable[str] | None = None) -> Labeling:
        """Return which labels make the chosen structures, in the order asked for; all of them by default."""
        return _labeling(self.name, self.structures, structures, self.ignore)


@dataclass(frozen=True)
class ModelCard(_Card):
    """What is known about a model.

    Attributes:
        name: what configs and pages call it: "TotalSegmentator".
        version: of the weights and the code that runs; "" where not known.
        organisation, paper, code, framework, citation: as its makers say them.
        licence: of the code; weights_licence: of the weights, where it differs.
        structures: per structure the labels of its output that make it, unions included ({"kidney": (2, 3, 23, 24)}).
            A structure that is not here is "n/a" for this model, never a zero.
        parameters: how many it has; None if not known.
        trained_on: datasets whose images it saw with labels; () if it was not trained at all, None if unknown.
        pretrained_on: datasets whose images it saw without labels; () if there was no such step, None if unknown.
        undisclosed: what its makers say about training data that they do not name; shown beside a clean verdict.
        note: what a reader of its numbers must know.

    """

    name: str
    version: str = ""
    organisation: str = ""
    paper: str = ""
    code: str = ""
    framework: str = ""
    citation: str = ""
    licence: str = ""
    weights_licence: str = ""
    structures: Labels = field(default_factory=dict)
    parameters: int | None = None
    trained_on: Annotated[tuple[TrainingSet, ...], Is("a list of datasets")] | None = None
    pretrained_on: Annotated[tuple[TrainingSet, ...], Is("a list of datasets")] | None = None
    undisclosed: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        _require_words(self, "name")
        _set(self, structures=_label_map(self.structures))
        _set(self, trained_on=_parts(TrainingSet, self.trained_on))
        _set(self, pretrained_on=_parts(TrainingSet, self.pretrained_on))

    def supports(self, structure: str) -> bool:
        """True if the model's output has this structure."""
        return structure in self.structures

    def labeling(self, structures: Iterable[str] | None = None) -> Labeling:
        """Return which labels of the output make the chosen structures; all of them by default."""
        return _labeling(self.name, self.structures, structures, None)


def _set(card: object, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(card, name, value)


def _plain(value: Any) -> Any:
    if isinstance(value, _Card):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.value if isinstance(value, StrEnum) else value


def _member(kind: type[E], given: str, what: str) -> E:
    try:
        return kind(given)
    except ValueError:
        raise InvalidInput(unknown(what, str(given), [member.value for member in kind])) from None


def _parts(kind: type[C], given: Any) -> tuple[C, ...] | None:
    if given is None:
        return None
    return tuple(part if isinstance(part, kind) else kind.from_dict(part) for part in given)


def _require_words(card: object, *names: str) -> None:
    for name in names:
        value = getattr(card, name)
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(f"{type(card).__name__}: {name} should be a text that is not empty, got {value!r}.")


def _labeling(
    owner: str, known: Mapping[str, tuple[int, ...]], wanted: Iterable[str] | None, ignore: int | None
) -> Labeling:
    chosen = tuple(known) if wanted is None else tuple(wanted)
    for structure in chosen:
        if structure not in known:
            raise InvalidInput(f"{owner}: {unknown('structure', structure, known)}")
    return Labeling({structure: known[structure] for structure in chosen}, ignore)
