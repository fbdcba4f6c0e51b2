"""CT-FM whole body: 117 structures in CT, fine-tuned from a model that was pre-trained without labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segbench.label_orders import TOTALSEGMENTATOR_V2
from segbench.models.command import TORCH, CommandModel, chosen_device, driver, named_card
from segbench.typed import read_options

VERSION = "0.1.3"


def ctfm(options: Mapping[str, Any]) -> CommandModel:
    """Return CT-FM.

    Options: `name`; `spacing` (mm that the image is brought to, 1.5 as in its training data); `version` of
    lighter-zoo; `device`.
    """
    given = read_options("ctfm", options, name=str, spacing=float, version=str, device=str)
    version, spacing = given.get("version", VERSION), float(given.get("spacing", 1.5))

    def make(image: Path, output: Path, device: str, python: Path | None) -> list[str]:
        start = [str(python), driver("ctfm"), "--image", str(image), "--output", str(output)]
        return [*start, "--device", chosen_device(given, device), "--spacing", f"{spacing:g}"]

    structures = {name: [label] for name, label in TOTALSEGMENTATOR_V2.items()}
    return CommandModel(
        named_card("CT-FM", given, version, structures),
        make,
        (TORCH, f"lighter-zoo=={version} monai==1.6.1"),
        {"spacing": spacing},
    )
