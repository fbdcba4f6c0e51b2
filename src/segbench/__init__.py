"""segbench compares segmentation models: a leaderboard anyone can reproduce.

>>> from segbench import dataset_card, exposure, known_lineage, model_card
>>> str(exposure(model_card("MedNeXt"), dataset_card("kits23"), known_lineage()))
'MedNeXt on kits23: labels (trained on AbdomenAtlas 1.0 Mini, which contains KiTS23)'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from segbench.boards import Leaderboard, leaderboard_of, make_leaderboard
    from segbench.cards import (
        DatasetCard,
        Exposure,
        Lineage,
        ModelCard,
        dataset_card,
        exposure,
        known_lineage,
        model_card,
    )
    from segbench.config import RunConfig, read_config
    from segbench.pipeline import run
    from segbench.planning import Plan, make_plan
    from segbench.records import RunRecord, load_record, save_record
    from segbench.verification import Verification, verify_predictions, verify_scores, verify_statistics

_ROOMS = {
    "boards": ("Leaderboard", "leaderboard_of", "make_leaderboard"),
    "cards": (
        "DatasetCard", "Exposure", "Lineage", "ModelCard", "dataset_card", "exposure", "known_lineage", "model_card",
    ),
    "config": ("RunConfig", "read_config"),
    "pipeline": ("run",),
    "planning": ("Plan", "make_plan"),
    "records": ("RunRecord", "load_record", "save_record"),
    "verification": ("Verification", "verify_predictions", "verify_scores", "verify_statistics"),
}  # fmt: skip

__all__ = [
    "DatasetCard", "Exposure", "Leaderboard", "Lineage", "ModelCard", "Plan", "RunConfig", "RunRecord",
    "Verification", "dataset_card", "exposure", "known_lineage", "leaderboard_of", "load_record", "make_leaderboard",
    "make_plan", "model_card", "read_config", "run", "save_record", "verify_predictions", "verify_scores",
    "verify_statistics",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for room, names in _ROOMS.items():
        if name in names:
            return getattr(import_module(f"segbench.{room}"), name)
    raise AttributeError(f"module 'segbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
