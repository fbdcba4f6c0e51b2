"""The folder that the blocks of README and docs run in: three small cases, two models, a table, a config."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from tests.badinputs.files import even_positions, nifti_bytes, rtstruct_dataset, save, seg_dataset, write_series

#: configs/phantom.yaml with fewer cases and models, so that the same commands end sooner.
SMALL_BENCHMARK = """\
title: Phantom abdomens
dataset: { name: phantom, root: data/phantom, size: 1 }
models:
  - { type: classical, method: threshold }
  - { type: classical, method: region-growing }
structures: [liver]
metrics: [dice]
n_resamples: 500
jobs: 2
device: cpu
cache_dir: predictions/phantom
results_path: results/phantom.json
"""


def write_dataset(folder: Path) -> None:
    """Write labels, predictions of one model and of two more, images, and what else the pages take for granted."""
    for k in range(1, 4):
        gt = np.zeros((64, 64, 40), dtype=np.uint8)
        gt[10:40, 12:44, 8:30] = 1
        gt[20:26, 20:27, 12:18] = 2
        arrays = {
            "labels": gt,
            "predictions": np.roll(gt, k, axis=k % 3),
            "predictions_a": np.roll(gt, 1, axis=k % 3),
            "predictions_b": np.roll(gt, 2, axis=k % 3),
            "images": (40 + 60 * gt.astype(np.int16)),
        }
        for side, array in arrays.items():
            (folder / side).mkdir(parents=True, exist_ok=True)
            data = gzip.compress(nifti_bytes(array, np.diag([-0.8, -0.8, 2.5, 1.0])), compresslevel=1, mtime=0)
            (folder / side / f"case_{k:02}.nii.gz").write_bytes(data)
    (folder / "cases.csv").write_text("case_id,sex\ncase_01,F\ncase_02,M\ncase_03,F\n")
    _write_dicom(folder / "dicom")
    (folder / "configs").mkdir()
    (folder / "configs" / "phantom.yaml").write_text(SMALL_BENCHMARK)


def _write_dicom(folder: Path) -> None:
    """Write an image series, two segmentations and two sets of contours of it."""
    places = even_positions(5)
    write_series(folder / "ct", places)
    for name, shift in (("gt", 0), ("pred", 1)):
        mask = np.zeros((8, 6), dtype=bool)
        mask[2:6, 1 + shift : 4 + shift] = True
        save(
            seg_dataset(folder / f"{name}_seg.dcm", [(1, place, mask) for place in places[1:4]]),
            folder / f"{name}_seg.dcm",
        )
    for name, width in (("rt", 3.0), ("rt_model", 4.0)):
        corners = ((-9.0, -18.0), (-9.0 + width, -18.0), (-9.0 + width, -13.0), (-9.0, -13.0))
        contours = [("CLOSED_PLANAR", [(x, y, place[2]) for x, y in corners]) for place in places[1:4]]
        save(rtstruct_dataset(folder / f"{name}.dcm", [("organ", contours)]), folder / f"{name}.dcm")
