"""What a file of a record holds, key by key, and the JSON schemas of what people write: configs, cards, records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from segbench.cards import DatasetCard, ExposureLevel, ModelCard
from segbench.config import RunConfig
from segbench.typed import STRICT, json_schema


class _Keys:
    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT


@dataclass(frozen=True)
class CaseKeys(_Keys):
    """One case."""

    id: str
    image_sha256: str | None
    gt_sha256: str | None
    metadata: Mapping[str, Any]
    diagonal_mm: float | None


@dataclass(frozen=True)
class ExposureKeys(_Keys):
    """What a model has seen of the dataset."""

    level: ExposureLevel
    reason: str
    path: tuple[str, ...]
    sources: tuple[str, ...]
    caveat: str


@dataclass(frozen=True)
class ModelKeys(_Keys):
    """One model of a run."""

    card: ModelCard
    exposure: ExposureKeys
    ranked: bool
    options: Mapping[str, Any]
    environment: Mapping[str, Any]
    predictions: Mapping[str, str | None]
    failures: Mapping[str, str]


@dataclass(frozen=True)
class Suspect(_Keys):
    """A model that does so badly on a structure that something is wrong with its files, and what that may be."""

    model: str
    structure: str
    mean_dice: float
    diagnosis: str


@dataclass(frozen=True)
class RecordFile(_Keys):
    """A record as its file has it; scores and statistics are checked where they are read."""

    schema: str
    dataset: DatasetCard
    cases: tuple[CaseKeys, ...]
    models: tuple[ModelKeys, ...]
    structures: tuple[str, ...]
    metrics: tuple[str, ...]
    config: Mapping[str, Mapping[str, Any]]
    protocol: Mapping[str, Any]
    exclusions: tuple[Mapping[str, str], ...]
    suspects: tuple[Suspect, ...]
    notes: tuple[str, ...]
    timings: Mapping[str, Mapping[str, float]]
    platform: Mapping[str, str]
    scores: Mapping[str, Any] | None = None
    analysis: Mapping[str, Any] | None = None
    published: Mapping[str, Any] | None = None


def schemas() -> dict[str, dict[str, Any]]:
    """Return each schema by the name of its file in docs/reference/schemas."""
    config = json_schema(RunConfig, "A benchmark run of segbench")
    del config["properties"]["written"]
    # The same key under another name.
    config["properties"]["organs"] = config["properties"]["structures"]
    return {
        "config": config,
        "dataset-card": json_schema(DatasetCard, "A dataset card of segbench"),
        "model-card": json_schema(ModelCard, "A model card of segbench"),
        "record": json_schema(RecordFile, "A record of a segbench run"),
    }
