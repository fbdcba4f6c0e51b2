"""Claims: read from sentences, judged on simulated scores whose truth is known, and from published numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from segauge.errors import InvalidInput
from segauge.scores import ScoreTable, Status
from segauge.stats import Scale, ScoredSet, ScoreMatrix, board_on, compare, estimate, paired_power, score_matrix
from segbench.analysis import (
    Claim,
    Published,
    assess_claim,
    parse_claim,
    resolve_claim,
    review_claim,
)
from segbench.analysis.claims.reviewer import SD_OF_MEAN, SEEN_SD_RATIOS, imputed_sd
from segbench.boards import rules_of
from tests.segbench import made_up


@pytest.mark.parametrize(
    ("text", "left", "relation", "right", "margin", "subject", "metric"),
    [
        ("MedNeXt > STU-Net-B on liver dice", "MedNeXt", "better", "STU-Net-B", None, "liver", "dice"),
        ("A < B on gall bladder NSD", "B", "better", "A", None, "gall bladder", "NSD"),
        ("A >= B by 0.01 on average dice", "A", "not worse", "B", 0.01, "average", "dice"),
        ("Swin UNETR = U-Net by 0.02 on dice", "Swin UNETR", "equivalent", "U-Net", 0.02, "", "dice"),
        ("A  is better  than B by at least 0.5 on liver hd95", "A", "better", "B", 0.5, "liver", "hd95"),
        ("A outperforms all other models", "A", "better", "all", None, "", ""),
    ],
)
def test_sentences(text, left, relation, right, margin, subject, metric):
    found = parse_claim(text)
    assert (found.left, found.relation, found.right, found.margin) == (left, relation, right, margin)
    assert (found.subject, found.metric) == (subject, metric)


@pytest.mark.parametrize(
    "text", ["", "A and B", "A >B on dice", "A > B by lots on dice", "x" * 1000, "A < all on dice"]
)
def test_what_is_no_claim_is_refused(text):
    with pytest.raises(InvalidInput):
        parse_claim(text)


def simulated(difference, n=100, noise=0.02, seed=0, higher=True, models=("a", "b")):
    rng = np.random.default_rng(seed)
    base = rng.beta(8, 2, n) * 0.8
    values = np.column_stack([base + difference * (k == 0) + rng.normal(0, noise, n) for k in range(len(models))])
    scale = Scale(higher, (-np.inf, np.inf))
    return ScoreMatrix(tuple(f"{i:03d}" for i in range(n)), models, values, scale, title="liver dice")


@pytest.mark.parametrize(
    ("difference", "text", "verdict"),
    [
        (0.02, "a > b", "supported"),
        (0.02, "b > a", "refuted"),
        (0.02, "a > b by 0.01", "supported"),
        (0.02, "a > b by 0.03", "refuted"),
        (0.02, "a > b by 0.02", "not shown"),
        (0.0, "a > b", "not shown"),
        (0.0, "a >= b by 0.01", "supported"),
        (0.0, "a = b by 0.01", "supported"),
        (0.02, "a = b by 0.01", "refuted"),
    ],
)
def test_verdicts_are_those_of_the_simulation(difference, text, verdict):
    found = assess_claim(simulated(difference), parse_claim(text))
    assert found.verdict == verdict
    if verdict != "not shown":
        assert (found.probability_false < 0.025) == (verdict == "supported")


def test_lower_is_better_for_distances():
    matrix = simulated(0.02, higher=False)
    assert assess_claim(matrix, parse_claim("b > a")).verdict == "supported"
    assert any("Lower is better" in note for note in assess_claim(matrix, parse_claim("b > a")).notes)


def test_all_rivals_count():
    matrix = simulated(0.02, models=("a", "b", "c", "d"))
    found = assess_claim(matrix, parse_claim("a > all"))
    assert found.verdict == "supported"
    assert len(found.rivals) == 3
    # A model that only keeps up with its rivals is hardly the best: three ties make it false in most draws.
    tied = assess_claim(simulated(0.0, models=("a", "b", "c", "d")), parse_claim("a > all"))
    assert tied.verdict == "not shown"
    assert tied.probability_false > max(rival.probability_false for rival in tied.rivals) - 1e-9


def test_few_cases_give_no_verdict():
    found = assess_claim(simulated(0.5, n=9), parse_claim("a > b"))
    assert found.verdict == "not shown"
    assert any("too few" in note for note in found.notes)


def test_margins_are_needed_where_they_are_the_claim():
    with pytest.raises(InvalidInput, match="needs a margin"):
        assess_claim(simulated(0.0), parse_claim("a = b"))
    with pytest.raises(InvalidInput, match="with itself"):
        assess_claim(simulated(0.0), parse_claim("a > a"))


def table(values):
    n = len(values)
    states = np.full((n, 1), None, dtype=object)
    states[:, 0] = [Status.PRESENT] * n
    cells = np.asarray(values, dtype=float).reshape(n, 1, 1)
    return ScoreTable(tuple(f"c{i}" for i in range(n)), ("left_kidney",), ("dice",), cells, states)


def test_names_are_found_but_never_guessed():
    scored = ScoredSet("x", {"STU-Net B": table([0.9] * 12), "U-Net": table([0.8] * 12), "u net": table([0.7] * 12)})
    claim, matrix = resolve_claim(parse_claim("stu-net_b > U-Net on left kidney DSC"), scored, rules_of())
    assert (claim.left, claim.right, claim.subject, claim.metric) == ("STU-Net B", "U-Net", "left_kidney", "dice")
    assert matrix.models == ("STU-Net B", "U-Net")
    with pytest.raises(InvalidInput, match="could be 'U-Net' or 'u net'"):
        resolve_claim(parse_claim("STU-Net B > u_net on left kidney dice"), scored, rules_of())
    with pytest.raises(InvalidInput, match="No model 'Net'"):
        resolve_claim(parse_claim("Net > U-Net on left kidney dice"), scored, rules_of())


def test_a_pair_keeps_the_cases_that_another_model_lacks():
    scored = ScoredSet("x", {"a": table([0.9] * 12), "b": table([0.8] * 12), "short": table([0.7] * 5)})
    assert len(resolve_claim(parse_claim("a > b on dice"), scored, rules_of())[1].cases) == 12
    assert len(resolve_claim(parse_claim("a > all on dice"), scored, rules_of())[1].cases) == 5


def test_review_is_the_paired_t_test_of_the_moments():
    from scipy.stats import chi2, t

    a, b = Published("a", 0.912, 0.05, 50), Published("b", 0.905, 0.06, 50)
    found = review_claim(a, b, correlation=0.5)
    spread = np.sqrt(0.05**2 + 0.06**2 - 2 * 0.5 * 0.05 * 0.06)
    assert found.probability_false == pytest.approx(t.cdf(-0.007 / (spread / np.sqrt(50)), 49), rel=1e-9)
    assert len(found.scenarios) == 1
    # As many cases as `segauge plan` asks for: a deviation of 50 cases counts with its upper 80 % limit.
    limit = spread * np.sqrt(49 / chi2.ppf(0.2, 49))
    (needed,) = (one.cases_needed for one in found.scenarios)
    assert paired_power(0.007, limit, needed) >= 0.8 > paired_power(0.007, limit, needed - 1)
    # The less two models go together, the less is known about their difference.
    low, typical, high = review_claim(a, b).scenarios
    assert low.probability_false > typical.probability_false > high.probability_false
    assert low.probability_false > review_claim(a, b).probability_false > high.probability_false
    assert low.cases_needed > high.cases_needed


def test_review_of_separate_test_sets_is_welch():
    from scipy.stats import ttest_ind_from_stats

    a, b = Published("a", 0.92, 0.05, 40), Published("b", 0.90, 0.08, 60)
    welch = ttest_ind_from_stats(0.92, 0.05, 40, 0.90, 0.08, 60, equal_var=False, alternative="greater")
    assert review_claim(a, b, paired=False).probability_false == pytest.approx(welch.pvalue, rel=1e-9)
    with pytest.raises(InvalidInput, match="same n"):
        review_claim(a, b)


def test_review_with_a_margin_gives_the_probability_of_equivalence():
    a, b = Published("a", 0.900, 0.05, 200), Published("b", 0.900, 0.05, 200)
    found = review_claim(a, b, margin=0.02, correlation=0.6)
    assert found.scenarios[0].equivalence > 0.99
    assert found.probability_false == pytest.approx(0.5)


def test_an_assessment_is_the_paired_t_test_where_that_is_exact():
    """Normal differences, many cases: p-value, interval, equivalence and cases needed have closed forms."""
    from scipy.optimize import brentq
    from scipy.stats import chi2, norm, t

    rng = np.random.default_rng(5)
    n, margin = 400, 0.012
    other = rng.uniform(0.3, 0.6, n)
    differences = rng.normal(0.0, 0.08, n)
    differences += 0.006 - differences.mean()
    matrix = ScoreMatrix(
        tuple(map(str, range(n))), ("a", "b"), np.column_stack([other + differences, other]), Scale(True, (0.0, 1.0))
    )
    found = assess_claim(matrix, parse_claim("a > b"), margin=margin, n_resamples=20_000)
    error = differences.std(ddof=1) / np.sqrt(n)

    def tail(which, edge):
        """The tail at which a half-case limit of the differences reaches an edge."""
        return brentq(
            lambda p: getattr(estimate(differences, bounds=(-1, 1), level=1 - 2 * p), which) - edge, 1e-9, 0.4999
        )

    # 20,000 quantiles: a step of 5e-5, and the counts of half a draw.
    assert found.probability_false == pytest.approx(tail("ci_low", 0.0), abs=2e-4)
    within = 1.0 - tail("ci_low", -margin) - tail("ci_high", margin)
    assert found.equivalence == pytest.approx(within, abs=4e-4)
    pair = found.closest.pair
    half = t.ppf(0.975, n - 1) * error
    # The bootstrap's critical value has an error of about 1 %; 3 % allows three of them.
    assert (pair.ci_low, pair.ci_high) == pytest.approx((0.006 - half, 0.006 + half), abs=0.03 * half)
    # The spread counts as estimated: its upper 80 % limit is used. Normal and t quantiles differ by two or so cases.
    spread = differences.std(ddof=1) * np.sqrt((n - 1) / chi2.ppf(0.2, n - 1))
    needed = ((norm.ppf(0.975) + norm.ppf(0.8)) * spread / 0.006) ** 2
    assert found.closest.plan.cases_needed == pytest.approx(needed, abs=5)
    assert found.verdict == "not shown"


def test_means_of_an_average_have_the_interval_of_its_board():
    rng = np.random.default_rng(4)
    hard = rng.beta(20, 2, (12, 2))
    tables = {name: made_up.table(hard - lead, structures=("x", "y")) for name, lead in (("a", 0.0), ("b", 0.05))}
    rules = rules_of(n_resamples=500)
    scored = ScoredSet("x", tables)
    board = board_on(scored, "average", "dice", rules)
    found = assess_claim(resolve_claim(parse_claim("a > b on average dice"), scored, rules)[1], parse_claim("a > b"))
    for name, mean in found.means.items():
        same = board[name].estimate
        assert (mean.method, mean.ci_low, mean.ci_high) == ("half-case", same.ci_low, same.ci_high)


def test_no_case_wins_an_average_of_structure_means():
    """What a case adds to such an average is not its score: no share of cases won, no test of the typical case."""
    rng = np.random.default_rng(0)
    values = rng.uniform(0.4, 0.8, (30, 2, 1))
    status = np.full((30, 2), Status.PRESENT, dtype=object)
    cases = tuple(f"c{i:02d}" for i in range(30))
    tables = {
        name: ScoreTable(cases, ("liver", "spleen"), ("dice",), values + shift, status)
        for name, shift in (("a", 0.1), ("b", 0.0))
    }
    scored = ScoredSet("x", tables)
    found = {
        average: assess_claim(
            resolve_claim(parse_claim("a > b on average dice"), scored, rules)[1], parse_claim("a > b")
        )
        for average in ("structure-means", "case-mean")
        for rules in (rules_of(average=average, n_resamples=500),)
    }
    assert (found["structure-means"].closest.wins, found["structure-means"].closest.wilcoxon_p) == (None, None)
    assert found["case-mean"].closest.wins == 1.0
    assert found["case-mean"].closest.wilcoxon_p < 1e-5


def test_review_of_a_lead_asks_for_the_lead():
    a, b = Published("a", 0.90, 0.05, 40), Published("b", 0.88, 0.05, 40)
    from scipy.stats import t

    error = 0.05 * np.sqrt(2 * (1 - 0.5)) / np.sqrt(40)
    for by in (0.0, 0.015, 0.03):
        found = review_claim(a, b, correlation=0.5, by=by)
        assert found.probability_false == pytest.approx(t.cdf((by - 0.02) / error, 39), rel=1e-9)


def test_a_claim_counts_false_findings():
    """Where there is nothing to find, the loud model finds something in ten cases."""
    quiet = np.concatenate([np.linspace(0.85, 0.91, 20), np.full(10, np.nan)])
    loud = np.concatenate([quiet[:20] + np.linspace(0.015, 0.025, 20), np.zeros(10)])
    tables = {"quiet": made_up.table(quiet), "loud": made_up.table(loud)}
    status = tables["loud"].status.copy()
    status[20:, 0] = Status.SPURIOUS
    tables["loud"] = replace(tables["loud"], status=status)
    tables["mute"] = tables["quiet"]
    matrix = score_matrix(tables)
    found = assess_claim(matrix, Claim("", "quiet", "loud", "better"), n_resamples=1000)
    expected = np.concatenate([(quiet - loud)[:20], np.ones(10)])
    assert (found.verdict, found.n) == ("supported", 30)
    assert found.rivals[0].pair.delta == pytest.approx(expected.mean())
    assert found.rivals[0].wilcoxon_p == pytest.approx(scipy_stats.wilcoxon(expected, method="approx").pvalue, rel=1e-6)
    assert found.means["quiet"].value == pytest.approx(0.88)
    assert any("nothing to find" in note for note in found.notes)
    # Two that find nothing say nothing about each other there.
    everybody = assess_claim(matrix, Claim("", "quiet", "all", "better"), n_resamples=1000)
    assert {rival.pair.b: rival.pair.n for rival in everybody.rivals} == {"loud": 30, "mute": 20}


@pytest.mark.parametrize(("lost", "verdict"), [(3, "not shown"), (5, "not shown"), (6, "refuted")])
def test_a_claim_is_refuted_where_the_comparison_tells_the_two_apart(lost, verdict):
    """b fails on a few of 20 cases where a does not: the sign test says p = 0.25, 0.0625 and 0.03."""
    b = np.ones(20)
    b[:lost] = 0.0
    matrix = score_matrix({"a": np.ones(20), "b": b}, scale=Scale(True, (0.0, 1.0)))
    told = compare(matrix).pairs[0].verdict
    assert assess_claim(matrix, parse_claim("b > a")).verdict == verdict
    assert (verdict == "refuted") == (told == "better")
    assert assess_claim(matrix, parse_claim("a > b")).verdict == ("supported" if told == "better" else "not shown")


def test_a_paper_without_sd_can_be_reviewed_and_says_so():
    """It was refused: more than half of the papers give no standard deviation."""
    a, b = Published.without_sd("a", 0.912, 50), Published.without_sd("b", 0.905, 50)
    low, high = SD_OF_MEAN
    assert a.sd == pytest.approx((1 - 0.912) * (low + high * 0.912))
    found = review_claim(a, b)
    assert (found.a.imputed, found.b.imputed) == (True, True)
    assert any("imputed from the mean Dice (0.115 for a and 0.123 for b)" in note for note in found.notes)
    known = review_claim(Published("a", 0.912, a.sd, 50), Published("b", 0.905, b.sd, 50))
    assert [one.ci_low for one in found.scenarios] == [one.ci_low for one in known.scenarios]
    # Not to know the standard deviation is averaged in: it is neither the one nor the other of the extremes.
    extremes = [
        review_claim(Published("a", 0.912, ratio * a.sd, 50), Published("b", 0.905, ratio * b.sd, 50))
        for ratio in (SEEN_SD_RATIOS[0], SEEN_SD_RATIOS[-1])
    ]
    assert extremes[0].probability_false < found.probability_false < extremes[1].probability_false
    assert not any("imputed" in note for note in known.notes)


@pytest.mark.parametrize("mean", [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999])
def test_an_imputed_sd_is_one_that_scores_can_have(mean):
    assert 0 <= imputed_sd(mean) <= (mean * (1 - mean)) ** 0.5


@pytest.mark.parametrize("mean", [0.0, 1.0, 91.2, -0.5])
def test_a_mean_that_is_no_dice_has_no_imputed_sd(mean):
    with pytest.raises(InvalidInput, match="mean Dice between 0 and 1"):
        imputed_sd(mean)
