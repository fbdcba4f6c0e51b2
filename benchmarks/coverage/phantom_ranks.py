"""How often the printed rank sets of the phantom benchmark hold the true ranks of its models.

The truth is the order of the means over a pool of phantom patients; a repeat draws cases from the pool, makes the
leaderboard, and is right if every model's true rank lies in its rank set. At 95 % at least 95 of 100 repeats should be.

    python benchmarks/coverage/phantom_ranks.py [--pool 60] [--cases 20] [--repeats 100] [--folder DIR]
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from segauge import ScoreTable
from segauge.stats import AVERAGE
from segbench.boards import make_leaderboard
from segbench.config import RunConfig
from segbench.pipeline import run
from segbench.records import CaseInfo, RunRecord

MODELS = ("threshold", "smoothed-threshold", "region-growing", "iterated-modes", "mean-field")
STRUCTURES = ("liver", "spleen", "kidney_left", "aorta")


def pool_record(folder: Path, size: int) -> RunRecord:
    """Return the scores of all models on the whole pool."""
    config = {
        "dataset": {"name": "phantom", "root": str(folder / "data"), "size": size},
        "models": [{"type": "classical", "method": name} for name in MODELS],
        "structures": list(STRUCTURES),
        "metrics": ["dice"],
        "n_resamples": 2000,
        "jobs": 2,
        "cache_dir": str(folder / "cache"),
        "results_path": str(folder / "pool.json"),
    }
    return run(RunConfig.from_dict(config))


def drawn(record: RunRecord, rows: np.ndarray) -> RunRecord:
    """Return the record of these cases of the pool; one that was drawn twice is two cases."""
    ids = tuple(f"draw {i:04d}" for i in range(rows.size))
    tables = {
        name: ScoreTable(ids, table.structures, table.metrics, table.values[rows], table.status[rows])
        for name, table in record.tables.items()
    }
    return replace(record, cases=tuple(CaseInfo(case) for case in ids), tables=tables, analysis=None)


def true_ranks(record: RunRecord) -> dict[str, dict[str, int]]:
    """Return per structure (and for their average) the rank of each model by its mean over the pool."""
    means = {name: np.nanmean(table.values[:, :, 0], axis=0) for name, table in record.tables.items()}
    columns = {structure: {name: mean[j] for name, mean in means.items()} for j, structure in enumerate(STRUCTURES)}
    columns[AVERAGE] = {name: mean.mean() for name, mean in means.items()}
    return {
        task: {name: 1 + sum(other > mean for other in scores.values()) for name, mean in scores.items()}
        for task, scores in columns.items()
    }


def main() -> None:
    """Print per structure how many repeats hold all true ranks, and how wide the rank sets are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("pool", 60), ("cases", 20), ("repeats", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path, help="keeps scans and predictions; a temporary one by default")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        pool = pool_record(args.folder or Path(temporary), args.pool)
    truth = true_ranks(pool)
    held, width = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0.0)
    for repeat in range(args.repeats):
        rows = np.random.default_rng(repeat).integers(0, args.pool, args.cases)
        board = make_leaderboard(drawn(pool, rows))
        for task, ranks in truth.items():
            standings = board.board(task, "dice").rows
            held[task] += all(s.rank_low <= ranks[s.model] <= s.rank_high for s in standings)
            width[task] += np.mean([s.rank_high - s.rank_low for s in standings]) / args.repeats
    for task, ranks in truth.items():
        order = ", ".join(sorted(ranks, key=ranks.__getitem__))
        print(f"{task:<12} {held[task]:>4} of {args.repeats} repeats hold, mean width {width[task]:.2f}; true: {order}")


if __name__ == "__main__":
    main()
