"""One pair, stored in every format and orientation: the same numbers, whichever file meets whichever."""

import itertools
import json

import nibabel
import numpy as np
import pytest
from tests.badinputs.files import metaimage_bytes, nrrd_bytes, save, seg_dataset

from segauge import Case, evaluate, measure

#: Edges and place of a grid as a scanner has it, whose axes point to the left, to the back and up.
EDGES = (0.9, 1.1, 2.0)
AFFINE = np.array([[-0.9, 0, 0, 5], [0, -1.1, 0, -7], [0, 0, 2.0, 11], [0, 0, 0, 1.0]])
LPS = np.diag([-1.0, -1.0, 1.0, 1.0]) @ AFFINE
METRICS = ["dice", "hd95", "gt_volume", "pred_volume", "nsd@1"]


def mask(x, y, z):
    array = np.zeros((9, 7, 6), dtype=np.uint8)
    array[x : x + 5, y : y + 4, z : z + 3] = 1
    array[0, 0, 5] = 2
    return array


def as_nifti(folder, array, **fields):
    image = nibabel.Nifti1Image(array, fields.get("affine", AFFINE), fields.get("header"))
    if "qform" in fields:
        image.set_sform(None, 0)
        image.set_qform(AFFINE, 1)
    nibabel.save(image, folder / "a.nii.gz")
    return folder / "a.nii.gz"


def as_ras(folder, array):
    turned = nibabel.as_closest_canonical(nibabel.Nifti1Image(array, AFFINE))
    return as_nifti(folder, np.asarray(turned.dataobj), affine=turned.affine)


def as_slices_first(folder, array):
    order = np.zeros((4, 4))
    order[[0, 1, 2, 3], [1, 2, 0, 3]] = 1
    return as_nifti(folder, np.ascontiguousarray(array.transpose(2, 0, 1)), affine=AFFINE @ order)


def as_one_hot(folder, array):
    return as_nifti(folder, np.stack([array == 0, array == 1, array == 2], axis=-1).astype(np.uint8))


def as_nrrd(folder, array):
    directions = " ".join(f"({a},{b},{c})" for a, b, c in LPS[:3, :3].T)
    origin = "({},{},{})".format(*LPS[:3, 3])
    fields = {"space": "left-posterior-superior", "space directions": directions, "space origin": origin}
    (folder / "a.nrrd").write_bytes(nrrd_bytes(array, fields))
    return folder / "a.nrrd"


def as_metaimage(folder, array):
    fields = {"ElementSpacing": "0.9 1.1 2.0", "Offset": " ".join(map(str, LPS[:3, 3]))}
    (folder / "a.mha").write_bytes(metaimage_bytes(array, fields))
    return folder / "a.mha"


def as_numpy(folder, array):
    np.save(folder / "a.npy", array)
    (folder / "a.json").write_text(json.dumps({"affine": AFFINE.tolist()}))
    return folder / "a.npy"


def as_dicom(folder, array):
    """Only frames that hold something, the last ones first."""
    places = [(*LPS[:2, 3], LPS[2, 3] + 2.0 * k) for k in range(array.shape[2])]
    frames = [(n, places[k], (array[:, :, k] == n).T.astype(np.uint8)) for n in (2, 1) for k in reversed(range(6))]
    return save(seg_dataset(folder / "a.dcm", [one for one in frames if one[2].any()]), folder / "a.dcm")


FORMS = {
    "nifti": as_nifti,
    "floats by qform": lambda folder, array: as_nifti(folder, array.astype(np.float32), qform=True),
    "big-endian": lambda folder, array: as_nifti(
        folder, array.astype(">i2"), header=nibabel.Nifti1Header(endianness=">")
    ),
    "RAS": as_ras,
    "slices first": as_slices_first,
    "one-hot": as_one_hot,
    "nrrd": as_nrrd,
    "metaimage": as_metaimage,
    "numpy": as_numpy,
    "dicom": as_dicom,
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    arrays = {"pred": mask(2, 1, 2), "gt": mask(1, 2, 1)}
    found = {}
    for side, form in itertools.product(arrays, FORMS):
        found[side, form] = FORMS[form](tmp_path_factory.mktemp("form"), arrays[side])
    truth = measure(arrays["pred"], arrays["gt"], {"one": 1, "two": 2}, METRICS, spacing=EDGES)
    return found, truth


@pytest.mark.parametrize("gt", FORMS)
def test_the_numbers_do_not_depend_on_the_format(stored, gt):
    files, truth = stored
    cases = [Case(form, files["pred", form], files["gt", gt]) for form in FORMS]
    result = evaluate(cases, structures={"one": 1, "two": 2}, metrics=METRICS)
    assert not result.failures
    for row in result.rows:
        for key in METRICS:
            # Headers keep single precision: seven digits.
            assert row[key] == pytest.approx(truth[row["structure"], key].value, rel=1e-6), (row["case_id"], key)
