"""TotalSegmentator: 117 structures in CT, by its own command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segbench.label_orders import TOTALSEGMENTATOR_V2
from segbench.models.command import TORCH, CommandModel, chosen_device, named_card, program_in
from segbench.suggestions import unknown
from segbench.typed import read_options

VERSION = "2.18.0"


def totalsegmentator(options: Mapping[str, Any]) -> CommandModel:
    """Return TotalSegmentator.

    Options: `name`; `fast` (3 mm), `fastest` (6 mm); `roi_subset` (structures to look for, which is faster);
    `robust_crop`; `version`; `device` ("cpu" keeps it off the GPU).
    """
    given = read_options(
        "totalsegmentator",
        options,
        name=str,
        fast=bool,
        fastest=bool,
        robust_crop=bool,
        roi_subset=list,
        version=str,
        device=str,
    )
    if given.get("fast") and given.get("fastest"):
        raise InvalidInput("totalsegmentator: fast and fastest are two different models; choose one.")
    for name in given.get("roi_subset", ()):
        if name not in TOTALSEGMENTATOR_V2:
            raise InvalidInput(f"totalsegmentator: {unknown('structure', str(name), TOTALSEGMENTATOR_V2)}")
    version = given.get("version", VERSION)
    flags = [f"--{flag}" for flag in ("fast", "fastest", "robust_crop") if given.get(flag)]
    subset = ["--roi_subset", *given["roi_subset"]] if given.get("roi_subset") else []

    def make(image: Path, output: Path, device: str, python: Path | None) -> list[str]:
        chosen = chosen_device(given, device).replace("cuda", "gpu")
        program = program_in(python, "TotalSegmentator")
        return [program, "-i", str(image), "-o", str(output), "--ml", "--device", chosen, *flags, *subset]

    structures = {name: [label] for name, label in TOTALSEGMENTATOR_V2.items()}
    return CommandModel(
        named_card("TotalSegmentator", given, version, structures),
        make,
        (TORCH, f"TotalSegmentator=={version} nnunetv2==2.8.1"),
        {key: given[key] for key in ("fast", "fastest", "robust_crop", "roi_subset") if given.get(key)},
    )
