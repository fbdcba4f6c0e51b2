"""Levels 2 and 3: the scores follow from the prediction files, and the predictions can be made again."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from segauge import Case, evaluate
from segauge.errors import InvalidInput, SegaugeError
from segauge.io.contents import file_hash, path_hash
from segauge.io.formats import image_stem
from segauge.io.gate import load_json
from segauge.metrics.matching import DETECTION_OPTIONS
from segauge.plural import agreeing, counted
from segbench.planning import Prediction
from segbench.prediction.cache import safe_name
from segbench.records import RunRecord
from segbench.registry import DatasetCase
from segbench.scoring.scores import HD, SURFACE
from segbench.verification.agreement import Mismatch, disagreements, mismatches
from segbench.verification.statistics import Verification

#: A prediction by model and case.
Job = tuple[str, str]


def verify_scores(
    record: RunRecord,
    cases: Sequence[DatasetCase],
    predictions: str | os.PathLike[str],
    *,
    sample: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    failed_again: Iterable[Prediction] = (),
) -> Verification:
    """Score the prediction files again and compare, all of them or a random sample; failures count as predictions.

    A file counts as the prediction of the model and case that it was kept for: by the description beside it, as the
    cache writes it, or by the folder (the model) and the name (the case). The same bytes elsewhere do not.

    Args:
        record: what was published.
        cases: the dataset's cases, with their ground truth.
        predictions: folder with the prediction files: the cache of the run, or MODEL/CASE.nii.gz.
        sample: so many predictions, chosen at random; all if None.
        seed: of the choice.
        jobs: worker processes.
        failed_again: recorded failures that were tried again; other ones are taken as recorded.

    """
    usable, truths, found = _usable_files(record, cases, Path(predictions), _chosen(record, sample, seed))
    tried = {(one.model, one.case_id): one for one in failed_again}
    found += disagreements(record)
    found += [
        Mismatch(f"failures.{one.model}.{one.case_id}", record[one.model].failures.get(one.case_id), _shown(one.sha256))
        for one in tried.values()
        if one.file is not None
    ]
    found += _rescored(record, usable, truths, jobs)
    real = tuple(one for one in found if not one.is_rounding)
    failed = sum(path is None for path in usable.values())
    extra = f" ({failed} of them recorded as failed)" if failed else ""
    return Verification(
        2,
        f"{len(usable)} of {counted(len(record.models) * len(record.cases), 'prediction')}{extra}, scored again",
        real,
        len(found) - len(real),
        (*_version_notes(record), *_untried(record, tried)),
    )


def recorded_files(
    record: RunRecord, cases: Sequence[DatasetCase], predictions: str | os.PathLike[str]
) -> tuple[dict[Job, Path], dict[str, DatasetCase]]:
    """Return the prediction files in a folder by model and case, and the cases, whose content is the recorded one."""
    usable, truths, _ = _usable_files(record, cases, Path(predictions), _chosen(record, None, 0))
    return {job: path for job, path in usable.items() if path is not None}, truths


def _usable_files(
    record: RunRecord, cases: Sequence[DatasetCase], predictions: Path, wanted: Iterable[Job]
) -> tuple[dict[Job, Path | None], dict[str, DatasetCase], list[Mismatch]]:
    """Return files (None for a failure) and cases that are the recorded ones, and what is not there or is other."""
    files = _by_hash(predictions)
    recorded = {entry.name: entry.predictions for entry in record.models}
    found: list[Mismatch] = []
    paths: dict[Job, Path | None] = {}
    for model, case in wanted:
        digest = recorded[model].get(case)
        fitting = [path for path in files.get(digest or "", ()) if _is_of(path, model, case, digest)]
        if digest is None or fitting:
            paths[model, case] = fitting[0] if fitting else None
            continue
        elsewhere = "a file of another model or case" if digest in files else "no file with this hash"
        found.append(Mismatch(f"predictions.{model}.{case}", digest, elsewhere))
    truths, wrong = _truths(record, cases, {case for _, case in paths})
    return {job: path for job, path in paths.items() if job[1] in truths}, truths, [*found, *wrong]


def verify_predictions(
    record: RunRecord,
    cases: Sequence[DatasetCase],
    again: Iterable[Prediction],
    *,
    jobs: int | None = None,
) -> Verification:
    """Compare predictions that were made again with the recorded ones by their bytes, and all of them by their scores.

    Every prediction of the record is asked for; those of models that the record does not have are left out.
    """
    made = {(one.model, one.case_id): one for one in again}
    found = list(disagreements(record))
    files: dict[Job, Path | None] = {}
    changed = 0
    for entry in record.models:
        for case in record.case_ids:
            one, recorded = made.get((entry.name, case)), entry.predictions.get(case)
            if one is not None and (one.file is None) == (recorded is None):
                files[entry.name, case] = None if one.file is None else Path(one.file)
                changed += one.sha256 != recorded
            else:
                published = recorded or entry.failures.get(case)
                follows = "not made again" if one is None else one.failure or _shown(one.sha256)
                found.append(Mismatch(f"predictions.{entry.name}.{case}", published, follows))
    truths, wrong = _truths(record, cases, {case for _, case in files})
    found += [*wrong, *_rescored(record, {job: p for job, p in files.items() if job[1] in truths}, truths, jobs)]
    real = tuple(one for one in found if not one.is_rounding)
    others = f"{agreeing(changed, 'prediction has', 'predictions have')} other bytes; the scores were compared."
    checked = f"{counted(len(files), 'prediction')}, made and scored again"
    return Verification(3, checked, real, len(found) - len(real), (others,) if changed else ())


def _chosen(record: RunRecord, sample: int | None, seed: int) -> list[Job]:
    """Return the predictions to look at, failures among them: all, or those with the smallest hash of seed and name."""
    if not any(digest is not None for entry in record.models for digest in entry.predictions.values()):
        raise InvalidInput("This record names no prediction files, so only its statistics can be verified.")
    every = [(entry.name, case) for entry in record.models for case in record.case_ids]
    if sample is None or sample >= len(every):
        return every
    return sorted(every, key=lambda job: hashlib.sha256(f"{seed}/{job[0]}/{job[1]}".encode()).digest())[:sample]


def _shown(digest: str | None) -> str:
    return f"a prediction ({(digest or '')[:12]})"


def _untried(record: RunRecord, tried: Collection[Job]) -> tuple[str, ...]:
    """Return a note on failures that nobody tried again."""
    left = {entry.name: sum((entry.name, case) not in tried for case in entry.failures) for entry in record.models}
    names = [name for name, count in left.items() if count]
    if not names:
        return ()
    failures = counted(sum(left.values()), "recorded failure")
    return (f"{failures} ({', '.join(names)}) not tried again: that needs the models (--again).",)


def _by_hash(folder: Path) -> dict[str, list[Path]]:
    if not folder.is_dir():
        raise InvalidInput(f"{folder}: there is no such folder of predictions.")
    found: dict[str, list[Path]] = {}
    for path in _files_in(folder):
        found.setdefault(file_hash(path), []).append(path)
    return found


def _is_of(path: Path, model: str, case: str, digest: str | None) -> bool:
    """Return whether a file was kept for this model and case."""
    stem = image_stem(path.name) or path.name
    described = path.with_name(f"{stem}.json")
    if described.is_file():
        try:
            known = load_json(described)
        except SegaugeError:
            return False
        said = (known.get("model"), known.get("case_id"), known.get("sha256")) if isinstance(known, dict) else ()
        return said == (model, case, digest)
    folders = {parent.name for parent in path.parents}
    return stem in (case, safe_name(case)) and bool(folders & {model, safe_name(model)})


def _files_in(folder: Path) -> Iterator[Path]:
    """Yield every file of a folder, but neither hidden ones nor those of the environments that models run in."""
    for place, folders, names in os.walk(folder):
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink() and path.stat().st_size:
                yield path


def _truths(
    record: RunRecord, cases: Sequence[DatasetCase], wanted: set[str]
) -> tuple[dict[str, DatasetCase], list[Mismatch]]:
    """Return the cases whose ground truth is the recorded one, and those where it is not."""
    recorded = {case.case_id: case.gt_sha256 for case in record.cases}
    good: dict[str, DatasetCase] = {}
    wrong: list[Mismatch] = []
    for case in cases:
        if case.case_id not in wanted:
            continue
        try:
            digest = path_hash(Path(case.gt))
        except (SegaugeError, OSError) as error:
            wrong.append(Mismatch(f"cases.{case.case_id}.gt_sha256", recorded[case.case_id], f"unreadable: {error}"))
            continue
        if digest == recorded[case.case_id]:
            good[case.case_id] = case
        else:
            wrong.append(Mismatch(f"cases.{case.case_id}.gt_sha256", recorded[case.case_id], digest))
    absent = sorted(wanted - {case.case_id for case in cases})
    return good, [*wrong, *(Mismatch(f"cases.{case}", "a case", "not in the dataset") for case in absent)]


def _rescored(
    record: RunRecord, files: Mapping[Job, Path | None], truths: Mapping[str, DatasetCase], jobs: int | None
) -> Iterator[Mismatch]:
    """Yield every score that does not follow from its files, or from there being none."""
    options = record.protocol.get("options", {})
    for entry in record.models:
        table = record.tables[entry.name]
        known = set(table.cases)
        own = {case: path for (model, case), path in files.items() if model == entry.name and case in known}
        if not own or not table.structures:
            continue
        again = evaluate(
            [Case(case, path, truths[case].gt) for case, path in own.items()],
            structures=record.dataset.labeling(table.structures),
            pred_structures=entry.card.labeling(table.structures),
            metrics=record.metrics,
            nsd_tolerance=options.get("nsd_tolerance_mm", 1.0),
            surface=options.get("surface", SURFACE),
            hd=options.get("hd", HD),
            **{key: options[key] for key in DETECTION_OPTIONS if key in options},
            resample=options.get("resample"),
            allow_absent=True,
            jobs=jobs,
        ).table
        for case in own:
            for name in table.structures:
                path = f"scores.{entry.name}.{case}.{name}"
                yield from mismatches(_cell(table, case, name), _cell(again, case, name), path)


def _cell(table: Any, case: str, structure: str) -> dict[str, Any]:
    row, column = table.cases.index(case), table.structures.index(structure)
    values = table.values[row, column].tolist()
    numbers = {m: None if math.isnan(v) else v for m, v in zip(table.metrics, values, strict=True)}
    return {"status": table.status[row, column].value, **numbers}


def _version_notes(record: RunRecord) -> tuple[str, ...]:
    made, here = record.protocol.get("versions", {}).get("segauge"), version("segauge")
    return (f"The scores were made with segauge {made}, this is {here}.",) if made != here else ()
