"""score(): measure every prediction of a plan; a model's failed case is that model's failure, with its reason."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from segauge import Case, EvaluationResult, ScoreTable, Status, evaluate, read_labels
from segauge.errors import InvalidInput, SegaugeError
from segauge.geometry.patterns import SurfaceKind
from segauge.io.contents import file_hash
from segauge.metrics.matching import DETECTION_OPTIONS
from segauge.metrics.surface import HdMode
from segauge.plural import counted
from segauge.scores import Missing
from segbench.cards import DatasetCard
from segbench.config import RunConfig
from segbench.locks import held
from segbench.planning import Exclusion, Plan, PlannedModel, Prediction, tolerances
from segbench.records import CaseInfo, ModelEntry, RunRecord, Suspect
from segbench.records.files import portable
from segbench.registry import DatasetCase
from segbench.scoring.diagnosis import diagnose
from segbench.scoring.facts import case_info, failed_cases, shared_images

#: How surfaces and Hausdorff distances are measured on every leaderboard.
SURFACE: SurfaceKind = "marching-cubes"
HD: HdMode = "directed"

#: Why a structure, or a model, is left out when the ground truths are known.
IN_NO_GROUND_TRUTH = "occurs in no ground truth of the chosen cases"
NOT_SCORED = "not scored: no chosen case has any of its structures"
#: Why a prediction counts as a failure whose file was overwritten after it was made.
CHANGED = "its prediction was changed after it was made, so it is not scored"
#: Why a case is left out starts with this, behind its id.
LEFT_OUT = "is left out for all"

#: How many cases of a suspect cell are looked at.
_LOOKED_AT = 3


@dataclass(frozen=True)
class RunDetails:
    """What a record tells about one model beside its card: the options and the environment of its predictions."""

    options: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)


def score(
    plan: Plan,
    cases: Sequence[DatasetCase],
    predictions: Iterable[Prediction],
    config: RunConfig,
    *,
    details: Mapping[str, RunDetails] | None = None,
    cache: Path | None = None,
    progress: bool = False,
) -> RunRecord:
    """Return the record of a run, without its analysis.

    Args:
        plan: what was planned.
        cases: the cases of the plan, with their files.
        predictions: what came of the jobs; a job without one counts as failed.
        config: the settings.
        details: per model its options and environment.
        cache: folder that keeps finished cases, so that a run that was stopped goes on.
        progress: show a progress bar per model.

    """
    by_job = {(found.model, found.case_id): _unchanged(found) for found in predictions}
    ordered = _in_order(plan, cases)
    measuring = _Measuring(config, plan.dataset, cache, progress)
    structures, exclusions = plan.structures, list(plan.exclusions)
    results: dict[str, EvaluationResult] = {}
    for model in plan.models:
        found, absent = measuring.model(model, structures, ordered, by_job)
        structures = tuple(name for name in structures if name not in absent)
        exclusions += [Exclusion("", name, IN_NO_GROUND_TRUTH) for name in absent]
        if found is None:
            exclusions.append(Exclusion(model.name, "", NOT_SCORED))
        else:
            results[model.name] = found
    if not results:
        raise InvalidInput("No chosen case has any of the structures; check the labels, or choose other cases.")
    plan = replace(plan, models=tuple(model for model in plan.models if model.name in results))
    tables = _with_reasons(results, by_job)
    spoiled = _unreadable_truths(results)
    exclusions += [Exclusion("", "", f"{case} {LEFT_OUT}: {reason}") for case, reason in spoiled.items()]
    tables = {
        name: table.select(
            [case for case in table.cases if case not in spoiled],
            [structure for structure in table.structures if structure in structures],
        )
        for name, table in tables.items()
    }
    scored = _Scored(plan, tuple(case for case in ordered if case.case_id not in spoiled), by_job, tables)
    infos = _case_infos(scored)
    return RunRecord(
        dataset=plan.dataset,
        cases=infos,
        models=tuple(_entry(model, scored, (details or {}).get(model.name, RunDetails())) for model in plan.models),
        structures=structures,
        metrics=next(iter(tables.values())).metrics,
        tables=tables,
        config={"written": portable(config.written), "resolved": portable(config.resolved())},
        protocol=_protocol(list(results.values())),
        exclusions=tuple({str(k): str(v) for k, v in vars(one).items()} for one in exclusions),
        suspects=_suspects(scored, config.spot_check_dice),
        notes=(*plan.notes, *shared_images(infos)),
        timings=_timings(scored),
        platform={"system": platform.system(), "machine": platform.machine(), "python": platform.python_version()},
    )


Jobs = Mapping[tuple[str, str], Prediction]


def _unchanged(found: Prediction) -> Prediction:
    """Return a prediction; as a failure if its file is no longer the one that the model made."""
    if found.file is None or found.sha256 is None:
        return found
    try:
        is_same = file_hash(Path(found.file)) == found.sha256
    except (SegaugeError, OSError):
        is_same = False
    return found if is_same else Prediction(found.model, found.case_id, failure=CHANGED, seconds=found.seconds)


@dataclass(frozen=True)
class _Scored:
    """A run after its predictions were measured."""

    plan: Plan
    cases: tuple[DatasetCase, ...]
    by_job: Jobs
    tables: Mapping[str, ScoreTable]


def _in_order(plan: Plan, cases: Sequence[DatasetCase]) -> list[DatasetCase]:
    """Return the cases as they were planned."""
    known = {case.case_id: case for case in cases}
    lacking = [case_id for case_id in plan.case_ids if case_id not in known]
    if lacking:
        raise InvalidInput(f"The dataset did not give the case {lacking[0]!r} that was planned.")
    return [known[case_id] for case_id in plan.case_ids]


@dataclass(frozen=True)
class _Measuring:
    """How the predictions of a model are measured."""

    config: RunConfig
    dataset: DatasetCard
    cache: Path | None
    progress: bool

    def model(
        self,
        model: PlannedModel,
        structures: Sequence[str],
        cases: Sequence[DatasetCase],
        by_job: Jobs,
    ) -> tuple[EvaluationResult | None, tuple[str, ...]]:
        """Return the scores of a model (None if there is nothing to score), and structures that no ground truth has."""
        wanted = tuple(name for name in model.structures if name in structures)
        if not wanted:
            return None, ()
        pairs = [_pair(model, case, by_job) for case in cases]
        try:
            return self._evaluated(model, wanted, pairs), ()
        except InvalidInput:
            # A structure that no chosen case has is no reason to stop; anything else is.
            present = structures_in(self.dataset, wanted, cases)
            absent = tuple(name for name in wanted if name not in present)
            if not absent:
                raise
            left = tuple(name for name in wanted if name in present)
            return self._evaluated(model, left, pairs) if left else None, absent

    def _evaluated(self, model: PlannedModel, wanted: Sequence[str], pairs: Sequence[Case]) -> EvaluationResult:
        """Measure a model; a run of the same model in the same folder is waited for, and leaves what it measured."""
        if self.cache is None:
            return self._measured(model, wanted, pairs, None)
        name = hashlib.sha256(model.name.encode()).hexdigest()[:16]
        with held(self.cache / f".{name}.lock"):
            return self._measured(model, wanted, pairs, self.cache / name)

    def _measured(
        self, model: PlannedModel, wanted: Sequence[str], pairs: Sequence[Case], folder: Path | None
    ) -> EvaluationResult:
        config = self.config
        return evaluate(
            pairs,
            structures=self.dataset.labeling(wanted),
            pred_structures=model.card.labeling(wanted),
            metrics=config.metrics,
            nsd_tolerance=tolerances(config, self.dataset, wanted),
            surface=SURFACE,
            hd=HD,
            **config.detection_options,
            resample="nearest" if config.resample else None,
            confidence=config.confidence,
            n_resamples=config.n_resamples,
            seed=config.seed,
            jobs=config.jobs,
            executor=config.executor if config.executor not in (None, "modal") else None,
            cache=folder,
            progress=self.progress,
        )


def structures_in(dataset: DatasetCard, structures: Sequence[str], cases: Iterable[DatasetCase]) -> set[str]:
    """Return the structures that occur in any ground truth that can be read."""
    found: set[str] = set()
    for case in cases:
        try:
            reading = read_labels(case.gt)
        except SegaugeError:
            continue
        labels = set(reading.labels.labels())
        names = {name for label, name in reading.labels.names.items() if label in labels}
        numbers = set() if reading.format == "folder" else labels  # there they count the files, and mean nothing
        found |= {name for name in structures if numbers & set(dataset.structures[name]) or name in names}
    return found


def _pair(model: PlannedModel, case: DatasetCase, by_job: Jobs) -> Case:
    found = by_job.get((model.name, case.case_id))
    return Case(case.case_id, None if found is None else found.file, case.gt, metadata=dict(case.metadata))


def _with_reasons(results: Mapping[str, EvaluationResult], by_job: Jobs) -> dict[str, ScoreTable]:
    """Return the tables with why a model made no prediction; what no ground truth has is absent, not failed."""
    lacking: set[tuple[str, str]] = set()
    for result in results.values():
        for j, structure in enumerate(result.table.structures):
            states = result.table.status[:, j]
            lacking |= {
                (case, structure)
                for case, state in zip(result.table.cases, states, strict=True)
                if state in (Status.ABSENT, Status.SPURIOUS)
            }
    return {name: _told(name, result.table, by_job, lacking) for name, result in results.items()}


def _told(model: str, table: ScoreTable, by_job: Jobs, lacking: set[tuple[str, str]]) -> ScoreTable:
    status = table.status.copy()
    missing = {place: replace(found, because=portable(found.because)) for place, found in table.missing.items()}
    for i, case in enumerate(table.cases):
        failed = table.case_failure(case)
        if failed is None:
            continue
        found = by_job.get((model, case))
        words = portable(found.failure if found is not None and found.failure else failed[1])
        for j, structure in enumerate(table.structures):
            if status[i, j] is Status.ABSENT or (case, structure) in lacking:
                status[i, j] = Status.ABSENT
                missing[case, structure] = Missing.lacking(failed[0], words)
            else:
                missing[case, structure] = Missing.of(status[i, j], words)
    return replace(table, status=status, missing=missing)


def _unreadable_truths(results: Mapping[str, EvaluationResult]) -> dict[str, str]:
    """Return the cases whose ground truth cannot be read, and why: that is no model's failure."""
    failures = [result.failures for result in results.values()]
    cases = next(iter(results.values())).table.cases
    found = {}
    for case in cases:
        states = [failed.get(case, (Status.PRESENT, "")) for failed in failures]
        if all(status is Status.GROUND_TRUTH_UNREADABLE for status, _ in states):
            found[case] = portable(states[0][1])
    if len(found) == len(cases):
        raise InvalidInput(f"No ground truth of the chosen cases can be read; the first: {next(iter(found.values()))}")
    return found


def _suspects(scored: _Scored, floor: float) -> tuple[Suspect, ...]:
    """Return the cells whose mean Dice is below the floor, each with what is probably wrong."""
    suspects = []
    for model in scored.plan.models:
        for structure, mean, rows in suspect_cells(scored.tables[model.name], floor):
            words = _diagnosis(scored, model, structure, [scored.cases[i] for i in rows[:_LOOKED_AT]])
            suspects.append(Suspect(model.name, structure, mean, words))
    return tuple(suspects)


def suspect_cells(table: ScoreTable, floor: float) -> Iterator[tuple[str, float, list[int]]]:
    """Yield the structures whose mean Dice is below the floor, with it and the cases that it is the mean of."""
    for j, structure in enumerate(table.structures if "dice" in table.metrics else ()):
        measured = [i for i, state in enumerate(table.status[:, j]) if state in (Status.PRESENT, Status.MISSED)]
        mean = float(np.mean(table.column(structure, "dice")[measured])) if measured else floor
        if mean < floor:
            yield structure, mean, measured


def _diagnosis(scored: _Scored, model: PlannedModel, structure: str, cases: Sequence[DatasetCase]) -> str:
    """Return the most frequent diagnosis of the cases that were looked at."""
    said: dict[str, int] = {}
    for case in cases:
        file = scored.by_job[model.name, case.case_id].file
        if file is None:
            continue
        pred, gt = read_labels(file).labels, read_labels(case.gt).labels
        words = portable(diagnose(pred, gt, structure, model.card, scored.plan.dataset))
        said[words] = said.get(words, 0) + 1
    words, count = max(said.items(), key=lambda item: item[1])
    return f"{words} (seen in {count} of {counted(len(cases), 'case')} looked at)"


def _case_infos(scored: _Scored) -> tuple[CaseInfo, ...]:
    failed = failed_cases(scored.tables.values())
    return tuple(case_info(case, with_diagonal=case.case_id in failed) for case in scored.cases)


def _entry(model: PlannedModel, scored: _Scored, details: RunDetails) -> ModelEntry:
    found = {case.case_id: scored.by_job.get((model.name, case.case_id)) for case in scored.cases}
    return ModelEntry(
        model.card,
        model.exposure,
        model.ranked,
        portable(details.options),
        portable(details.environment),
        {case_id: None if one is None else one.sha256 for case_id, one in found.items()},
        {
            case_id: "no prediction was made" if one is None else portable(one.failure)
            for case_id, one in found.items()
            if one is None or one.failure
        },
    )


def _protocol(results: Sequence[EvaluationResult]) -> dict[str, Any]:
    """Return versions and options of the scoring; labels and files are those of cards and cases."""
    kept = ("metrics", "nsd_tolerance_mm", "surface", "hd", "resample", "ignore")
    stated = results[0].protocol["options"]
    options = {key: stated[key] for key in (*kept, *DETECTION_OPTIONS) if key in stated}
    given = [result.protocol["options"]["nsd_tolerance_mm"] for result in results]
    if isinstance(given[0], Mapping):  # each model has those of its own structures
        options["nsd_tolerance_mm"] = {name: value for one in given for name, value in one.items()}
    return {"versions": dict(results[0].protocol["versions"]), "options": options}


def _timings(scored: _Scored) -> dict[str, dict[str, float]]:
    timings: dict[str, dict[str, float]] = {}
    for (model, case_id), found in scored.by_job.items():
        if found.seconds is not None:
            timings.setdefault(model, {})[case_id] = round(found.seconds, 3)
    return timings
