"""DistanceTruth: the exact distances between the surfaces of two phantoms, and what every metric should say."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.phantoms.phantom import FloatArray, Phantom

#: A distance this far (in mm) beyond a tolerance still counts as within: the mm coordinates carry rounding errors,
#: and two faces that are 2 mm apart must be within 2 mm of each other.
ROUNDING_MM = 1e-9

#: Shares are sums of areas; one that misses the asked percentage by less than this has reached it.
_ROUNDING_SHARE = 1e-12

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)


class DirectedDistances(ABC):
    """The distribution, by area, of the distances from one surface to the nearest point of another."""

    @property
    @abstractmethod
    def area_mm2(self) -> float:
        """Area of the surface that is measured from in mm² (length in mm in 2-D)."""

    @property
    @abstractmethod
    def maximum_mm(self) -> float:
        """Largest distance."""

    @property
    @abstractmethod
    def mean_mm(self) -> float:
        """Area-weighted mean distance."""

    @abstractmethod
    def share_within(self, distance_mm: npt.ArrayLike) -> FloatArray:
        """Return the share of the area that lies within (<=) each distance: the cumulative distribution."""

    def percentile_mm(self, percentage: float) -> float:
        """Return the smallest distance within which at least this percentage (0 to 100) of the area lies."""
        if not 0.0 < percentage <= 100.0:
            raise InvalidInput(f"percentage: expected more than 0 and at most 100, got {percentage!r}.")
        if percentage == 100.0:
            return self.maximum_mm
        wanted = percentage / 100.0 - _ROUNDING_SHARE
        if float(self.share_within(0.0)) >= wanted:
            return 0.0
        low, high = 0.0, self.maximum_mm
        # Each round keeps one of 64 equal parts: eleven of them leave nothing between two floating-point numbers.
        for _ in range(11):
            ticks = np.linspace(low, high, 65)
            below = np.flatnonzero(self.share_within(ticks[1:-1]) < wanted)
            reached = int(below[-1]) + 2 if len(below) else 1
            low, high = float(ticks[reached - 1]), float(ticks[reached])
        return high


@dataclass(frozen=True, eq=False)
class ClosedFormDistances(DirectedDistances):
    """Distances whose cumulative distribution is a formula.

    `knots_mm` are the distances at which the formula changes its form (more do no harm): between two of them the
    distribution is smooth but for roots at the ends, which is what the mean relies on.
    """

    area: float
    maximum: float
    knots_mm: tuple[float, ...]
    share: Callable[[FloatArray], FloatArray]

    @property
    def area_mm2(self) -> float:
        """Area of the surface that is measured from in mm² (length in mm in 2-D)."""
        return self.area

    @property
    def maximum_mm(self) -> float:
        """Largest distance."""
        return self.maximum

    @cached_property
    def mean_mm(self) -> float:
        """Integral of 1 - share over all distances, by Gauss-Legendre rules between the knots.

        The substitution d = a + (b - a) sin²(π u / 2) makes the square roots at both ends smooth, so that the rule
        converges to rounding.
        """
        inner = [knot for knot in self.knots_mm if 0.0 < knot < self.maximum]
        ends = np.unique([0.0, *inner, self.maximum])
        low, width = ends[:-1, None], np.diff(ends)[:, None]
        turn = math.pi / 4.0 * (_NODES + 1.0)
        beyond = 1.0 - self.share(low + width * np.sin(turn) ** 2)
        return float(np.sum(width * beyond * np.sin(2.0 * turn) * (math.pi / 4.0) * _NODE_WEIGHTS))

    def share_within(self, distance_mm: npt.ArrayLike) -> FloatArray:
        """Return the share of the area that lies within (<=) each distance: the cumulative distribution."""
        distances = np.asarray(distance_mm, dtype=np.float64)
        shares = np.where(distances >= self.maximum, 1.0, self.share(np.maximum(distances, 0.0)))
        return np.where(distances < 0.0, 0.0, np.clip(shares, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class SampledDistances(DirectedDistances):
    """Distances from points that stand for parts of a surface: exact distances, approximate distribution."""

    distances_mm: FloatArray
    weights_mm2: FloatArray

    def __post_init__(self) -> None:
        order = np.argsort(self.distances_mm, kind="stable")
        for name in ("distances_mm", "weights_mm2"):
            values = getattr(self, name)[order]
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @property
    def area_mm2(self) -> float:
        """Sum of the weights."""
        return float(self._cumulated[-1])

    @property
    def maximum_mm(self) -> float:
        """Largest distance of a sample; the true maximum lies a little above."""
        return float(self.distances_mm[-1])

    @cached_property
    def mean_mm(self) -> float:
        """Weighted mean."""
        return float(np.sum(self.distances_mm * self.weights_mm2) / np.sum(self.weights_mm2))

    @cached_property
    def _cumulated(self) -> FloatArray:
        return np.cumsum(self.weights_mm2)

    def share_within(self, distance_mm: npt.ArrayLike) -> FloatArray:
        """Return the share of the area that lies within (<=) each distance: the cumulative distribution."""
        count = np.searchsorted(self.distances_mm, np.asarray(distance_mm, dtype=np.float64), side="right")
        shares: FloatArray = np.where(count > 0, self._cumulated[np.maximum(count - 1, 0)], 0.0) / self.area_mm2
        return shares


@dataclass(frozen=True)
class MixedDistances(DirectedDistances):
    """Distances from a surface that is made of several parts."""

    parts: tuple[DirectedDistances, ...]

    @property
    def area_mm2(self) -> float:
        """Area of all parts."""
        return math.fsum(part.area_mm2 for part in self.parts)

    @property
    def maximum_mm(self) -> float:
        """Largest distance of any part."""
        return max(part.maximum_mm for part in self.parts)

    @property
    def mean_mm(self) -> float:
        """Area-weighted mean of all parts."""
        return math.fsum(part.area_mm2 * part.mean_mm for part in self.parts) / self.area_mm2

    def share_within(self, distance_mm: npt.ArrayLike) -> FloatArray:
        """Return the share of the area that lies within (<=) each distance: the cumulative distribution."""
        within = np.sum([part.area_mm2 * part.share_within(distance_mm) for part in self.parts], axis=0)
        shares: FloatArray = np.minimum(1.0, within / self.area_mm2)
        return np.where(np.asarray(distance_mm) >= self.maximum_mm, 1.0, shares)


@dataclass(frozen=True)
class DistanceTruth:
    """What the surface distance metrics of two solids are, without any voxels.

    Distances are to the other surface, not to the other solid: they do not vanish where one solid contains the other.
    """

    from_pred: DirectedDistances
    from_gt: DirectedDistances

    @property
    def pooled(self) -> DirectedDistances:
        """The distances of both surfaces together."""
        return MixedDistances((self.from_pred, self.from_gt))

    def hd(self) -> float:
        """Return the Hausdorff distance in mm: the largest distance of either direction."""
        return max(self.from_pred.maximum_mm, self.from_gt.maximum_mm)

    def hd_percentile(self, percentage: float, *, pooled: bool = False) -> float:
        """Return the larger of the two directed percentiles in mm, or the percentile of both directions together."""
        if pooled:
            return self.pooled.percentile_mm(percentage)
        return max(self.from_pred.percentile_mm(percentage), self.from_gt.percentile_mm(percentage))

    def masd(self) -> float:
        """Return the mean of the two directed means in mm."""
        return 0.5 * (self.from_pred.mean_mm + self.from_gt.mean_mm)

    def assd(self) -> float:
        """Return the area-weighted mean distance over both surfaces together in mm."""
        return self.pooled.mean_mm

    def nsd(self, tolerance_mm: float) -> float:
        """Return the share of both surfaces' area within (<=) the tolerance of the other, from 0 to 1.

        Distances that exceed the tolerance by no more than ROUNDING_MM count as within.
        """
        if not tolerance_mm >= 0.0:
            raise InvalidInput(f"tolerance_mm: expected 0 or more, got {tolerance_mm!r}.")
        return float(self.pooled.share_within(tolerance_mm + ROUNDING_MM))


def constant_distances(area: float, distance: float) -> ClosedFormDistances:
    """Return the distribution of a surface that is everywhere equally far from another."""
    return ClosedFormDistances(area, distance, (), lambda d: np.where(d >= distance, 1.0, 0.0))


def mixed(parts: Sequence[DirectedDistances]) -> DirectedDistances:
    """Return the distribution of several patches together, leaving out those without area."""
    kept = tuple(part for part in parts if part.area_mm2 > 0.0)
    return kept[0] if len(kept) == 1 else MixedDistances(kept)


def sampled_truth(pred: Phantom, gt: Phantom, n: int = 100_000) -> DistanceTruth:
    """Return the distances between any two phantoms by quadrature: about `n` points on each surface.

    Every distance is exact (to the analytic surface of the other); only the integral over the surface is a sum.
    Deterministic. With h the distance between neighbouring samples (the square root of area / n; length / n in 2-D),
    no quantile is off by more than some h, means and shares converge at least like h, smooth maxima like h².
    """
    if pred.ndim != gt.ndim:
        raise InvalidInput(f"pred and gt: expected two phantoms of one dimension, got {pred.ndim}-D and {gt.ndim}-D.")
    if n < 1:
        raise InvalidInput(f"n: expected at least 1 sample, got {n}.")
    return DistanceTruth(_sampled_distances(pred, gt, n), _sampled_distances(gt, pred, n))


def _sampled_distances(start: Phantom, target: Phantom, n: int) -> SampledDistances:
    samples = start.surface_samples(n)
    return SampledDistances(target.distance(samples.points), samples.weights)
