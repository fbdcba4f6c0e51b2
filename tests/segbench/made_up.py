"""Records made of numbers, for tests that need no image."""

from dataclasses import replace

import numpy as np

from segauge import ScoreTable, Status
from segbench.cards import DatasetCard, ModelCard, TrainingSet, exposure, known_lineage
from segbench.records import CaseInfo, ModelEntry, RunRecord

#: What a model learned from, per what it has then seen of the dataset.
LEARNED = {
    "none": {"trained_on": (), "pretrained_on": ()},
    "images": {"trained_on": (), "pretrained_on": (TrainingSet("made-up", "its makers"),)},
    "labels": {"trained_on": (TrainingSet("made-up", "its makers"),), "pretrained_on": ()},
    "unknown": {},
}


def table(values, *, structures=("organ",), metrics=("dice",), missed=(), ids=None):
    """Return a table of (cases, structures, metrics) values; NaN is absent, `missed` are pairs of positions."""
    cells = np.asarray(values, dtype=float).reshape(len(values), len(structures), len(metrics))
    status = np.full(cells.shape[:2], Status.PRESENT, dtype=object)
    status[np.isnan(cells).all(axis=2)] = Status.ABSENT
    for place in missed:
        status[place] = Status.MISSED
    names = tuple(f"case_{i:03d}" for i in range(len(values))) if ids is None else tuple(ids)
    return ScoreTable(names, tuple(structures), tuple(metrics), cells, status)


def record(tables, *, levels=None, clusters=None, **settings):
    """Return a record of these tables; `levels` says what a model has seen of the dataset, nothing by default."""
    first = next(iter(tables.values()))
    structures = tuple(dict.fromkeys(name for one in tables.values() for name in one.structures))
    ids = sorted({case for one in tables.values() for case in one.cases})
    metadata = {case: {"patient": clusters[case]} if clusters else {} for case in ids}
    dataset = DatasetCard(
        "made-up",
        structures={name: (i + 1,) for i, name in enumerate(structures)},
        cluster_column="patient" if clusters else "",
        lineage=(),
    )
    entries = []
    for name in tables:
        card = replace(ModelCard(name, "1.0"), **LEARNED[(levels or {}).get(name, "none")])
        seen = exposure(card, dataset, known_lineage([dataset]))
        entries.append(ModelEntry(card, seen, seen.is_clean))
    return RunRecord(
        dataset,
        tuple(CaseInfo(case, metadata=metadata[case]) for case in ids),
        tuple(entries),
        structures,
        first.metrics,
        tables,
        {"written": {}, "resolved": {"n_resamples": 500, **settings}},
    )


def three_models(n=30, seed=0):
    """Return a record of one clearly best and two nearly equal models on n cases."""
    rng = np.random.default_rng(seed)
    hard = rng.beta(8, 2, n)
    scores = {
        "best": 0.90 + 0.1 * hard,
        "second": 0.80 + 0.1 * hard + rng.normal(0, 0.01, n),
        "third": 0.80 + 0.1 * hard + rng.normal(0, 0.01, n),
    }
    return record({name: table(np.clip(values, 0, 1)) for name, values in scores.items()})
