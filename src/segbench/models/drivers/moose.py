"""Run MOOSE (moosez) on one image and merge its models into one label map.

Labels of the first model stay as they are; those of the n-th have n-1 hundreds added. Where two models claim a voxel,
the first one has it. Runs inside the environment of MOOSE.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    """Read the arguments, run the models, write one label map."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--models", nargs="+", required=True)
    given = parser.parse_args()
    import SimpleITK

    with tempfile.TemporaryDirectory(dir=given.output.parent) as folder:
        # MOOSE tells the modality by the name.
        image = Path(folder) / "CT_image.nii.gz"
        image.symlink_to(given.image)
        merged = merge([_predict(image, name, Path(folder), given.device) for name in given.models], SimpleITK)
    SimpleITK.WriteImage(merged, str(given.output))


def _predict(image: Path, model: str, folder: Path, device: str) -> Any:
    import SimpleITK
    from moosez import moose

    (folder / model).mkdir()  # it writes there, but does not make it
    outputs, _ = moose(str(image), model, str(folder / model), device.partition(":")[0])
    return SimpleITK.ReadImage(str(outputs[0]))


def merge(parts: list[Any], itk: Any) -> Any:
    """Return one image of labels from several on the same grid."""
    arrays = [itk.GetArrayFromImage(part) for part in parts]
    labels = merge_arrays(arrays)
    merged = itk.GetImageFromArray(labels)
    merged.CopyInformation(parts[0])
    return merged


def merge_arrays(arrays: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Return labels + 100 per place in the list; the first to claim a voxel has it."""
    labels = np.zeros(arrays[0].shape, dtype=np.uint16)
    for place, array in enumerate(arrays):
        if array.shape != labels.shape:
            raise SystemExit(f"model {place + 1} wrote shape {array.shape}, the first one {labels.shape}")
        free = (labels == 0) & (array > 0)
        labels[free] = array[free].astype(np.uint16) + 100 * place
    return labels


if __name__ == "__main__":
    main()
