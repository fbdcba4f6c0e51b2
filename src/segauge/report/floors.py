"""Sentences about noise floors: the differences that the position of the voxel grid alone can cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from segauge.digits import with_unit
from segauge.metrics.noise import GRIDS
from segauge.plural import counted
from segauge.scores import MetricInfo
from segauge.stats.noise_floors import Floor

#: The hint at a noise floor.
HINT = (
    f"Smaller differences between two values of one case can be due to the position of the voxel grid alone (95 %): "
    f"2.8 times the standard deviation over {GRIDS} positions of the grid, root mean square over the cases."
)
MEAN_HINT = "The same for two means over these cases, whose grids are independent."
#: The same for a methods section.
METHODS = (
    f"The noise floor of a metric is 1.96 times the square root of 2 times its standard deviation over {GRIDS} grids "
    "shifted by up to half a voxel, root mean square over the cases. On each grid both objects were drawn again, with "
    "the boundary estimated from a Gaussian neighbourhood of their masks."
)
#: What the floor of a difference between two models is, and how the figure of differences shows it.
DIFFERENCE_HINT = (
    "A difference between the means of two models is below the noise floor if shifted voxel grids alone can cause it "
    "(95 %, with independent noise of both models)."
)
FLOOR_BARS = " Grey bars: differences below the noise floor, which shifted voxel grids alone can cause."

#: Structures that a sentence names one by one; of more, those with the lowest and the highest floor.
_MOST_NAMED = 3


def amount(value: float, unit: str) -> str:
    """Return a floor with its unit, two significant digits and no exponent."""
    digits = f"{value:.2g}" if value >= 1e-4 or value == 0 else "0.0001"
    number = f"{float(digits):.0f}" if value >= 100 else digits
    return with_unit(number, unit)


def floor_range(info: MetricInfo, floors: Mapping[str, Mapping[str, Floor]]) -> str:
    """Return the floor of one case, "0.08 mm"; over several structures "0.08 to 0.21 mm"; "" where none is known."""
    known = sorted(x for found in floors.values() if info.key in found and (x := found[info.key].one_case) is not None)
    if not known:
        return ""
    low, high = amount(known[0], "1"), amount(known[-1], info.unit)
    return high if low == amount(known[-1], "1") else f"{low} to {high}"


def floor_sentences(metrics: Sequence[MetricInfo], floors: Mapping[str, Mapping[str, Floor]]) -> list[str]:
    """Return below which differences each metric means nothing, and of which structures that is not known."""
    lines = []
    for info in metrics:
        found = {name: kept[info.key] for name, kept in floors.items() if info.key in kept}
        cases = {name: x for name, floor in found.items() if (x := floor.one_case) is not None}
        if cases:
            lines.append(
                f"{info.name}: differences below {_named(cases, info.unit)} are within the noise floor at this spacing."
            )
    if lines:
        lines.append(
            "The position of the voxel grid alone changes the values of one case by this much; means over n cases "
            "change less, by the square root of n."
        )
    return [*lines, *unknown_sentences(metrics, floors)]


def unknown_sentences(metrics: Iterable[MetricInfo], floors: Mapping[str, Mapping[str, Floor]]) -> list[str]:
    """Return in how many cases of which structures a floor is not known, and why."""
    unknown: dict[tuple[str, int, tuple[str, ...]], list[str]] = {}
    for info in metrics:
        for name, kept in floors.items():
            if info.key in kept and kept[info.key].n_unknown:
                where = (name, kept[info.key].n_unknown, kept[info.key].reasons)
                unknown.setdefault(where, []).append(info.name)
    return [_unknown_words(where, names) for where, names in unknown.items()]


def _unknown_words(where: tuple[str, int, tuple[str, ...]], metrics: list[str]) -> str:
    structure, count, reasons = where
    cases, why = counted(count, "case"), f": {'; '.join(reasons[:3])}" if reasons else ""
    return f"Without a noise floor of {', '.join(metrics)}: {cases} of {structure}{why}."


def unknown_text(floor: Floor) -> str:
    """Return in how many cases a floor is not known, and why."""
    return f"{counted(floor.n_unknown, 'case')}{': ' if floor.reasons else ''}{'; '.join(floor.reasons[:3])}"


def _named(values: Mapping[str, float], unit: str) -> str:
    """Return the values with the structures they belong to; the bare value of a single one."""
    if len(values) == 1:
        return amount(next(iter(values.values())), unit)
    order = sorted(values, key=lambda name: values[name])
    if len(order) > _MOST_NAMED:
        low, high = order[0], order[-1]
        return f"{amount(values[low], unit)} ({low}) to {amount(values[high], unit)} ({high})"
    parts = [f"{amount(values[name], unit)} ({name})" for name in order]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
