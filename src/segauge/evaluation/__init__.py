"""evaluate(): cases in, scores out. One bad case becomes a row with its reason; the others are measured."""

from segauge.evaluation.cases import Case
from segauge.evaluation.dataset import evaluate
from segauge.evaluation.result import EvaluationResult
from segauge.evaluation.verification import Verification, verify

__all__ = ["Case", "EvaluationResult", "Verification", "evaluate", "verify"]
