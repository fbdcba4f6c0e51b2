"""The gap between two groups of cases, held against another column: men and women of the same age, on one scanner.

A raw gap mixes what the group does with what else differs between the groups. Within strata of the other column only
like is compared with like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.stats.estimation import Estimate, estimate_columns
from segauge.stats.gaps import contributions

Flags = npt.NDArray[np.bool_]

#: A stratum needs this many cases of each group: one case has no spread.
FEWEST_IN_STRATUM = 2


@dataclass(frozen=True)
class StratifiedGap:
    """The mean difference of two groups (a - b) within strata.

    Attributes:
        gap: weighted mean of the differences within strata, with its interval.
        n_a, n_b: cases of the two groups that were compared.
        strata: names of the strata with enough cases of both.
        left_out: cases of either group in strata without enough of the other, or without a stratum.
        failed: cases of either group that failed and have no value (infinity), so that they are in no mean.

    """

    gap: Estimate
    n_a: int
    n_b: int
    strata: tuple[str, ...]
    left_out: int
    failed: int = 0


def stratified_gap(
    values: npt.ArrayLike,
    in_a: Sequence[bool] | Flags,
    in_b: Sequence[bool] | Flags,
    strata: Sequence[str | None] | None = None,
    *,
    level: float = 0.95,
    cluster: Sequence[object] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    name: str = "",
    bounds: tuple[float, float] | None = None,
) -> StratifiedGap:
    """Return the difference of two groups' means, compared within strata.

    Strata weigh n_a n_b / (n_a + n_b), which makes the pooled difference the most precise one where spreads are alike.
    Every case enters once, with what it adds to the pooled difference (linearised, corrected for the small sizes of
    cells), so that the interval is half-case over cases, or over patients with `cluster`; a case in both groups
    adds to both.

    Args:
        values: one score per case; NaN is left out, infinity is a failure without a value, which is counted.
        in_a: which cases are in the first group.
        in_b: which are in the second.
        strata: one label per case, None where unknown; without strata the plain difference.
        level: of the interval.
        cluster: one label per case; cases of one label are resampled together.
        n_resamples: of the interval.
        seed: of the interval.
        name: whose scores these are.
        bounds: ends of the scale, which limit what two means can differ by.

    """
    data = np.asarray(values, dtype=np.float64).ravel()
    labels = [""] * data.size if strata is None else list(strata)
    if not len(in_a) == len(in_b) == len(labels) == data.size:
        given = f"{len(in_a)}, {len(in_b)}, {len(labels)}"
        raise InvalidInput(f"Expected groups and strata for {data.size} cases, got {given}.")
    a, b = (np.asarray(flags, dtype=bool) & np.isfinite(data) for flags in (in_a, in_b))
    cells = _cells(a, b, labels)
    used_a, used_b = _joined([one for one, _ in cells.values()], a), _joined([two for _, two in cells.values()], b)
    left_out = int(((a | b) & ~(used_a | used_b)).sum())
    sizes = int(used_a.sum()), int(used_b.sum())
    failed = int(((np.asarray(in_a, dtype=bool) | np.asarray(in_b, dtype=bool)) & np.isinf(data)).sum())
    if not cells:
        return StratifiedGap(Estimate(None, None, None, level), *sizes, (), left_out, failed)
    kept = used_a | used_b
    patients = None if cluster is None else [cluster[i] for i in np.flatnonzero(kept).tolist()]
    widest = math.inf if bounds is None else bounds[1] - bounds[0]
    (gap,) = estimate_columns(
        contributions(data, list(cells.values()))[kept, None], bounds=(-widest, widest), level=level, cluster=patients,
        n_resamples=n_resamples, seed=seed, name=f"gap/{name}", linearised=True,
    )  # fmt: skip
    return StratifiedGap(replace(gap, tail=None, failures=None), *sizes, tuple(cells), left_out, failed)


def _cells(a: Flags, b: Flags, labels: Sequence[str | None]) -> dict[str, tuple[Flags, Flags]]:
    known = sorted({label for label, used in zip(labels, a | b, strict=True) if used and label is not None})
    names = np.array(["" if label is None else label for label in labels])
    given = np.array([label is not None for label in labels])
    cells = {label: (a & given & (names == label), b & given & (names == label)) for label in known}
    return {key: pair for key, pair in cells.items() if min(part.sum() for part in pair) >= FEWEST_IN_STRATUM}


def _joined(parts: Sequence[Flags], like: Flags) -> Flags:
    return np.any(parts, axis=0) if parts else np.zeros_like(like)
