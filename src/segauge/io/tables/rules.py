"""Rules: how the scores of a result file were measured, and whether two of them may be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from segauge.metrics.catalog import described, is_in_mm
from segauge.metrics.matching import DETECTION_OPTIONS
from segauge.plural import counted
from segauge.scores import MetricInfo

#: Cases that are named one by one.
_NAMED = 5

#: Options that say how the predictions of a model were read and placed: theirs to differ in, but to be told.
_OF_PREDICTIONS = ("pred_structures", "resample", "trust_array")


@dataclass(frozen=True)
class Rules:
    """How the scores of one file were measured, as its protocol says.

    Attributes:
        options: what the numbers depend on beside the files.
        ground_truths: hash of each case's ground truth; of those that could be read.
        spacings: voxel edges in mm of each case, where some were told in place of the file's.

    """

    options: Mapping[str, Any]
    ground_truths: Mapping[str, str] = field(default_factory=dict)
    spacings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class RuleDifferences:
    """In what results differ: `rules` make their numbers incomparable; `readings` are the models' own affair."""

    rules: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()


#: Rules by the name of their model; a model has several where several files hold its scores.
NamedRules = Sequence[tuple[str, Rules]]


def rules_of(data: Mapping[str, Any]) -> Rules | None:
    """Return the rules that a result file states, None for one that has no protocol."""
    protocol = data.get("protocol")
    if not protocol:
        return None
    files = protocol.get("files", {})
    return Rules(
        dict(protocol.get("options", {})),
        {case: str(sides["gt"]["sha256"]) for case, sides in files.items() if sides["gt"]["sha256"]},
        {case: sides["spacing"] for case, sides in files.items() if sides.get("spacing") is not None},
    )


def rule_differences(named: NamedRules, structures: Iterable[str], metrics: Iterable[str]) -> RuleDifferences:
    """Return in what the rules of some results differ, as far as it affects these structures and metrics.

    A file that does not say how it was measured is not among them: nothing is claimed of it.
    """
    infos = [info for key in metrics if (info := described(key)) is not None]
    names = list(structures)
    known = [(name, rules.options) for name, rules in named if rules.options]
    aspects = [(name, dict(_aspects(options, names, infos))) for name, options in known]
    readings = [(name, {key: _words(options.get(key)) for key in _OF_PREDICTIONS}) for name, options in known]
    per_case = _ground_truths(named) + (_spacings(named) if any(map(is_in_mm, infos)) else [])
    return RuleDifferences((*_unlike(aspects), *per_case), tuple(_unlike(readings)))


def _aspects(
    options: Mapping[str, Any], structures: Sequence[str], infos: Sequence[MetricInfo]
) -> Iterator[tuple[str, str]]:
    """Yield what numbers depend on, in words: of these structures and metrics, and as far as it is known."""
    chosen = options.get("structures")
    for name in structures:
        if labels := _labels(chosen, name):
            yield f"labels of {name}", labels
    yield "ignore", _words(options.get("ignore"))
    yield "frame", _words(options.get("frame"))
    if chosen == "foreground":
        yield "segment_number", _words(options.get("segment_number"))
    if options.get("threshold") is not None:  # one prediction holds labels, the other probabilities
        yield "threshold", _words(options["threshold"])
    needs = {info.needs for info in infos}
    if needs & {"surface", "band"}:
        yield "surface", _words(options.get("surface"))
    if "surface" in needs:
        yield "convention", _words(options.get("convention") or "segauge")
    if any(info.key.startswith("hd") and info.key != "hd" for info in infos):
        yield "hd", _words(options.get("hd"))
    if any(info.key in ("nsd", "biou") for info in infos):
        for name in structures:
            yield f"nsd_tolerance of {name}", f"{_words(_of_structure(options.get('nsd_tolerance_mm'), name))} mm"
    if any(info.needs == "lesions" and not is_in_mm(info) for info in infos):
        yield "detection_iou", _words(options.get("detection_iou"))
        for key, default in DETECTION_OPTIONS.items():
            if key != "detection_iou" and options.get(key, default) != default:
                yield key, _words(options[key])


def _labels(chosen: object, structure: str) -> str:
    """Return the labels that make a structure, "" where the options do not say it: names, which files number."""
    if chosen == "all":
        found: object = structure.removeprefix("label ")
    else:
        found = "+".join(map(str, chosen.get(structure, ()))) if isinstance(chosen, Mapping) else ""
    text = str(found)
    return "+".join(sorted(text.split("+"), key=int)) if text.replace("+", "").isdecimal() else ""


def _of_structure(value: object, structure: str) -> object:
    return value.get(structure) if isinstance(value, Mapping) else value


def _unlike(found: Sequence[tuple[str, Mapping[str, str]]]) -> Iterator[str]:
    """Yield every aspect that has several values, with the models of each."""
    for aspect in dict.fromkeys(key for _, aspects in found for key in aspects):
        models: dict[str, dict[str, None]] = {}
        for name, aspects in found:
            if aspect in aspects:
                models.setdefault(aspects[aspect], {})[name] = None
        if len(models) > 1:
            yield f"{aspect}: " + ", ".join(f"{value} ({' and '.join(names)})" for value, names in models.items())


def _ground_truths(named: NamedRules) -> list[str]:
    return _differing_cases("ground truth", [rules.ground_truths for _, rules in named])


def _spacings(named: NamedRules) -> list[str]:
    """Say where voxel edges were told, and others elsewhere; what was not told is what the file says."""
    told = [{case: _edges(rules.spacings.get(case)) for case in rules.ground_truths} for _, rules in named]
    return _differing_cases("spacing", told)


def _differing_cases(what: str, found: Sequence[Mapping[str, str]]) -> list[str]:
    values: dict[str, set[str]] = {}
    for one in found:
        for case, value in one.items():
            values.setdefault(case, set()).add(value)
    cases = [case for case, several in values.items() if len(several) > 1]
    shown = ", ".join(cases[:_NAMED]) + (" ..." if len(cases) > _NAMED else "")
    return [f"{what}: not the same in {counted(len(cases), 'case')} ({shown})"] if cases else []


def _edges(spacing: object) -> str:
    edges = list(map(_words, spacing if isinstance(spacing, (list, tuple)) else [spacing]))
    return " x ".join(edges[:1] if len(set(edges)) == 1 else edges)


def _words(value: object) -> str:
    if value is None or value is False:
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={'+'.join(map(str, labels))}" for key, labels in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
