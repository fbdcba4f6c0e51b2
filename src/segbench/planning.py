"""Plan: which cases, which models on which structures, who is ranked, and what is left out for which reason. Pure."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from segauge.errors import InvalidInput
from segauge.plural import agreeing
from segbench.cards import DatasetCard, Exposure, Lineage, ModelCard, exposure
from segbench.config import EXPOSURE_POLICIES, RunConfig
from segbench.suggestions import unknown


@dataclass(frozen=True)
class Candidate:
    """A model that is to be run: its card, whether it needs a GPU, and how long a case took it before, if known."""

    card: ModelCard
    needs_gpu: bool = False
    seconds_per_case: float | None = None


@dataclass(frozen=True)
class Exclusion:
    """What is left out and why: a model on a structure, or (structure "") a model from the ranking or the run."""

    model: str
    structure: str
    reason: str

    def __str__(self) -> str:
        return f"{self.model}{f' on {self.structure}' if self.structure else ''}: {self.reason}"


@dataclass(frozen=True)
class PlannedModel:
    """One model of a plan: what it has seen, whether it is ranked, and the structures it is scored on."""

    card: ModelCard
    exposure: Exposure
    ranked: bool
    structures: tuple[str, ...]
    needs_gpu: bool = False
    seconds_per_case: float | None = None

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.card.name


@dataclass(frozen=True)
class Plan:
    """What a run will do.

    Attributes:
        dataset: the dataset's card.
        case_ids: the chosen cases, sorted.
        structures: what is scored.
        models: what is run, ranked or shown.
        exclusions: what is left out, with reasons.
        notes: what was odd about the request.

    """

    dataset: DatasetCard
    case_ids: tuple[str, ...]
    structures: tuple[str, ...]
    models: tuple[PlannedModel, ...]
    exclusions: tuple[Exclusion, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ranked(self) -> tuple[str, ...]:
        """Names of the models that are ranked."""
        return tuple(model.name for model in self.models if model.ranked)

    def jobs(self) -> Iterator[tuple[str, str]]:
        """Yield every prediction to make: model and case."""
        for model in self.models:
            for case_id in self.case_ids:
                yield model.name, case_id

    def seconds(self, *, gpu: bool) -> float | None:
        """Return how long the predictions on GPU (or without one) will take, one after another; None if not known."""
        chosen = [model for model in self.models if model.needs_gpu == gpu]
        if any(model.seconds_per_case is None for model in chosen):
            return None
        return sum((model.seconds_per_case or 0.0) * len(self.case_ids) for model in chosen)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        return {
            "case_ids": list(self.case_ids),
            "structures": list(self.structures),
            "models": {
                model.name: {
                    "exposure": model.exposure.to_dict(),
                    "ranked": model.ranked,
                    "structures": list(model.structures),
                }
                for model in self.models
            },
            "exclusions": [vars(exclusion) for exclusion in self.exclusions],
            "notes": list(self.notes),
        }


def make_plan(
    config: RunConfig,
    dataset: DatasetCard,
    available: Sequence[str],
    candidates: Sequence[Candidate],
    lineage: Lineage,
    groups: Mapping[str, str] | None = None,
) -> Plan:
    """Return what a run with this config will do.

    Args:
        config: what is asked for.
        dataset: its card.
        available: ids of all cases of the dataset.
        candidates: the models of the config, in its order.
        lineage: which dataset contains which.
        groups: per case the group it belongs to, for a stratified selection.

    """
    _require_own_names([candidate.card.name for candidate in candidates])
    structures = dataset.labeling(config.structures).structures
    chosen, notes = select_cases(config, available, groups)
    planned, exclusions = [], []
    for candidate in candidates:
        supported = tuple(name for name in structures if candidate.card.supports(name))
        exclusions += [
            Exclusion(candidate.card.name, name, "n/a: the model has no such structure")
            for name in structures
            if name not in supported and supported
        ]
        if not supported:
            wanted = ", ".join(structures)
            exclusions.append(Exclusion(candidate.card.name, "", f"not run: the model has none of {wanted}"))
            continue
        seen = exposure(candidate.card, dataset, lineage)
        ranked = seen.level.value in EXPOSURE_POLICIES[config.exposure_policy]
        if not ranked:
            exclusions.append(Exclusion(candidate.card.name, "", f"shown, not ranked: {seen.reason}"))
        planned.append(
            PlannedModel(candidate.card, seen, ranked, supported, candidate.needs_gpu, candidate.seconds_per_case)
        )
    if not planned:
        raise InvalidInput("There is nothing to run: " + "; ".join(map(str, exclusions)) + ".")
    tolerances(config, dataset, [name for name in structures if any(name in one.structures for one in planned)])
    return Plan(dataset, chosen, tuple(structures), tuple(planned), tuple(exclusions), tuple(notes))


def tolerances(config: RunConfig, dataset: DatasetCard, structures: Sequence[str]) -> float | dict[str, float]:
    """Return the NSD tolerance in mm, one for all or one per structure; "dataset" takes that of its makers.

    Raises:
        InvalidInput: if a structure has none, or if there is one for a structure that the dataset does not have.

    """
    given = config.nsd_tolerance
    if isinstance(given, (int, float)):
        return float(given)
    known = dataset.tolerances_mm if isinstance(given, str) else given
    for name in given if isinstance(given, Mapping) else ():
        if name not in dataset.structures:
            raise InvalidInput(f"nsd_tolerance: {unknown('structure', name, dataset.structures)}")
    lacking = [name for name in structures if name not in known]
    if lacking:
        raise InvalidInput(f"There is no NSD tolerance for {lacking[0]!r}; nsd_tolerance may be one number for all.")
    return {name: known[name] for name in structures}


def select_cases(
    config: RunConfig, available: Sequence[str], groups: Mapping[str, str] | None = None
) -> tuple[tuple[str, ...], list[str]]:
    """Return the chosen cases, sorted, and what was odd about the choice.

    A random choice orders the cases by a hash of seed and id and takes the first: a case that is added to the dataset
    moves no other one, and no version of any library matters.
    """
    if len(set(available)) != len(available):
        raise InvalidInput("The dataset names a case twice.")
    pool = list(available)
    if config.case_ids is not None:
        known = set(available)
        for case_id in config.case_ids:
            if case_id not in known:
                raise InvalidInput(unknown("case", case_id, known) if len(known) < 50 else f"No case {case_id!r}.")
        pool = list(dict.fromkeys(config.case_ids))
    if not pool:
        raise InvalidInput("The dataset has no cases.")
    count = len(pool) if config.n_cases is None else config.n_cases
    notes = (
        [f"{agreeing(count, 'case was', 'cases were')} asked for, there are {len(pool)}"] if count > len(pool) else []
    )
    count = min(count, len(pool))
    if config.selection == "first":
        return tuple(sorted(pool[:count])), notes
    if config.selection == "random":
        return tuple(sorted(_shuffled(pool, config.seed)[:count])), notes
    return tuple(sorted(_stratified(pool, count, config, groups or {}))), notes


def _shuffled(cases: Sequence[str], seed: int) -> list[str]:
    return sorted(cases, key=lambda case_id: hashlib.sha256(f"{seed}/{case_id}".encode()).digest())


def _stratified(pool: Sequence[str], count: int, config: RunConfig, groups: Mapping[str, str]) -> list[str]:
    """Return cases in proportion to the sizes of the groups, by largest remainders."""
    members: dict[str, list[str]] = {}
    for case_id in _shuffled(pool, config.seed):
        members.setdefault(groups.get(case_id, ""), []).append(case_id)
    if set(members) == {""}:
        raise InvalidInput(f"No case has a value of {config.stratify_by!r}, so there are no groups to draw from.")
    exact = {name: count * len(cases) / len(pool) for name, cases in members.items()}
    shares = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (shares[name] - exact[name], name))
    for name in by_remainder[: count - sum(shares.values())]:
        shares[name] += 1
    return [case_id for name, cases in members.items() for case_id in cases[: shares[name]]]


def _require_own_names(names: Sequence[str]) -> None:
    for name in names:
        if list(names).count(name) > 1:
            raise InvalidInput(f"Two models are called {name!r}: give one of them another `name:` in the config.")


@dataclass(frozen=True)
class Prediction:
    """What came of one job: the file with the label map, or why there is none.

    Attributes:
        model, case_id: the job.
        file: label map in the model's labels, in the space of the image; None where the model failed.
        sha256: of the file.
        failure: why there is no file, in words; "" where there is one.
        seconds: that making it took, when it was made.

    """

    model: str
    case_id: str
    file: str | os.PathLike[str] | None = None
    sha256: str | None = None
    failure: str = ""
    seconds: float | None = field(default=None, compare=False)
