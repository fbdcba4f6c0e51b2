"""How often a "95 %" interval of a mean holds it: every method, on families of real and made populations.

    python benchmarks/coverage/intervals.py [--quick]

A test set of n cases is drawn from a population whose mean is known; the interval holds the mean or not. Printed per
family and method: coverage, the misses on either side, the width relative to Student's t, the worst population, and the
coverage among test sets that show no failure; then which promises of the default hold.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from populations import Family, Floats, Population, families

from segauge.stats import METHODS
from segauge.stats.intervals import Limits, Moments, Request, unseen_failure_limits
from segauge.stats.resampling import Sample, stream

SIZES = (5, 10, 20, 50, 100)
#: The interval from the end of the tail to the upper limit, as it is printed next to the interval itself.
WITH_TAIL = "half-case + tail"
DEFAULT = "half-case"
LEVEL = 0.95


@dataclass(frozen=True)
class Result:
    """One population, method and size: shares of the test sets, and the mean width."""

    held: float
    above: float
    below: float
    width: float
    held_unseen: float
    unseen: float


def limits_of(key: str, sample: Sample, family: Family, n_resamples: int) -> Limits:
    """Return the limits of every test set, within the scale."""
    method = DEFAULT if key == WITH_TAIL else key
    request = Request(LEVEL, family.bounds, n_resamples, stream(0, method))
    low, high = METHODS[method].function(sample, request)
    low, high = np.clip(low, *family.bounds), np.clip(high, *family.bounds)
    if key == WITH_TAIL:
        low = np.fmin(low, unseen_failure_limits(Moments.of(sample), request.tail, 0.0, is_lowest=True))
    return low, high


def measured(
    population: Population, family: Family, n: int, keys: Sequence[str], replicates: int, n_resamples: int
) -> dict[str, Result]:
    """Return the results of one population, the same test sets for every method."""
    sample = population.draw(n, replicates, np.random.default_rng([n, population.sums.size]))
    # A failure is a case at the worst value.
    unseen = ~(sample.sums <= 0).any(axis=0) if family.is_bounded else np.ones(replicates, dtype=bool)
    # A limit at the mean itself holds it; 1e-12 is the rounding of a mean of hundreds of scores.
    mean, found = population.mean, {}
    for key in keys:
        low, high = limits_of(key, sample, family, n_resamples)
        known = ~np.isnan(low) & ~np.isnan(high)
        above, below = low > mean + 1e-12, high < mean - 1e-12
        held = known & ~above & ~below
        found[key] = Result(
            *(_mean(flags, known) for flags in (held, above, below)),
            float((high - low)[known].mean()) if known.any() else np.nan,
            _mean(held, known & unseen),
            float(unseen.mean()),
        )
    return found


def _mean(flags: Floats, chosen: Floats) -> float:
    return float(flags[chosen].mean()) if chosen.any() else float("nan")


def methods_of(family: Family) -> list[str]:
    """Return the methods that can be used in a family."""
    keys = [key for key, method in METHODS.items() if method.statistic == "mean"]
    keys = [key for key in keys if family.is_bounded or not METHODS[key].needs_bounds]
    if any((population.sizes != 1).any() for population in family.populations):
        keys.remove("gaffke")
    return [*keys, WITH_TAIL] if family.is_bounded else keys


Found = dict[str, dict[int, list[Result]]]


def measure(family: Family, sizes: Sequence[int], replicates: int, n_resamples: int) -> Found:
    """Return the results of a family: per method and size one per population."""
    keys = methods_of(family)
    found: Found = {key: {n: [] for n in sizes} for key in keys}
    for population in family.populations:
        for n in sizes:
            for key, result in measured(population, family, n, keys, replicates, n_resamples).items():
                found[key][n].append(result)
    return found


def average(results: Sequence[Result], value: Callable[[Result], float]) -> float:
    """Return the mean over populations, where there is one."""
    return float(np.nanmean([value(one) for one in results]))


def relative_width(found: Found, key: str, n: int) -> float:
    """Return the mean over populations of the width relative to Student's t on the same test sets."""
    pairs = zip(found[key][n], found["t"][n], strict=True)
    return float(np.nanmean([one.width / other.width for one, other in pairs if other.width > 0]))


def print_family(family: Family, found: Found, sizes: Sequence[int], replicates: int) -> None:
    """Print coverage by size, and at n = 20 the tails, the width, the worst population and what a reader sees."""
    print(f"\n{family.name}: {len(family.populations)} populations x {replicates} test sets; coverage in %")
    head = "".join(f"{f'n={n}':>7}" for n in sizes)
    print(f"{'method':<17}{head}   n=20: too high  too low  width/t  worst  no failure seen")
    for key, by_size in found.items():
        coverage = "".join(f"{100 * average(by_size[n], lambda one: one.held):7.1f}" for n in sizes)
        at = by_size[20]
        worst = 100 * min(one.held for one in at)
        unseen = 100 * average(at, lambda one: one.held_unseen)
        tails = (100 * average(at, lambda one: one.above), 100 * average(at, lambda one: one.below))
        print(
            f"{key:<17}{coverage}   {tails[0]:14.1f}{tails[1]:9.1f}{relative_width(found, key, 20):9.2f}{worst:7.1f}"
            f"{unseen:17.1f}",
            flush=True,
        )


#: What the default promises at n = 20, in per cent of the test sets, by the beginning of the family's name.
PROMISES = {
    "Touchstone, TotalSegmentator": 94.0,
    "Touchstone, DAP Atlas": 90.0,
    "Decathlon Dice": 94.0,
    "Decathlon HD": 94.0,
    "lognormal distances, sigma 1": 94.0,
    "lesion F1": 94.0,
    "found or not": 94.0,
}
MOST_WIDTH = 1.6
LEAST_WITH_TAIL = 97.0


def print_promises(chosen: Sequence[Family], test_sets: int) -> bool:
    """Print which promises hold on all populations, with so many test sets per family, and return whether all do."""
    print(f"\npromises of half-case at n = 20, about {test_sets} test sets per family")
    print(f"{'family':<42}{'promise':<34}{'measured':>9}  verdict")
    rows = []
    for family in chosen:
        keys = [DEFAULT, "t", *([WITH_TAIL] if family.is_bounded else [])]
        each = max(test_sets // len(family.populations), 10)
        all_of = [measured(population, family, 20, keys, each, 100) for population in family.populations]
        found: Found = {key: {20: [one[key] for one in all_of]} for key in keys}
        if family.name in PROMISES:
            held = 100 * average(found[DEFAULT][20], lambda one: one.held)
            rows.append((family.name, "coverage at least", PROMISES[family.name], held))
            rows.append((family.name, "width relative to t at most", MOST_WIDTH, relative_width(found, DEFAULT, 20)))
        if WITH_TAIL in found:
            held = 100 * average(found[WITH_TAIL][20], lambda one: one.held)
            rows.append((family.name, "tail to upper limit at least", LEAST_WITH_TAIL, held))
    ok = True
    for name, what, limit, value in rows:
        holds = value <= limit if "most" in what else value >= limit
        ok &= holds
        unit = "" if "width" in what else " %"
        print(f"{name:<42}{f'{what} {limit:g}{unit}':<34}{value:9.2f}  {'holds' if holds else 'FAILS'}")
    return ok


def main() -> None:
    """Run on what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer populations, sizes and test sets")
    parser.add_argument("--every", type=int, help="take every so-manyth Touchstone population")
    parser.add_argument("--replicates", type=int, help="test sets per population")
    parser.add_argument("--n-resamples", type=int, default=300)
    args = parser.parse_args()
    every = args.every or (6 if args.quick else 1)
    replicates = args.replicates or (100 if args.quick else 200)
    sizes = (10, 20, 50) if args.quick else SIZES
    chosen = families(every)
    for family in chosen:
        # A family of few populations has as many test sets as one of many.
        count = max(replicates, (40 if args.quick else 60) * replicates // len(family.populations) // 4)
        print_family(family, measure(family, sizes, count, args.n_resamples), sizes, count)
    if not {family.name for family in chosen} >= PROMISES.keys():
        print("\nreal scores: skipped, the tables are not in ../shared")
    print_promises(families() if every > 1 else chosen, 2000 if args.quick else 40_000)


if __name__ == "__main__":
    main()
