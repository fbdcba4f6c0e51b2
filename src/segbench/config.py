"""RunConfig: what a benchmark run is asked to do, from YAML; an unknown key is an error with a suggestion."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput, UnknownMetric
from segauge.io.yaml_files import read_yaml
from segauge.metrics.catalog import resolve_metrics
from segauge.stats import METHODS
from segbench.suggestions import unknown

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

    dataset: DatasetChoice
    models: tuple[ModelChoice, ...]
    n_cases: int | None = None
    case_ids: tuple[str, ...] | None = None
    selection: str = "random"
    stratify_by: str = ""
    structures: tuple[str, ...] | None = None
    metrics: tuple[str, ...] = DEFAULT_METRICS
    nsd_tolerance: float | str | Mapping[str, float] = 1.0
    resample: str | None = None
    confidence: float = 0.95
    interval: str = "auto"
    n_resamples: int = 10_000
    seed: int = 0
    margin: Mapping[str, float] = field(default_factory=dict)
    exposure_policy: str = "strict"
    failed: str = "auto"
    penalty: float | None = None
    spot_check_dice: float = 0.1
    title: str = ""
    preview: bool = False
    preview_label: str = ""
    device: str = "auto"
    timeout_s: float | None = None
    memory_gb: float | None = None
    jobs: int | None = None
    executor: str | None = None
    cache_dir: Path = Path("predictions")
    results_path: Path = Path("results/run.json")
    written: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, source: str = "config") -> RunConfig:
        """Return the config that a mapping describes; say what is wrong with it in words."""
        if not isinstance(given, Mapping):
            raise InvalidInput(f"{source}: expected keys and values, such as `dataset:` and `models:`.")
        known = {**_READERS, **{other: _READERS[key] for other, key in _OTHER_NAMES.items()}}
        values: dict[str, Any] = {}
        for key, value in given.items():
            if key not in known:
                raise InvalidInput(f"{source}: {unknown('key', str(key), known)}")
            name = _OTHER_NAMES.get(key, key)
            if name in values:
                first = next(other for other in given if _OTHER_NAMES.get(other, other) == name)
                raise InvalidInput(f"{source}: {key!r} says again what {first!r} says; keep one of them.")
            if value is not None:
                values[name] = known[key](_At(source, str(key)), value)
        for key in ("dataset", "models"):
            if key not in values:
                raise InvalidInput(f"{source}: expected the key {key!r}, which is not there.")
        if "selection" not in values and ("case_ids" in values or "case_numbers" in values["dataset"].options):
            values["selection"] = "first"
        config = cls(**values, written=dict(given))
        _require_consistent(config, source)
        return config

    def resolved(self) -> dict[str, Any]:
        """Return every setting as it is in force, plain and without a path: what a record keeps."""
        return {
            "dataset": {"name": self.dataset.name, "options": dict(self.dataset.options)},
            "models": [{"type": choice.type, "options": dict(choice.options)} for choice in self.models],
            **{name: _plain(getattr(self, name)) for name in _READERS if name not in _NOT_IN_RECORDS},
        }


#: Other words for a key that configs of today use.
_OTHER_NAMES = {"organs": "structures"}

#: Where things lie, and how many hands work: says nothing about the numbers.
_NOT_IN_RECORDS = ("dataset", "models", "cache_dir", "results_path", "jobs", "executor")


def read_config(path: str | os.PathLike[str]) -> RunConfig:
    """Read a config from YAML (or JSON, which is YAML)."""
    return RunConfig.from_dict(read_yaml(path, "a config"), source=Path(path).name)


@dataclass(frozen=True)
class _At:
    """Where in a config a value stands, for messages."""

    source: str
    key: str

    def expected(self, what: str, got: object) -> InvalidInput:
        """Return the error that says what should stand here."""
        return InvalidInput(f"{self.source}: {self.key} should be {what}, got {got!r}.")

    def inner(self, key: str) -> _At:
        """Return a place inside this one."""
        return _At(self.source, f"{self.key}.{key}")


def _dataset(at: _At, value: Any) -> DatasetChoice:
    if isinstance(value, str):
        return DatasetChoice(value)
    if not isinstance(value, Mapping) or "name" not in value:
        raise at.expected("a name, or a mapping with a name, such as {name: kits23, root: data/kits23}", value)
    root = value.get("root")
    options = {_text(at, key): part for key, part in value.items() if key not in ("name", "root")}
    return DatasetChoice(
        _text(at.inner("name"), value["name"]), None if root is None else _path(at.inner("root"), root), options
    )


def _models(at: _At, value: Any) -> tuple[ModelChoice, ...]:
    if not isinstance(value, list) or not value:
        raise at.expected("a list of models, such as [{type: totalsegmentator}]", value)
    return tuple(_model(at.inner(str(i + 1)), part) for i, part in enumerate(value))


def _model(at: _At, value: Any) -> ModelChoice:
    if isinstance(value, str):
        return ModelChoice(value)
    if not isinstance(value, Mapping) or "type" not in value:
        raise at.expected("a type, or a mapping with a type, such as {type: totalsegmentator, fast: true}", value)
    return ModelChoice(
        _text(at.inner("type"), value["type"]), {_text(at, key): part for key, part in value.items() if key != "type"}
    )


def _text(at: _At, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str):
        hint = ' (YAML takes no, yes, on, off for truth values: write it in quotes, as in "no")'
        raise at.expected("a text" + (hint if isinstance(value, bool) else ""), value)
    return value


def _texts(at: _At, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise at.expected("a list of names", value)
    return tuple(_text(at, part) for part in value)


def _ids(at: _At, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise at.expected("a list of case ids", value)
    return _texts(at, [str(part) if isinstance(part, int) and not isinstance(part, bool) else part for part in value])


def _path(at: _At, value: Any) -> Path:
    return Path(_text(at, value))


def _flag(at: _At, value: Any) -> bool:
    if not isinstance(value, bool):
        raise at.expected("true or false", value)
    return value


def _count(at: _At, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise at.expected("a whole number from 1 on", value)
    return value


def _seed(at: _At, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise at.expected("a whole number from 0 on", value)
    return value


def _number(at: _At, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise at.expected("a positive number", value)
    return float(value)


def _share(at: _At, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise at.expected("a number from 0 to 1", value)
    return float(value)


def _level(at: _At, value: Any) -> float:
    if not _share(at, value):
        raise at.expected("a number above 0 and below 1, such as 0.95", value)
    return float(value)


def _metrics(at: _At, value: Any) -> tuple[str, ...]:
    names = _texts(at, value)
    try:
        resolve_metrics(names)
    except UnknownMetric as error:
        raise InvalidInput(f"{at.source}: {at.key}: {error}") from error
    return names


def _numbers(at: _At, value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise at.expected("a mapping of names to numbers", value)
    return {_text(at, key): _number(at.inner(str(key)), part) for key, part in value.items()}


def _tolerance(at: _At, value: Any) -> float | str | dict[str, float]:
    if value == "dataset":
        return "dataset"
    return _numbers(at, value) if isinstance(value, Mapping) else _number(at, value)


def _one_of(*choices: str) -> Callable[[_At, Any], str]:
    def read(at: _At, value: Any) -> str:
        if value not in choices:
            raise InvalidInput(f"{at.source}: {at.key}: {unknown('choice', str(value), choices)}")
        return str(value)

    return read


def executor_name(name: str) -> str:
    """Return where predictions are made, or say what there is."""
    if name not in EXECUTORS and "://" not in name:
        raise InvalidInput(
            f"{unknown('executor', name, EXECUTORS)} A dask scheduler that is running already is an address such as "
            "'tcp://host:8786'."
        )
    return name


def _executor(at: _At, value: Any) -> str:
    name = _text(at, value)
    try:
        return executor_name(name)
    except InvalidInput as error:
        raise InvalidInput(f"{at.source}: {at.key}: {error}") from None


_READERS: dict[str, Callable[[_At, Any], Any]] = {
    "dataset": _dataset,
    "models": _models,
    "n_cases": _count,
    "case_ids": _ids,
    "selection": _one_of(*SELECTIONS),
    "stratify_by": _text,
    "structures": _texts,
    "metrics": _metrics,
    "nsd_tolerance": _tolerance,
    "resample": _one_of("nearest"),
    "confidence": _level,
    "interval": _one_of("auto", *METHODS),
    "n_resamples": _count,
    "seed": _seed,
    "margin": _numbers,
    "exposure_policy": _one_of(*EXPOSURE_POLICIES),
    "failed": _one_of("auto", "diagonal", "penalty", "last", "exclude"),
    "penalty": _number,
    "spot_check_dice": _share,
    "title": _text,
    "preview": _flag,
    "preview_label": _text,
    "device": _text,
    "timeout_s": _number,
    "memory_gb": _number,
    "jobs": _count,
    "executor": _executor,
    "cache_dir": _path,
    "results_path": _path,
}


def _require_consistent(config: RunConfig, source: str) -> None:
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
