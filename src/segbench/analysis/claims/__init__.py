"""Claims: one model is better than another, not worse, or equivalent; from scores or from published numbers."""

from segbench.analysis.claims.assessment import Assessment, RivalResult, assess_claim
from segbench.analysis.claims.grammar import Claim, parse_claim
from segbench.analysis.claims.reviewer import Published, Review, Scenario, review_claim
from segbench.analysis.claims.subject import resolve_claim

__all__ = [
    "Assessment", "Claim", "Published", "Review", "RivalResult", "Scenario", "assess_claim", "parse_claim",
    "resolve_claim", "review_claim",
]  # fmt: skip
