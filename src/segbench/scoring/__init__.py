"""Scoring: predictions and ground truth in, the record of a run out, through segauge.evaluate."""

from segbench.scoring.diagnosis import diagnose
from segbench.scoring.scores import score

__all__ = ["diagnose", "score"]
