"""nnU-Net: any trained model folder of version 2, and STU-Net, which runs on version 1."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.gate import load_json
from segauge.io.layouts.structure_files import labeling_of_dataset
from segbench.cards import ModelCard
from segbench.models.command import (
    TORCH,
    CommandModel,
    card_options,
    chosen_device,
    described_card,
    folder_program,
    named_card,
    program_in,
)
from segbench.models.dependencies import LateOptions, hashes_of
from segbench.typed import read_options, require

VERSION = "2.8.1"

#: What the environment of a trained model has unless the config says otherwise.
REQUIREMENTS = (TORCH, f"nnunetv2=={VERSION}")


def nnunet(options: Mapping[str, Any]) -> CommandModel:
    """Return a trained nnU-Net v2.

    Options: `folder`, with dataset.json, plans.json and fold_0 and so on; `folds` (those that are there by default),
    `checkpoint`, `step_size`, `mirroring` (false is faster); `requirements` (for trainers of one's own); `structures`
    (from dataset.json by default); and the keys of a card: name, version, licence, trained_on and so on.
    """
    kinds = {
        "folder": str,
        "folds": list,
        "checkpoint": str,
        "step_size": float,
        "mirroring": bool,
        "requirements": list,
    }
    given = read_options("nnunet", options, **{**card_options(), **kinds, "device": str})
    folder = Path(require("nnunet", given, "folder", "models/Dataset001/nnUNetTrainer__nnUNetPlans__3d_fullres"))
    flags: list[str] = []
    if "checkpoint" in given:
        flags += ["-chk", given["checkpoint"]]
    if "step_size" in given:
        flags += ["-step_size", f"{given['step_size']:g}"]
    if not given.get("mirroring", True):
        flags.append("--disable_tta")

    def make(image: Path, output: Path, device: str, python: Path | None) -> list[str]:
        program = [program_in(python, "nnUNetv2_predict_from_modelfolder"), "-i", "{input}", "-o", "{output}"]
        program += ["-m", str(folder.resolve()), "-f", *_folds(folder, given), "-device", chosen_device(given, device)]
        return folder_program(image, output, "case_0000.nii.gz", "case.nii.gz", [*program, *flags])

    named = ("folds", "checkpoint", "step_size", "mirroring")
    depends_on: dict[str, Any] = {key: given[key] for key in named if key in given}
    return CommandModel(
        _card(folder, given),
        make,
        tuple(given.get("requirements", REQUIREMENTS)),
        LateOptions(lambda: {**depends_on, "model": folder.name, "files": hashes_of(_weights(folder, given))}),
    )


def _weights(folder: Path, given: Mapping[str, Any]) -> list[Path]:
    """Return the files that a trained model is: its plans, and the checkpoint of each fold that is used."""
    checkpoint = given.get("checkpoint", "checkpoint_final.pth")
    files = [folder / "dataset.json", folder / "plans.json"]
    files += [folder / f"fold_{fold}" / checkpoint for fold in _folds(folder, given)]
    return [path for path in files if path.is_file()]


def _card(folder: Path, given: Mapping[str, Any]) -> ModelCard:
    described = folder / "dataset.json"
    if not described.is_file():
        raise InvalidInput(f"nnunet: {folder} has no dataset.json; expected the folder of a trained model.")
    dataset = load_json(described)
    ending = dataset.get("file_ending", ".nii.gz")
    if ending != ".nii.gz":
        raise InvalidInput(f"nnunet: {folder.name} reads {ending} files, only .nii.gz is supported.")
    channels = dataset.get("channel_names", {"0": "CT"})
    if len(channels) != 1:
        raise InvalidInput(f"nnunet: {folder.name} needs {len(channels)} images per case, one is supported.")
    structures = labeling_of_dataset(dataset, "dataset.json").structures
    own = {"name": folder.name, "structures": {name: list(labels) for name, labels in structures.items()}}
    return described_card(
        "nnunet", {**own, **given}, {"framework": "nnU-Net", "code": "https://github.com/MIC-DKFZ/nnUNet"}
    )


def _folds(folder: Path, given: Mapping[str, Any]) -> list[str]:
    """Return the folds to use: nnU-Net's own default asks for five, and skips fold_all."""
    if "folds" in given:
        return [str(fold) for fold in given["folds"]]
    found = sorted(path.name.removeprefix("fold_") for path in folder.glob("fold_*") if path.is_dir())
    if not found:
        raise InvalidInput(f"nnunet: {folder} has no fold_0 or fold_all; expected the folder of a trained model.")
    return found


def stunet(options: Mapping[str, Any]) -> CommandModel:
    """Return STU-Net as trained on TotalSegmentator.

    Options: `results`, the RESULTS_FOLDER of nnU-Net v1 that its weights were put into; `program`, the path of its
    nnUNet_predict (its fork of nnU-Net 1.7.1 has to be installed by hand, no package index has it); `size` ("base",
    "small", "large", "huge"); `name`; `mirroring`; `device`.
    """
    given = read_options("stunet", options, results=str, program=str, size=str, name=str, mirroring=bool, device=str)
    size = given.get("size", "base")
    if size not in ("small", "base", "large", "huge"):
        raise InvalidInput(f"stunet: size should be small, base, large or huge, got {size!r}.")
    fast = [] if given.get("mirroring", True) else ["--mode", "fast", "--disable_tta"]

    def make(image: Path, output: Path, device: str, python: Path | None) -> list[str]:
        # nnU-Net v1 has no switch for the device: it takes the GPU that it sees.
        hidden = ["CUDA_VISIBLE_DEVICES="] if chosen_device(given, device) == "cpu" else []
        program = given.get("program", program_in(python, "nnUNet_predict"))
        results = Path(require("stunet", given, "results", "models/stunet")).resolve()
        call = ["env", f"RESULTS_FOLDER={results}", *hidden, program, "-i", "{input}", "-o", "{output}", "-t", "101"]
        call += ["-m", "3d_fullres", "-f", "0", "-tr", f"STUNetTrainer_{size}", "-chk", f"{size}_ep4k", *fast]
        return folder_program(image, output, "case_0000.nii.gz", "case.nii.gz", call)

    card = named_card("STU-Net", given, f"TotalSegmentator {size}_ep4k")
    return CommandModel(card, make, (), {"size": size, "mirroring": given.get("mirroring", True)})
