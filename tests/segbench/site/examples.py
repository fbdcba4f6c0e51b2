"""Records that the tests of the site share: plain ones, and one whose every name attacks the page."""

from dataclasses import replace

import numpy as np

from segbench.leaderboard import make_leaderboard
from segbench.records import CaseInfo
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
