"""Classical segmenters of the phantom benchmark, as models that run from the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segbench.cards import ModelCard
from segbench.models.classical.methods import METHODS
from segbench.models.command import CommandModel
from segbench.suggestions import unknown
from segbench.typed import read_options, require

#: Raised when a method changes its mind about any voxel.
VERSION = "1"

_STRUCTURES = {
    "liver": [1, 2],
    "liver_lesions": [2],
    "spleen": [3],
    "kidney_left": [4],
    "kidney_right": [5],
    "aorta": [6],
    "bladder_wall": [7],
    "vertebra": [8],
}


def classical(options: Mapping[str, Any]) -> CommandModel:
    """Return a classical segmenter; options `method` and `name` (that of the method by default)."""
    given = read_options("classical", options, method=str, name=str)
    method = require("classical", given, "method", "mean-field")
    if method not in METHODS:
        raise InvalidInput(f"classical: {unknown('method', method, METHODS)}")

    def make(image: Path, output: Path, device: str, python: Path | None) -> list[str]:
        del device, python
        start = [sys.executable, "-m", "segbench.models.classical", "--method", method]
        return [*start, "--in", str(image), "--out", str(output)]

    return CommandModel(_card(method, given), make, (), {"method": method})


def _card(method: str, given: Mapping[str, Any]) -> ModelCard:
    atlas = {"dataset": "phantom-atlas", "source": "segbench.models.classical.atlas"}
    first_line = (METHODS[method].__doc__ or "").strip().splitlines()[0]
    return ModelCard.from_dict(
        {
            "name": given.get("name", method),
            "version": VERSION,
            "organisation": "segbench",
            "framework": "NumPy and SciPy",
            "licence": "Apache-2.0",
            "structures": _STRUCTURES,
            "trained_on": [atlas],
            "pretrained_on": [],
            "note": first_line,
        }
    )
