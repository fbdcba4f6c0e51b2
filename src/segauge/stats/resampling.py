"""Resamples of cases: named random streams, and sums over resamples that come out the same on every machine.

A resample of n cases is a row of counts: how often each case was drawn. The sums of all models, structures and metrics
over all resamples are then one matrix product. A product of floating-point numbers depends on the order of its
additions, so on the number of threads and of columns; here the columns are first rounded to whole multiples of a
power of two so small (about 1e-13 of the largest value) that every partial sum is an exact integer. Exact sums have
no order: same input and seed give the same bytes, for any number of threads, and beside any other columns.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput

Floats = npt.NDArray[np.float64]

#: Resamples drawn at once: bounds the memory to about 8 kB per case. The stream of draws does not depend on it.
BLOCK = 1000
#: Kept draws that are summed over at once: more of them would leave the processor's cache.
DRAWS_AT_ONCE = 250


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return the random stream that belongs to these names.

    Streams of different names are independent, so that one more model, group or method changes no other number.
    """
    require_seed(seed)
    digest = hashlib.blake2b("\x1f".join(names).encode(), digest_size=16).digest()
    return np.random.default_rng([int(seed), *np.frombuffer(digest, dtype="<u4").tolist()])


def require_seed(seed: int) -> None:
    """Refuse a seed that is no whole number."""
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidInput(f"Expected a whole number of 0 or more as seed, got {seed!r}.")


def require_resamples(n_resamples: int) -> None:
    """Refuse a number of resamples from which no quantile can be read."""
    if not isinstance(n_resamples, (int, np.integer)) or n_resamples < 100:
        raise InvalidInput(f"Expected n_resamples of 100 or more, got {n_resamples!r}; 2000 to 10000 are usual.")


def require_level(level: float) -> None:
    """Refuse a confidence level outside (0, 1), with a hint for those who think in per cent."""
    if not 0.0 < level < 1.0:
        hint = f" For {level:g} % pass {level / 100:g}." if 1.0 < level < 100.0 else ""
        raise InvalidInput(f"Expected a confidence level between 0 and 1, such as 0.95, got {level!r}.{hint}")


def index_blocks(n: int, n_resamples: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    """Yield blocks of drawn case positions, one resample of n cases per row.

    The stream is that of `rng.integers(0, n, n)` called once per resample, whatever the size of the blocks.
    """
    for start in range(0, n_resamples, BLOCK):
        yield rng.integers(0, n, (min(BLOCK, n_resamples - start), n))


def count_blocks(
    n: int,
    n_resamples: int,
    rng: np.random.Generator,
    strata: Sequence[npt.NDArray[np.intp]] | None = None,
    *,
    most: int = BLOCK,
) -> Iterator[Floats]:
    """Yield blocks of counts: how often each of n cases stands in each resample.

    With strata (disjoint lists of positions) every stratum keeps its size in every resample. `most` resamples are in a
    block; with strata the draws depend on that, and it is what it always was.
    """
    length = most if strata is None else BLOCK
    for start in range(0, n_resamples, length):
        rows = min(length, n_resamples - start)
        if strata is None:
            yield _counted(rng.integers(0, n, (rows, n)), n)
            continue
        counts = np.zeros((rows, n))
        for part in strata:
            counts[:, part] = _counted(rng.integers(0, part.size, (rows, part.size)), part.size)
        yield counts


def _counted(drawn: npt.NDArray[np.int64], n: int) -> Floats:
    rows = drawn.shape[0]
    drawn += np.arange(rows)[:, None] * n
    return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def fixed_point(columns: Floats, largest_total: int) -> tuple[Floats, Floats]:
    """Return whole numbers and units with `columns ~ whole * unit`, such that weighted sums of them are exact.

    Exact as long as the whole-number weights of a sum add up to `largest_total` or less: then no partial sum exceeds
    2**52. The rounding is at most largest_total * 2**-51 of a column's largest value.
    """
    bits = 52 - math.ceil(math.log2(max(largest_total, 2)))
    largest = np.maximum(columns.max(axis=0, initial=0.0), -columns.min(axis=0, initial=0.0))
    unit = np.ldexp(1.0, np.frexp(largest)[1] - bits)
    whole = columns / unit
    return np.rint(whole, out=whole), unit


def resampled_sums(
    columns: Floats,
    n_resamples: int,
    rng: np.random.Generator,
    strata: Sequence[npt.NDArray[np.intp]] | None = None,
) -> Floats:
    """Return the sum of every column over the cases of every resample, as (n_resamples, columns)."""
    n = columns.shape[0]
    whole, unit = fixed_point(columns, n)
    sums = np.empty((n_resamples, columns.shape[1]))
    start = 0
    # For a few columns drawing takes the time, and goes three times as fast while a block stays in the cache.
    most = BLOCK if columns.shape[1] > 4 else min(BLOCK, max(64, 2**18 // max(n, 1)))
    for counts in count_blocks(n, n_resamples, rng, strata, most=most):
        np.matmul(counts, whole, out=sums[start : start + len(counts)])
        start += len(counts)
    sums *= unit
    return sums


@dataclass(frozen=True, eq=False)
class Draws:
    """Resamples of n cases, drawn once and kept as small whole numbers, for columns that come one block at a time.

    The draws and the sums are those of `resampled_sums` with the same stream.
    """

    counts: tuple[npt.NDArray[np.unsignedinteger], ...]
    n_resamples: int

    @classmethod
    def of(cls, n: int, n_resamples: int, rng: np.random.Generator) -> Draws:
        """Draw the resamples."""
        return cls(tuple(_compact(counts) for counts in count_blocks(n, n_resamples, rng)), n_resamples)

    def sums(self, columns: Floats) -> Floats:
        """Return the sum of every column over the cases of every resample, as (n_resamples, columns)."""
        whole, unit = fixed_point(columns, len(columns))
        found = np.empty((self.n_resamples, columns.shape[1]))
        start = 0
        for block in self.counts:
            for first in range(0, len(block), DRAWS_AT_ONCE):
                counts = block[first : first + DRAWS_AT_ONCE].astype(np.float64)
                np.matmul(counts, whole, out=found[start : start + len(counts)])
                start += len(counts)
        found *= unit
        return found


def _compact(counts: Floats) -> npt.NDArray[np.unsignedinteger]:
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0.0))))


@dataclass(frozen=True)
class Sample:
    """Columns of values (models, pairs, tasks) summed within independent units: cases, or patients.

    Attributes:
        sums: (units, columns), the sum of a unit's values.
        sizes: (units, columns) or (units, 1), how many values a unit has.
        squares: (columns,), the sum of all squared values.

    """

    sums: Floats
    sizes: Floats
    squares: Floats

    @classmethod
    def of(cls, values: Floats, cluster: npt.NDArray[np.intp] | None = None) -> Sample:
        """Return the sample of (cases, columns); NaN is left out. `cluster` numbers the unit of each case from 0."""
        present = np.isfinite(values)
        whole = bool(present.all())
        sizes = np.ones((len(values), 1)) if whole else present.astype(np.float64)
        filled = values if whole else np.where(present, values, 0.0)
        squares = np.add.reduce(filled**2, axis=0)
        if cluster is None:
            return cls(filled, sizes, squares)
        units = int(cluster.max()) + 1
        sums = np.zeros((units, values.shape[1]))
        totals = np.zeros((units, sizes.shape[1]))
        np.add.at(sums, cluster, filled)
        np.add.at(totals, cluster, sizes)
        return cls(sums, totals, squares)

    @cached_property
    def n(self) -> Floats:
        """How many values each column has."""
        return np.broadcast_to(self.sizes.sum(axis=0), self.squares.shape)

    @cached_property
    def units(self) -> Floats:
        """How many units with a value each column has."""
        return np.broadcast_to((self.sizes > 0).sum(axis=0).astype(np.float64), self.squares.shape)

    @cached_property
    def means(self) -> Floats:
        """The mean of each column's values; 0 for a column without any."""
        return _ratio(self.sums.sum(axis=0), self.n)

    @cached_property
    def deviations(self) -> Floats:
        """(units, columns): what each unit adds to the distance of the mean; exactly 0 in a constant column."""
        if self._is_even:
            # Row by row in memory, whatever the order of the values: sums depend on it in their last digit.
            residuals = np.subtract(self.sums, self.means, order="C")
        else:
            residuals = self.sums - self.sizes * self.means
        scale = np.maximum(self.sums.max(axis=0, initial=0.0), -self.sums.min(axis=0, initial=0.0))
        residuals[np.abs(residuals) <= 1e-13 * scale] = 0.0
        return residuals

    @cached_property
    def standard_errors(self) -> Floats:
        """The standard error of each mean, between units: s / sqrt(n) where every unit is one case."""
        return _standard_error((self.deviations**2).sum(axis=0), self.n, self.units)

    def resampled(
        self,
        n_resamples: int,
        rng: np.random.Generator,
        strata: Sequence[npt.NDArray[np.intp]] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return, per resample and column, the mean minus the sample's mean, and its standard error.

        A resample without a value in a column has the shift 0 and an infinite standard error there.
        """
        return self.shifts_and_errors(lambda columns: resampled_sums(columns, n_resamples, rng, strata))

    def shifts_and_errors(self, sums_of: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        """Return the same as `resampled`; `sums_of` gives the sums of columns over the resamples, however drawn."""
        return (self._even if self._is_even else self._uneven)(sums_of)

    def shifts(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Return, per resample and column, the mean minus the sample's mean."""
        return self.shifts_by(lambda columns: resampled_sums(columns, n_resamples, rng))

    def shifts_by(self, sums_of: Callable[[Floats], Floats]) -> Floats:
        """Return the same as `shifts`; `sums_of` gives the sums of columns over the resamples, however drawn."""
        if self._is_even:
            return sums_of(self.deviations) / self.n
        columns = self.squares.size
        sums = sums_of(np.hstack([self.deviations, np.broadcast_to(self.sizes, self.sums.shape)]))
        return _ratio(sums[:, :columns], sums[:, columns:])

    @cached_property
    def _is_even(self) -> bool:
        return bool((self.sizes == 1.0).all())

    def _even(self, sums_of: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        deviations, columns = self.deviations, self.squares.size
        sums = sums_of(np.hstack([deviations, deviations**2]))
        shift = sums[:, :columns] / self.n
        squares = sums[:, columns:]
        # In place from here on: the arrays have a row per resample and a column per pair of models.
        spread = shift**2
        spread *= self.n
        np.subtract(squares, spread, out=spread)
        return shift, _standard_error(_clean(spread, squares), self.n, self.units)

    def _uneven(self, sums_of: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        deviations, sizes = self.deviations, np.broadcast_to(self.sizes, self.sums.shape)
        parts = [deviations, deviations**2, deviations * sizes, sizes, sizes**2, (sizes > 0).astype(np.float64)]
        sums = sums_of(np.hstack(parts))
        total, squares, products, n, n_squares, units = np.split(sums, len(parts), axis=1)
        shift = _ratio(total, n)
        spread = squares - 2.0 * shift * products + shift**2 * n_squares
        error = _standard_error(_clean(spread, squares), n, units)
        return shift, np.where(n > 0, error, np.inf)


def _clean(spread: Floats, scale: Floats) -> Floats:
    """Set to 0 what is only the rounding of a difference of nearly equal sums; changes `spread`, and returns it."""
    spread[spread <= 1e-12 * np.abs(scale)] = 0.0
    return spread


def _ratio(total: Floats, n: Floats) -> Floats:
    n = np.broadcast_to(n, total.shape)
    return np.divide(total, n, out=np.zeros_like(total), where=n > 0)


def _standard_error(spread: Floats, n: Floats, units: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        error = spread * (units / (units - 1.0))
        np.sqrt(error, out=error)
        error /= n
    return error if (units > 1).all() else np.where(units > 1, error, np.inf)
