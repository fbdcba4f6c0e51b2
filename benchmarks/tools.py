"""How each tool is called, inside a worker process of the environment that has it.

Every tool splits into `prepare` (imports, conversion to what the tool takes: not timed), the call it returns
(timed), and `values` (what the call gave, by our names: not timed). Only NumPy is imported at the top, because no
environment has all of the tools.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Values = dict[str, float]
Call = Callable[[], Any]


@dataclass(frozen=True)
class Pair:
    """Two masks of one structure, voxel edges in mm, and the tolerance of the surface Dice in mm."""

    pred: npt.NDArray[np.bool_]
    gt: npt.NDArray[np.bool_]
    spacing: tuple[float, ...]
    tolerance_mm: float


@dataclass(frozen=True)
class Case:
    """Two label maps, voxel edges in mm, and the structures in them as label values."""

    pred: npt.NDArray[np.integer[Any]]
    gt: npt.NDArray[np.integer[Any]]
    spacing: tuple[float, ...]
    tolerance_mm: float
    structures: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Files:
    """The two files of a case, to be read."""

    paths: tuple[Path, ...]


Input = Pair | Case | Files


@dataclass(frozen=True)
class Tool:
    """One way to do one job: which package, in which environment, called how.

    `environment` is a name of `benchmarks.peers.ENVIRONMENTS` or "own" (the interpreter that runs the benchmark);
    `pinned` tools take every core whatever they are told, and are held to theirs by the operating system.
    """

    name: str
    environment: str
    distribution: str
    called: str
    prepare: Callable[[Any, int], Call]
    values: Callable[[Any], Values]
    pinned: bool = False


def _no_values(_: Any) -> Values:
    return {}


def _as_floats(result: Mapping[str, Any]) -> Values:
    return {key: float(value) for key, value in result.items()}


def _with_pooled_hd95(result: Mapping[str, Any]) -> Values:
    """Return the values of a tool whose HD95 is the percentile of both directions together, not the larger of two."""
    return {"hd95_pooled" if key == "hd95" else key: value for key, value in _as_floats(result).items()}


#: Number of the next spacing that has not been used in this process.
_unused = itertools.count()


def _unused_spacing(spacing: tuple[float, ...]) -> tuple[float, ...]:
    """Return a spacing that differs from the given one, and from all returned before, by some 1e-9 of it.

    We remember what belongs to a spacing, and would meet it again in every repetition: with a spacing of its own a
    call costs what it costs on a case that comes for the first time. No metric changes in the digits shown.
    """
    factor = 1.0 + 1e-9 * next(_unused)
    return tuple(edge * factor for edge in spacing)


def _segauge(
    surface: Literal["marching-cubes", "voxel", "subvoxel"], *, again: bool = False
) -> Callable[[Pair, int], Call]:
    def prepare(pair: Pair, threads: int) -> Call:
        import segauge

        def call() -> dict[str, float]:
            spacing = pair.spacing if again else _unused_spacing(pair.spacing)
            return segauge.surface_metrics(
                pair.pred, pair.gt, spacing, pair.tolerance_mm, surface=surface, threads=threads
            )

        return call

    return prepare


def _read_once(pair: Pair, _: int) -> Call:
    """Read every byte of both masks once, which whoever is given whole arrays must do to find a structure in them."""
    words = [mask.reshape(-1, order="A").view(np.uint8) for mask in (pair.pred, pair.gt)]
    whole = [mask[: mask.size // 8 * 8].view(np.uint64) for mask in words]
    return lambda: [int(np.bitwise_or.reduce(mask)) for mask in whole]


def _segauge_case(metrics: str | None, *, again: bool = False) -> Callable[[Case, int], Call]:
    def prepare(case: Case, threads: int) -> Call:
        import segauge

        labeling = segauge.Labeling.of(case.structures)

        def call() -> segauge.Measurement:
            spacing = case.spacing if again else _unused_spacing(case.spacing)
            grid = segauge.Grid.from_spacing(case.gt.shape, spacing)
            pred, gt = segauge.LabelMap((case.pred,), grid), segauge.LabelMap((case.gt,), grid)
            return segauge.measure(pred, gt, labeling, metrics, threads=threads)

        return call

    return prepare


def _segauge_0_1(pair: Pair, _: int) -> Call:
    import segauge

    return lambda: segauge.surface_metrics(pair.pred, pair.gt, pair.spacing, pair.tolerance_mm)


def _surface_distance(pair: Pair, _: int) -> Call:
    import surface_distance  # type: ignore[import-not-found]

    def call() -> tuple[Any, ...]:
        distances = surface_distance.compute_surface_distances(pair.gt, pair.pred, pair.spacing)
        return (
            surface_distance.compute_robust_hausdorff(distances, 100),
            surface_distance.compute_robust_hausdorff(distances, 95),
            surface_distance.compute_average_surface_distance(distances),
            surface_distance.compute_surface_dice_at_tolerance(distances, pair.tolerance_mm),
            distances,
        )

    return call


def _surface_distance_values(result: tuple[Any, ...]) -> Values:
    hd, hd95, (gt_to_pred, pred_to_gt), nsd, distances = result
    # The package gives the two directed means; weighted by their areas they are the mean over both surfaces.
    areas = float(distances["surfel_areas_gt"].sum()), float(distances["surfel_areas_pred"].sum())
    assd = (gt_to_pred * areas[0] + pred_to_gt * areas[1]) / sum(areas)
    return _as_floats({"hd": hd, "hd95": hd95, "assd": assd, "masd": (gt_to_pred + pred_to_gt) / 2, "nsd": nsd})


def _masks_of(case: Case, labels: tuple[int, ...]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    if len(labels) == 1:
        return case.pred == labels[0], case.gt == labels[0]
    return np.isin(case.pred, labels), np.isin(case.gt, labels)


def _looped(prepare: Callable[[Pair, int], Call]) -> Callable[[Case, int], Call]:
    """Return what people write first: for each structure the masks by comparison, then the tool for a pair."""

    def prepare_case(case: Case, threads: int) -> Call:
        def call() -> None:
            for labels in case.structures.values():
                pred, gt = _masks_of(case, labels)
                prepare(Pair(pred, gt, case.spacing, case.tolerance_mm), threads)()

        return call

    return prepare_case


def _surface_distance_loop_cropped(case: Case, threads: int) -> Call:
    from scipy import ndimage

    def call() -> None:
        boxes_pred, boxes_gt = ndimage.find_objects(case.pred), ndimage.find_objects(case.gt)
        for labels in case.structures.values():
            boxes = [found[label - 1] for label in labels for found in (boxes_pred, boxes_gt) if label <= len(found)]
            box = _union_of([box for box in boxes if box is not None])
            part = Case(case.pred[box], case.gt[box], case.spacing, case.tolerance_mm, {})
            pred, gt = _masks_of(part, labels)
            _surface_distance(Pair(pred, gt, case.spacing, case.tolerance_mm), threads)()

    return call


def _union_of(boxes: list[tuple[slice, ...]]) -> tuple[slice, ...]:
    return tuple(
        slice(min(side.start for side in sides), max(side.stop for side in sides)) for sides in zip(*boxes, strict=True)
    )


def _monai(pair: Pair, threads: int) -> Call:
    import torch  # type: ignore[import-not-found]
    from monai import metrics  # type: ignore[import-not-found]

    torch.set_num_threads(threads)
    pred, gt = (torch.from_numpy(np.ascontiguousarray(mask))[None, None] for mask in (pair.pred, pair.gt))
    options: dict[str, Any] = {"include_background": True, "spacing": pair.spacing}

    def call() -> dict[str, Any]:
        return {
            "hd": metrics.compute_hausdorff_distance(pred, gt, **options),
            "hd95": metrics.compute_hausdorff_distance(pred, gt, percentile=95, **options),
            "assd": metrics.compute_average_surface_distance(pred, gt, symmetric=True, **options),
            "nsd": metrics.compute_surface_dice(pred, gt, [pair.tolerance_mm], use_subvoxels=True, **options),
        }

    return call


def _seg_metrics(pair: Pair, _: int) -> Call:
    from seg_metrics import seg_metrics  # type: ignore[import-not-found]

    pred, gt = pair.pred.astype(np.uint8), pair.gt.astype(np.uint8)
    return lambda: seg_metrics.write_metrics(
        labels=[1], gdth_img=gt, pred_img=pred, spacing=list(pair.spacing), metrics=["hd", "hd95", "msd"]
    )


def _seg_metrics_values(result: list[dict[str, list[float]]]) -> Values:
    only = result[0]
    return _with_pooled_hd95({"hd": only["hd"][0], "hd95": only["hd95"][0], "assd": only["msd"][0]})


def _panoptica(pair: Pair, _: int) -> Call:
    from panoptica import InputType, Panoptica_Evaluator  # type: ignore[import-not-found]
    from panoptica.metrics import Metric  # type: ignore[import-not-found]

    pred, gt = pair.pred.astype(np.uint8), pair.gt.astype(np.uint8)
    evaluator = Panoptica_Evaluator(
        expected_input=InputType.MATCHED_INSTANCE,
        instance_metrics=[Metric.HD, Metric.HD95, Metric.ASSD, Metric.NSD],
        global_metrics=[],
    )

    return lambda: evaluator.evaluate(pred, gt, voxelspacing=pair.spacing)["ungrouped"]


def _panoptica_values(result: Any) -> Values:
    # Its NSD is taken at the smallest voxel edge, which the evaluator does not let one change: left out. What it
    # calls ASSD is the mean of the two directed means: MASD.
    return _with_pooled_hd95({"hd": result.sq_hd, "hd95": result.sq_hd95, "masd": result.sq_assd})


def _medpy(pair: Pair, _: int) -> Call:
    from medpy.metric import binary  # type: ignore[import-not-found]

    def call() -> dict[str, Any]:
        return {
            "hd": binary.hd(pair.pred, pair.gt, pair.spacing),
            "hd95": binary.hd95(pair.pred, pair.gt, pair.spacing),
            "assd": binary.assd(pair.pred, pair.gt, pair.spacing),
        }

    return call


def _read_nibabel(files: Files, _: int) -> Call:
    import nibabel

    def call() -> None:
        for path in files.paths:
            image = nibabel.load(path)
            np.asarray(image.dataobj)  # type: ignore[attr-defined]

    return call


def _read_isal(files: Files, _: int) -> Call:
    import nibabel

    igzip = importlib.import_module("isal.igzip")  # not among the project's dependencies: may be missing

    def call() -> None:
        for path in files.paths:
            with igzip.open(path, "rb") as stream:
                image = nibabel.Nifti1Image.from_stream(stream)
                np.asarray(image.dataobj)

    return call


def _catalog(*tools: Tool) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools}


#: Tools that take one pair of masks.
PAIR_TOOLS = _catalog(
    Tool(
        "segauge", "own", "segauge", "surface_metrics(surface='marching-cubes')", _segauge("marching-cubes"), _as_floats
    ),
    Tool(
        "segauge-again",
        "own",
        "segauge",
        "the same, spacing and arrays met before",
        _segauge("marching-cubes", again=True),
        _as_floats,
    ),
    Tool("segauge-voxel", "own", "segauge", "surface_metrics(surface='voxel')", _segauge("voxel"), _as_floats),
    Tool("segauge-subvoxel", "own", "segauge", "surface_metrics(surface='subvoxel')", _segauge("subvoxel"), _as_floats),
    Tool(
        "read-once",
        "own",
        "numpy",
        "every byte of both masks read once, and nothing done with it",
        _read_once,
        _no_values,
    ),
    Tool(
        "surface-distance",
        "peers",
        "surface-distance",
        "compute_surface_distances, then HD, HD95, mean distances, surface Dice from it",
        _surface_distance,
        _surface_distance_values,
    ),
    Tool(
        "monai",
        "peers",
        "monai",
        "compute_hausdorff_distance (100, 95), compute_average_surface_distance, compute_surface_dice (sub-voxel)",
        _monai,
        _as_floats,
    ),
    Tool(
        "seg-metrics",
        "peers",
        "seg-metrics",
        "write_metrics(hd, hd95, msd); has no surface Dice",
        _seg_metrics,
        _seg_metrics_values,
    ),
    Tool(
        "panoptica",
        "peers",
        "panoptica",
        "Panoptica_Evaluator(matched instances; HD, HD95, ASSD, NSD)",
        _panoptica,
        _panoptica_values,
    ),
    Tool("medpy", "medpy", "medpy", "hd, hd95, assd; has no surface Dice", _medpy, _with_pooled_hd95),
    Tool("segauge-0.1", "segauge-0.1", "segauge", "surface_metrics", _segauge_0_1, _with_pooled_hd95, pinned=True),
)

#: Tools that take two label maps and give all structures.
CASE_TOOLS = _catalog(
    Tool("segauge", "own", "segauge", "measure(), the default metrics", _segauge_case(None), _no_values),
    Tool("segauge-all", "own", "segauge", "measure(metrics='all')", _segauge_case("all"), _no_values),
    Tool("segauge-again", "own", "segauge", "the same, met before", _segauge_case(None, again=True), _no_values),
    Tool(
        "surface-distance",
        "peers",
        "surface-distance",
        "for each structure: masks by comparison, then as for a pair (it crops by itself)",
        _looped(_surface_distance),
        _no_values,
    ),
    Tool(
        "surface-distance-cropped",
        "peers",
        "surface-distance",
        "boxes by scipy.ndimage.find_objects, then for each structure: crop to the union box, masks, as for a pair",
        _surface_distance_loop_cropped,
        _no_values,
    ),
    Tool(
        "monai",
        "peers",
        "monai",
        "for each structure: masks by comparison, then as for a pair (it crops by itself)",
        _looped(_monai),
        _no_values,
    ),
)

#: Ways to read the two files of a case.
FILE_TOOLS = _catalog(
    Tool("nibabel", "own", "nibabel", "nibabel.load, np.asarray(dataobj)", _read_nibabel, _no_values),
    Tool("nibabel+isal", "own", "isal", "the same, decompressed by isal", _read_isal, _no_values),
)

CATALOGS: Mapping[str, Mapping[str, Tool]] = {"pair": PAIR_TOOLS, "case": CASE_TOOLS, "files": FILE_TOOLS}
