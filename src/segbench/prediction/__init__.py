"""Predictions: every model in its own environment, every case once, failures with reasons, nothing lost in a kill."""

from segbench.prediction.environments import Environment, EnvironmentFailed, make_environment
from segbench.prediction.predicting import Predictions, PredictionSettings, predict

__all__ = [
    "Environment", "EnvironmentFailed", "PredictionSettings", "Predictions", "make_environment", "predict",
]  # fmt: skip
