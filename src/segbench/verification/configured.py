"""Whether a record is that of its config: with the cases, models, cards and settings that it leads to, and no others.

A record that lost its hard cases, a competitor, or what a model was trained on agrees with itself: the config tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from segauge import read_labels
from segauge.errors import SegaugeError
from segauge.metrics.catalog import resolve_metrics
from segauge.metrics.matching import DETECTION_OPTIONS
from segauge.plural import counted
from segbench.models.ready import ReadyPredictions
from segbench.pipeline import Benchmark
from segbench.planning import Exclusion, PlannedModel, Prediction, tolerances
from segbench.prediction import PredictionSettings, predict
from segbench.records import RunRecord
from segbench.records.files import portable
from segbench.registry import DatasetCase
from segbench.scoring.facts import case_info, failed_cases, shared_images
from segbench.scoring.scores import HD, IN_NO_GROUND_TRUTH, LEFT_OUT, NOT_SCORED, SURFACE, structures_in
from segbench.verification.agreement import Mismatch, is_lacking, mismatches
from segbench.verification.statistics import Verification

#: Settings that say where things lie or how predictions are made: they may be others on another machine.
_MAY_DIFFER = ("dataset", "models", "device", "timeout_s", "memory_gb")

_NOT_COMPARED = "Not compared: environments and the diagnoses of suspects."


def verify_config(record: RunRecord, benchmark: Benchmark, cases: Sequence[DatasetCase]) -> Verification:
    """Compare a record with what its config leads to here.

    Args:
        record: what was published.
        benchmark: the config with its dataset and models, opened.
        cases: the cases of its plan, with their files.

    """
    asked = _Asked(record, benchmark, {case.case_id: case for case in cases})
    notes: list[Mismatch] = []
    found = [*asked.settings(notes), *asked.cases_differ(), *asked.models_differ(notes), *asked.exclusions_differ()]
    real = tuple(one for one in found if not one.is_rounding)
    counts = f"{counted(len(record.cases), 'case')} and {counted(len(record.models), 'model')}"
    return Verification(
        1,
        f"the config: {counts}, with files, cards, exposures, structures, metrics, settings and exclusions",
        real,
        len(found) - len(real),
        (*(f"may differ: {one}" for one in notes), _NOT_COMPARED),
    )


def failed_again(
    record: RunRecord, benchmark: Benchmark, cases: Sequence[DatasetCase], settings: PredictionSettings
) -> tuple[Prediction, ...]:
    """Return what came of recorded failures of ready predictions, which need no model to be tried again."""
    found: list[Prediction] = []
    for model in benchmark.models:
        failures = record[model.card.name].failures if model.card.name in record.tables else {}
        failed = [case for case in cases if case.case_id in failures]
        if failed and isinstance(model, ReadyPredictions):
            found += predict([model], failed, settings).predictions
    return tuple(found)


@dataclass(frozen=True)
class _Asked:
    """What a config asks for, beside a record."""

    record: RunRecord
    benchmark: Benchmark
    cases: Mapping[str, DatasetCase]

    def settings(self, notes: list[Mismatch]) -> Iterator[Mismatch]:
        """Yield settings, dataset, metrics, protocol and notes that differ; what may differ goes to `notes`."""
        record, config = self.record, self.benchmark.config
        for name, fresh in portable(config.resolved()).items():
            differ = mismatches(record.settings.get(name), fresh, f"config.resolved.{name}")
            if name in _MAY_DIFFER:
                notes += differ
            else:
                yield from differ
        yield from mismatches(record.dataset.to_dict(), self.benchmark.dataset.card.to_dict(), "dataset")
        metrics = [info.key for info in resolve_metrics(config.metrics)]
        yield from mismatches(list(record.metrics), metrics, "metrics")
        scored = [name for name in record.structures if any(name in one.structures for one in record.tables.values())]
        options = {
            "metrics": metrics,
            "nsd_tolerance_mm": tolerances(config, self.benchmark.dataset.card, scored),
            "surface": SURFACE,
            "hd": HD,
            "resample": config.resample,
            "ignore": self.benchmark.dataset.card.ignore,
        }
        # Records of earlier versions do not state the rules of detection, which were the usual ones.
        if config.detection or "detection_iou" in record.protocol.get("options", {}):
            options |= {"detection_iou": DETECTION_OPTIONS["detection_iou"], **config.detection_options}
        yield from mismatches(record.protocol.get("options", {}), options, "protocol.options")
        said = [*self.benchmark.plan.notes, *shared_images(record.cases)]
        yield from mismatches(list(record.notes), said, "notes")

    def cases_differ(self) -> Iterator[Mismatch]:
        """Yield cases that only one side has, and those whose files or metadata are others."""
        recorded = {case.case_id: case for case in self.record.cases}
        for case_id in sorted(recorded.keys() - set(self.benchmark.plan.case_ids)):
            yield Mismatch(f"cases.{case_id}", "a case", "not among the cases of the config")
        failed = failed_cases(self.record.tables.values())
        for case_id in self.benchmark.plan.case_ids:
            if case_id in recorded:
                fresh = case_info(self.cases[case_id], with_diagonal=case_id in failed)
                yield from mismatches(vars(recorded[case_id]), vars(fresh), f"cases.{case_id}")
            elif case_id not in self.unreadable:
                yield Mismatch(f"cases.{case_id}", "nothing", "a case of the config")

    def models_differ(self, notes: list[Mismatch]) -> Iterator[Mismatch]:
        """Yield structures and models that only one side has, and models of which the record says other things."""
        record, plan = self.record, self.benchmark.plan
        planned = {model.name: model for model in plan.models if model not in self.unscored}
        structures = [name for name in plan.structures if name not in self.absent]
        yield from mismatches(list(record.structures), structures, "structures")
        for entry in record.models:
            if entry.name not in planned:
                yield Mismatch(f"models.{entry.name}", "a model", "not among the models of the config")
                continue
            model = planned.pop(entry.name)
            path = f"models.{entry.name}"
            yield from mismatches(entry.card.to_dict(), model.card.to_dict(), f"{path}.card")
            yield from mismatches(entry.exposure.to_dict(), model.exposure.to_dict(), f"{path}.exposure")
            yield from mismatches(entry.ranked, model.ranked, f"{path}.ranked")
            yield from self._options_differ(entry.name, entry.options, notes)
        for name in planned:
            yield Mismatch(f"models.{name}", "nothing", "a model of the config")

    def _options_differ(self, name: str, recorded: Mapping[str, Any], notes: list[Mismatch]) -> Iterator[Mismatch]:
        """Yield options that differ; one that only one machine knows (the id of a docker image) goes to `notes`."""
        model = next(one for one in self.benchmark.models if one.card.name == name)
        path = f"models.{name}.options"
        try:
            fresh = portable(dict(model.options))
        except SegaugeError as error:
            notes.append(Mismatch(path, dict(recorded), f"not known here: {portable(str(error))}"))
            return
        for one in mismatches(recorded, fresh, path):
            if is_lacking(one):
                notes.append(one)
            else:
                yield one

    def exclusions_differ(self) -> Iterator[Mismatch]:
        """Yield what was left out without a reason, and what is not said to have been left out."""
        follow = {str(one) for one in self.benchmark.plan.exclusions}
        follow |= {str(Exclusion("", name, IN_NO_GROUND_TRUTH)) for name in self.absent}
        follow |= {str(Exclusion(model.name, "", NOT_SCORED)) for model in self.unscored}
        follow |= {str(Exclusion("", "", f"{case} {LEFT_OUT}")) for case in self.unreadable}
        recorded = {_without_cause(Exclusion(**one)) for one in self.record.exclusions}
        for one in sorted(recorded - follow):
            yield Mismatch("exclusions", one, "nothing of this kind")
        for one in sorted(follow - recorded):
            yield Mismatch("exclusions", "nothing", one)

    @cached_property
    def unreadable(self) -> tuple[str, ...]:
        """Cases of the config that the record does not have, and whose ground truth cannot be read."""
        return tuple(
            case_id
            for case_id in self.benchmark.plan.case_ids
            if case_id not in self.record.case_ids and not _is_readable(self.cases[case_id])
        )

    @cached_property
    def absent(self) -> tuple[str, ...]:
        """Structures of the config that the record does not have, and that occur in no ground truth."""
        lacking = [name for name in self.benchmark.plan.structures if name not in self.record.structures]
        there = structures_in(self.benchmark.dataset.card, lacking, self.cases.values()) if lacking else set()
        return tuple(name for name in lacking if name not in there)

    @cached_property
    def unscored(self) -> tuple[PlannedModel, ...]:
        """Models of the config that the record does not have, and of whose structures none occurs."""
        lacking = [model for model in self.benchmark.plan.models if model.name not in self.record.tables]
        return tuple(model for model in lacking if set(model.structures) <= set(self.absent))


def _is_readable(case: DatasetCase) -> bool:
    try:
        read_labels(case.gt)
    except SegaugeError:
        return False
    return True


def _without_cause(exclusion: Exclusion) -> str:
    """Return an exclusion in words; what a reader said about a file that it could not read may be said otherwise."""
    head, mark, _ = str(exclusion).partition(f" {LEFT_OUT}: ")
    return f"{head} {LEFT_OUT}" if mark else head
