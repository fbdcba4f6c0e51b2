"""Cards: what is known about datasets and models, and which model has seen which dataset."""

from segbench.cards.exposure import (
    Exposure,
    ExposureLevel,
    Lineage,
    dataset_card,
    dataset_cards,
    exposure,
    known_lineage,
    model_card,
    model_cards,
)
from segbench.cards.values import Confidence, DatasetCard, LineageEdge, ModelCard, Relation, TrainingSet

__all__ = [
    "Confidence", "DatasetCard", "Exposure", "ExposureLevel", "Lineage", "LineageEdge", "ModelCard", "Relation",
    "TrainingSet", "dataset_card", "dataset_cards", "exposure", "known_lineage", "model_card", "model_cards",
]  # fmt: skip
