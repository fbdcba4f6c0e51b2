"""What a claim is about: the names of the data for those in the sentence, and the scores that answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from segauge.errors import InvalidInput
from segauge.stats import AVERAGE, AVERAGE_RULES, ScoredSet, ScoreMatrix
from segbench.analysis.claims.grammar import EVERYBODY, Claim
from segbench.analysis.names import find_name
from segbench.boards import Rules

_METRIC_ALIASES = {"dsc": "dice", "jaccard": "iou", "surface dice": "nsd"}


def resolve_claim(
    claim: Claim, scored: ScoredSet, rules: Rules, aliases: Mapping[str, str] | None = None
) -> tuple[Claim, ScoreMatrix]:
    """Return the claim with the names of the data, and the scores of the models concerned.

    A claim about a pair is answered on the cases that these two have, whatever other models lack.
    """
    left = find_name(claim.left, scored.models, "model", aliases)
    right = EVERYBODY if claim.right == EVERYBODY else find_name(claim.right, scored.models, "model", aliases)
    metric = _metric(claim, scored)
    subject = _subject(claim, scored)
    named = replace(claim, left=left, right=right, subject=subject, metric=metric)
    if right != EVERYBODY and right != left:
        scored = replace(scored, tables={name: scored.tables[name] for name in (left, right)})
    if subject != AVERAGE:
        return named, scored.matrix(subject, metric, rules.cases)
    found = scored.average(metric, rules.average, rules.cases)
    if found is None:
        raise InvalidInput(f"There is no average of {metric}: failed cases have no value; give them a penalty.")
    return named, replace(found, notes=(*found.notes, f"average: {AVERAGE_RULES[rules.average]}"))


def _metric(claim: Claim, scored: ScoredSet) -> str:
    if claim.metric:
        return find_name(claim.metric, scored.metrics, "metric", _METRIC_ALIASES)
    if len(scored.metrics) == 1:
        return scored.metrics[0]
    raise InvalidInput(f"{claim.text!r}: on which metric? There are {', '.join(scored.metrics)}.")


def _subject(claim: Claim, scored: ScoredSet) -> str:
    if claim.subject:
        several = (AVERAGE,) if len(scored.structures) > 1 else ()
        return find_name(claim.subject, (*scored.structures, *several), "structure")
    if len(scored.structures) == 1:
        return scored.structures[0]
    raise InvalidInput(f"{claim.text!r}: on which structure? There are {AVERAGE}, {', '.join(scored.structures)}.")
