"""RunRecord: the waist of segbench. Whatever runs models writes it, whatever ranks and draws them reads it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from segauge import ScoreTable
from segauge.errors import InvalidInput
from segauge.scores import CASE_FAILURES
from segbench.cards import DatasetCard, Exposure, ModelCard
from segbench.records.schema import ModelKeys, RecordFile, Suspect
from segbench.records.tables import columns_of, content_hash, require_consistent, table_of
from segbench.typed import validated

SCHEMA = "segbench-record/1"

#: From so many cells on, scores go to Parquet: nobody reads more of them by eye.
LARGE = 200_000

#: What differs from run to run though the numbers are the same: how long it took, and where.
NOT_IN_FINGERPRINT = ("timings", "platform")


@dataclass(frozen=True)
class CaseInfo:
    """One case: its id, the hashes of its files, its metadata, and (where a model failed) its image's diagonal."""

    case_id: str
    image_sha256: str | None = None
    gt_sha256: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    diagonal_mm: float | None = None


@dataclass(frozen=True)
class ModelEntry:
    """One model of a run.

    Attributes:
        card: what is known about it.
        exposure: what it has seen of the dataset.
        ranked: whether the policy of the run lets it into the ranking.
        options: what its predictions depend on.
        environment: requirements and their hash, versions found in it.
        predictions: per case the hash of the predicted label map; None where the model failed.
        failures: per case why the model made no prediction.

    """

    card: ModelCard
    exposure: Exposure
    ranked: bool
    options: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    predictions: Mapping[str, str | None] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.card.name


@dataclass(frozen=True, eq=False)
class RunRecord:
    """Everything about a run, without a path or an identity of the machine that made it.

    Attributes:
        dataset: card of the dataset.
        cases: the cases, sorted by id.
        models: the models, in the order of the config.
        structures, metrics: what was scored, in order.
        tables: per model its scores; only the structures that the model has.
        config: the config "written" and "resolved".
        protocol: versions, options of the scoring: what is needed to get the same scores again.
        exclusions: what was left out, and why: "model", "structure" ("" for all), "reason".
        suspects: cells that a reader should not believe.
        notes: what was odd about the run.
        timings: per model and case the seconds of a prediction.
        platform: what kind of machine it was.
        analysis: the leaderboard as plain values; None where it was not computed yet.
        published: statistics that another program published with these scores; None for a run of our own.

    """

    dataset: DatasetCard
    cases: tuple[CaseInfo, ...]
    models: tuple[ModelEntry, ...]
    structures: tuple[str, ...]
    metrics: tuple[str, ...]
    tables: Mapping[str, ScoreTable]
    config: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    exclusions: tuple[Mapping[str, str], ...] = ()
    suspects: tuple[Suspect, ...] = ()
    notes: tuple[str, ...] = ()
    timings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    platform: Mapping[str, str] = field(default_factory=dict)
    analysis: Mapping[str, Any] | None = None
    published: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        known = {entry.name for entry in self.models}
        if len(known) != len(self.models) or set(self.tables) != known:
            raise InvalidInput("A record needs one table of scores for each model, and each model once.")
        ids = self.case_ids
        if len(set(ids)) != len(ids):
            raise InvalidInput("A record names a case twice.")
        for name, table in self.tables.items():
            extra = sorted(set(table.cases) - set(ids)) + sorted(set(table.structures) - set(self.structures))
            if extra:
                raise InvalidInput(f"The scores of {name} speak of {extra[0]!r}, which the record does not have.")

    @property
    def case_ids(self) -> tuple[str, ...]:
        """Ids of the cases."""
        return tuple(case.case_id for case in self.cases)

    @property
    def cells(self) -> int:
        """Cases x structures x models: how many scores there are of each metric."""
        return sum(table.status.size for table in self.tables.values())

    @cached_property
    def scores_hash(self) -> str:
        """Hash of what the scores say, whoever wrote them down."""
        return content_hash(self.tables)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings in force."""
        found: Mapping[str, Any] = self.config.get("resolved", {})
        return found

    @property
    def title(self) -> str:
        """What the run calls itself, or which dataset it is on."""
        return str(self.settings.get("title") or self.settings.get("preview_label") or self.dataset.title)

    def __getitem__(self, model: str) -> ModelEntry:
        """Return a model by its name."""
        for entry in self.models:
            if entry.name == model:
                return entry
        raise InvalidInput(f"No model {model!r} in this record; there are {', '.join(self.tables)}.")

    def clusters(self) -> dict[str, str] | None:
        """Return the patient of each case, None where every case is its own."""
        column = self.dataset.cluster_column
        if not column:
            return None
        return {case.case_id: str(case.metadata.get(column, case.case_id)) for case in self.cases}

    def failed_cases(self, model: str) -> dict[str, str]:
        """Return the cases that a model failed, with the reason: no prediction, or none that can be compared."""
        table = self.tables[model]
        failed = [any(status in CASE_FAILURES for status in row) for row in table.status.tolist()]
        told = {place[0] for place in table.missing}
        found = {
            case: table.case_failure(case)
            for case, is_failed in zip(table.cases, failed, strict=True)
            if is_failed or case in told
        }
        compared = {case: failure[1] for case, failure in found.items() if failure and failure[0].is_failure}
        return {**compared, **self[model].failures}

    def of_structure(self, structure: str) -> RunRecord:
        """Return what a board of one structure is made of, and nothing else: small enough to be sent to a worker.

        Without the scores of other structures, hashes of predictions, timings, and what was computed; of the reasons
        those why there is no score where there is nothing to find, which comparisons ask for.
        """
        tables = {name: _of_structure(table, structure) for name, table in self.tables.items()}
        known = tuple(
            replace(entry, predictions={}, failures=dict.fromkeys(entry.failures, "")) for entry in self.models
        )
        return replace(
            self, models=known, structures=(structure,), tables=tables, timings={}, analysis=None, published=None
        )

    def with_analysis(self, analysis: Mapping[str, Any]) -> RunRecord:
        """Return the record with this analysis in place of its own."""
        return replace(self, analysis=analysis)

    def fingerprint(self) -> str:
        """Return a hash of all that must be the same when the run is made again: all but times and platform.

        The scores of a large run are in it by their own hash: as text they would take many times its memory.
        """
        is_large = self.cells >= LARGE
        plain = {
            key: value for key, value in self.to_dict(scores=not is_large).items() if key not in NOT_IN_FINGERPRINT
        }
        if is_large:
            plain["scores"] = self.scores_hash
        return hashlib.sha256(json.dumps(plain, sort_keys=True, allow_nan=False).encode()).hexdigest()

    def to_dict(self, *, scores: bool = True) -> dict[str, Any]:
        """Return plain values, ready for strict JSON; without the scores where these are kept elsewhere."""
        return {
            "schema": SCHEMA,
            "dataset": self.dataset.to_dict(),
            "cases": [_case_to_dict(case) for case in self.cases],
            "models": [_model_to_dict(entry) for entry in self.models],
            "structures": list(self.structures),
            "metrics": list(self.metrics),
            "scores": {name: columns_of(table) for name, table in self.tables.items()} if scores else None,
            "config": dict(self.config),
            "protocol": dict(self.protocol),
            "exclusions": [dict(exclusion) for exclusion in self.exclusions],
            "suspects": [vars(suspect) for suspect in self.suspects],
            "notes": list(self.notes),
            "timings": {model: dict(cases) for model, cases in self.timings.items()},
            "platform": dict(self.platform),
            "analysis": self.analysis,
            "published": self.published,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], tables: Mapping[str, ScoreTable] | None = None) -> RunRecord:
        """Return the record that was written, with its scores from elsewhere where it does not have them itself.

        Scores that contradict themselves are refused.
        """
        large = ("scores", "analysis", "published")
        file = validated(RecordFile, {key: part for key, part in given.items() if key not in large}, "The record")
        models = tuple(_entry(one, file.dataset.name) for one in file.models)
        if tables is None:
            names = [entry.name for entry in models]
            tables = {name: table_of(given["scores"][name], file.structures, file.metrics) for name in names}
        require_consistent(tables, measured_here=any(entry.predictions or entry.failures for entry in models))
        return cls(
            dataset=file.dataset,
            cases=tuple(
                CaseInfo(case.id, case.image_sha256, case.gt_sha256, case.metadata, case.diagonal_mm)
                for case in file.cases
            ),
            models=models,
            structures=file.structures,
            metrics=file.metrics,
            tables=tables,
            config=file.config,
            protocol=file.protocol,
            exclusions=file.exclusions,
            suspects=file.suspects,
            notes=file.notes,
            timings=file.timings,
            platform=file.platform,
            analysis=None if given["analysis"] is None else dict(given["analysis"]),
            published=None if given["published"] is None else dict(given["published"]),
        )


def _of_structure(table: ScoreTable, structure: str) -> ScoreTable:
    """Return one structure of a table; none, where the table does not have it."""
    one = table.select(structures=[name for name in table.structures if name == structure])
    kept = {place: found for place, found in one.missing.items() if found.counts_as in ("nothing", "unknown")}
    return replace(one, missing=kept)


def _case_to_dict(case: CaseInfo) -> dict[str, Any]:
    return {
        "id": case.case_id,
        "image_sha256": case.image_sha256,
        "gt_sha256": case.gt_sha256,
        "metadata": dict(case.metadata),
        "diagonal_mm": case.diagonal_mm,
    }


def _model_to_dict(entry: ModelEntry) -> dict[str, Any]:
    return {
        "card": entry.card.to_dict(),
        "exposure": entry.exposure.to_dict(),
        "ranked": entry.ranked,
        "options": dict(entry.options),
        "environment": dict(entry.environment),
        "predictions": dict(entry.predictions),
        "failures": dict(entry.failures),
    }


def _entry(given: ModelKeys, dataset: str) -> ModelEntry:
    seen = given.exposure
    exposure = Exposure(given.card.name, dataset, seen.level, seen.reason, seen.path, seen.sources, seen.caveat)
    return ModelEntry(
        given.card, exposure, given.ranked, given.options, given.environment, given.predictions, given.failures
    )
