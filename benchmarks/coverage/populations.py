"""Populations of real and made per-case scores, to draw test sets from whose true mean is known.

Real: the Touchstone tables (19 models x 9 organs x 2 metrics), where the reference data lies beside the project. Made:
scores with the shapes of the real ones (skewed to 1, with and without complete failures), always there.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from segauge.io.tables import Repairs, read_scores
from segauge.stats import ScoreMatrix, score_matrix

Floats = npt.NDArray[np.float64]
PROJECT = Path(__file__).resolve().parents[2]


def touchstone_folder() -> Path | None:
    """Return the folder of the Touchstone tables, or None."""
    shared = Path(os.environ.get("SEGAUGE_SHARED", PROJECT.parent / "shared"))
    folder = shared / "data" / "touchstone" / "totalsegmentator_results"
    return folder if folder.is_dir() else None


def real_matrices() -> dict[str, ScoreMatrix]:
    """Return the scores of all models per organ and metric, on the cases that every model has; empty without data."""
    folder = touchstone_folder()
    if folder is None:
        return {}
    tables = read_scores(folder, repairs=Repairs(cases="common")).tables
    first = next(iter(tables.values()))
    return {
        f"{organ} {metric}": score_matrix(tables, structure=organ, metric=metric).complete_cases()
        for organ in first.structures
        for metric in first.metrics
    }


def real_populations() -> dict[str, Floats]:
    """Return every model's own scores per organ and metric (342 populations); empty without data."""
    folder = touchstone_folder()
    if folder is None:
        return {}
    tables = read_scores(folder, repairs=Repairs(cases="keep")).tables
    found = {
        f"{model} {organ} {metric}": table.column(organ, metric)
        for model, table in tables.items()
        for organ in table.structures
        for metric in table.metrics
    }
    return {name: values[np.isfinite(values)] for name, values in found.items()}


def made_populations(size: int = 2000) -> dict[str, Floats]:
    """Return populations with a mean of 0.5 to 0.97 and 0 to 30 % failures."""
    rng = np.random.default_rng(2024)
    found = {}
    for mean, spread in ((0.97, 60.0), (0.92, 25.0), (0.85, 12.0), (0.7, 6.0), (0.5, 3.0)):
        for failures in (0.0, 0.02, 0.1, 0.3):
            values = rng.beta(mean * spread, (1 - mean) * spread, size)
            values[: round(failures * size)] = 0.0
            found[f"made mean {mean:g}, {100 * failures:g} % failures"] = values
    return found
