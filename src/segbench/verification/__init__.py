"""Verification: recompute what was published from what was recorded, and say which number does not follow."""

from segbench.verification.agreement import Mismatch, mismatches
from segbench.verification.configured import failed_again, verify_config
from segbench.verification.scores import recorded_files, verify_predictions, verify_scores
from segbench.verification.statistics import Verification, verify_statistics

__all__ = [
    "Mismatch", "Verification", "failed_again", "mismatches", "recorded_files", "verify_config", "verify_predictions",
    "verify_scores", "verify_statistics",
]  # fmt: skip
