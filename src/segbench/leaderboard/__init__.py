"""The leaderboard: who is best on which structure by which metric, and how far that can be trusted."""

from segbench.leaderboard.boards import AVERAGE, RULES, Board, Leaderboard, Standing, other_rules
from segbench.leaderboard.making import (
    board_scores,
    chosen_models,
    leaderboard_of,
    make_leaderboard,
    metric_scale,
    sentence_of,
)

__all__ = [
    "AVERAGE",
    "RULES",
    "Board",
    "Leaderboard",
    "Standing",
    "board_scores",
    "chosen_models",
    "leaderboard_of",
    "make_leaderboard",
    "metric_scale",
    "other_rules",
    "sentence_of",
]
