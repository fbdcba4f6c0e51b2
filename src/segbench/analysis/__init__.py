"""Analyses of per-case scores: audit, boards, significance maps, groups, several test sets, claims. Pure computing."""

from segbench.analysis.boards import Board, BoardRow
from segbench.analysis.claims import (
    Assessment,
    Claim,
    Published,
    Review,
    assess_claim,
    parse_claim,
    resolve_claim,
    review_claim,
)
from segbench.analysis.entries import RegisteredModel
from segbench.analysis.groups import Family, GroupReport, families_of
from segbench.analysis.maps import SignificanceMap
from segbench.analysis.rules import PRESETS, Rules, rules_of
from segbench.analysis.scored_set import ScoredSet
from segbench.analysis.study import Analysis, SetAnalysis, StudyInput, analyze

__all__ = [
    "PRESETS",
    "Analysis",
    "Assessment",
    "Board",
    "BoardRow",
    "Claim",
    "Family",
    "GroupReport",
    "Published",
    "RegisteredModel",
    "Review",
    "Rules",
    "ScoredSet",
    "SetAnalysis",
    "SignificanceMap",
    "StudyInput",
    "analyze",
    "assess_claim",
    "families_of",
    "parse_claim",
    "resolve_claim",
    "review_claim",
    "rules_of",
]
