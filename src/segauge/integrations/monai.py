"""SegaugeMetric: segauge's metrics as MONAI knows them, in training loops and in the handlers of its engines.

    metric = SegaugeMetric(["dice", "hd95"], structures=["liver", "tumor"])
    for batch in loader:
        metric(y_pred=discrete(net(batch["image"])), y=batch["label"])
    metric.aggregate()                   # Aggregate(dice 0.904 [0.861, 0.936], n=40, 1 missed, ...)
    metric.aggregate().item()            # 0.904
    metric.result().to_html("report.html")

Where MONAI's own metrics drop every NaN from their means, a structure that was missed counts here as `policy` says, and
whatever a mean leaves out is counted by its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, MissingExtra, ShapeMismatch
from segauge.evaluation.result import EvaluationResult
from segauge.geometry.patterns import SurfaceKind, check_surface
from segauge.grid import Grid, normalize_spacing
from segauge.labelmap import LabelMap
from segauge.measurement import followed_convention, measure
from segauge.metrics.catalog import is_in_mm, resolve_metrics
from segauge.metrics.matching import DetectionRules
from segauge.metrics.surface import HdMode
from segauge.scores import ScoreTable, Status
from segauge.stats.estimation import Estimate
from segauge.stats.missing import AUTO, MissingPolicy

try:
    import torch
    from monai.metrics import CumulativeIterationMetric
except ImportError as error:
    raise MissingExtra(
        "segauge.integrations.monai needs MONAI and PyTorch: install them with `pip install 'segauge[monai]'`."
    ) from error

Spacing = float | Sequence[float]
Structures = Mapping[str, int | Iterable[int]] | Sequence[str]

#: Statuses by the numbers that stand for them in a tensor.
_STATUSES = tuple(Status)


class Aggregate(float):
    """The mean of the first metric, as a number that knows its interval and the other metrics.

    Loggers, handlers and comparisons see a float; `item()` gives the plain one, as of MONAI's tensors. NaN where no
    case has a number; `estimates` then says why.

    Attributes:
        estimates: per metric the estimate over all structures.
        by_structure: per structure and metric the estimate.

    """

    estimates: Mapping[str, Estimate]
    by_structure: Mapping[str, Mapping[str, Estimate]]

    def __new__(cls, result: EvaluationResult) -> Aggregate:
        """Return the number of a result."""
        estimates = result.summary()
        value = next(iter(estimates.values())).value
        made = super().__new__(cls, math.nan if value is None else value)
        made.estimates = estimates
        made.by_structure = result.by_structure()
        return made

    def item(self) -> float:
        """Return the number without the rest."""
        return float(self)

    def __repr__(self) -> str:
        parts = [f"{metric} {estimate}, {estimate.details()}" for metric, estimate in self.estimates.items()]
        return f"Aggregate({'; '.join(parts)})"

    def __str__(self) -> str:
        # What MONAI writes into its CSV files.
        return float.__repr__(self)


class SegaugeMetric(CumulativeIterationMetric):  # type: ignore[misc]  # MONAI has no types here
    """A metric as MONAI's engines, handlers and training loops use it, measured by segauge.

    Call it with batches, then `aggregate()`, then `reset()`. Both sides are batch-first tensors (or lists of
    channel-first ones) that are discrete already: one channel per class that holds 0 and 1 (channels may overlap), or
    one channel of label values. The two sides need not be of the same kind.

    Voxel edges come from `spacing=` of the call, else from `spacing=` here, else from the affine of a MetaTensor.
    Metrics in mm refuse tensors of which nothing says how large their voxels are; `spacing=1` measures in voxels.

    Args:
        metrics: keys of the catalog, such as "dice" or `["dice", "hd95", "nsd@2"]`. The first is the one that MONAI
            sees as a number: what a call returns, `get_buffer()` holds and `aggregate()` equals.
        structures: names of the classes 1, 2, ... in order (of 0, 1, ... with `include_background`), or
            `{"tumor": 2, "whole": (1, 2)}` with channels or label values. By default every channel, or label 1.
        include_background: measure class 0, too.
        spacing: voxel edges in mm for every tensor, one number or one per axis.
        policy: what cases without a number count as.
        confidence, n_resamples, seed: of the intervals.
        nsd_tolerance, surface, hd, convention, detection: as `segauge.measure` has them.
        threads: threads of one measurement; all cores if not given.

    """

    def __init__(
        self,
        metrics: str | Iterable[str] = "dice",
        *,
        structures: Structures | None = None,
        include_background: bool = False,
        spacing: Spacing | None = None,
        policy: MissingPolicy = AUTO,
        confidence: float = 0.95,
        n_resamples: int = 2000,
        seed: int = 0,
        nsd_tolerance: float | Mapping[str, float] = 1.0,
        surface: SurfaceKind = "marching-cubes",
        hd: HdMode = "directed",
        convention: str | None = None,
        detection: DetectionRules | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__()
        self.metrics = resolve_metrics(metrics)
        self._options: dict[str, Any] = {
            "nsd_tolerance": nsd_tolerance, "surface": check_surface(surface), "hd": hd, "convention": convention,
            "detection": detection, "threads": threads,
        }  # fmt: skip
        followed_convention(convention, None, surface, hd)  # refuses what every batch would refuse
        self._given = structures
        self._first = 0 if include_background else 1
        self._structures = None if structures is None else _classes(structures, self._first)
        # Names in order say how many classes there are; a mapping may leave some out.
        self._n_classes = self._first + len(structures) if isinstance(structures, Sequence) else None
        self._spacing = spacing
        self._policy = policy
        self._confidence, self._n_resamples, self._seed = confidence, n_resamples, seed
        self._needs_mm = [info.key for info in self.metrics if is_in_mm(info)]

    @property
    def structures(self) -> tuple[str, ...]:
        """Names of the structures: as given, else as the first batch shows; empty before that."""
        return () if self._structures is None else tuple(self._structures)

    def reset(self) -> None:
        """Forget every case; what the classes are is asked of the next batch again, unless it was given."""
        super().reset()
        if getattr(self, "_given", None) is None:
            self._structures = self._n_classes = None

    def __call__(self, y_pred: Any, y: Any = None, **kwargs: Any) -> Any:
        """Measure a batch, keep its scores, and return those of the first metric: cases by structures, NaN for none."""
        return super().__call__(y_pred=y_pred, y=y, **kwargs)[0][..., 0]

    def get_buffer(self) -> Any:
        """Return the first metric's scores so far, cases by structures; `result()` has everything."""
        gathered = super().get_buffer()
        return None if gathered is None else gathered[0][..., 0]

    def result(self) -> EvaluationResult:
        """Return everything so far as if `segauge.evaluate` had measured it: table, estimates, report, data frame."""
        gathered = super().get_buffer()
        if gathered is None:
            raise InvalidInput("No batch has been measured yet: call the metric with y_pred and y first.")
        values, codes = (part.detach().cpu().numpy() for part in gathered)
        status = np.array([[_STATUSES[int(code)] for code in row] for row in codes], dtype=object)
        cases = tuple(f"case {number + 1}" for number in range(len(values)))
        keys = tuple(info.key for info in self.metrics)
        table = ScoreTable(cases, self.structures, keys, values, status.reshape(codes.shape))
        protocol = {"versions": {name: version(name) for name in ("segauge", "monai", "torch")}}
        return EvaluationResult(
            table,
            self.metrics,
            protocol=protocol,
            confidence=self._confidence,
            n_resamples=self._n_resamples,
            seed=self._seed,
            policy=self._policy,
        )

    def aggregate(self) -> Aggregate:
        """Return the mean of the first metric over all cases and structures, with intervals and the other metrics."""
        return Aggregate(self.result())

    def _compute_list(self, y_pred: Any, y: Any = None, **kwargs: Any) -> list[Any]:
        if y is None or len(y_pred) != len(y):
            raise ShapeMismatch(
                f"Expected as many ground truths as predictions, got {len(y_pred)} predictions "
                f"and {'none' if y is None else len(y)}."
            )
        spacings = _per_item(kwargs.get("spacing"), len(y))
        items = [
            self._compute_tensor(pred[None], gt[None], spacing=edges)
            for pred, gt, edges in zip(y_pred, y, spacings, strict=True)
        ]
        return [torch.cat(parts) for parts in zip(*items, strict=True)]

    def _compute_tensor(self, y_pred: Any, y: Any = None, **kwargs: Any) -> list[Any]:
        unknown = sorted(set(kwargs) - {"spacing"})
        if unknown:
            raise InvalidInput(f"A call takes y_pred, y and spacing; got {unknown[0]!r}.")
        if y is None or y_pred.shape[0] != y.shape[0] or y_pred.shape[2:] != y.shape[2:]:
            shape = "none" if y is None else tuple(y.shape)
            raise ShapeMismatch(
                "y_pred and y should be batch-first tensors of the same batch and image size "
                f"(channels may differ), got {tuple(y_pred.shape)} and {shape}."
            )
        spacings = _per_item(kwargs.get("spacing"), len(y))
        tables = [self._measured(y_pred, y, index, spacing).table for index, spacing in enumerate(spacings)]
        # float64 is not to be had on every device; scores have a few digits.
        kind = torch.float32 if y_pred.device.type == "mps" else torch.float64
        values = np.concatenate([table.values for table in tables])
        codes = [[_STATUSES.index(state) for state in table.status[0]] for table in tables]
        return [torch.as_tensor(values, dtype=kind, device=y_pred.device), torch.tensor(codes, device=y_pred.device)]

    def _measured(self, y_pred: Any, y: Any, index: int, spacing: Spacing | None) -> Any:
        pred, gt = _array(y_pred[index], "y_pred"), _array(y[index], "y")
        structures = self._classes_of(pred, gt)
        edges = self._spacing if spacing is None else spacing
        grid = self._grid(gt.shape[1:], edges, _affine(y, index))
        affine = _affine(y_pred, index) if edges is None else None
        pred_grid = grid if affine is None else self._grid(gt.shape[1:], None, affine)
        gt_map, gt_labels = _label_map(gt, structures, self._first, grid, "y")
        pred_map, pred_labels = _label_map(pred, structures, self._first, pred_grid, "y_pred")
        keys = [info.key for info in self.metrics]
        return measure(pred_map, gt_map, gt_labels, keys, pred_structures=pred_labels, **self._options)

    def _grid(self, shape: tuple[int, ...], edges: Spacing | None, affine: npt.NDArray[np.float64] | None) -> Grid:
        if edges is None and affine is not None:
            # A slice keeps the affine of its volume: of that, the edges along its own axes.
            if affine.shape == (len(shape) + 1, len(shape) + 1):
                return Grid(shape, affine)
            edges = tuple(np.linalg.norm(affine[:-1, : len(shape)], axis=0))
        if edges is None:
            if self._needs_mm:
                raise InvalidInput(
                    f"{', '.join(self._needs_mm)}: the size of a voxel is unknown. Pass MetaTensors, or spacing= in "
                    "mm (one number, or one per axis); spacing=1 measures in voxels."
                )
            edges = 1.0
        return Grid.from_spacing(shape, normalize_spacing(edges, len(shape)))

    def _classes_of(self, pred: npt.NDArray[Any], gt: npt.NDArray[Any]) -> dict[str, tuple[int, ...]]:
        """Return which channels or labels make each structure; the first batch decides where nothing was given."""
        channels = max(pred.shape[0], gt.shape[0])
        if min(pred.shape[0], gt.shape[0]) not in (1, channels):
            raise ShapeMismatch(
                f"y_pred has {pred.shape[0]} channels and y has {gt.shape[0]}: the same number is expected, "
                "or one channel of label values on one side."
            )
        if self._structures is None:
            many = [f"class {number}" for number in range(channels)]
            names = many if channels > 1 else ["background", "foreground"]
            self._structures = _classes(names[self._first :], self._first)
            self._n_classes = len(names)
        highest = max(label for labels in self._structures.values() for label in labels)
        expected = self._n_classes or max(channels, highest + 1)
        if channels > 1 and channels != expected:
            raise InvalidInput(
                f"There are {channels} channels, background included, where the structures make {expected}: "
                f"{', '.join(self._structures)}. A mapping of names to channels may leave some out."
            )
        if self._n_classes or channels > 1:
            _refuse_labels_from(expected, pred, gt)
        return self._structures


def _classes(structures: Structures, first: int) -> dict[str, tuple[int, ...]]:
    """Return the channels or labels of each structure, from their names in order or from a mapping."""
    if isinstance(structures, str):
        raise InvalidInput(f"structures: expected a list of names or a mapping, got the text {structures!r}.")
    if not isinstance(structures, Mapping):
        structures = {name: label for label, name in enumerate(structures, start=first)}
    found = {str(name): (labels,) if isinstance(labels, int) else tuple(labels) for name, labels in structures.items()}
    if not found or not all(found.values()):
        raise InvalidInput("structures: expected at least one name, each with a channel or label.")
    if any(label < first for labels in found.values() for label in labels):
        raise InvalidInput("structures: class 0 is the background; with include_background=True it can be measured.")
    return found


def _refuse_labels_from(limit: int, *sides: npt.NDArray[Any]) -> None:
    """Raise where a label map holds a label that no channel and no structure stands for."""
    largest = max((int(side.max(initial=0)) for side in sides if side.shape[0] == 1), default=0)
    if largest >= limit:
        raise InvalidInput(
            f"A label map holds label {largest}, but only labels below {limit} are known: name the structures, "
            "such as structures=['liver', 'tumor']."
        )


def _per_item(spacing: Any, count: int) -> list[Spacing | None]:
    """Return one spacing per case: the same for all, or one each."""
    if isinstance(spacing, (list, tuple)) and spacing and isinstance(spacing[0], (list, tuple)):
        if len(spacing) != count:
            raise InvalidInput(f"spacing: expected one per case, {count} in all, got {len(spacing)}.")
        return list(spacing)
    return [spacing] * count


def _array(tensor: Any, side: str) -> npt.NDArray[Any]:
    """Return a channel-first tensor as integers; what is not discrete is refused."""
    array: npt.NDArray[Any] = torch.as_tensor(tensor).detach().cpu().numpy()
    if array.ndim not in (3, 4):
        raise InvalidInput(f"{side}: expected channels and 2 or 3 axes of an image for each case, got {array.shape}.")
    if array.dtype.kind == "f":
        whole = array.astype(np.int32)
        if not np.array_equal(whole, array):
            raise InvalidInput(
                f"{side}: holds values that are no labels (probabilities or logits?). Make it discrete first, "
                "for example with monai.transforms.AsDiscrete(argmax=True) or AsDiscrete(threshold=0.5)."
            )
        array = whole
    if array.size and int(array.min()) < 0:
        raise InvalidInput(f"{side}: holds negative labels.")
    return array


def _affine(tensor: Any, index: int) -> npt.NDArray[np.float64] | None:
    """Return the affine of one case of a batch where the tensor is a MetaTensor, None otherwise."""
    affine = getattr(tensor, "affine", None)
    if affine is None:
        return None
    found = np.asarray(torch.as_tensor(affine).cpu(), dtype=np.float64)
    return found[index] if found.ndim == 3 else found


def _label_map(
    array: npt.NDArray[Any], structures: Mapping[str, tuple[int, ...]], first: int, grid: Grid, side: str
) -> tuple[LabelMap, dict[str, tuple[int, ...]]]:
    """Return a side as a label map, and the labels in it that make each structure."""
    if array.shape[0] == 1:
        # Label 0 can be measured once it is no longer 0.
        shift = 1 - first
        labels = {name: tuple(label + shift for label in found) for name, found in structures.items()}
        shifted = array[0].astype(np.int32) + shift if shift else array[0]  # 255 and 1 are no byte
        return LabelMap((shifted,), grid, source=side), labels
    if int(array.max(initial=0)) > 1:
        raise InvalidInput(f"{side}: has {array.shape[0]} channels, which should hold 0 and 1, but holds other values.")
    masks = {name: np.any(array[list(channels)] != 0, axis=0) for name, channels in structures.items()}
    return LabelMap.from_masks(masks, grid, source=side), {name: (i,) for i, name in enumerate(masks, start=1)}
