"""PairFacts: what the differences of pairs of models are like, one block of pairs after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from segauge.stats.resampling import Floats, Sample
from segauge.stats.scales import Scale


@dataclass(frozen=True, eq=False)
class PairFacts:
    """One number per pair of models.

    Attributes:
        n: cases that both have a score for.
        units: independent units (cases, or patients) among them.
        means: mean difference; 0 without a case.
        errors: standard error of the mean, between units.
        deviations: standard deviation of the differences; 0 below two cases.
        wins: share of cases where the first is better, ties counting half; a half without a case.

    """

    n: Floats
    units: Floats
    means: Floats
    errors: Floats
    deviations: Floats
    wins: Floats

    @classmethod
    def of(cls, differences: Floats, clusters: npt.NDArray[np.intp] | None, scale: Scale) -> PairFacts:
        """Return the facts of (cases, pairs) differences; NaN is left out."""
        sample = Sample.of(differences, clusters)
        # Pair by pair in memory, so that each is summed as if it were alone.
        rows = np.ascontiguousarray(differences.T)
        present = np.isfinite(rows)
        sizes = present.sum(axis=1)
        ahead = (rows > 0 if scale.higher_is_better else rows < 0) & present
        wins = (ahead.sum(axis=1) + 0.5 * (rows == 0).sum(axis=1)) / np.maximum(sizes, 1)
        return cls(
            sizes,
            sample.units,
            sample.means,
            sample.standard_errors,
            _deviations(rows, present),
            np.where(sizes > 0, wins, 0.5),
        )

    @classmethod
    def together(cls, parts: Sequence[PairFacts]) -> PairFacts:
        """Return the facts of several blocks of pairs as one."""
        return cls(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)))


def _deviations(rows: Floats, present: npt.NDArray[np.bool_]) -> Floats:
    if rows.shape[1] > 1 and present.all():
        return np.asarray(rows.std(axis=1, ddof=1))
    kept = [row[known] for row, known in zip(rows, present, strict=True)]
    return np.array([row.std(ddof=1) if row.size > 1 else 0.0 for row in kept])
