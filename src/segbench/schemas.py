"""The JSON schemas of the files that people write and read: configs, cards, records."""

from __future__ import annotations

from typing import Any

from segbench.cards import DatasetCard, ModelCard
from segbench.config import RunConfig
from segbench.records.schema import RecordFile
from segbench.typed import json_schema


def schemas() -> dict[str, dict[str, Any]]:
    """Return each schema by the name of its file in docs/reference/schemas."""
    config = json_schema(RunConfig, "A benchmark run of segbench")
    del config["properties"]["written"]
    # The same key under another name.
    config["properties"]["organs"] = config["properties"]["structures"]
    return {
        "config": config,
        "dataset-card": json_schema(DatasetCard, "A dataset card of segbench"),
        "model-card": json_schema(ModelCard, "A model card of segbench"),
        "record": json_schema(RecordFile, "A record of a segbench run"),
    }
