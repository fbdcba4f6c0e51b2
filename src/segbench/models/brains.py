"""Two brain extractors that carry all they need in their packages: deepbet (a network) and brainextractor (BET)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segbench.models.command import TORCH, CommandModel, chosen_device, driver, named_card, program_in
from segbench.typed import read_options


def deepbet(options: Mapping[str, Any]) -> CommandModel:
    """Return deepbet 1.0.2; options `name` and `device`."""
    given = read_options("deepbet", options, name=str, device=str)

    def make(image: Path, output: Path, device: str, python: Path | None) -> list[str]:
        # It writes a mask only beside an extracted brain, and takes no file that does not end in .nii.gz.
        call = [program_in(python, "deepbet-cli"), "-i", str(image), "-o", str(output.with_name("brain.nii.gz"))]
        return [*call, "-m", str(output), *(["--no_gpu"] if chosen_device(given, device) == "cpu" else [])]

    requirements = (
        TORCH,
        "numpy==2.4.6 scipy==1.17.1 nibabel==5.4.2 pandas==3.1.1 tqdm==4.70.1 connected-components-3d==4.1.1 "
        "fill-voids==2.1.2",
        # Its own wishes include a graphical interface.
        "--no-deps deepbet==1.0.2",
    )
    return CommandModel(named_card("deepbet", given, "1.0.2"), make, requirements)


def brainextractor(options: Mapping[str, Any]) -> CommandModel:
    """Return brainextractor 0.3.0; options `name`, `threshold` (0.5) and `iterations` (1000)."""
    given = read_options("brainextractor", options, name=str, threshold=float, iterations=int)
    threshold, iterations = float(given.get("threshold", 0.5)), int(given.get("iterations", 1000))

    def make(image: Path, output: Path, device: str, python: Path | None) -> list[str]:
        del device
        start = [str(python), driver("brainextractor_bet"), "--image", str(image), "--output", str(output)]
        return [*start, "--threshold", f"{threshold:g}", "--iterations", str(iterations)]

    requirements = (
        "numpy==2.4.6 scipy==1.17.1 nibabel==5.4.2 numba==0.68.1 trimesh==5.2.0",
        # Its own wishes include a display.
        "--no-deps brainextractor==0.3.0",
    )
    return CommandModel(
        named_card("brainextractor", given, "0.3.0"),
        make,
        requirements,
        {"threshold": threshold, "iterations": iterations},
    )
