"""MOOSE: organs, and on request heart, vessels and digestive tract, in CT."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segbench.models.command import TORCH, CommandModel, chosen_device, driver, named_card
from segbench.suggestions import unknown
from segbench.typed import read_options

VERSION = "3.2.2"

#: Structures of each further model, by the label in its own output (moosez 3.2.2, METADATA).
PARTS: Mapping[str, Mapping[str, int]] = {
    "organs": {},
    "cardiac": {"aorta": 6, "inferior_vena_cava": 11, "portal_vein_and_splenic_vein": 12},
    "digestive": {"duodenum": 2, "esophagus": 3},
}


def moose(options: Mapping[str, Any]) -> CommandModel:
    """Return MOOSE.

    Options: `name`; `parts`, the models to run: "organs" (always first), "cardiac" (aorta, vena cava, portal vein),
    "digestive" (esophagus, duodenum), each an inference of its own; `version`; `device`.
    """
    given = read_options("moose", options, name=str, parts=list, version=str, device=str)
    parts = list(given.get("parts", ["organs"]))
    for part in parts:
        if part not in PARTS:
            raise InvalidInput(f"moose: {unknown('part', str(part), PARTS)}")
    if parts[:1] != ["organs"] or len(set(parts)) != len(parts):
        raise InvalidInput(f"moose: parts should begin with organs and name each once, got {parts}.")
    version = given.get("version", VERSION)

    def make(image: Path, output: Path, device: str, python: Path | None) -> list[str]:
        models = [f"clin_ct_{part}" for part in parts]
        start = [str(python), driver("moose"), "--image", str(image), "--output", str(output)]
        return [*start, "--device", chosen_device(given, device), "--models", *models]

    further = {name: [label + 100 * place] for place, part in enumerate(parts) for name, label in PARTS[part].items()}
    return CommandModel(
        named_card("MOOSE", given, version, further),
        make,
        (TORCH, f"moosez=={version} nnunetv2==2.8.1"),
        {"parts": parts},
    )
