"""The protocol of a result as a table, and as a paragraph for a methods section."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from segauge.metrics.catalog import CATALOG
from segauge.metrics.conventions import check_convention
from segauge.metrics.matching import detection_of
from segauge.report.floors import METHODS as NOISE_FLOORS
from segauge.report.references import Reference, references_for
from segauge.report.summary import Summary, policy_words
from segauge.stats import METHODS
from segauge.words import lesion_rules

#: Metrics that depend on which lesions match.
_MATCHED = re.compile(r"(lesion|det)_(tp|fp|fn|recall|precision|f1)|[sp]q")


def paragraph(summary: Summary) -> str:
    """Return how the numbers were computed, as a paragraph for a methods section."""
    result = summary.result
    versions = result.protocol.get("versions", {})
    options = result.protocol.get("options", {})
    release = f" {versions['segauge']}" if "segauge" in versions else ""
    names = _listed([_lower_first(info.name) for info in summary.metrics if "@" not in info.key])
    sentences = [
        f"Predictions were compared with the ground truth using segauge{release}.",
        f"We report {names}." if names else "",
        _surface_words(options) if any(info.needs == "surface" for info in result.metrics) else "",
        _tolerance_words(options) if any(info.key == "nsd" for info in result.metrics) else "",
        _matching_words(options) if any(_MATCHED.fullmatch(info.key) for info in result.metrics) else "",
        NOISE_FLOORS if summary.floors else "",
        _geometry_words(options),
        policy_words(result.policy),
        _interval_words(summary),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _lower_first(name: str) -> str:
    """Return a name as it is written within a sentence; acronyms and proper names (Dice, IoU) keep their capitals."""
    first = name.split(" ", 1)[0]
    return name if not first[1:].islower() or first in ("Dice", "Hausdorff") else name[0].lower() + name[1:]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


_SURFACES = {
    "marching-cubes": "marching-cubes surfaces",
    "voxel": "the outer faces of the voxels",
    "subvoxel": "sub-voxel surfaces (marching cubes with vertices placed by a Gaussian neighbourhood of the mask and, "
    "across thick slices, by the outlines in the slices)",
}


def _surface_words(options: Mapping[str, Any]) -> str:
    convention = check_convention(options.get("convention"))
    if convention is not None:
        return (
            f"Distances were computed as in {convention.tool}, between {convention.surface}; Hausdorff percentiles: "
            f"{convention.percentile}."
        )
    surface = options.get("surface", "marching-cubes")
    made = _SURFACES[surface]
    percentiles = (
        "the larger of the two directed values"
        if options.get("hd", "directed") == "directed"
        else "computed over both directions pooled"
    )
    return (
        f"Distances were computed between {made}, weighted by area, in physical units; Hausdorff percentiles are "
        f"{percentiles}."
    )


def _tolerance_words(options: Mapping[str, Any]) -> str:
    """Return the tolerance of each structure where they differ; one that all share is in the metric's name."""
    tolerance = options.get("nsd_tolerance_mm")
    if not isinstance(tolerance, Mapping) or len(set(tolerance.values())) < 2:
        return ""
    each = ", ".join(f"{name} {value:g} mm" for name, value in tolerance.items())
    return f"The tolerance of the {_lower_first(CATALOG['nsd'].name)} was {each}."


def _matching_words(options: Mapping[str, Any]) -> str:
    """Return what a lesion is and when it is found, by the rules of `evaluate`; "" where others measured."""
    return lesion_rules(**vars(detection_of(options))) if "detection_iou" in options else ""


def _geometry_words(options: Mapping[str, Any]) -> str:
    if options.get("trust_array"):
        return "Images were compared voxel by voxel; their headers were ignored."
    if options.get("resample"):
        how = f"{options['resample']} neighbour"
        return f"Predictions on another grid were resampled to the grid of the ground truth ({how})."
    return "Pairs whose grids differ by more than flips or the order of axes were rejected, not resampled."


def _interval_words(summary: Summary) -> str:
    if not summary.interval_methods:
        return "No intervals are given because there are too few cases."
    names = _listed([METHODS[key].name if key in METHODS else key for key in summary.interval_methods])
    result = summary.result
    random = any(METHODS[key].is_random for key in summary.interval_methods if key in METHODS)
    drawn = f" ({result.n_resamples} resamples of cases, seed {result.seed})" if random else ""
    return (
        f"Values are {result.statistic}s over cases with {100 * result.confidence:g} % confidence intervals "
        f"({names}{drawn}). They quantify case-sampling uncertainty, not retraining variability, and hold for failures "
        "no more frequent than observed; failures are reported with exact (Clopper-Pearson) limits."
    )


def citations(summary: Summary) -> tuple[Reference, ...]:
    """Return what to cite in addition to segauge."""
    agreement = ["bland1999"] if {"pred_volume", "gt_volume"} <= set(summary.result.metric_names) else []
    return references_for(summary.result.metrics, summary.interval_methods, others=agreement)


def protocol_rows(protocol: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the protocol as names and values; the files have a table of their own."""
    for section, content in protocol.items():
        if section == "files":
            continue
        if not isinstance(content, Mapping):
            yield section, str(content)
            continue
        for name, value in content.items():
            yield f"{section}.{name}", _value_text(value)


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_value_text(part)}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_value_text, value))
    return "not set" if value is None else str(value)


def file_rows(protocol: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Return per case the names and hashes of its files: case, prediction, its SHA-256, ground truth, its SHA-256."""
    rows = []
    for case, sides in protocol.get("files", {}).items():
        pred, gt = sides["pred"], sides["gt"]
        rows.append((case, pred["name"], pred["sha256"] or "", gt["name"], gt["sha256"] or ""))
    return rows
