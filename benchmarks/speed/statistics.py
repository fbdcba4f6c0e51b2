"""Speed of the statistics: the full analysis of Touchstone, and what segauge 0.2 did of it, against its way.

    OPENBLAS_NUM_THREADS=1 python benchmarks/speed/statistics.py

Full analysis: 19 models, 9 organs, 2 metrics, 10,000 resamples; intervals, all 171 pairs, rank sets, win probabilities,
leave-one-out, five schemes, per organ and over all. Without the Touchstone tables a made table of the same size.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from segauge.scores import ScoreTable, Status
from segauge.stats import rank_tasks, score_matrix
from segauge.stats.matrix import average_ranks
from segauge.stats.resampling import Floats, Sample, stream

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "coverage"))
from populations import touchstone_folder

from segauge.io.tables import Repairs, read_scores

RESAMPLES = 10_000


def tables() -> dict[str, ScoreTable]:
    """Return the Touchstone tables, or made ones of their size."""
    folder = touchstone_folder()
    if folder is not None:
        start = time.perf_counter()
        found = dict(read_scores(folder, repairs=Repairs(cases="common")).tables)
        print(f"read and audited 19 models x 2 files in {time.perf_counter() - start:.2f} s")
        return found
    rng = np.random.default_rng(0)
    easy, status = rng.beta(6, 2, (656, 9, 1)), np.array([[Status.PRESENT] * 9] * 656, dtype=object)
    cases, organs = tuple(f"c{i:04d}" for i in range(656)), tuple(f"organ{j}" for j in range(9))
    values = {f"m{j:02d}": np.clip(easy + rng.normal(-0.01 * j, 0.05, (656, 9, 2)), 0, 1) for j in range(19)}
    return {name: ScoreTable(cases, organs, ("dice", "nsd"), made, status) for name, made in values.items()}


def full_analysis(scores: dict[str, ScoreTable]) -> tuple[float, float, str]:
    """Return the seconds of the full analysis, by the clock and of the processor, and a digest of its result."""
    first = next(iter(scores.values()))
    start, busy = time.perf_counter(), time.process_time()
    digest = hashlib.sha256()
    for metric in first.metrics:
        matrices = {organ: score_matrix(scores, structure=organ, metric=metric) for organ in first.structures}
        digest.update(json.dumps(rank_tasks(matrices, n_resamples=RESAMPLES).to_dict(), allow_nan=False).encode())
    return time.perf_counter() - start, time.process_time() - busy, digest.hexdigest()


def loop_per_resample(values: Floats) -> dict[str, Floats]:
    """Return what segauge 0.2 computes, in its way: one draw and one mean per resample, anew for each pair."""
    n, models = values.shape

    def resampled(column: Floats) -> Floats:
        rng = np.random.default_rng(0)
        return np.array([np.mean(column[rng.integers(0, n, n)]) for _ in range(RESAMPLES)])

    first, second = np.triu_indices(models, 1)
    rng = np.random.default_rng(0)
    ranks = np.array([rankdata(-values[rng.integers(0, n, n)].mean(axis=0)) for _ in range(RESAMPLES)])
    return {
        "intervals": np.array([np.quantile(resampled(column), [0.025, 0.975]) for column in values.T]).T,
        "ranks": ranks.mean(axis=0),
        "pairs": np.array(
            [
                np.quantile(resampled(values[:, a] - values[:, b]), [0.025, 0.975])
                for a, b in zip(first, second, strict=True)
            ]
        ).T,
    }


def one_product(values: Floats) -> dict[str, Floats]:
    """Return the same numbers from one matrix of counts for all models and pairs."""
    models = values.shape[1]
    first, second = np.triu_indices(models, 1)
    sample = Sample.of(np.hstack([values, values[:, first] - values[:, second]]))
    means = sample.means + sample.shifts(RESAMPLES, stream(0, "cases"))
    limits = np.quantile(means, [0.025, 0.975], axis=0)
    ranks = average_ranks(means[:, :models]).mean(axis=0)
    return {"intervals": limits[:, :models], "ranks": ranks, "pairs": limits[:, models:]}


def main() -> None:
    """Measure and print."""
    scores = tables()
    runs = [full_analysis(scores) for _ in range(2)]
    clock, busy = (min(run[k] for run in runs) for k in (0, 1))
    print(f"full analysis, {RESAMPLES} resamples: {clock:.2f} s, {busy:.2f} s of processor time (best of 2)")
    print(f"digest {runs[0][2]}")
    if len({digest for *_, digest in runs}) != 1:
        raise SystemExit("the same input and seed gave two different results")
    first = next(iter(scores.values()))
    values = score_matrix(scores, structure=first.structures[0], metric="dice").complete_cases().values
    start = time.process_time()
    theirs = loop_per_resample(values)
    loop = time.process_time() - start
    times = []
    for _ in range(3):
        start = time.process_time()
        ours = one_product(values)
        times.append(time.process_time() - start)
    print(f"{len(values)} cases, 19 models, 171 pairs, processor time:", end=" ")
    print(f"loop per resample {loop:.1f} s, one product {min(times):.3f} s")
    print(f"{loop / min(times):.0f} times faster; largest difference of a limit", end=" ")
    print(f"{max(np.abs(ours[key] - theirs[key]).max() for key in ('intervals', 'pairs')):.5f} (resampling noise)")


if __name__ == "__main__":
    main()
