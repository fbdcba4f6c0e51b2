"""How often a "95 %" interval of a mean holds it: every method of the catalog, on real and made populations.

    python benchmarks/coverage/intervals.py [--every 6] [--replicates 100]

A test set of n cases is drawn from a population whose mean is known; the interval holds the mean or not.
"""

from __future__ import annotations

import argparse

import numpy as np
from populations import Floats, made_populations, real_populations

from segauge.stats import METHODS
from segauge.stats.intervals import Request
from segauge.stats.resampling import Sample, stream

SIZES = (5, 10, 20, 50, 100, 200)


def hits(population: Floats, n: int, key: str, replicates: int, n_resamples: int) -> tuple[float, float, float]:
    """Return the shares of intervals that hold the mean, that lie above it, and their mean width."""
    rng = np.random.default_rng([n, population.size])
    drawn = population[rng.integers(0, population.size, (n, replicates))]
    request = Request(0.95, (0.0, 1.0), n_resamples, stream(n, key))
    low, high = METHODS[key].function(Sample.of(drawn), request)
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    mean = population.mean()
    # A limit at the mean itself holds it; 1e-12 is the rounding of a mean of hundreds of scores.
    above, below = low > mean + 1e-12, high < mean - 1e-12
    return float((~above & ~below).mean()), float(above.mean()), float((high - low).mean())


def table(populations: dict[str, Floats], keys: list[str], replicates: int, n_resamples: int, title: str) -> None:
    """Print coverage, and misses on the optimistic side, per method and number of cases."""
    print(f"\n{title}: {len(populations)} populations x {replicates} test sets each; coverage in %")
    print(f"{'method':<14}" + "".join(f"{f'n={n}':>8}" for n in SIZES) + "   optimistic misses, width at n=20")
    for key in keys:
        cells = {n: [hits(p, n, key, replicates, n_resamples) for p in populations.values()] for n in SIZES}
        means = {n: np.mean(found, axis=0) for n, found in cells.items()}
        coverage = "".join(f"{100 * means[n][0]:8.1f}" for n in SIZES)
        print(f"{key:<14}{coverage}   {100 * means[20][1]:.1f} %, {means[20][2]:.3f}", flush=True)
        if key == "jeffreys":
            worst = min(min(found)[0] for n, found in cells.items() if n >= 10)
            print(f"{'':<14}worst single population at n >= 10: {100 * worst:.1f} %")


def main() -> None:
    """Run on what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take every so-manyth real population")
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--n-resamples", type=int, default=1000)
    known = [key for key, method in METHODS.items() if method.statistic == "mean"]
    parser.add_argument("--methods", nargs="+", choices=known, default=known)
    args = parser.parse_args()
    table(made_populations(), args.methods, args.replicates, args.n_resamples, "made scores")
    real = real_populations()
    if not real:
        print("\nreal scores: skipped, the Touchstone tables are not in ../shared")
        return
    chosen = dict(list(real.items())[:: args.every])
    table(chosen, args.methods, args.replicates, args.n_resamples, "real scores (Touchstone)")
    good = {name: p for name, p in chosen.items() if p.mean() >= 0.85}
    table(good, args.methods, args.replicates, args.n_resamples, "real scores with a mean of 0.85 or more")


if __name__ == "__main__":
    main()
