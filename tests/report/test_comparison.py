"""The comparison says what the ranking says, counts failures, and names where models disagree."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("altair", reason="the report needs segauge[report]")
pytest.importorskip("jinja2", reason="the report needs segauge[report]")

from segauge import Case, evaluate
from segauge.errors import InvalidInput, UnknownMetric
from segauge.report.comparison import ModelComparison
from segauge.report.comparison_page import comparison_illustrations, comparison_text, pair_table
from segauge.report.html import table_data
from segauge.scores import Status
from segauge.stats import rank

from .examples import HOSTILE, synthetic


def model(quality, *, structures=("liver", "pancreas"), seed=0, failed=()):
    """Return the result of a model: the same cases for all, scores moved by its quality."""
    found = synthetic(30, structures, curve=False, seed=1)
    rng = np.random.default_rng(seed)
    values, status = found.table.values.copy(), found.table.status.copy()
    status[:] = Status.PRESENT
    k = found.table.metrics.index("dice")
    base = np.random.default_rng(7).beta(20, 4, values.shape[:2])
    values[:, :, k] = np.clip(base + quality + rng.normal(0, 0.01, base.shape), 0, 1)
    values[np.isnan(values)] = 0.5
    for case in failed:
        status[case, 0] = Status.MISSED
        values[case, 0] = np.nan
    table = replace(found.table, values=values, status=status)
    return replace(found, table=table)


@pytest.fixture(scope="module")
def comparison():
    models = {"good": model(0.05, seed=1), "fair": model(0.0, seed=2), "also fair": model(0.001, seed=3, failed=(4,))}
    return ModelComparison(models, metric="dice", n_resamples=1000)


def test_the_better_model_leads_and_ties_are_named(comparison):
    assert comparison.board.rows[0].model == "good"
    assert comparison.board.winners == ("good",)
    assert "good leads (0.883): significantly better than each of the other 2 models" in " ".join(
        comparison.sentences()
    )
    assert comparison.deciding.key == "dice"


def test_ranks_over_resamples_are_shares_and_agree_with_the_ranking(comparison):
    ranking = rank(comparison.scored.average("dice", "structure-means", "failed"), n_resamples=1000)
    for name, shares in comparison.rank_frequencies.items():
        assert sum(shares.values()) == pytest.approx(1.0)
        mean = sum(rank * share for rank, share in shares.items())
        # The same resamples as those of the ranking: the mean rank comes out to rounding.
        assert mean == pytest.approx(ranking[name].mean_rank, abs=1e-9)


def test_failures_are_counted_over_structures(comparison):
    failures = {row.model: (row.failed, row.n) for row in comparison.board.rows}
    assert failures == {"good": (0, 30), "fair": (0, 30), "also fair": (1, 30)}


def test_the_largest_disagreement_is_the_failure(comparison):
    first = comparison.disagreements()[0]
    assert (first.case, first.structure, first.worst) == ("case_0004", "liver", "also fair")
    assert first.worst_value == 0.0


def test_mean_ranks_lie_between_one_and_the_number_of_models(comparison):
    ranks = comparison.mean_ranks
    assert min(ranks, key=ranks.get) == "good"
    # Ranks within a case are 1 + 2 + 3 whatever the order.
    assert sum(ranks.values()) == pytest.approx(6.0)


@pytest.fixture(scope="module")
def text(comparison):
    return comparison_text(comparison)


def test_every_figure_of_a_comparison_is_drawn(comparison, text):
    made = {one.key: one for one in comparison_illustrations(comparison)}
    assert {"means", "significance", "differences", "ranks", "critical", "podium", "structures"} <= set(made)
    for key, one in made.items():
        figure = text[text.index(f'id="{key}"') :]
        drawn = figure[figure.index("<svg") : figure.index("</svg>")]
        assert html.escape(one.title) in drawn[: drawn.index(">")]


def test_the_page_holds_every_pair_and_case(comparison, text):
    found = re.search(r'id="data-pairs">(.*?)</script>', text, re.DOTALL)
    assert json.loads(found[1]) == table_data(pair_table(comparison))
    assert len(pair_table(comparison).rows) == 3 * len(comparison.boards)
    assert "Content-Security-Policy" in text


def test_wins_stand_in_the_table_where_cases_are_won(comparison):
    assert "wins" not in [column.title for column in pair_table(comparison).columns]
    models = {"good": model(0.05, structures=("liver",), seed=1), "fair": model(0.0, structures=("liver",), seed=2)}
    single = pair_table(ModelComparison(models, metric="dice", n_resamples=200))
    assert "wins" in [column.title for column in single.columns]


def test_hostile_names_of_models_and_structures_stay_text():
    names = HOSTILE[:4]
    models = {name: model(i / 100, structures=HOSTILE[:2], seed=i) for i, name in enumerate(names)}
    text = comparison_text(ModelComparison(models, n_resamples=1000), title=HOSTILE[0])
    assert "<script>alert" not in text
    assert "<img" not in text


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InvalidInput, match="two models or more"):
        ModelComparison({"one": model(0)})
    with pytest.raises(UnknownMetric, match="share no metric 'nonsense'"):
        ModelComparison({"a": model(0), "b": model(0.1)}, metric="nonsense")
    with pytest.raises(InvalidInput, match="no structure in common"):
        _ = ModelComparison({"a": model(0), "b": model(0, structures=("heart",))}).structures


def test_cases_that_one_model_lacks_count_as_its_failures():
    full, short = model(0.0, seed=1), model(0.0, seed=2)
    kept = list(range(25))
    table = replace(
        short.table,
        cases=short.table.cases[:25],
        values=short.table.values[kept],
        status=short.table.status[kept],
    )
    found = ModelComparison({"full": full, "short": replace(short, table=table)}, metric="dice", n_resamples=1000)
    assert found.n_cases == 30
    assert (found.board["short"].failed, found.board["short"].n) == (5, 30)
    assert found.board.rows[0].model == "full"


def test_false_findings_are_counted_and_said():
    gt = np.zeros((10, 10, 8), dtype=np.uint8)
    gt[2:8, 2:8, 2:6] = 1
    empty, shifted = np.zeros_like(gt), np.roll(gt, 1, axis=0)
    truths = [gt] * 14 + [empty] * 8
    quiet = [Case(f"c{i:02d}", shifted if one is gt else empty, one) for i, one in enumerate(truths)]
    loud = [Case(f"c{i:02d}", gt, one) for i, one in enumerate(truths)]
    results = {
        name: evaluate(cases, structures={"organ": 1}, metrics=["dice"])
        for name, cases in (("quiet", quiet), ("loud", loud))
    }
    comparison = ModelComparison(results, n_resamples=500)
    pair = comparison.board.comparison["quiet", "loud"]
    dice = results["quiet"].table.column("organ", "dice")[0]
    assert (pair.n, pair.delta) == (22, pytest.approx((14 * (dice - 1.0) + 8 * 1.0) / 22))
    assert any("there is nothing to find" in sentence for sentence in comparison.sentences())
    apart = comparison.disagreements()
    assert [(one.case, one.best, one.worst, one.gap, one.best_found_nothing) for one in apart[:8]] == [
        (f"c{i:02d}", "quiet", "loud", 1.0, True) for i in range(14, 22)
    ]
    assert not apart[8].best_found_nothing
    assert "quiet</bdi> found nothing, rightly" in comparison_text(comparison)
