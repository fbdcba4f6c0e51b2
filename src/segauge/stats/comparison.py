"""Comparisons of models on the same cases: all pairs, with intervals, effect sizes and verdicts.

The plain percentile comparison of segauge 0.2, `paired_significance()`, is in `compat`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from segauge.digits import decimals, fixed, p_equals
from segauge.digits import p_value as p_value_text
from segauge.errors import InvalidInput
from segauge.notebook import NotebookTable, Shown
from segauge.stats.estimation import FEWEST_FOR_BOOTSTRAP_T, finite
from segauge.stats.intervals import METHODS, Request
from segauge.stats.matrix import ScoreMatrix
from segauge.stats.missing import told_scale
from segauge.stats.pairs import PairStatistics, pair_statistics
from segauge.stats.resampling import Floats, require_level, require_resamples, stream
from segauge.stats.shared_cases import score_matrix, selected_metric
from segauge.stats.significance import (
    CORRECTIONS,
    agreeing,
    bonferroni,
    paired_t,
    sign_flip,
    signed_ranks_of,
    t_p_values,
    wilcoxon,
)

#: Below this many cases an interval is printed, but no verdict: no method measured holds its level there.
FEWEST_FOR_VERDICT = 10

#: What tells two models apart where all differences that are not 0 have one size.
SIGN_TEST = "exact sign test, because a case only says who is ahead"

COMPARISON_METHODS = ("max-t", "bootstrap-t", "percentile", "t", "wilcoxon", "sign-flip")

Verdict = Literal["better", "worse", "equivalent", "undecided"]

#: What the two intervals of a pair are called wherever they are shown.
TOGETHER = "all pairs together"
ALONE = "this pair alone"

#: "agreeing": an interval excludes 0 exactly where the pair is decided, and each pair has its interval alone beside it.
#: "single-step": as boards up to the rules segbench-4 have them.
Intervals = Literal["agreeing", "single-step"]


@dataclass(frozen=True)
class PairResult:
    """One pair of models.

    Attributes:
        a, b: the models.
        n: cases that both have a score for, and those where there is nothing to find and only one of them found nothing
            (see `ScoreMatrix.differences`).
        delta: mean of a - b over these cases, in the metric's unit.
        ci_low, ci_high: its interval, "all pairs together" where the method is for all of them, and never beyond what
            two scores can differ by. It excludes 0 exactly where the verdict is "better" or "worse" (or where it would
            be, but is "equivalent"). None below 2 cases, and for "wilcoxon", which is not about means.
        p_value: adjusted for all pairs; None where the method has none or there are too few cases.
        effect_size: delta over the standard deviation of the differences; None where that is 0.
        wins: share of cases where a is better, ties counting half; None for an average of task means, which no single
            case has.
        verdict: of a against b: "better", "worse", "equivalent" (the interval lies within the margin), "undecided".
        favored: the better model, or None.
        alone_low, alone_high: the interval of "this pair alone": half-case of the paired differences, which no other
            model changes. None where there is none (fewer than 2 cases, or equal differences on an open scale).

    """

    a: str
    b: str
    n: int
    delta: float
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    effect_size: float | None
    wins: float | None
    verdict: Verdict
    favored: str | None
    alone_low: float | None = None
    alone_high: float | None = None

    @property
    def distinguishable(self) -> bool:
        """True if one of the two is favored."""
        return self.favored is not None

    @property
    def decimals(self) -> int:
        """With how many decimals the difference and all its limits are printed."""
        known = self.alone_low is not None and self.alone_high is not None
        limits = (self.alone_low, self.alone_high) if known else (self.ci_low, self.ci_high)
        return decimals(self.delta, *limits)

    def interval_text(self, places: int | None = None) -> str:
        """Return the interval for all pairs together: "[+0.004, +0.021]"; a limit cut short of 0 is "> 0"."""
        return _interval_text(self.ci_low, self.ci_high, self.decimals if places is None else places)

    def alone_text(self, places: int | None = None) -> str:
        """Return the interval of this pair alone."""
        return _interval_text(self.alone_low, self.alone_high, self.decimals if places is None else places)

    def __str__(self) -> str:
        parts = [f"{self.a} - {self.b}: {fixed(self.delta, self.decimals, signed=True)}"]
        named = ((self.interval_text(), TOGETHER), (self.alone_text(), ALONE))
        parts += [f"{text} {name}" for text, name in named if text]
        parts += [] if self.p_value is None else [p_equals(self.p_value)]
        return f"{', '.join(parts)}, n={self.n}: {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON; the interval alone where it was made."""
        optional = {"alone_low", "alone_high"}
        return {key: value for key, value in vars(self).items() if value is not None or key not in optional}


def _interval_text(low: float | None, high: float | None, places: int) -> str:
    if low is None or high is None:
        return ""
    limits = [fixed(limit, places, signed=True) for limit in (low, high)]
    # A limit that was cut short of 0 must not be read as 0.
    shown = [
        text if float(text) or not limit else f"{'>' if limit > 0 else '<'} 0"
        for text, limit in zip(limits, (low, high), strict=True)
    ]
    return f"[{shown[0] if low >= 0 else limits[0]}, {shown[1] if high <= 0 else limits[1]}]"


@dataclass(frozen=True)
class Comparison(NotebookTable):
    """All pairs of models, and the rules that made the verdicts.

    `sign_tested` are the pairs that the exact sign test told apart in place of `method`, because a case only says who
    is ahead; `test` says so in words.
    """

    pairs: tuple[PairResult, ...]
    models: tuple[str, ...]
    method: str
    correction: str
    level: float
    margin: float | None
    n_resamples: int
    seed: int
    title: str = ""
    notes: tuple[str, ...] = ()
    sign_tested: tuple[tuple[str, str], ...] = ()

    @property
    def test(self) -> str:
        """What told the pairs apart, in words."""
        if not self.sign_tested:
            return f"{self.method}, correction {self.correction}"
        if len(self.sign_tested) == len(self.pairs) == 1:
            return SIGN_TEST
        named = ", ".join(f"{a} - {b}" for a, b in self.sign_tested)
        return f"{self.method} ({named}: {SIGN_TEST}), correction {self.correction}"

    def __getitem__(self, names: tuple[str, str]) -> PairResult:
        """Return the pair (a, b), turned round if it was computed the other way."""
        for pair in self.pairs:
            if (pair.a, pair.b) == names:
                return pair
            if (pair.b, pair.a) == names:
                return _turned(pair)
        raise InvalidInput(f"No pair {names!r}; the models are {', '.join(self.models)}.")

    def __str__(self) -> str:
        head = f"{self.title}: {self.test}, {100 * self.level:g} %".lstrip(": ")
        return "\n".join([head, *map(str, self.pairs)])

    def shown(self) -> Shown:
        """Return what a notebook shows."""
        header = ("pair", "n", "difference", TOGETHER, ALONE, "p", "verdict")
        rows = [
            (
                f"{p.a} - {p.b}", p.n, fixed(p.delta, p.decimals, signed=True), p.interval_text(), p.alone_text(),
                p_value_text(p.p_value), p.verdict,
            )
            for p in self.pairs
        ]  # fmt: skip
        return Shown(str(replace(self, pairs=())), header, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        return {
            "title": self.title,
            "method": self.method,
            "correction": self.correction,
            "level": self.level,
            "margin": self.margin,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
            "notes": list(self.notes),
            "sign_tested": [list(pair) for pair in self.sign_tested],
            "pairs": [pair.to_dict() for pair in self.pairs],
        }


def _turned(pair: PairResult) -> PairResult:
    verdict: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}
    return PairResult(
        a=pair.b,
        b=pair.a,
        n=pair.n,
        delta=-pair.delta,
        ci_low=None if pair.ci_high is None else -pair.ci_high,
        ci_high=None if pair.ci_low is None else -pair.ci_low,
        p_value=pair.p_value,
        effect_size=None if pair.effect_size is None else -pair.effect_size,
        wins=None if pair.wins is None else 1.0 - pair.wins,
        verdict=verdict.get(pair.verdict, pair.verdict),
        favored=pair.favored,
        alone_low=None if pair.alone_high is None else -pair.alone_high,
        alone_high=None if pair.alone_low is None else -pair.alone_low,
    )


def half_widths(critical: npt.ArrayLike, errors: Floats) -> Floats:
    """Return critical value times standard error: 0 where the error is 0, whatever the critical value."""
    with np.errstate(invalid="ignore"):
        return np.where(errors > 0, np.asarray(critical) * errors, 0.0)


def compare(
    scores: Mapping[str, Any] | ScoreMatrix,
    *,
    method: str = "max-t",
    correction: str | None = None,
    level: float = 0.95,
    margin: float | None = None,
    higher_is_better: bool | None = None,
    bounds: tuple[float, float] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    intervals: Intervals = "agreeing",
    **selection: Any,
) -> Comparison:
    """Compare all pairs of models by the mean of their per-case differences.

    Args:
        scores: per model a mapping of case id to score, a score table, or scores in the same order of cases; or a
            `ScoreMatrix`. Cases are paired by id.
        method: "max-t": symmetric bootstrap-t intervals and p-values that hold for all pairs together (regularised
            step-down maximum); with two models the plain symmetric bootstrap-t. "bootstrap-t": the same, pair by
            pair. Both take the exact sign test for two models of which a case only says who is ahead (all differences
            that are not 0 have one absolute value), and Student's t below five cases, corrected for all pairs.
            "percentile": percentile intervals. "t", "wilcoxon", "sign-flip": those tests.
        correction: over the pairs: "holm", "bonferroni" or "none". "max-t" has its own, "step-down"; the others take
            Holm unless told otherwise.
        level: confidence level; a verdict needs p < 1 - level.
        margin: differences within -margin to margin do not matter in practice: a pair whose interval lies within is
            "equivalent".
        higher_is_better: which way is better, where no metric says it; plain values without a metric are taken as
            higher is better.
        bounds: ends of the scale, where they are not those of the metric.
        n_resamples: of the resampling methods.
        seed: of the resampling methods.
        intervals: "agreeing", so that an interval excludes 0 exactly where its pair is decided; or "single-step", as
            earlier versions had them.
        **selection: `structure`, `metric`, `scale`, `policy`, `cases`, `cluster`, as in `score_matrix`.

    """
    require_level(level)
    require_resamples(n_resamples)
    _require_known(method, correction, margin)
    matrix = comparable(scores, higher_is_better, bounds, selection)
    if matrix.clusters is not None and method in ("wilcoxon", "sign-flip"):
        raise InvalidInput(
            f'method={method!r} takes cases for independent; with clusters use "max-t" or "bootstrap-t".'
        )
    resampled = n_resamples if method in ("max-t", "bootstrap-t") else 0
    pairs = pair_statistics(matrix, resampled, seed, regularised=method == "max-t")
    return compared(
        matrix, pairs, level, margin, n_resamples, seed, method=method, correction=correction, intervals=intervals
    )


def compared(
    matrix: ScoreMatrix,
    pairs: PairStatistics,
    level: float,
    margin: float | None,
    n_resamples: int,
    seed: int,
    *,
    method: str = "max-t",
    correction: str | None = None,
    intervals: Intervals = "agreeing",
) -> Comparison:
    """Return the comparison of all pairs from their resampled statistics."""
    chosen = "step-down" if method == "max-t" else correction or "holm"
    tested = _tested(pairs, method, chosen, level, n_resamples, seed)
    if intervals == "agreeing":
        tested = _agreeing(tested, pairs, method, level)
    results = tuple(_pair_result(matrix, pairs, tested, k, level, margin) for k in range(pairs.first.size))
    by_signs = pairs.by_sign_test if method in ("max-t", "bootstrap-t") else np.zeros(pairs.first.size, dtype=bool)
    return Comparison(
        results, matrix.models, method, chosen, level, margin, n_resamples, seed, matrix.title,
        (*matrix.notes, *matrix.notes_on_pairs),
        tuple((found.a, found.b) for found, is_by_signs in zip(results, by_signs, strict=True) if is_by_signs),
    )  # fmt: skip


def comparable(
    scores: Mapping[str, Any] | ScoreMatrix,
    higher_is_better: bool | None,
    bounds: tuple[float, float] | None,
    selection: Mapping[str, Any],
) -> ScoreMatrix:
    """Return the matrix of scores that have a mean: with failures that have no value, the ranks within each case."""
    if isinstance(scores, Mapping) and selection.get("scale") is None:
        metric = selected_metric(scores, selection.get("metric"))
        selection = {**selection, "scale": told_scale(metric, higher_is_better, bounds)}
    matrix = score_matrix(scores, **selection).scored_cases()
    if higher_is_better is not None and higher_is_better != matrix.scale.higher_is_better:
        raise InvalidInput(
            f"higher_is_better={higher_is_better}, but these scores have the opposite direction; leave it out."
        )
    if len(matrix.models) < 2:
        raise InvalidInput(f"A comparison needs two models or more, got {len(matrix.models)}.")
    empty = [name for name, column in zip(matrix.models, matrix.values.T, strict=True) if np.isnan(column).all()]
    if empty:
        what = f" of {matrix.title}" if matrix.title else ""
        raise InvalidInput(
            f"Without a single score{what}, so not to be compared: {', '.join(empty)}. Leave them out, or choose "
            "another structure or metric."
        )
    if not matrix.has_failures_without_value:
        return matrix
    ranked = matrix.as_ranks()
    if not ranked.cases:
        raise InvalidInput("There is no case that every model has a score or a failure for, so none to rank within.")
    return ranked


def _require_known(method: str, correction: str | None, margin: float | None) -> None:
    if method not in COMPARISON_METHODS:
        raise InvalidInput(f"No comparison method {method!r}; there are {', '.join(COMPARISON_METHODS)}.")
    if correction is not None and correction not in CORRECTIONS:
        raise InvalidInput(f"No correction {correction!r}; there are {', '.join(CORRECTIONS)}.")
    if method == "max-t" and correction is not None:
        raise InvalidInput('method="max-t" corrects for all pairs itself; leave correction out.')
    if margin is not None and not margin > 0:
        raise InvalidInput(f"Expected a positive margin in the metric's unit, got {margin!r}.")


@dataclass(frozen=True, eq=False)
class _Tested:
    """Per pair: limits of the interval, adjusted p-values (None if the method has none), and the sign tested."""

    low: Floats
    high: Floats
    p_values: Floats | None
    direction: Floats
    alone_low: Floats | None = None
    alone_high: Floats | None = None


def _tested(pairs: PairStatistics, method: str, correction: str, level: float, n_resamples: int, seed: int) -> _Tested:
    direction = np.sign(pairs.facts.means)
    # An interval has no step-down: with Holm or Bonferroni it is widened for the number of pairs.
    each = level if correction == "none" else 1.0 - (1.0 - level) / pairs.first.size
    if method == "max-t":
        half = half_widths(np.quantile(pairs.resampled.max(axis=1), level, method="higher"), pairs.errors)
        p = np.where(_is_small(pairs), bonferroni(_t_p_values(pairs)), pairs.joint_p_values())
        return _Tested(*_limits(pairs, half, level, each), p, direction)
    adjust = CORRECTIONS[correction]
    if method == "bootstrap-t":
        half = half_widths(np.quantile(pairs.resampled, each, axis=0, method="higher"), pairs.errors)
        p = np.where(_is_small(pairs), _t_p_values(pairs), pairs.single_p_values())
        return _Tested(*_limits(pairs, half, each, each), adjust(p), direction)
    request = Request(each, (-np.inf, np.inf), n_resamples, stream(seed, "cases"))
    low, high = METHODS["percentile" if method == "percentile" else "t"].function(pairs.sample(), request)
    if method == "percentile":
        return _Tested(low, high, None, direction)
    if method == "wilcoxon":
        # Wilcoxon speaks of the side with the larger ranks, which need not be that of the mean.
        differences = pairs.differences()
        direction = np.sign([found.excess for found in signed_ranks_of(differences)])
        return _Tested(low, high, adjust(wilcoxon(differences)), direction)
    flipped = method == "sign-flip"
    p = sign_flip(pairs.differences(), n_resamples, stream(seed, "signs")) if flipped else paired_t(pairs.sample())
    return _Tested(low, high, adjust(p), direction)


def _agreeing(tested: _Tested, pairs: PairStatistics, method: str, level: float) -> _Tested:
    """Return the same with intervals that exclude 0 where a pair is decided, and only there, and with those alone."""
    alone_low, alone_high = pairs.alone_limits(level)
    alone = {"alone_low": alone_low, "alone_high": alone_high}
    if method == "wilcoxon":  # not about means, so no interval of a mean goes with it
        none = np.full(tested.low.shape, np.nan)
        return replace(tested, low=none, high=none, **alone)
    excludes = (tested.low > 0) | (tested.high < 0)
    is_decided = excludes if tested.p_values is None else tested.p_values < 1.0 - level
    is_decided = is_decided & (pairs.facts.units >= FEWEST_FOR_VERDICT)
    low, high = agreeing(tested.low, tested.high, tested.direction, is_decided)
    return replace(tested, low=low, high=high, **alone)


def _is_small(pairs: PairStatistics) -> npt.NDArray[np.bool_]:
    """Return which pairs have too few cases in common for the bootstrap-t; Student's t is then taken, as for a mean."""
    return np.asarray((pairs.facts.units < FEWEST_FOR_BOOTSTRAP_T) & ~pairs.by_sign_test)


def _t_p_values(pairs: PairStatistics) -> Floats:
    return t_p_values(pairs.facts.means, pairs.facts.errors, pairs.facts.units)


def _limits(pairs: PairStatistics, half: Floats, level: float, each: float) -> tuple[Floats, Floats]:
    """Return mean -+ half width, and where a pair is told apart by the sign test the limits that go with it.

    Pairs with very few cases have Student's t at the level `each`.
    """
    from scipy.special import stdtrit

    low, high = pairs.sign_limits(level)
    facts, signs = pairs.facts, pairs.by_sign_test
    t = stdtrit(np.maximum(facts.units - 1.0, 1.0), (1.0 + each) / 2.0)
    half = np.where(_is_small(pairs), half_widths(t, facts.errors), half)
    return np.where(signs, low, facts.means - half), np.where(signs, high, facts.means + half)


def _pair_result(
    matrix: ScoreMatrix, pairs: PairStatistics, tested: _Tested, k: int, level: float, margin: float | None
) -> PairResult:
    a, b = matrix.models[pairs.first[k]], matrix.models[pairs.second[k]]
    facts = pairs.facts
    has_interval, n = facts.units[k] > 1, int(facts.n[k])
    delta, deviation = float(facts.means[k]), float(facts.deviations[k])
    lower, upper = matrix.mean_bounds
    most = upper - lower  # that two scores can differ by
    limits = max(tested.low[k], -most), min(tested.high[k], most)
    low, high = map(finite, limits) if has_interval else (None, None)
    alone = (np.nan, np.nan)
    if has_interval and tested.alone_low is not None and tested.alone_high is not None:
        alone = (tested.alone_low[k], tested.alone_high[k])
    p_value = float(tested.p_values[k]) if has_interval and tested.p_values is not None else None
    verdict: Verdict = "undecided"
    if (p_value is not None or low is not None) and facts.units[k] >= FEWEST_FOR_VERDICT:
        sign = tested.direction[k] if matrix.scale.higher_is_better else -tested.direction[k]
        around = (low, high) if low is not None else tuple(map(finite, alone))
        verdict = _verdict(sign, around[0], around[1], p_value, level, margin)
    return PairResult(
        a=a,
        b=b,
        n=n,
        delta=delta,
        ci_low=low,
        ci_high=high,
        p_value=p_value,
        effect_size=delta / deviation if deviation > 0 else None,
        wins=None if matrix.linearised else float(facts.wins[k]),
        verdict=verdict,
        favored={"better": a, "worse": b}.get(verdict),
        alone_low=finite(alone[0]),
        alone_high=finite(alone[1]),
    )


def _verdict(
    sign: float, low: float | None, high: float | None, p_value: float | None, level: float, margin: float | None
) -> Verdict:
    known = low is not None and high is not None
    if margin is not None and low is not None and high is not None and -margin < low and high < margin:
        return "equivalent"
    apart = known and not (low or 0.0) <= 0.0 <= (high or 0.0) if p_value is None else p_value < 1.0 - level
    if not apart or sign == 0:
        return "undecided"
    return "better" if sign > 0 else "worse"
