"""Analyses of per-case scores: audit, boards, significance maps, groups, several test sets, claims. Pure computing."""

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
from segbench.analysis.study import Analysis, SetAnalysis, StudyInput, analyze

__all__ = [
    "Analysis", "Assessment", "Claim", "Family", "GroupReport", "Published", "RegisteredModel", "Review",
    "SetAnalysis", "SignificanceMap", "StudyInput", "analyze", "assess_claim", "families_of", "parse_claim",
    "resolve_claim", "review_claim",
]  # fmt: skip
