"""Records that the tests of the site share: plain ones, and one whose every name attacks the page."""

from dataclasses import replace

import numpy as np

from segauge import Grid, ScoreTable, Status
from segauge.io import write_nifti
from segbench.boards import make_leaderboard
from segbench.records import CaseInfo
from segbench.registry import DatasetCase
from segbench.site import RunFiles
from tests.report.examples import HOSTILE
from tests.segbench.made_up import record, table


def analysed(made):
    return made.with_analysis(make_leaderboard(made).to_dict())


def organs(n=24, *, seed=0, name="made-up", title="Made-up organs", shift=0.0):
    """Return a record of two structures and two metrics, with groups, a missed case and a model that saw the labels."""
    rng = np.random.default_rng(seed)
    hard = rng.beta(8, 2, n)
    tables = {}
    for model, better in (("alpha", 0.04), ("beta", 0.035), ("gamma", 0.0), ("peeker", 0.06)):
        dice = np.clip(0.84 + better + shift + 0.1 * hard[:, None] + rng.normal(0, 0.01, (n, 2)), 0, 1)
        values = np.stack([dice, 20 * (1 - dice)], axis=2)
        missed = []
        if model == "gamma":
            values[3, 0] = (0.0, np.nan)
            missed = [(3, 0)]
        tables[model] = table(values, structures=("liver", "spleen"), metrics=("dice", "hd95"), missed=missed)
    made = record(tables, levels={"peeker": "labels"} if name == "made-up" else {}, title=title)
    cases = tuple(
        CaseInfo(case.case_id, metadata={"sex": "FM"[i % 2], "age": 20 + 2 * i}) for i, case in enumerate(made.cases)
    )
    return analysed(replace(made, cases=cases, dataset=replace(made.dataset, name=name)))


def many(cases, models, structures, resamples=200):
    """Return a record of many models, each a little worse than the one before, some of whose cases are missed."""
    rng = np.random.default_rng(0)
    names = tuple(f"organ {j + 1}" for j in range(structures))
    hard = rng.beta(6, 1.2, (cases, structures))
    tables = {}
    for m in range(models):
        values = np.clip(hard * (0.99 - 0.01 * m) + rng.normal(0, 0.02, hard.shape), 0.001, 1.0)
        missed = [tuple(map(int, place)) for place in np.argwhere(rng.random(hard.shape) < 0.02)]
        for place in missed:
            values[place] = 0.0
        tables[f"model {m + 1:02d}"] = table(values, structures=names, missed=missed)
    return record(tables, n_resamples=resamples)


def hostile():
    """Return a record whose names of cases, models, structures and metadata would run if anything let them."""
    rng = np.random.default_rng(1)
    ids = tuple(dict.fromkeys([*HOSTILE, *(f"case {i}" for i in range(12))]))
    tables = {
        name: table(rng.uniform(0.6, 0.95, (len(ids), 2)), structures=HOSTILE[:2], ids=ids) for name in HOSTILE[:4]
    }
    made = record(tables, title=HOSTILE[0])
    cases = tuple(CaseInfo(case.case_id, metadata={HOSTILE[1]: HOSTILE[i % 2]}) for i, case in enumerate(made.cases))
    models = tuple(
        replace(
            entry,
            card=replace(
                entry.card, organisation=HOSTILE[0], licence=HOSTILE[1], paper="javascript:alert(1)", code=HOSTILE[0]
            ),
            exposure=replace(entry.exposure, reason=HOSTILE[0], caveat=HOSTILE[1]),
        )
        for entry in made.models
    )
    dataset = replace(made.dataset, title=HOSTILE[1], licence=HOSTILE[0], note=HOSTILE[0], citation=HOSTILE[0])
    return analysed(replace(made, cases=cases, models=models, dataset=dataset, notes=tuple(HOSTILE)))


SHAPE = (30, 28, 24)
GRID = Grid(SHAPE, np.diag([1.0, 1.0, 2.0, 1.0]))
CURVE = ("nsd", "nsd@1", "nsd@2.5", "nsd@5")


def box(*bounds):
    array = np.zeros(SHAPE, dtype=np.uint8)
    array[tuple(slice(a, b) for a, b in bounds)] = 1
    return array


def run_with_files(root, metrics=CURVE):
    """Return a record of two models on four cases, and its files.

    One model is right, the other misses the slices from 14 on; on the last case it made no prediction. Every metric has
    the same made-up values: the Dice of the boxes, a little less on two cases.
    """
    rng = np.random.default_rng(0)
    truth, cut = box((5, 20), (6, 18), (4, 18)), box((5, 20), (6, 18), (4, 14))
    ids = [f"case_{i:03d}" for i in range(4)]
    cases, predictions = {}, {}
    for case in ids:
        image = (truth * 60.0 + rng.normal(0, 5, SHAPE)).astype(np.float32)
        image[0, 0, 0] = np.nan
        paths = [write_nifti(root / f"{case}_{name}.nii.gz", a, GRID) for name, a in (("image", image), ("gt", truth))]
        cases[case] = DatasetCase(case, *paths)
        predictions["good", case] = write_nifti(root / f"{case}_good.nii.gz", truth, GRID)
        if case != ids[-1]:
            predictions["cut", case] = write_nifti(root / f"{case}_cut.nii.gz", cut, GRID)
    made = record({model: _scores(ids, model, 2 * cut.sum() / (cut.sum() + truth.sum()), metrics) for model in MODELS})
    models = tuple(replace(e, card=replace(e.card, structures={"organ": (1,)})) for e in made.models)
    failed = replace(models[1], failures={ids[-1]: "ran out of memory"})
    card = replace(made.dataset, show_images=True, licence="CC BY 4.0")
    made = analysed(replace(made, models=(models[0], failed), dataset=card))
    return made, RunFiles(cases, predictions, card)


MODELS = ("good", "cut")


def _scores(ids, model, dice, metrics):
    values = np.full((4, 1, len(metrics)), 1.0 if model == "good" else dice)
    status = np.full((4, 1), Status.PRESENT, dtype=object)
    if model == "cut":
        values -= np.array([0.0, 0.02, 0.01, 0.0])[:, None, None]
        values[3], status[3] = 0.0, Status.PREDICTION_MISSING
    return ScoreTable(tuple(ids), ("organ",), metrics, values, status)
