"""Cards: what is known about datasets and models, and which model has seen which dataset."""

from segbench.cards.exposure import Exposure, ExposureLevel, Lineage, exposure
from segbench.cards.values import Confidence, DatasetCard, LineageEdge, ModelCard, Relation, TrainingSet

__all__ = [
    "Confidence",
    "DatasetCard",
    "Exposure",
    "ExposureLevel",
    "Lineage",
    "LineageEdge",
    "ModelCard",
    "Relation",
    "TrainingSet",
    "exposure",
]
