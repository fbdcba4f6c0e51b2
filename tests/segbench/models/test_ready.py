"""Ready predictions: each case has its own file, and no link leads out of what was submitted."""

import shutil

import numpy as np
import pytest

from segauge import Grid
from segauge.io import write_nifti
from segauge.io.contents import file_hash
from segbench import registry
from segbench.models.ready import link_out
from segbench.prediction import PredictionSettings, predict
from segbench.registry import DatasetCase
from tests.segbench.prediction.toys import cases


def predicted(folder, found, tmp_path):
    model = registry.model("predictions", {"name": "m", "structures": {"liver": 1}, "folder": str(folder)})
    return predict([model], found, PredictionSettings(tmp_path / "cache")).predictions


@pytest.fixture
def submitted(tmp_path):
    """Return a folder for predictions, and a case whose ground truth lies outside of it."""
    folder = tmp_path / "submitted"
    folder.mkdir()
    return folder, cases(tmp_path / "data", 1)[0]


def test_a_link_to_the_ground_truth_is_a_failed_case(tmp_path, submitted):
    folder, case = submitted
    (folder / "case0.nii.gz").symlink_to(case.gt)
    (one,) = predicted(folder, [case], tmp_path)
    assert "case0.nii.gz is a link that leads out of submitted" in one.failure
    assert one.file is None


def test_so_is_a_mask_in_the_folder_of_a_case(tmp_path, submitted):
    folder, case = submitted
    (folder / "case0").mkdir()
    (folder / "case0" / "liver.nii.gz").symlink_to(case.gt)
    assert "case0/liver.nii.gz is a link that leads out" in predicted(folder, [case], tmp_path)[0].failure


def test_so_is_the_folder_of_a_case(tmp_path, submitted):
    folder, case = submitted
    (tmp_path / "masks").mkdir()
    shutil.copyfile(case.gt, tmp_path / "masks" / "liver.nii.gz")
    (folder / "case0").symlink_to(tmp_path / "masks")
    assert "case0 is a link that leads out" in predicted(folder, [case], tmp_path)[0].failure


def test_links_to_nothing_and_in_a_circle_fail_their_own_cases(tmp_path, submitted):
    folder, _ = submitted
    found = cases(tmp_path / "more", 3)
    (folder / "case0.nii.gz").symlink_to("nothing")
    (folder / "case1.nii.gz").symlink_to("case1.nii.gz")
    shutil.copyfile(found[2].gt, folder / "case2.nii.gz")
    assert [one.failure == "" for one in predicted(folder, found, tmp_path)] == [False, False, True]


def test_so_is_the_other_half_of_a_pair(submitted):
    folder, case = submitted
    (folder / "case0.hdr").write_bytes(bytes(348))
    (folder / "case0.img").symlink_to(case.gt)
    header = bytearray(348)
    header[:4] = (348).to_bytes(4, "little")
    header[344:348] = b"ni1\0"
    (folder / "case0.hdr").write_bytes(header)
    assert link_out(folder / "case0.hdr", folder) == "case0.img is a link that leads out of submitted"


def test_links_that_stay_inside_and_a_link_to_the_whole_folder_work(tmp_path, submitted):
    folder, case = submitted
    (folder / "files").mkdir()
    shutil.copyfile(case.gt, folder / "files" / "anything")
    (folder / "case0.nii.gz").symlink_to("files/anything")
    (tmp_path / "linked").symlink_to(folder)
    (one,) = predicted(tmp_path / "linked", [case], tmp_path)
    assert one.failure == ""
    assert one.sha256 == file_hash(case.gt)


def test_no_file_serves_two_cases(tmp_path):
    """Neither the folder that all images lie in nor a name that all images have stands for a case."""
    found = []
    for case in cases(tmp_path / "data", 2):
        place = tmp_path / "images" / case.case_id
        place.mkdir(parents=True)
        found.append(DatasetCase(case.case_id, case.image.rename(place / "imaging.nii.gz"), place / "imaging.nii.gz"))
    folder = tmp_path / "ready"
    folder.mkdir()
    mask = np.ones((8, 8, 8), dtype=np.uint8)
    for name in ("imaging", "images", "data"):
        write_nifti(folder / f"{name}.nii.gz", mask, Grid.from_spacing(mask.shape, 2.0))
    assert ["no prediction called" in one.failure for one in predicted(folder, found, tmp_path)] == [True, True]
    shutil.copyfile(found[0].gt, folder / "case0.nii.gz")
    assert [one.failure == "" for one in predicted(folder, found, tmp_path)] == [True, False]


def test_a_prediction_may_keep_the_channel_of_its_image(tmp_path):
    (case,) = cases(tmp_path / "data", 1)
    image = case.image.rename(tmp_path / "data" / "case0_0000.nii.gz")
    folder = tmp_path / "ready"
    folder.mkdir()
    shutil.copyfile(image, folder / image.name)
    (one,) = predicted(folder, [DatasetCase("case0", image, image)], tmp_path)
    assert one.failure == ""
