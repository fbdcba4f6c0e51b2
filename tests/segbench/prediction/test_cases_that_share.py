"""Two cases with one image are two cases: each has its own prediction, and the record says that they share an image."""

import shutil

import pytest

from segauge.io.contents import file_hash
from segbench import registry
from segbench.config import RunConfig
from segbench.pipeline import run
from segbench.prediction import PredictionSettings, predict
from segbench.registry import DatasetCase
from tests.segbench.prediction.toys import cases, toy


def twins(folder):
    """Return two cases whose images are the same, byte for byte, and two label maps that are not."""
    first, other = cases(folder / "labels", 2)
    images = folder / "images"
    images.mkdir()
    for one in (first, other):
        shutil.copyfile(first.image, images / one.image.name)
    return [DatasetCase(one.case_id, images / one.image.name, one.gt) for one in (first, other)]


def test_ready_predictions_of_cases_that_share_an_image(tmp_path):
    both = twins(tmp_path)
    options = {"name": "ready", "structures": {"liver": 1}, "folder": str(tmp_path / "labels")}
    found = predict([registry.model("predictions", options)], both, PredictionSettings(tmp_path / "cache")).predictions
    assert [one.sha256 for one in found] == [file_hash(case.gt) for case in both]
    assert len({one.file for one in found}) == 2


def test_a_command_that_reads_the_name_of_its_case(tmp_path):
    both = twins(tmp_path)
    program = (
        'import os, shutil, sys; shutil.copyfile(sys.argv[3] + os.environ["SEGBENCH_CASE"] + ".nii.gz", sys.argv[2])'
    )
    model = toy(program, f"{tmp_path / 'labels'}/")
    found = predict([model], both, PredictionSettings(tmp_path / "cache")).predictions
    assert [one.sha256 for one in found] == [file_hash(case.gt) for case in both]


@pytest.mark.slow
def test_the_record_says_which_cases_share_an_image(tmp_path):
    twins(tmp_path)
    ready = shutil.copytree(tmp_path / "labels", tmp_path / "ready")
    record = run(
        RunConfig.from_dict(
            {
                "dataset": {"name": "folder", "root": str(tmp_path), "called": "twins", "structures": {"liver": 1}},
                "models": [
                    {
                        "type": "predictions",
                        "name": "right",
                        "folder": str(ready),
                        "structures": {"liver": 1},
                    }
                ],
                "metrics": ["dice"],
                "n_resamples": 100,
                "cache_dir": str(tmp_path / "cache"),
                "results_path": str(tmp_path / "run.json"),
            }
        )
    )
    assert record.notes == ("case0, case1 have the same image, byte for byte",)
    assert record.tables["right"].column("liver", "dice").tolist() == [1.0, 1.0]
