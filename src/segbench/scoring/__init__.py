"""Scoring: predictions and ground truth in, the record of a run out, through segauge.evaluate."""

from segbench.scoring.diagnosis import diagnose
from segbench.scoring.facts import record_of_scores
from segbench.scoring.scores import RunDetails, score

__all__ = ["RunDetails", "diagnose", "record_of_scores", "score"]
