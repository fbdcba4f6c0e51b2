"""The whole-body bundle of the MONAI model zoo: 104 structures in CT."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segbench.label_orders import TOTALSEGMENTATOR_V1
from segbench.models.command import TORCH, CommandModel, chosen_device, folder_program, named_card
from segbench.typed import read_options, require

VERSION = "0.2.7"


def monai_bundle(options: Mapping[str, Any]) -> CommandModel:
    """Return the bundle.

    Options: `bundle`, the folder it was downloaded to (`python -m monai.bundle download wholeBody_ct_segmentation`);
    `name`; `highres` (1.5 mm, needs some 30 GB; otherwise 3 mm); `version`; `device`.
    """
    given = read_options("monai", options, bundle=str, name=str, highres=bool, version=str, device=str)
    version, highres = given.get("version", VERSION), bool(given.get("highres", False))

    def make(image: Path, output: Path, device: str, python: Path | None) -> list[str]:
        root = Path(require("monai", given, "bundle", "models/wholeBody_ct_segmentation")).resolve()
        program = [str(python or sys.executable), "-m", "monai.bundle", "run"]
        program += ["--config_file", str(root / "configs" / "inference.json"), "--bundle_root", str(root)]
        # A top-level `highres` is read by nobody: the key stands under displayable_configs.
        program += ["--displayable_configs#highres", str(highres)]
        program += ["--datalist", "['{input}/image.nii.gz']", "--output_dir", "{output}"]
        program += ["--device", f"$torch.device('{chosen_device(given, device)}')"]
        return folder_program(image, output, "image.nii.gz", "image/image_trans.nii.gz", program)

    structures = {name: [label] for name, label in TOTALSEGMENTATOR_V1.items()}
    return CommandModel(
        named_card("MONAI wholeBody", given, version, structures),
        make,
        (TORCH, "monai==1.6.1 nibabel==5.4.2 fire==0.7.1 pytorch-ignite==0.5.5 itk==5.4.7"),
        {"highres": highres},
    )
