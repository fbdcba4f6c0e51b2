"""Levels 2 and 3: the scores follow from the prediction files, and the predictions can be made again."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from segauge import Case, Status, evaluate
from segauge.errors import InvalidInput, SegaugeError
from segauge.io.contents import file_hash, path_hash
from segauge.nouns import agreeing, counted
from segbench.planning import Prediction
from segbench.records import RunRecord
from segbench.registry import DatasetCase
from segbench.verification.differences import Mismatch, mismatches
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
) -> Verification:
    """Score the prediction files again and compare, all of them or a random sample.

    Files are found by their content, wherever they lie in the folder: a file whose hash the record does not have is no
    prediction of this run.

    Args:
        record: what was published.
        cases: the dataset's cases, with their ground truth.
        predictions: folder with the prediction files, in any arrangement.
        sample: so many predictions, chosen at random; all if None.
        seed: of the choice.
        jobs: worker processes.

    """
    usable, truths, found = _usable_files(record, cases, Path(predictions), _chosen(record, sample, seed))
    found += _rescored(record, usable, truths, jobs)
    real = tuple(one for one in found if not one.is_rounding)
    total = sum(digest is not None for entry in record.models for digest in entry.predictions.values())
    return Verification(
        2,
        f"{len(usable)} of {counted(total, 'prediction')}, scored again",
        real,
        len(found) - len(real),
        _version_notes(record),
    )


def recorded_files(
    record: RunRecord, cases: Sequence[DatasetCase], predictions: str | os.PathLike[str]
) -> tuple[dict[Job, Path], dict[str, DatasetCase]]:
    """Return the prediction files in a folder by model and case, and the cases, whose content is the recorded one."""
    usable, truths, _ = _usable_files(record, cases, Path(predictions), _chosen(record, None, 0))
    return usable, truths


def _usable_files(
    record: RunRecord, cases: Sequence[DatasetCase], predictions: Path, wanted: Iterable[Job]
) -> tuple[dict[Job, Path], dict[str, DatasetCase], list[Mismatch]]:
    """Return files and cases that are the recorded ones, and what is not there or is something else."""
    files = _by_hash(predictions)
    found: list[Mismatch] = []
    paths: dict[Job, Path] = {}
    for job in wanted:
        recorded = record[job[0]].predictions[job[1]]
        if recorded in files:
            paths[job] = files[recorded]
        else:
            found.append(Mismatch(f"predictions.{job[0]}.{job[1]}", recorded, "no file with this hash"))
    truths, wrong = _truths(record, cases, {case for _, case in paths})
    return {job: path for job, path in paths.items() if job[1] in truths}, truths, [*found, *wrong]


def verify_predictions(
    record: RunRecord,
    cases: Sequence[DatasetCase],
    again: Iterable[Prediction],
    *,
    jobs: int | None = None,
) -> Verification:
    """Compare predictions that were made again with the recorded ones: by their bytes, or else by their scores."""
    found: list[Mismatch] = []
    changed: dict[Job, Path] = {}
    count = 0
    for one in again:
        count += 1
        recorded = record[one.model].predictions.get(one.case_id)
        if one.sha256 == recorded:
            continue
        if one.file is None or recorded is None:
            path = f"predictions.{one.model}.{one.case_id}"
            found.append(
                Mismatch(path, recorded or record[one.model].failures.get(one.case_id), one.failure or one.sha256)
            )
        else:
            changed[one.model, one.case_id] = Path(one.file)
    truths, wrong = _truths(record, cases, {case for _, case in changed})
    found += [*wrong, *_rescored(record, {job: p for job, p in changed.items() if job[1] in truths}, truths, jobs)]
    real = tuple(one for one in found if not one.is_rounding)
    notes = (
        (f"{agreeing(len(changed), 'prediction has', 'predictions have')} other bytes; the scores were compared.",)
        if changed
        else ()
    )
    return Verification(3, f"{counted(count, 'prediction')}, made again", real, len(found) - len(real), notes)


def _chosen(record: RunRecord, sample: int | None, seed: int) -> list[Job]:
    """Return the predictions to look at: all, or those with the smallest hash of seed and name."""
    made = [(m.name, case) for m in record.models for case, digest in m.predictions.items() if digest is not None]
    if not made:
        raise InvalidInput("This record names no prediction files, so only its statistics can be verified.")
    if sample is None or sample >= len(made):
        return made
    return sorted(made, key=lambda job: hashlib.sha256(f"{seed}/{job[0]}/{job[1]}".encode()).digest())[:sample]


def _by_hash(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise InvalidInput(f"{folder}: there is no such folder of predictions.")
    return {file_hash(path): path for path in _files_in(folder)}


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
    record: RunRecord, files: Mapping[Job, Path], truths: Mapping[str, DatasetCase], jobs: int | None
) -> Iterator[Mismatch]:
    """Yield every score that does not follow from its files."""
    options = record.protocol.get("options", {})
    for entry in record.models:
        own = {case: path for (model, case), path in files.items() if model == entry.name}
        table = record.tables[entry.name]
        rows = {case: i for i, case in enumerate(table.cases)}
        present = [
            name
            for j, name in enumerate(table.structures)
            if any(table.status[rows[case], j] in (Status.PRESENT, Status.MISSED) for case in own)
        ]
        if not own or not present:
            continue
        again = evaluate(
            [Case(case, path, truths[case].gt) for case, path in own.items()],
            structures=record.dataset.labeling(present),
            pred_structures=entry.card.labeling(present),
            metrics=record.metrics,
            nsd_tolerance=options.get("nsd_tolerance_mm", 1.0),
            surface=options.get("surface", "marching-cubes"),
            hd=options.get("hd", "directed"),
            resample=options.get("resample"),
            jobs=jobs,
        ).table
        for case in own:
            for name in present:
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
