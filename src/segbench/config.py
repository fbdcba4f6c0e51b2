"""RunConfig: what a benchmark run is asked to do, from YAML; an unknown key is an error with a suggestion."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from segauge.errors import InvalidInput, UnknownMetric
from segauge.io.yaml_files import read_yaml
from segauge.metrics.catalog import resolve_metrics
from segauge.metrics.matching import DETECTION_OPTIONS, detection_of
from segauge.stats import METHODS
from segbench.suggestions import unknown
from segbench.typed import NO_KEY, STRICT, Checked, Expected, Is, keys_of, validated

#: How cases are drawn where not all are taken: at random, in the order they are listed, or in proportion to groups.
SELECTIONS = ("random", "first", "stratified")

#: Where predictions can be made, besides on the dask scheduler at an address.
EXECUTORS = ("serial", "processes", "dask", "modal")

#: Whom the ranking takes in, by name: what each policy lets through besides the clean ones. All others are shown.
EXPOSURE_POLICIES: dict[str, tuple[str, ...]] = {
    "strict": ("none",),
    "allow-unknown": ("none", "unknown"),
    "allow-images": ("none", "images"),
    "all": ("none", "unknown", "images", "labels"),
}

DEFAULT_METRICS = ("dice", "hd95", "nsd", "assd")


@dataclass(frozen=True)
class DatasetChoice:
    """A dataset by the name of its plug-in, the folder that has it, and what only that dataset understands."""

    name: str
    root: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelChoice:
    """A model by the type of its plug-in, and what only that model understands (`name`, `fast`, ...)."""

    type: str
    options: Mapping[str, Any] = field(default_factory=dict)


def _dataset(value: Any) -> DatasetChoice:
    if isinstance(value, str):
        return DatasetChoice(value)
    if not isinstance(value, Mapping) or "name" not in value:
        raise Expected("a name, or a mapping with a name, such as {name: kits23, root: data/kits23}", value)
    root = value.get("root")
    options = {key: part for key, part in value.items() if key not in ("name", "root")}
    return DatasetChoice(_text(value["name"], "name"), None if root is None else Path(_text(root, "root")), options)


def _models(value: Any) -> tuple[ModelChoice, ...]:
    if not isinstance(value, list) or not value:
        raise Expected("a list of models, such as [{type: totalsegmentator}]", value)
    return tuple(_model(part, str(i + 1)) for i, part in enumerate(value))


def _model(value: Any, place: str) -> ModelChoice:
    if isinstance(value, str):
        return ModelChoice(value)
    if not isinstance(value, Mapping) or "type" not in value:
        raise Expected("a type, or a mapping with a type, such as {type: totalsegmentator, fast: true}", value, place)
    options = {key: part for key, part in value.items() if key != "type"}
    return ModelChoice(_text(value["type"], place, "type"), options)


def _text(value: Any, *place: str) -> str:
    if not isinstance(value, str):
        raise Expected("a text", value, *place)
    return value


def _ids(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        raise Expected("a list of case ids", value)
    plain = [str(part) if isinstance(part, int) and not isinstance(part, bool) else part for part in value]
    return tuple(_text(part, str(i + 1)) for i, part in enumerate(plain))


def _metrics(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise Expected("a list of names", value)
    names = tuple(_text(part, str(i + 1)) for i, part in enumerate(value))
    try:
        resolve_metrics(names)
    except UnknownMetric as error:
        raise InvalidInput(str(error)) from error
    return names


def _numbers(value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise Expected("a mapping of names to numbers", value)
    return {key: _positive(part, key) for key, part in value.items()}


def _positive(value: Any, *place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise Expected("a positive number", value, *place)
    return float(value)


def _tolerance(value: Any) -> float | str | dict[str, float]:
    if value == "dataset":
        return "dataset"
    return _numbers(value) if isinstance(value, Mapping) else _positive(value)


def _detection(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Expected(f"a mapping with any of {', '.join(_DETECTION_KEYS)}", value)
    for key in value:
        if key not in _DETECTION_KEYS:
            raise InvalidInput(unknown("option", str(key), _DETECTION_KEYS))
    try:
        detection_of({f"detection_{key}": part for key, part in value.items()})
    except TypeError:
        raise Expected("numbers and names", dict(value)) from None
    return dict(value)


def executor_name(name: str) -> str:
    """Return where predictions are made, or say what there is."""
    if name not in EXECUTORS and "://" not in name:
        raise InvalidInput(
            f"{unknown('executor', name, EXECUTORS)} A dask scheduler that is running already is an address such as "
            "'tcp://host:8786'."
        )
    return name


def _executor(value: Any) -> str:
    return executor_name(_text(value))


_NAMES = '{"type": "array", "items": {"type": "string"}, "minItems": 1}'
_POSITIVE_NUMBERS = '{"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}}'
_DATASET = (
    '{"anyOf": [{"type": "string"}, {"type": "object", "required": ["name"], "properties": '
    '{"name": {"type": "string"}, "root": {"type": "string"}}}]}'
)
_MODELS = (
    '{"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["type"], '
    '"properties": {"type": {"type": "string"}}}]}}'
)
_IDS = '{"type": "array", "items": {"type": ["string", "integer"]}, "minItems": 1}'
_TOLERANCE = '{"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": "dataset"}, ' + _POSITIVE_NUMBERS + "]}"
_DETECTION_KEYS = tuple(key.removeprefix("detection_") for key in DETECTION_OPTIONS)
_DETECTION = (
    '{"type": "object", "additionalProperties": false, "properties": {"match": {"enum": ["iou", "overlap", "centroid"]}'
    ', "assign": {"enum": ["greedy", "optimal", "many-to-one"]}, "iou": {"type": "number", "exclusiveMinimum": 0, '
    '"maximum": 1}, "connectivity": {"enum": [6, 18, 26, 4, 8, 1, 2, 3]}, "min_volume_ml": {"type": "number", '
    '"minimum": 0}}}'
)
_EXECUTOR = '{"type": "string", "description": "serial, processes, dask, modal, or the address of a dask scheduler"}'

Count = Annotated[int, Is("a whole number from 1 on", (("ge", 1),))]
Positive = Annotated[float, Is("a positive number", (("gt", 0),))]
Names = Annotated[tuple[str, ...], Is("a list of names", (("min_length", 1),))]


@dataclass(frozen=True)
class RunConfig:
    """A benchmark run.

    Attributes:
        dataset, models: what is run on what.
        n_cases: how many cases; all if None.
        case_ids: only these cases.
        selection: how `n_cases` are drawn: "random" (seeded), "first" (as listed; the default where the config lists
            cases), "stratified" (in proportion to the values of the metadata column `stratify_by`).
        stratify_by: metadata column of a stratified selection.
        structures: which structures are scored (`organs` is the same key); all of the dataset's if None.
        metrics: keys of segauge's catalog.
        detection: when a lesion counts as found: match, assign, iou, connectivity, min_volume_ml, as the options
            `detection_...` of `segauge.evaluate`.
        nsd_tolerance: of the normalised surface distance in mm, one for all or one per structure; "dataset" for the
            tolerances of the dataset's makers.
        resample: "nearest" to bring predictions on another grid to that of the ground truth.
        confidence: level of intervals, rank sets and verdicts.
        interval: method of the intervals, as in `segauge.estimate`.
        n_resamples, seed: of all resampling.
        margin: per metric the difference that does not matter in practice.
        exposure_policy: who is ranked, a key of `EXPOSURE_POLICIES`.
        failed: what a failed case counts as for a distance, which has no worst value: "last" (behind all others, the
            default), the "diagonal" of its image, a "penalty", or "exclude" (left out and counted).
        penalty: of a failed case in mm, where `failed` is "penalty".
        spot_check_dice: a model whose mean Dice on a structure is below this is marked as suspect, with a diagnosis.
        title, preview, preview_label: what the page says about the run.
        device, timeout_s, memory_gb, jobs, executor: how predictions are made.
        cache_dir: where predictions and finished cases are kept.
        results_path: where the record goes.
        written: the config as it was written.

    """

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    dataset: Annotated[DatasetChoice, Checked(_dataset, _DATASET)]
    models: Annotated[tuple[ModelChoice, ...], Checked(_models, _MODELS)]
    n_cases: Count | None = None
    case_ids: Annotated[tuple[str, ...] | None, Checked(_ids, _IDS)] = None
    selection: Literal["random", "first", "stratified"] = "random"
    stratify_by: str = ""
    structures: Names | None = None
    metrics: Annotated[tuple[str, ...], Checked(_metrics, _NAMES)] = DEFAULT_METRICS
    nsd_tolerance: Annotated[float | str | Mapping[str, float], Checked(_tolerance, _TOLERANCE)] = 1.0
    detection: Annotated[Mapping[str, Any], Checked(_detection, _DETECTION)] = field(default_factory=dict)
    resample: Literal["nearest"] | None = None
    confidence: Annotated[float, Is("a number above 0 and below 1, such as 0.95", (("gt", 0), ("lt", 1)))] = 0.95
    interval: str = "auto"
    n_resamples: Count = 10_000
    seed: Annotated[int, Is("a whole number from 0 on", (("ge", 0),))] = 0
    margin: Annotated[Mapping[str, float], Checked(_numbers, _POSITIVE_NUMBERS)] = field(default_factory=dict)
    exposure_policy: Literal["strict", "allow-unknown", "allow-images", "all"] = "strict"
    failed: Literal["auto", "diagonal", "penalty", "last", "exclude"] = "auto"
    penalty: Positive | None = None
    spot_check_dice: Annotated[float, Is("a number from 0 to 1", (("ge", 0), ("lt", 1)))] = 0.1
    title: str = ""
    preview: bool = False
    preview_label: str = ""
    device: str = "auto"
    timeout_s: Positive | None = None
    memory_gb: Positive | None = None
    jobs: Count | None = None
    executor: Annotated[str | None, Checked(_executor, _EXECUTOR)] = None
    cache_dir: Path = Path("predictions")
    results_path: Path = Path("results/run.json")
    written: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False, metadata=NO_KEY)

    @property
    def detection_options(self) -> dict[str, Any]:
        """When a lesion counts as found, as arguments of `segauge.evaluate`."""
        return {f"detection_{key}": value for key, value in self.detection.items()}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, source: str = "config") -> RunConfig:
        """Return the config that a mapping describes; say what is wrong with it in words."""
        if not isinstance(given, Mapping):
            raise InvalidInput(f"{source}: expected keys and values, such as `dataset:` and `models:`.")
        values: dict[str, Any] = {}
        written: dict[str, str] = {}
        for key, value in given.items():
            name = _OTHER_NAMES.get(key, key)
            if name in written:
                raise InvalidInput(f"{source}: {key!r} repeats {written[name]!r}; keep one of them.")
            if name == "written":
                raise InvalidInput(f"{source}: {unknown('key', name, _keys())}")
            written[name] = str(key)
            if value is not None:
                values[name] = value
        config = validated(cls, values, source, written=written, known=_OTHER_NAMES)
        if "selection" not in values and (config.case_ids is not None or "case_numbers" in config.dataset.options):
            config = replace(config, selection="first")
        _require_consistent(config, source)
        return replace(config, written=dict(given))

    def resolved(self) -> dict[str, Any]:
        """Return every setting as it is in force, plain and without a path: what a record keeps."""
        return {
            "dataset": {"name": self.dataset.name, "options": dict(self.dataset.options)},
            "models": [{"type": choice.type, "options": dict(choice.options)} for choice in self.models],
            **{name: _plain(getattr(self, name)) for name in _keys() if name not in _NOT_IN_RECORDS},
        }


#: Other words for a key that configs of today use.
_OTHER_NAMES = {"organs": "structures"}


def _keys() -> list[str]:
    return keys_of(RunConfig)


#: Where things lie, and how many hands work: says nothing about the numbers.
_NOT_IN_RECORDS = ("dataset", "models", "cache_dir", "results_path", "jobs", "executor")


def read_config(path: str | os.PathLike[str]) -> RunConfig:
    """Read a config from YAML (or JSON, which is YAML)."""
    return RunConfig.from_dict(read_yaml(path, "a config"), source=Path(path).name)


def _require_consistent(config: RunConfig, source: str) -> None:
    if config.interval not in ("auto", *METHODS):
        raise InvalidInput(f"{source}: interval: {unknown('choice', config.interval, ('auto', *METHODS))}")
    if config.selection == "stratified" and not config.stratify_by:
        raise InvalidInput(f"{source}: a stratified selection needs stratify_by, the metadata column of its groups.")
    if config.failed == "penalty" and config.penalty is None:
        raise InvalidInput(f"{source}: failed: penalty needs penalty, such as the image diagonal in mm.")
    for name in config.margin:
        if name not in config.metrics:
            raise InvalidInput(f"{source}: margin: {unknown('metric', name, config.metrics)}")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value
