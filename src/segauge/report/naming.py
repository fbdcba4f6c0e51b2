"""Names of metrics as a reader sees them: a number that depends on a tolerance has it beside its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from segauge.evaluation import EvaluationResult
from segauge.scores import MetricInfo


def tolerance_words(info: MetricInfo, protocol: Mapping[str, Any], structure: str | None = None) -> str:
    """Return the tolerance of a metric, "at 2 mm"; "" where it has none or the protocol does not say.

    Where structures have different ones it is that of the structure, "(tolerance per structure)" for all.
    """
    given = protocol.get("options", {}).get("nsd_tolerance_mm")
    if not info.takes_tolerance or given is None:
        return ""
    if not isinstance(given, Mapping):
        return f"at {given:g} mm"
    if structure in given:
        return f"at {given[structure]:g} mm"
    different = sorted(set(given.values()))
    return f"at {different[0]:g} mm" if len(different) == 1 else "(tolerance per structure)"


def named(info: MetricInfo, protocol: Mapping[str, Any], structure: str | None = None) -> MetricInfo:
    """Return a metric with its tolerance in its name: "Normalized surface Dice at 2 mm"."""
    words = tolerance_words(info, protocol, structure)
    return replace(info, name=f"{info.name} {words}") if words else info


def named_metrics(result: EvaluationResult) -> tuple[MetricInfo, ...]:
    """Return the metrics of a result by the names that a reader sees."""
    return tuple(named(info, result.protocol) for info in result.metrics)
