"""The options of an evaluation, each written once, in four groups: Reading, Measuring, Summarising, Running.

Every field carries its help sentence, its flag, how text becomes its value, and whether a protocol records it. The
arguments and the docstring of `evaluate`, the flags of the command line, the keys of a protocol file, the protocol of
a result and what `verify` takes back are all made from these fields.
"""

from __future__ import annotations

import difflib
import inspect
import math
import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, get_args

from segauge.errors import InvalidInput, option
from segauge.geometry.patterns import SURFACES, SurfaceKind, check_surface
from segauge.io.gate import DEFAULT_LIMITS, UNTRUSTED_LIMITS, Limits
from segauge.labeling import Labeling
from segauge.measurement import checked_tolerance
from segauge.metrics.catalog import DEFAULT_METRICS, resolve_metrics
from segauge.metrics.conventions import CONVENTIONS, check_convention
from segauge.metrics.definitions.surfaces import FLOORED, noise_keys
from segauge.metrics.matching import Assignment, DetectionRules, MatchRule, detection_of
from segauge.metrics.surface import HdMode
from segauge.stats.estimation import require_method
from segauge.stats.intervals import METHODS
from segauge.stats.missing import AUTO, MissingPolicy
from segauge.stats.resampling import require_level, require_resamples, require_seed

#: Metrics of lesions that are measured next to the usual ones.
DETECTION_METRICS = ("det_f1", "det_precision", "det_recall")

#: Policies for failed, missing and absent cases that are chosen by name, each with what it does.
POLICIES: dict[str, tuple[MissingPolicy, str]] = {
    "strict": (AUTO, "failures count as the worst value, or rank last where there is none"),
    "metrics-reloaded": (MissingPolicy(absent="perfect"), "as strict, and agreeing on an absent structure is perfect"),
    "nnunet": (MissingPolicy(missing="exclude"), "as strict, but cases without a prediction are left out"),
    "exclude": (MissingPolicy("exclude", missing="exclude"), "failed and missing cases are left out and counted"),
}

Labels = int | str | Iterable[int | str]
StructureChoice = Labeling | Mapping[str, Labels] | Iterable[int | str] | str | os.PathLike[str]

#: Whether a protocol records an option: always, only where it is not the default, or never (no score depends on it).
Recorded = Literal["always", "if given", "never"]


@dataclass(frozen=True)
class Facts:
    """What is known of one option besides its default.

    Attributes:
        help: one sentence for the first line of its help; also its entry in the docstring of `evaluate`.
        metavar: what its value is called in help; "" for a switch or where there are choices.
        choices: the words that it can be.
        read: makes its value from the text of a flag or of a protocol file.
        flag: of the command line; "" if the command line builds this value from other flags.
        is_first: True if the first screen of help shows it.
        recorded: whether the protocol of a result has it.
        key: its key in that protocol, where this is not its name.

    """

    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    read: Callable[[str], Any] | None = None
    flag: str = ""
    is_first: bool = False
    recorded: Recorded = "always"
    key: str = ""


def _option(default: Any, help: str, **facts: Any) -> Any:  # noqa: A002 - the word of argparse
    return field(default=default, metadata={"facts": Facts(help, **facts)})


def facts_of(one: Field[Any]) -> Facts:
    """Return the facts of an option."""
    found: Facts = one.metadata["facts"]
    return found


# Text to values: used for flags and for text in a protocol file.


def _numbers(text: str, expected: str, is_right: Callable[[float], bool]) -> tuple[float, ...]:
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(map(is_right, found)):
        raise InvalidInput(f"expected {expected}, got {text!r}")
    return found


def number_above_zero(text: str) -> float:
    """Return a positive number, such as seconds."""
    return _numbers(text, "a number above 0", lambda value: 0 < value < math.inf)[0]


def probability(text: str) -> float:
    """Return a probability above 0 and up to 1."""
    return _numbers(text, "a probability above 0 and up to 1", lambda value: 0 < value <= 1)[0]


def share(text: str) -> float:
    """Return a number above 0 and up to 1, such as an overlap."""
    return _numbers(text, "a number above 0 and up to 1", lambda value: 0 < value <= 1)[0]


def whole_number(text: str) -> int:
    """Return a whole number."""
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(f"expected a whole number, got {text!r}") from None


def count(text: str) -> int:
    """Return a whole number of at least 1."""
    if (value := whole_number(text)) < 1:
        raise InvalidInput(f"expected a whole number of at least 1, got {value}")
    return value


def metric_keys(text: str) -> str | list[str]:
    """Return the keys of metrics in a text such as "dice,hd95,nsd@2", or "all"."""
    if text == "all":
        return text
    keys = [part.strip() for part in text.split(",")]
    resolve_metrics(keys)
    return keys


def tolerances(text: str) -> float | dict[str, float]:
    """Return a tolerance in mm, or one per structure from NAME=MM,NAME=MM."""
    try:
        pairs = [part.rpartition("=") for part in text.split(",")]
        found = {name.strip(): float(value) for name, _, value in pairs}
        if len(found) < len(pairs) or not all(0 <= tolerance < math.inf for tolerance in found.values()):
            raise ValueError
        if "=" not in text:
            return found[""]
        if all(found):
            return found
        raise ValueError
    except ValueError:
        raise InvalidInput(f"expected MM or NAME=MM,NAME=MM, each of 0 or more, got {text!r}.") from None


def spacing(text: str) -> float | tuple[float, ...]:
    """Return voxel edges in mm from MM or MM,MM,MM."""
    expected = "MM or MM,MM,MM, each above 0"
    edges = _numbers(text.replace("x", ","), expected, lambda edge: 0 < edge < math.inf)
    return edges[0] if len(edges) == 1 else edges


def _level(text: str) -> float:
    require_level(value := float(text))
    return value


def _resamples(text: str) -> int:
    require_resamples(value := whole_number(text))
    return value


def _seed(text: str) -> int:
    require_seed(value := whole_number(text))
    return value


def _one_of(name: str, value: object, known: Sequence[object]) -> None:
    if value not in known:
        raise InvalidInput(f"{name}: expected {' or '.join(map(repr, known))}, got {value!r}.")


@dataclass(frozen=True)
class Reading:
    """How files are read, and how a prediction is brought to the grid of its ground truth."""

    segment_number: int | None = _option(
        None,
        "segment of DICOM-SEG files, where neither structures nor a label are named (1 where a file holds one)",
        metavar="N",
        read=whole_number,
        flag="--segment-number",
    )
    resample: Literal["nearest"] | None = _option(
        None,
        "resample predictions that lie on another grid (otherwise they are refused)",
        choices=("nearest",),
        flag="--resample",
    )
    trust_array: bool = _option(False, "compare voxel by voxel, whatever the headers contain", flag="--trust-array")
    any_frame_of_reference: bool = _option(
        False, "compare DICOM files of different frames of reference", flag="--any-frame-of-reference"
    )
    threshold: float | None = _option(
        None,
        "take predicted probabilities of at least this value as foreground; ground truths hold labels",
        metavar="P",
        read=probability,
        flag="--threshold",
    )
    max_voxels: int = _option(
        DEFAULT_LIMITS.max_voxels, "largest image that is read", metavar="N", read=count, flag="--max-voxels"
    )
    frame: int | None = _option(
        None, "which volume of a time series, from 0", metavar="N", read=whole_number, flag="--frame"
    )
    nan: Literal["refuse", "background"] = _option(
        "refuse",
        "refuse images with NaN or infinite voxels, or take these as background",
        choices=("refuse", "background"),
        flag="--nan",
    )
    allow_nonuniform: bool = _option(
        False,
        "fill contours also on a tilted series, or one whose slices are unevenly spaced",
        flag="--allow-nonuniform",
    )

    untrusted: bool = _option(
        False,
        "predictions come from untrusted sources: refuse links, keep limits low, print ids in quotes, and repeat no "
        "text of a prediction's header",
        flag="--untrusted",
        recorded="if given",
    )

    def limits(self, *, of_pred: bool) -> Limits:
        """Return what a file may ask for: less where it is the prediction of a stranger."""
        if self.untrusted and of_pred:
            return replace(UNTRUSTED_LIMITS, max_voxels=min(self.max_voxels, UNTRUSTED_LIMITS.max_voxels))
        return Limits(max_voxels=self.max_voxels)

    def __post_init__(self) -> None:
        """Refuse what would fail in every case, once and before the first."""
        _one_of("resample", self.resample, (None, "nearest"))
        _one_of("nan", self.nan, ("refuse", "background"))
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InvalidInput(f"threshold: expected a finite number, got {self.threshold!r}.")


@dataclass(frozen=True)
class Measuring:
    """What is measured, and by which definitions."""

    structures: StructureChoice | None = _option(
        None,
        "names, label values (1,2,3), names with labels (kidneys=1+2,tumor=3), the path of a dataset.json or YAML "
        'file, "all" for every label that occurs in a ground truth, or "foreground" for all that is not 0. By default '
        "the foreground in Python; on the command line what a dataset.json declares, each label where the ground truth "
        "holds several, and the foreground otherwise",
        metavar="WHAT",
        read=str,
        flag="--structures",
        is_first=True,
        recorded="never",
    )
    pred_structures: Mapping[str, Labels] | Labeling | None = _option(
        None,
        "the same structures where predictions number or name their labels otherwise (kidneys=7+8,tumor=Tumor)",
        metavar="WHAT",
        read=str,
        flag="--pred-structures",
        recorded="never",
    )
    label: int | None = _option(
        None, "measure only this label", metavar="N", read=whole_number, flag="--label", recorded="never"
    )
    allow_absent: bool = _option(
        False,
        "take a named structure that occurs in no ground truth for absent everywhere, instead of refusing",
        recorded="never",
    )
    ignore: int | None = _option(
        None,
        "ground-truth label whose voxels are left out",
        metavar="N",
        read=whole_number,
        flag="--ignore",
        recorded="never",
    )
    metrics: str | Iterable[str] | None = _option(
        None,
        'keys such as dice,hd95,nsd@2, or "all"; `segauge explain KEY` defines each '
        f"(default: {', '.join(DEFAULT_METRICS)})",
        metavar="KEYS",
        read=metric_keys,
        flag="--metrics",
        is_first=True,
        recorded="never",
    )
    detection: bool = _option(
        False,
        "measure the detection of lesions (connected components), too: an organ with stray voxels is no lesion",
        flag="--detection",
        recorded="never",
    )
    noise_floor: bool = _option(
        False,
        "measure also how much dice, hd, hd95, assd, masd and nsd, where they are measured, change with the position "
        "of the voxel grid (takes about as long as 16 measurements)",
        flag="--noise-floor",
        recorded="never",
    )
    nsd_tolerance: float | Mapping[str, float] = _option(
        1.0,
        "tolerance of the normalised surface distance in mm, one number or one per structure (NAME=MM,NAME=MM)",
        metavar="MM",
        read=tolerances,
        flag="--nsd-tolerance",
        key="nsd_tolerance_mm",
    )
    surface: SurfaceKind = _option(
        "marching-cubes",
        "what distances are measured between: halfway between voxel centres (marching-cubes), the faces of voxels "
        "(voxel), or where the neighbourhood puts the boundary (subvoxel)",
        choices=SURFACES,
        flag="--surface",
    )
    hd: HdMode = _option(
        "directed",
        "percentiles of the Hausdorff distance: the larger of both directions (directed), or of both surfaces together "
        "(pooled)",
        choices=get_args(HdMode),
        flag="--hd",
    )
    convention: str | None = _option(
        None,
        "measure surfaces as this tool does (see `segauge explain hd95`)",
        choices=("segauge", *CONVENTIONS),
        flag="--convention",
        recorded="if given",
    )
    detection_iou: float = _option(
        0.1,
        "IoU from which a lesion counts as found; panoptic quality has its own threshold (`pq` 0.5, `pq@0.3`)",
        metavar="IOU",
        read=share,
        flag="--detection-iou",
    )
    detection_match: MatchRule = _option(
        "iou",
        "what makes a predicted lesion match: its IoU, one shared voxel (overlap), or its centroid in the lesion",
        choices=get_args(MatchRule),
        flag="--detection-match",
        recorded="if given",
    )
    detection_assign: Assignment = _option(
        "greedy",
        "who gets whom among matching lesions: one to one by the highest IoU (greedy) or by the greatest sum of IoUs "
        "(optimal), or several predicted lesions to one (many-to-one)",
        choices=get_args(Assignment),
        flag="--detection-assign",
        recorded="if given",
    )
    detection_connectivity: int | None = _option(
        None,
        "neighbours that make voxels one lesion: 6, 18 or 26, in 2-D 4 or 8 (default: those that share a face)",
        metavar="N",
        read=whole_number,
        flag="--detection-connectivity",
        recorded="if given",
    )
    detection_min_volume_ml: float | None = _option(
        None,
        "leave out ground-truth lesions smaller than this",
        metavar="ML",
        read=number_above_zero,
        flag="--detection-min-volume-ml",
        recorded="if given",
    )

    def __post_init__(self) -> None:
        """Refuse what would fail in every case, once and before the first."""
        check_surface(self.surface)
        _one_of("hd", self.hd, get_args(HdMode))
        check_convention(self.convention)
        self.detection_rules()
        object.__setattr__(self, "nsd_tolerance", checked_tolerance(self.nsd_tolerance))

    def detection_rules(self) -> DetectionRules:
        """Return which lesions count, and when one counts as found."""
        return detection_of(vars(self))

    def metric_keys(self) -> tuple[str, ...]:
        """Return the keys of the metrics that were asked for, or of the usual ones; perhaps with noise floors."""
        usual = (*DEFAULT_METRICS, *(DETECTION_METRICS if self.detection else ()))
        keys = tuple(info.key for info in resolve_metrics(usual if self.metrics is None else self.metrics))
        if not keys:
            raise InvalidInput("metrics: expected at least one metric, got none; leave it out for the usual ones.")
        floors = noise_keys(keys) if self.noise_floor else ()
        if self.noise_floor and not floors:
            raise InvalidInput(
                f"{option('noise_floor')} needs one of {', '.join(FLOORED)} among the metrics, got {', '.join(keys)}."
            )
        return (*keys, *(key for key in floors if key not in keys))


@dataclass(frozen=True)
class Summarising:
    """How the scores of cases become estimates with intervals."""

    confidence: float = _option(
        0.95, "level of intervals and verdicts", metavar="P", read=_level, flag="--level", recorded="never"
    )
    n_resamples: int = _option(
        2000, "bootstrap resamples", metavar="N", read=_resamples, flag="--n-resamples", recorded="never"
    )
    seed: int = _option(0, "seed of the resampling", metavar="N", read=_seed, flag="--seed", recorded="never")
    policy: MissingPolicy = _option(AUTO, "what cases without a number count as in summaries", recorded="never")
    ci: str = _option(
        "auto",
        f"interval method: {', '.join(METHODS)}; a metric that it is not made for has the default, half-case for a "
        "mean and exact for a median",
        metavar="NAME",
        choices=("auto", *METHODS),
        flag="--ci",
        is_first=True,
        recorded="never",
    )
    statistic: Literal["mean", "median"] = _option(
        "mean",
        "what summarises the cases",
        choices=("mean", "median"),
        flag="--statistic",
        is_first=True,
        recorded="never",
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be summarised, before anything is measured."""
        require_level(self.confidence)
        require_resamples(self.n_resamples)
        require_seed(self.seed)
        require_method(self.ci, self.statistic)
        if not isinstance(self.policy, MissingPolicy):
            raise InvalidInput(
                f'policy: expected a MissingPolicy, such as MissingPolicy(failed="worst"), got {self.policy!r}.'
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the part of a protocol that is about summaries."""
        return asdict(self)


@dataclass(frozen=True)
class Running:
    """Where and how cases are run; no score depends on it."""

    jobs: int | None = _option(None, "worker processes", metavar="N", read=count, flag="--jobs", recorded="never")
    executor: Any = _option(
        None,
        '"serial", "processes", "dask", the address of a dask scheduler, or (in Python) a dask client',
        metavar="WHERE",
        read=str,
        flag="--executor",
        recorded="never",
    )
    timeout: float | None = _option(
        None,
        "seconds for one case, which then counts as failed; needs processes",
        metavar="S",
        read=number_above_zero,
        flag="--timeout",
        recorded="never",
    )
    cache: str | os.PathLike[str] | None = _option(
        None, "folder that keeps finished cases", metavar="FOLDER", read=str, flag="--cache", recorded="never"
    )
    progress: bool = _option(False, "show a progress bar", recorded="never")
    on_error: Literal["record", "raise"] = _option(
        "record", '"record" failures, or "raise" the first one', choices=("record", "raise"), recorded="never"
    )

    def __post_init__(self) -> None:
        """Refuse what no case can be run with."""
        _one_of("on_error", self.on_error, ("record", "raise"))


class Options(NamedTuple):
    """All options of an evaluation."""

    reading: Reading
    measuring: Measuring
    summarising: Summarising
    running: Running


GROUPS: tuple[type[Any], ...] = (Reading, Measuring, Summarising, Running)
#: Every option by its name.
OPTIONS: dict[str, Field[Any]] = {one.name: one for group in GROUPS for one in fields(group)}


def options_of(given: Mapping[str, Any], base: Options | None = None) -> Options:
    """Return the four groups with the options that are given by name; all others as in `base`, or at their defaults.

    Raises:
        InvalidInput: if there is no such option, or a value cannot be used.

    """
    for name in given:
        require_known(name)
    made = [
        group(**{
            one.name: given.get(one.name, one.default if before is None else getattr(before, one.name))
            for one in fields(group)
        })
        for group, before in zip(GROUPS, base or (None,) * len(GROUPS), strict=True)
    ]  # fmt: skip
    return Options(*made)


def require_known(name: str, what: str = "option") -> None:
    """Refuse a name that no option has, and suggest the one that was probably meant."""
    if name not in OPTIONS:
        close = difflib.get_close_matches(name, OPTIONS, n=1)
        advice = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(OPTIONS)}."
        raise InvalidInput(f"There is no {what} {name!r}. {advice}")


def recorded(*groups: Any) -> dict[str, Any]:
    """Return the options of some groups that a protocol records, by their keys there."""
    found: dict[str, Any] = {}
    for group in groups:
        for one in fields(group):
            facts, value = facts_of(one), getattr(group, one.name)
            if facts.recorded == "always" or (facts.recorded == "if given" and value != one.default):
                found[facts.key or one.name] = value
    return found


def recorded_names() -> dict[str, str]:
    """Return the names of the options that a protocol records, by their keys there."""
    return {facts_of(one).key or name: name for name, one in OPTIONS.items() if facts_of(one).recorded != "never"}


def signature(of: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function whose `**options` are those of this module, each spelled out."""
    own = inspect.signature(of)
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
        for name, one in OPTIONS.items()
    ]
    kept = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    return own.replace(parameters=[*kept, *named])


def argument_lines() -> Iterator[str]:
    """Yield the lines of a docstring that describe each option."""
    for name, one in OPTIONS.items():
        yield textwrap.fill(f"{name}: {facts_of(one).help}.", 118, initial_indent=" " * 8, subsequent_indent=" " * 12)
