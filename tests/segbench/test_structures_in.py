"""Which structures occur in any ground truth: in a folder of masks names decide, for its numbers only count files."""

import numpy as np
import pytest

from segauge import Grid
from segauge.io import write_nifti
from segbench.cards import DatasetCard
from segbench.registry import DatasetCase
from segbench.scoring.scores import structures_in

DATASET = DatasetCard("d", structures={"liver": (5,), "spleen": (1,), "kidney": (2,)})


@pytest.mark.parametrize("as_folder", [True, False])
def test_structures_of_a_folder_and_of_a_file(tmp_path, as_folder):
    mask = np.zeros((4, 4, 4), dtype=np.uint8)
    mask[1, 1, 1] = 1
    grid = Grid.from_spacing(mask.shape)
    if as_folder:
        gt = tmp_path / "masks"
        gt.mkdir()
        write_nifti(gt / "kidney.nii.gz", mask, grid)
        write_nifti(gt / "liver.nii.gz", 0 * mask, grid)
        write_nifti(gt / "other.nii.gz", mask, grid)
    else:
        gt = write_nifti(tmp_path / "labels.nii.gz", 2 * mask, grid)
    assert structures_in(DATASET, tuple(DATASET.structures), [DatasetCase("a", gt, gt)]) == {"kidney"}
