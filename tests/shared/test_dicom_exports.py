"""Real structure sets as treatment planning systems export them: slices, dose and contours in one folder."""

import shutil

import numpy as np
import pydicom
import pytest

from segauge.io import read_labels
from segauge.io.description import describe
from segauge.io.layouts import find_pairs

pytestmark = pytest.mark.shared


@pytest.mark.parametrize(("case", "slices"), [("rtstruct_ibsi_ct_phantom", 60), ("rtstruct_sts002_ct", 48)])
def test_a_flat_export_is_one_case_of_the_same_voxels(shared, tmp_path, case, slices):
    """As ground truth it made a case of each slice; region number 0 was refused."""
    source = shared / "data" / "dicom" / case
    folder = tmp_path / "patient"
    shutil.copytree(source / "ct", folder)
    dataset = pydicom.dcmread(source / "rtstruct.dcm")
    dataset.StructureSetROISequence[0].ROINumber = dataset.ROIContourSequence[0].ReferencedROINumber = 0
    dataset.save_as(folder / "RS.dcm")
    first = next((source / "ct").iterdir())
    save = pydicom.dcmread(first)
    save.SOPClassUID = save.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.7"
    del save.ImagePositionPatient, save.ImageOrientationPatient
    save.save_as(folder / "screen_save.dcm")

    (pair,) = find_pairs(folder, folder).pairs
    found = read_labels(pair.gt).labels
    expected = read_labels(source / "expected_roi-1.nii.gz").labels
    assert found.grid.shape[2] == slices
    both = np.count_nonzero((found.layers[0] != 0) & (expected.layers[0] != 0))
    assert 2 * both / (np.count_nonzero(found.layers[0]) + np.count_nonzero(expected.layers[0])) == 1.0
    notes = describe(folder)["notes"]
    assert any("RS.dcm is a structure set" in note for note in notes)
    assert any("not used: screen_save.dcm" in note for note in notes)
