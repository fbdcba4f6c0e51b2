"""measure(): one pair of label maps in memory -> the scores of all its structures, in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge import words
from segauge.errors import InvalidInput, UnknownStructure
from segauge.geometry.distances import voxel_steps
from segauge.geometry.masks import Overlap, PairTable, tabulate
from segauge.geometry.patterns import SurfaceKind, check_surface
from segauge.labeling import Labeling
from segauge.labelmap import LabelMap, as_label_array, check_same_shape
from segauge.metrics.catalog import resolve_metrics
from segauge.metrics.conventions import Convention, check_convention
from segauge.metrics.matching import DetectionRules
from segauge.metrics.parts import LabelArray, Options, StructureParts
from segauge.metrics.surface import HdMode, check_hd_mode, check_tolerance, check_tolerances, nsd_curve
from segauge.notebook import NotebookTable, Shown
from segauge.placement import check_frames_of_reference
from segauge.scores import NOT_IN_GROUND_TRUTH, MetricInfo, Missing, Score, ScoreTable, Status

Labels = tuple[int, ...]
Structures = Labeling | Mapping[str, int | Iterable[int]] | Iterable[int]


@dataclass(frozen=True, eq=False)
class Measurement(NotebookTable):
    """The scores of one pair, and the tolerance curves that came with them.

    `measurement["liver", "hd95"]` is a Score: a value, or the status that says why there is none.
    """

    table: ScoreTable
    metrics: tuple[MetricInfo, ...]
    nsd_curves: Mapping[str, npt.NDArray[np.float64]]
    curve_tolerances_mm: tuple[float, ...] = ()

    def __getitem__(self, key: tuple[str, str]) -> Score:
        self._require_pair(key)
        return self.table[self.table.cases[0], key[0], key[1]]

    def _require_pair(self, key: object) -> None:
        """Refuse a text, which would be taken apart into letters."""
        if not isinstance(key, tuple) or len(key) != 2:
            raise InvalidInput(
                f'Expected a structure and a metric, such as measurement["liver", "dice"], got {key!r}; the structures '
                f"are {', '.join(map(repr, self.table.structures))}."
            )

    def status(self, structure: str) -> Status:
        """Return whether a structure was in both masks, in one, or in none."""
        if structure not in self.table.structures:
            raise UnknownStructure(f"No structure {structure!r}; there are {', '.join(self.table.structures)}.")
        status: Status = self.table.status[0, self.table.structures.index(structure)]
        return status

    def shown(self) -> Shown:
        """Return what a notebook shows."""
        return self.table.shown()

    def __str__(self) -> str:
        return str(self.table)


def measure(
    pred: LabelMap | npt.ArrayLike,
    gt: LabelMap | npt.ArrayLike,
    structures: Structures | None = None,
    metrics: str | MetricInfo | Iterable[str | MetricInfo] | None = None,
    *,
    spacing: float | Sequence[float] | None = None,
    pred_structures: Structures | None = None,
    ignore: int | None = None,
    nsd_tolerance: float | Mapping[str, float] = 1.0,
    nsd_curve_mm: Iterable[float] = (),
    surface: SurfaceKind = "marching-cubes",
    hd: HdMode = "directed",
    convention: str | None = None,
    detection: DetectionRules | None = None,
    threads: int | None = None,
    case_id: str = "case",
) -> Measurement:
    """Measure every structure of one pair of label maps.

    Args:
        pred: predicted label map: a LabelMap, or an array of integers, of bool, or of 0.0 and 1.0.
        gt: ground-truth label map, on the same grid up to flips and order of the axes.
        structures: what to measure: a Labeling, `{"kidney": 1, "kidney+masses": (1, 2, 3)}`, or label values; all
            labels of the ground truth if not given.
        metrics: keys of the catalog, such as `["dice", "hd95", "nsd@2"]`, and metrics of your own (`define_metric`);
            "all" of the catalog; the usual ones if not given.
        spacing: voxel edges in mm, for arrays only; a LabelMap knows its own.
        pred_structures: the same structures in the prediction's labels, where these differ from the ground truth's.
        ignore: ground-truth label whose voxels count for nothing.
        nsd_tolerance: in mm, one number or one per structure; also the width of the boundary for boundary IoU.
        nsd_curve_mm: tolerances in mm of an NSD curve for every structure that is in both masks, whatever `metrics`.
        surface: "marching-cubes", "voxel" or "subvoxel" (see compute_surface_distances).
        hd: "directed" or "pooled" percentiles of the Hausdorff distance.
        convention: "monai", "medpy", "surface-distance" or "meshmetrics" for surface metrics as that tool defines them;
            a metric that it does not have has no number. Not together with `ignore`, `surface`, `hd` or `nsd_curve_mm`.
        detection: which lesions count, and when one counts as found (by default: IoU of 0.1 or more, one to one).
        threads: number of threads; all cores (or SEGAUGE_NUM_THREADS) if not given.
        case_id: name of the case in the resulting table.

    Raises:
        GridMismatch: if the two maps do not lie on the same grid in one frame of reference (`place` brings them there).
        UnknownMetric: if the catalog has no such metric.

    """
    gt_map, pred_map = _as_label_maps(pred, gt, spacing)
    layers = LayerPairs(pred_map, gt_map, threads)
    labelings = _labelings(structures, pred_structures, ignore, layers)
    options = Options(
        check_surface(surface),
        check_hd_mode(hd),
        detection or DetectionRules(),
        threads=threads,
        convention=followed_convention(convention, labelings[0].ignore, surface, hd),
    )
    curve_mm = _curve_tolerances(nsd_curve_mm, options.convention)
    return measure_layers(
        layers, *labelings, resolve_metrics(metrics), options, nsd_tolerance, curve_mm, case_id=case_id
    )


def measure_layers(
    layers: LayerPairs,
    labeling: Labeling,
    pred_labeling: Labeling,
    metrics: tuple[MetricInfo, ...],
    options: Options,
    nsd_tolerance: float | Mapping[str, float] = 1.0,
    nsd_curve_mm: tuple[float, ...] = (),
    *,
    case_id: str = "case",
) -> Measurement:
    """Measure every structure of two maps on one grid that have been counted already; otherwise as `measure`."""
    linear = voxel_steps(layers.gt.grid.affine)
    tolerances = _tolerances(labeling.structures, nsd_tolerance)
    scores: dict[str, tuple[Status, dict[str, float | None]]] = {}
    causes: dict[str, dict[str, Missing]] = {}
    curves: dict[str, npt.NDArray[np.float64]] = {}
    for name, gt_labels in labeling.structures.items():
        chosen = replace(options, tolerance_mm=tolerances[name])
        parts = layers.parts_of(pred_labeling.labels_of(name), gt_labels, labeling.ignore, linear, chosen)
        scores[name] = (parts.status, {info.key: info.function(parts) for info in metrics})
        causes[name] = _undefined(parts.status, metrics)
        if parts.status is Status.PRESENT:
            causes[name] = _causes(parts, metrics, scores[name][1])
            if nsd_curve_mm and parts.distances is not None:
                curves[name] = nsd_curve(parts.distances, nsd_curve_mm)
    table = ScoreTable.of_case(case_id, [info.key for info in metrics], scores, causes)
    return Measurement(table, metrics, curves, nsd_curve_mm)


def _causes(
    parts: StructureParts, metrics: Iterable[MetricInfo], found: Mapping[str, float | None]
) -> dict[str, Missing]:
    """Return by metric why a structure that is in both masks has no value."""
    return {
        info.key: Missing.of(parts.status, _cause(parts, info, value))
        for info in metrics
        if (value := found[info.key]) is None or not math.isfinite(value)
    }


def _undefined(status: Status, metrics: Iterable[MetricInfo]) -> dict[str, Missing]:
    """Return the metrics that are not defined for a structure that the ground truth lacks, and so count neither way."""
    if status not in NOT_IN_GROUND_TRUTH:
        return {}
    return {info.key: Missing(status, words.NO_GROUND_TRUTH, "nothing") for info in metrics if info.needs_gt}


def _cause(parts: StructureParts, info: MetricInfo, value: float | None) -> str:
    """Return why a metric has no value of a structure that is in both masks."""
    if info.needs == "surface":
        if value is not None:
            return words.BETWEEN_VOXELS
        tool = parts.options.convention
        return _cause_of_surface(parts) if tool is None else words.not_in_tool(tool.tool)
    if info.needs == "lesions":
        return words.NO_LARGE_LESION if parts.gt.ndim == 3 else words.NO_VOLUME
    causes = {"counts": words.NO_REST, "band": words.NO_BAND, "centerline": words.NO_CENTERLINE}
    return causes.get(info.needs, words.UNDEFINED)


def _cause_of_surface(parts: StructureParts) -> str:
    if parts.distances is None:
        return words.NO_SURFACE
    # A floor alone is missing where distances are there.
    return words.OBLIQUE_AXES if parts.ignored is None else words.IGNORED_CUT


class LayerPairs:
    """The layers of two label maps on one grid, with the joint histogram of each pair of layers made at most once."""

    def __init__(self, pred: LabelMap, gt: LabelMap, threads: int | None) -> None:
        self.pred, self.gt, self._threads = pred, gt, threads
        self._tables: dict[tuple[int, int], PairTable] = {}

    def pred_counts(self) -> dict[int, int]:
        """Return the voxels of each label of pred, background included."""
        counts: dict[int, int] = {}
        for i in range(len(self.pred.layers)):
            table = self._table(i, 0)
            for label, count in zip(table.labels[:, 0].tolist(), table.counts.tolist(), strict=True):
                counts[label] = counts.get(label, 0) + count
        return counts

    def gt_labels(self) -> tuple[int, ...]:
        """Return the labels that occur in gt, ascending, without background."""
        return tuple(sorted({label for j in range(len(self.gt.layers)) for label in self._table(0, j).gt_labels}))

    def overlap(self, pred_labels: Labels, gt_labels: Labels, ignore: int | None) -> Overlap:
        """Return the counts of one structure."""
        return self._counted(pred_labels, gt_labels, ignore)[2]

    def parts_of(
        self,
        pred_labels: Labels,
        gt_labels: Labels,
        ignore: int | None,
        linear: npt.NDArray[np.float64],
        options: Options,
    ) -> StructureParts:
        """Return one structure, ready to be measured."""
        pred, gt, overlap = self._counted(pred_labels, gt_labels, ignore)
        return StructureParts(pred, gt, pred_labels, gt_labels, ignore, linear, overlap, options)

    def _counted(
        self, pred_labels: Labels, gt_labels: Labels, ignore: int | None
    ) -> tuple[LabelArray, LabelArray, Overlap]:
        """Return the layers that a structure lies in, and its counts; layers are merged only where it is in several."""
        i = self._home(pred_labels, [self._table(i, 0).pred_labels for i in range(len(self.pred.layers))])
        in_gt = gt_labels if ignore is None else (*gt_labels, ignore)
        j = self._home(in_gt, [self._table(0, j).gt_labels for j in range(len(self.gt.layers))])
        pred = _merged(self.pred, pred_labels) if i is None else self.pred.layers[i]
        gt = _merged(self.gt, gt_labels, ignore) if j is None else self.gt.layers[j]
        table = tabulate(pred, gt, threads=self._threads) if i is None or j is None else self._table(i, j)
        return pred, gt, table.overlap(pred_labels, gt_labels, ignore)

    def _home(self, labels: Labels, held: Sequence[Labels]) -> int | None:
        """Return the one layer that holds any of the labels, the first if none does, None if several do."""
        found = [index for index, known in enumerate(held) if not set(labels).isdisjoint(known)]
        return (found or [0])[0] if len(found) < 2 else None

    def _table(self, pred_layer: int, gt_layer: int) -> PairTable:
        key = (pred_layer, gt_layer)
        if key not in self._tables:
            self._tables[key] = tabulate(self.pred.layers[pred_layer], self.gt.layers[gt_layer], threads=self._threads)
        return self._tables[key]


def _merged(labels: LabelMap, wanted: tuple[int, ...], ignore: int | None = None) -> LabelArray:
    """Return one layer that holds a structure of a map of several: its last label, or the ignore label, which wins."""
    label = max(wanted)
    merged = np.zeros(labels.grid.shape, dtype=_common_type(labels.layers, label))
    merged[labels.mask(wanted).array] = label
    if ignore is not None and (ignored := labels.mask(ignore).array).any():  # one that occurs fits its layer's type
        merged[ignored] = ignore
    return merged


def _common_type(layers: Sequence[LabelArray], label: int) -> np.dtype[np.integer[Any]]:
    """Return a type that holds the labels of all layers and one more; int64 holds every label."""
    common = np.result_type(*layers, np.min_scalar_type(label))
    return common if common.kind in "iu" else np.dtype(np.int64)  # of a label above 2^32 and negative ones: floats


def _as_label_maps(
    pred: LabelMap | npt.ArrayLike, gt: LabelMap | npt.ArrayLike, spacing: float | Sequence[float] | None
) -> tuple[LabelMap, LabelMap]:
    """Return gt and pred as label maps on the grid of gt."""
    if isinstance(gt, LabelMap) and isinstance(pred, LabelMap):
        if spacing is not None:
            raise InvalidInput("A LabelMap knows its spacing: give spacing= only with arrays.")
        check_frames_of_reference(pred, gt)
        return gt, pred.on_grid_of(gt)
    if isinstance(gt, LabelMap) or isinstance(pred, LabelMap):
        raise InvalidInput("Give pred and gt both as LabelMap or both as arrays: an array alone has no place in space.")
    edges = 1.0 if spacing is None else spacing
    gt_array, pred_array = _label_array(gt, "gt"), _label_array(pred, "pred")
    check_same_shape(pred_array, gt_array)
    gt_map = LabelMap.from_array(gt_array, edges, source="gt")
    return gt_map, LabelMap((pred_array,), gt_map.grid, source="pred")


def _label_array(given: npt.ArrayLike, name: str) -> LabelArray:
    """Return an array as integers; one of floats may be a mask of 0.0 and 1.0, as it may in `dice`."""
    array = np.asarray(given)
    if array.dtype.kind == "f" and array.ndim and np.all((array == 0) | (array == 1)):
        return np.asarray(array == 1).view(np.uint8)
    return as_label_array(given, name)


def _labelings(
    structures: Structures | None,
    pred_structures: Structures | None,
    ignore: int | None,
    layers: LayerPairs,
) -> tuple[Labeling, Labeling]:
    """Return the labelings of gt and of pred."""
    if structures is None:
        found = [label for label in layers.gt_labels() if label != ignore]
        if not found:
            raise InvalidInput("The ground truth holds no label, so there is nothing to measure: name the structures.")
        structures = found
    labeling = Labeling.of(structures, names=layers.gt.names, ignore=ignore)
    if ignore is not None and labeling.ignore != ignore:
        labeling = Labeling(labeling.structures, ignore)
    if pred_structures is None:
        return labeling, labeling
    pred_labeling = Labeling.of(pred_structures)
    absent = [name for name in labeling if name not in pred_labeling.structures]
    if absent:
        raise UnknownStructure(f"pred_structures does not give the labels of {', '.join(map(repr, absent))}.")
    return labeling, pred_labeling


def followed_convention(key: str | None, ignore: int | None, surface: str, hd: str) -> Convention | None:
    """Return the convention to follow; what would make it another one is refused."""
    convention = check_convention(key)
    if convention is not None and (surface != "marching-cubes" or hd != "directed" or ignore is not None):
        raise InvalidInput(
            f"convention={key!r} measures surfaces as {convention.tool} does, which knows no ignored voxels: "
            "leave out surface=, hd= and ignore=, or the convention."
        )
    return convention


def _curve_tolerances(given: Iterable[float], convention: Convention | None) -> tuple[float, ...]:
    """Return the tolerances of the curve, which no other tool has."""
    curve_mm = check_tolerances(given, "nsd_curve_mm")
    if curve_mm and convention is not None:
        raise InvalidInput(
            f"nsd_curve_mm: the curve is measured our way, not as {convention.tool} does; leave it out, or ask for "
            "metrics such as 'nsd@1' and 'nsd@2'."
        )
    return curve_mm


def checked_tolerance(given: float | Mapping[str, float]) -> float | dict[str, float]:
    """Return the tolerance of all structures, or of each one by its name, or say what is wrong with it."""
    if not isinstance(given, Mapping):
        return check_tolerance(given, "nsd_tolerance")
    return {str(name): check_tolerance(tolerance, "nsd_tolerance") for name, tolerance in given.items()}


def _tolerances(structures: Iterable[str], given: float | Mapping[str, float]) -> dict[str, float]:
    """Return the tolerance of each structure; every one that was given is checked, whatever it is for."""
    checked = checked_tolerance(given)
    if not isinstance(checked, dict):
        return dict.fromkeys(structures, checked)
    for name in structures:
        if name not in checked:
            raise InvalidInput(f"nsd_tolerance has no entry for structure {name!r}; it has {', '.join(checked)}.")
    return checked
