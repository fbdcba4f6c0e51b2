"""Measure five phantom cases and print the table: what `make demo` runs. No file, no network."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from segauge import Grid, ScoreTable, measure
from segauge.phantoms import perturbed, scene

METRICS = ("dice", "hd95", "nsd", "lesion_tp", "lesion_fp", "lesion_fn")
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("shifted", {"shift_mm": 1.5}),
    ("missed organ", {"shift_mm": 0.5, "without": ("spleen",)}),
    ("lesions wrong", {"shift_mm": 0.5, "missed": 1, "spurious": 2}),
    ("thick slices", {"shift_mm": 1.0}),
    ("perfect", {"shift_mm": 0.0}),
)


def measure_cases() -> ScoreTable:
    """Return the scores of all cases."""
    tables = []
    for seed, (name, change) in enumerate(CASES):
        spacing = (2.0, 2.0, 5.0) if name == "thick slices" else (2.0, 2.0, 2.0)
        grid = Grid.from_spacing([round(200 / edge) for edge in spacing], spacing)
        truth = scene(grid, seed=seed)
        prediction = perturbed(truth, seed=seed, **change)
        result = measure(
            prediction.label_map, truth.label_map, truth.labeling, METRICS, nsd_tolerance=2.0, case_id=name
        )
        tables.append(result.table)
    return ScoreTable.concatenate(tables)


def show(scores: ScoreTable, console: Console) -> None:
    """Print one line per case and structure; where there is no number, the status says why."""
    title = "Phantom abdomens: every structure in one pass"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("case", "structure", "status"):
        table.add_column(column, no_wrap=True)
    for column in ("Dice", "HD95 mm", "NSD 2 mm", "lesions"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in scores.rows():
        first, last = row["structure"] == scores.structures[0], row["structure"] == scores.structures[-1]
        numbers = ["-" if row[key] is None else f"{row[key]:.3f}" for key in ("dice", "hd95", "nsd")]
        found = f"{row['lesion_tp']:.0f} of {row['lesion_tp'] + row['lesion_fn']:.0f}"
        invented = f" +{row['lesion_fp']:.0f}" if row["lesion_fp"] else ""
        lesions = found + invented if row["structure"] == "liver lesions" else ""
        style = "" if row["status"] == "present" else "bold red"
        name = row["case"] if first else ""
        table.add_row(name, row["structure"], row["status"], *numbers, lesions, style=style, end_section=last)
    console.print(table)
    failures = sum(status.is_failure for status in scores.status.ravel())
    console.print(
        f"{len(scores)} cases, {len(scores.structures)} structures: {failures} missed or invented, "
        f"median Dice {np.nanmedian(scores.values[:, :, 0]):.3f}. "
        "A missed structure has Dice and NSD 0 and no distance: it is counted, never dropped."
    )


if __name__ == "__main__":
    show(measure_cases(), Console())
