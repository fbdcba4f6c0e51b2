"""The evaluation of nnU-Net, with the same arguments and the same summary.json, and segauge's metrics beside its own.

    from segauge.integrations.nnunet import compute_metrics_on_folder

takes the place of `nnunetv2.evaluation.evaluate_predictions.compute_metrics_on_folder`; nnU-Net itself need not be
installed. nnU-Net's own readers (`load_summary_json`, `nnUNetv2_find_best_configuration`) take the file as theirs. The
validation at the end of a training uses it after

    import nnunetv2.training.nnUNetTrainer.nnUNetTrainer as training
    training.compute_metrics_on_folder = compute_metrics_on_folder

What is the same: per case and label (or region) TP, FP, FN, TN, n_pred, n_ref, Dice and IoU; voxels under the ignore
label count for nothing; Dice and IoU are NaN where a structure is in neither mask, because 0/0 has no value; "mean" is
over the cases that have a number and "foreground_mean" over the labels, NaN where one of them has none.

What is more: every metric of the catalog that is asked for; under "segauge" the estimate of each with its interval, in
which an unreadable prediction counts as a failure, and the references that have no prediction; under "not_measured" the
cases that nnU-Net's means leave out, each with its reason. As in nnU-Net, a reference without a prediction is no case:
the folder of references may be that of all folds. For a test set, `count_missing=True` makes each a failed case.

What is refused: label 0, the background, which nnU-Net leaves out of its foreground mean as well; and a prediction that
lies elsewhere than its reference, which nnU-Net compares voxel by voxel (`trust_array=True` does so here).
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.evaluation.cases import Case
from segauge.evaluation.dataset import evaluate
from segauge.evaluation.result import EvaluationResult
from segauge.io.formats import image_stem
from segauge.io.layouts.nnunet import Key, summary_of
from segauge.io.layouts.pairs import Pair, image_files
from segauge.io.outputs import write_whole

LabelOrRegion = int | tuple[int, ...]
StrPath = str | os.PathLike[str]


class SegmentationReader(Protocol):
    """A reader of nnU-Net: gives the labels of a file, channel first, and the spacing of their axes."""

    def read_seg(self, seg_fname: str) -> tuple[Any, dict[str, Any]]:
        """Return the labels, and what is known about the file."""
        ...


def compute_metrics_on_folder(
    folder_ref: StrPath,
    folder_pred: StrPath,
    output_file: StrPath | None,
    image_reader_writer: SegmentationReader | None = None,
    file_ending: str = ".nii.gz",
    regions_or_labels: Sequence[LabelOrRegion] = (),
    ignore_label: int | None = None,
    num_processes: int | None = None,
    chill: bool = True,
    *,
    count_missing: bool = False,
    metrics: str | Iterable[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Measure a folder of predictions as nnU-Net does, write summary.json, and return its content.

    Args:
        folder_ref: folder of the references.
        folder_pred: folder of the predictions, with the same file names.
        output_file: where summary.json goes; must end with .json. None writes nothing.
        image_reader_writer: nnU-Net's reader; asked only for files that segauge cannot read itself (PNG, TIFF).
        file_ending: such as ".nii.gz", as dataset.json has it.
        regions_or_labels: labels, and regions as tuples of labels: `[1, (1, 2)]`.
        ignore_label: label of the reference whose voxels count for nothing.
        num_processes: worker processes; one per core if not given.
        chill: without it, a reference that has no prediction is an error.
        count_missing: with it, each reference that has no prediction stands under "not_measured", and counts as a
            failure in the estimates under "segauge".
        metrics: keys of the catalog; the usual ones if not given.
        **options: further arguments of `segauge.evaluate`, such as nsd_tolerance, trust_array, policy or cache.

    Raises:
        InvalidInput: if nothing can be compared, a prediction has no reference, or an argument cannot be used.

    """
    keys = _keys(regions_or_labels)
    if output_file is not None and not os.fspath(output_file).endswith(".json"):
        raise InvalidInput(f"output_file: expected a name that ends with .json, got {os.fspath(output_file)!r}.")
    every = _pairs(Path(folder_ref), Path(folder_pred), file_ending, chill=chill)
    pairs = [pair for pair in every if count_missing or pair.pred is not None]
    jobs = num_processes or min(os.cpu_count() or 1, len(pairs))
    result = evaluate(
        _cases(pairs, file_ending, image_reader_writer),
        structures={name: key if isinstance(key, tuple) else (key,) for name, key in keys.items()},
        ignore=ignore_label,
        metrics=metrics,
        allow_absent=True,
        jobs=jobs,
        executor="serial" if jobs == 1 else "processes",
        **options,
    )
    _say_what_failed(result)
    ours = {**_estimates(result), "references_without_prediction": [p.case_id for p in every if p.pred is None]}
    if output_file is not None:
        content = {**summary_of(result.table, _as_text(keys), pairs, result.counts), "segauge": ours}
        write_whole(output_file, json.dumps(content, indent=4, sort_keys=True) + "\n")
    return {**summary_of(result.table, keys, pairs, result.counts), "segauge": ours}


def _keys(regions_or_labels: Sequence[LabelOrRegion]) -> dict[str, Key]:
    """Return the key of each structure, which is called like its key."""
    keys: dict[str, Key] = {}
    for given in regions_or_labels:
        region = given if isinstance(given, (tuple, list)) else None
        key: Key = int(given) if region is None else tuple(int(label) for label in region)  # type: ignore[arg-type]
        if key == 0 or (isinstance(key, tuple) and 0 in key):
            raise InvalidInput(
                "regions_or_labels: 0 is the background, which is not measured (nnU-Net leaves it out of its "
                "foreground mean, too). Give the other labels."
            )
        keys[str(key)] = key
    if not keys:
        raise InvalidInput("regions_or_labels: expected at least one label or region, such as [1, 2] or [(1, 2), 2].")
    return keys


def _as_text(keys: dict[str, Key]) -> dict[str, Key]:
    return {name: name for name in keys}


def _pairs(folder_ref: Path, folder_pred: Path, ending: str, *, chill: bool) -> list[Pair]:
    """Pair the files by name; each reference is a case."""
    for folder in (folder_ref, folder_pred):
        if not folder.is_dir():
            raise InvalidInput(f"{folder}: there is no such folder.")
    references, predictions = image_files(folder_ref, ending), image_files(folder_pred, ending)
    if not predictions:
        raise InvalidInput(f"{folder_pred}: holds no prediction that ends with {ending}.")
    alone = [case for case in predictions if case not in references]
    if alone:
        raise InvalidInput(f"{folder_ref}: has no {alone[0]}{ending}, which {folder_pred} has ({len(alone)} such).")
    missing = [case for case in references if case not in predictions]
    if missing and not chill:
        raise InvalidInput(
            f"{folder_pred}: has no {missing[0]}{ending} ({len(missing)} of {len(references)} are missing). "
            "With chill=True they are listed instead, with count_missing=True counted as failures."
        )
    return [Pair(case, predictions.get(case), path) for case, path in sorted(references.items())]


def _cases(pairs: Sequence[Pair], ending: str, reader: SegmentationReader | None) -> Iterator[Case]:
    """Yield the cases; files that only nnU-Net's reader knows are read when their turn comes."""
    if image_stem(f"case{ending}") is not None or reader is None:
        yield from (Case(pair.case_id, pair.pred, pair.gt) for pair in pairs)
        return
    for pair in pairs:
        gt, spacing = _read(reader, pair.gt)
        yield Case(pair.case_id, None if pair.pred is None else _read(reader, pair.pred)[0], gt, spacing)


def _read(reader: SegmentationReader, path: Path) -> tuple[npt.NDArray[np.integer[Any]], tuple[float, ...] | None]:
    """Return the labels of a file as nnU-Net's reader gives them, and the edges of a voxel."""
    array, known = reader.read_seg(str(path))
    given = np.asarray(array)[0]
    labels = given.astype(np.int32)
    if not np.array_equal(labels, given):
        raise InvalidInput(f"{path}: holds values that are no labels.")
    spacing = None if known.get("spacing") is None else tuple(float(edge) for edge in known["spacing"])
    if labels.ndim == 3 and labels.shape[0] == 1:
        # A picture: nnU-Net gives it a third axis and an edge of 999 along it.
        return labels[0], None if spacing is None else spacing[1:]
    return labels, spacing


def _estimates(result: EvaluationResult) -> dict[str, Any]:
    """Return what segauge says of the same cases: estimates with intervals, and what they are over."""
    return {
        "estimates": {
            name: {key: estimate.to_dict() for key, estimate in found.items()}
            for name, found in result.by_structure().items()
        },
        "n_cases": len(result.table),
        "warnings": list(result.warnings),
        "protocol": {key: result.protocol[key] for key in ("versions", "options", "statistics")},
    }


def _say_what_failed(result: EvaluationResult) -> None:
    failed = result.failures
    if len(failed) == len(result.table):
        case, (status, reason) = next(iter(failed.items()))
        raise InvalidInput(f"No case could be measured; {case}: {status.value}, {reason}")
    if failed:
        shown = "; ".join(f"{case}: {status.value}" for case, (status, _) in list(failed.items())[:3])
        warnings.warn(
            f"{len(failed)} of {len(result.table)} cases were not measured and are not in nnU-Net's means "
            f"({shown}{' ...' * (len(failed) > 3)}); see not_measured.",
            stacklevel=3,
        )
