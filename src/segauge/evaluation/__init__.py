"""evaluate(): cases in, scores out. One bad case becomes a row with its reason; the others are measured."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from segauge.evaluation.cases import Case
    from segauge.evaluation.dataset import evaluate
    from segauge.evaluation.result import EvaluationResult
    from segauge.evaluation.verification import Verification, read_result, verify

#: Loaded when asked for: a worker process needs none of them.
_HOMES = {
    "Case": "cases",
    "EvaluationResult": "result",
    "Verification": "verification",
    "evaluate": "dataset",
    "read_result": "verification",
    "verify": "verification",
}

__all__ = ["Case", "EvaluationResult", "Verification", "evaluate", "read_result", "verify"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"segauge.evaluation.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'segauge.evaluation' has no attribute {name!r}")
