"""Run the whole-body model of CT-FM on one image: the published pre- and post-processing. Runs in its environment.

Orientation SPL, -1024..2048 HU to 0..1, foreground crop, sliding window of 96 x 160 x 160 with overlap 0.625 and
Gaussian weights, stitched on the CPU because 118 channels of a whole body do not fit on a GPU. `--spacing 1.5` brings
the image to the scale of its training data first and the labels back afterwards.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def main() -> None:
    """Read the arguments, predict, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--weights", default="project-lighter/whole_body_segmentation")
    parser.add_argument("--spacing", type=float, default=1.5)
    given = parser.parse_args()
    import torch

    with torch.inference_mode():
        labels = _labels(given, torch)
    _write(labels, given.output)


def _labels(given: argparse.Namespace, torch: Any) -> Any:
    from lighter_zoo import SegResNet
    from monai.inferers import SlidingWindowInferer
    from monai.transforms import (
        Compose,
        CropForeground,
        EnsureType,
        LoadImage,
        Orientation,
        ScaleIntensityRange,
        Spacing,
    )

    before = Compose(
        [
            LoadImage(ensure_channel_first=True, reader="ITKReader"),
            EnsureType(),
            # The axis labels are those of the published pipeline; newer versions of MONAI ask the image.
            Orientation(axcodes="SPL", labels=(("L", "R"), ("P", "A"), ("I", "S"))),
            Spacing(pixdim=given.spacing, mode="bilinear"),
            ScaleIntensityRange(a_min=-1024, a_max=2048, b_min=0, b_max=1, clip=True),
            CropForeground(margin=10),
        ]
    )
    image = before(str(given.image))
    model = SegResNet.from_pretrained(given.weights).to(given.device).eval()
    inferer = SlidingWindowInferer(
        roi_size=(96, 160, 160), overlap=0.625, mode="gaussian", sw_device=given.device, device="cpu"
    )
    scores = inferer(image.unsqueeze(0), model)[0]
    found = torch.argmax(scores, dim=0, keepdim=True)
    image.copy_(found.to(image.dtype))
    for step in reversed(before.transforms):
        # The inverse of a resampling must not mix labels.
        if hasattr(step, "inverse") and not isinstance(step, (LoadImage, ScaleIntensityRange)):
            _use_nearest(image)
            image = step.inverse(image)
    return image


def _use_nearest(image: Any) -> None:
    for operation in image.applied_operations:
        if "mode" in operation.get("extra_info", {}):
            operation["extra_info"]["mode"] = "nearest"


def _write(labels: Any, output: Path) -> None:
    from monai.data import NibabelWriter

    writer = NibabelWriter(output_dtype="uint8")
    writer.set_data_array(labels, channel_dim=0)
    writer.set_metadata({"affine": labels.affine, "original_affine": labels.affine})
    writer.write(str(output))


if __name__ == "__main__":
    main()
