"""The catalog of metrics: what there is, and how a user's words are looked up in it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import replace
from types import MappingProxyType

from segauge.errors import UnknownMetric
from segauge.metrics.definitions import centerline, counts, lesions, noise, surfaces
from segauge.metrics.foreign import ALIASES, FOREIGN
from segauge.metrics.own import own_metric
from segauge.scores import MetricInfo

#: All metrics by key, in the order in which tables show them.
CATALOG = MappingProxyType(
    {
        info.key: info
        for info in (
            *counts.OVERLAP,
            *surfaces.SURFACE,
            *counts.VOLUME,
            *lesions.DETECTION,
            *lesions.PANOPTIC,
            *lesions.VOLUMES,
            *lesions.LESIONWISE,
            *centerline.CENTERLINE,
        )
    }
)

#: Metrics with a free part in their key.
FAMILIES = (*counts.FAMILIES, *surfaces.FAMILIES, *lesions.FAMILIES, *noise.FAMILIES)

#: What some metrics were called in segauge 0.1; a table that is asked for one has a column of that name.
FORMER_NAMES = MappingProxyType(
    {"det_f1": "lesion_f1", "det_precision": "lesion_precision", "det_recall": "lesion_recall"}
)

#: What is measured if nobody says otherwise.
DEFAULT_METRICS = (
    "dice",
    "iou",
    "sensitivity",
    "precision",
    "hd",
    "hd95",
    "assd",
    "masd",
    "nsd",
    "pred_volume",
    "gt_volume",
    "relative_volume_difference",
)


def metric(key: str) -> MetricInfo:
    """Return a metric by its key; the end of keys such as "hd97.5", "nsd@2", "fbeta@0.5" is free."""
    if key in CATALOG:
        return CATALOG[key]
    if key in FORMER_NAMES:
        return replace(CATALOG[FORMER_NAMES[key]], key=key)
    for family in FAMILIES:
        match = family.pattern.fullmatch(key)
        if match:
            try:
                return replace(family.make(match.group(1)), key=key)
            except ValueError as error:
                raise UnknownMetric(f"No metric {key!r}: {error}, such as {family.example!r}.") from None
    if (found := own_metric(key)) is not None:
        return found
    close = difflib.get_close_matches(key, CATALOG, n=3)
    hint = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
    families = ", ".join(repr(family.example) for family in FAMILIES)
    raise UnknownMetric(f"No metric {key!r}. {hint}There are {', '.join(CATALOG)}; and such as {families}.")


def called(key: str, among: Collection[str]) -> str:
    """Return what a metric is called among some keys: as it is, or by its former name; as it is if not there at all."""
    names = [name for pair in FORMER_NAMES.items() if key in pair for name in pair]
    return next((name for name in (key, *names) if name in among), key)


def described(key: str) -> MetricInfo | None:
    """Return the facts of a metric by any name that tables use for it, in any case of letters; None if it is unknown.

    Unlike `metric` this also knows other tools' names and the metrics that only they compute; a parameter after "@"
    that the catalog has no family for changes nothing ("dsc@0.5").
    """
    plain = key.strip().lower()
    for name in (plain, plain.split("@", 1)[0]):
        if name in FOREIGN:
            return FOREIGN[name]
        try:
            return metric(ALIASES.get(name, name))
        except UnknownMetric:
            continue
    return None


def is_in_mm(info: MetricInfo) -> bool:
    """Say whether a metric depends on the size of a voxel: a distance, a boundary of some width, a least volume."""
    return info.unit in ("mm", "ml") or info.needs in ("surface", "band") or info.key.startswith("lesionwise_")


def resolve_metrics(keys: str | MetricInfo | Iterable[str | MetricInfo] | None) -> tuple[MetricInfo, ...]:
    """Return the metrics a user asked for: keys, metrics of one's own, "all", or None for the default ones."""
    if keys is None:
        return tuple(CATALOG[key] for key in DEFAULT_METRICS)
    if keys == "all":
        return tuple(CATALOG.values())
    asked = (keys,) if isinstance(keys, (str, MetricInfo)) else keys
    found = [_usable(one) if isinstance(one, MetricInfo) else metric(one) for one in asked]
    return tuple({info.key: info for info in found}.values())


def _usable(info: MetricInfo) -> MetricInfo:
    """Return a metric of one's own; one whose key the catalog has would be shown under that one's name."""
    if info.key in CATALOG and CATALOG[info.key] is not info:
        raise UnknownMetric(f"The catalog has a metric {info.key!r} already; give yours another key.")
    return info
