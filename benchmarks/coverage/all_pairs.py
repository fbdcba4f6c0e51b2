"""Familywise error and power of all-pairs comparisons, and coverage of rank sets, on test sets of known populations.

    python benchmarks/coverage/all_pairs.py [--replicates 28]

Two worlds without any difference: "swapped" (the models' scores are shuffled within each case) and "equal means" (each
model keeps its shape and is shifted to the same mean). Any pair told apart there is an error. Power is the share of
the truly different pairs that are told apart in the real populations.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from populations import Floats, real_matrices

from segauge.scores import Scale
from segauge.stats import ScoreMatrix, compare
from segauge.stats.comparison import pair_statistics
from segauge.stats.ranking import rank_sets

SIZES = (20, 50, 100)
MODELS = 13
METHODS = {
    "percentile + bonferroni": {"method": "percentile", "correction": "bonferroni", "n_resamples": 2000},
    "wilcoxon + holm": {"method": "wilcoxon", "correction": "holm", "n_resamples": 100},
    "t + holm": {"method": "t", "correction": "holm", "n_resamples": 100},
    "max-t (default)": {"method": "max-t", "n_resamples": 2000},
}


def best(matrix: ScoreMatrix) -> ScoreMatrix:
    """Return the matrix with the 13 best models."""
    order = np.argsort(-matrix.values.mean(axis=0))[:MODELS]
    return ScoreMatrix(matrix.cases, tuple(matrix.models[j] for j in order), matrix.values[:, order], Scale(True))


def made_matrices() -> dict[str, ScoreMatrix]:
    """Return made populations of 13 models that share hard cases and fail now and then."""
    found = {}
    for seed, failures in enumerate((0.0, 0.03, 0.15)):
        rng = np.random.default_rng(seed)
        easy = rng.beta(8, 1.5, 600)
        noise = [rng.normal(-0.006 * j, 0.03 + 0.004 * j, 600) for j in range(MODELS)]
        values = np.clip(easy[:, None] + np.column_stack(noise), 0, 1)
        values[rng.random(values.shape) < failures] = 0.0
        names = tuple(f"m{j}" for j in range(MODELS))
        found[f"made {failures:g}"] = ScoreMatrix(tuple(map(str, range(600))), names, values, Scale(True))
    return found


def drawn(matrix: ScoreMatrix, values: Floats, n: int, rng: np.random.Generator, swap: bool) -> ScoreMatrix:
    """Return a test set of n cases; with `swap` the scores of each case are shuffled among the models."""
    rows = values[rng.integers(0, len(values), n)]
    if swap:
        rows = rng.permuted(rows, axis=1)
    return replace(matrix, cases=tuple(map(str, range(n))), values=rows)


def simulate(matrices: dict[str, ScoreMatrix], n: int, replicates: int) -> dict[str, list[float]]:
    """Return per method the familywise error in both worlds, and the power."""
    found: dict[str, list[list[float]]] = {name: [[], [], []] for name in METHODS}
    for index, matrix in enumerate(matrices.values()):
        equal = matrix.values - matrix.values.mean(axis=0)
        means = matrix.values.mean(axis=0)
        for replicate in range(replicates):
            rng = np.random.default_rng([n, index, replicate])
            worlds = [
                drawn(matrix, matrix.values, n, rng, swap=True),
                drawn(matrix, equal, n, rng, swap=False),
                drawn(matrix, matrix.values, n, rng, swap=False),
            ]
            for name, options in METHODS.items():
                results = [compare(world, seed=replicate, **options).pairs for world in worlds]
                found[name][0].append(any(pair.distinguishable for pair in results[0]))
                found[name][1].append(any(pair.distinguishable for pair in results[1]))
                right = [pair.favored == _better(pair, matrix, means) for pair in results[2]]
                found[name][2].append(float(np.mean(right)))
    return {name: [float(np.mean(part)) for part in parts] for name, parts in found.items()}


def _better(pair: object, matrix: ScoreMatrix, means: Floats) -> str:
    a, b = matrix.models.index(pair.a), matrix.models.index(pair.b)  # type: ignore[attr-defined]
    return matrix.models[a if means[a] > means[b] else b]


def rank_set_coverage(matrices: dict[str, ScoreMatrix], n: int, replicates: int) -> tuple[float, float]:
    """Return how often all rank sets hold the true ranks, and how often the middle 95 % of bootstrap ranks do."""
    held, naive = [], []
    for index, matrix in enumerate(matrices.values()):
        truth = np.argsort(np.argsort(-matrix.values.mean(axis=0))) + 1
        for replicate in range(replicates):
            test_set = drawn(matrix, matrix.values, n, np.random.default_rng([n, index, replicate]), swap=False)
            pairs = pair_statistics(test_set, 2000, replicate)
            low, high = rank_sets(test_set, pairs, 0.95)
            held.append(bool(((low <= truth) & (truth <= high)).all()))
            means = test_set.values.mean(axis=0) + pairs.model_shifts
            ranks = np.argsort(np.argsort(-means, axis=1), axis=1) + 1
            low, high = np.quantile(ranks, [0.025, 0.975], axis=0)
            naive.append(bool(((low <= truth) & (truth <= high)).all()))
    return float(np.mean(held)), float(np.mean(naive))


def main() -> None:
    """Run on what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=28)
    parser.add_argument("--every", type=int, default=1, help="take every so-manyth real population")
    args = parser.parse_args()
    real = dict(list(real_matrices().items())[:: args.every])
    if not real:
        print("real scores: skipped, the Touchstone tables are not in ../shared")
    for title, matrices in (("made", made_matrices()), ("real (Touchstone)", {k: best(m) for k, m in real.items()})):
        if not matrices:
            continue
        runs = len(matrices) * args.replicates
        print(f"\n{title} scores, {MODELS} models, {runs} test sets per cell; familywise error and power in %")
        for n in SIZES:
            found = simulate(matrices, n, args.replicates)
            held, naive = rank_set_coverage(matrices, n, args.replicates)
            print(f"n={n}")
            for name, (swapped, equal, power) in found.items():
                errors = f"swapped {100 * swapped:5.1f}   equal means {100 * equal:5.1f}"
                print(f"  {name:<26} {errors}   power {100 * power:5.1f}")
            print(
                f"  all rank sets hold: {100 * held:.1f} %; all bootstrap rank intervals: {100 * naive:.1f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
