"""The evaluation container for Grand Challenge: what it writes is what `segauge eval` says, and failures count."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from segauge import Grid, read_labels
from segauge.cli import main
from segauge.errors import InvalidInput
from segauge.integrations.grand_challenge import (
    create_container,
    evaluate_submission,
    fake_submission,
    write_phantoms,
)
from segauge.io.images import write_nifti

STRUCTURES = {"liver": 1, "lesions": [2, 3]}
FILES = {
    ".dockerignore", "Dockerfile", "README.md", "evaluate.py", "ground_truth/README.md", "requirements.txt", "save.sh",
    "try_it.py",
}  # fmt: skip


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_init_writes_a_container_and_never_overwrites(tmp_path, capsys):
    folder = tmp_path / "my" / "challenge"
    arguments = [
        "grand-challenge",
        "init",
        str(folder),
        "--structures",
        "liver=1,lesions=2+3",
        "--metrics",
        "dice,nsd@2",
    ]
    assert main(arguments) == 0
    assert files_of(folder) == FILES
    script = (folder / "evaluate.py").read_text()
    assert 'STRUCTURES = {"liver": 1, "lesions": [2, 3]}' in script
    assert 'METRICS = ["dice", "nsd@2"]' in script
    assert os.access(folder / "save.sh", os.X_OK)
    assert not any("@@" in (folder / name).read_text() for name in FILES)
    for name in ("evaluate.py", "try_it.py"):
        compile((folder / name).read_text(), name, "exec")
    before = {name: (folder / name).read_bytes() for name in FILES}
    (folder / "Dockerfile").unlink()
    assert main(arguments) == 1
    assert "nothing is overwritten" in capsys.readouterr().err
    assert {name: (folder / name).read_bytes() for name in FILES - {"Dockerfile"}} == {
        name: before[name] for name in FILES - {"Dockerfile"}
    }
    assert not (folder / "Dockerfile").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"metrics": ["dice", "gt_volume"]}, "gt_volume: has no worst value"),
        ({"metrics": ["dyce"]}, "No metric 'dyce'"),
        ({"name": "a; rm -rf /"}, "letters, digits"),
    ],
)
def test_what_a_challenge_cannot_use_is_refused(tmp_path, change, words):
    with pytest.raises(InvalidInput, match=words):
        create_container(tmp_path / "c", **change)
    assert not (tmp_path / "c").exists()


def test_labels_of_a_container_are_numbers(tmp_path, capsys):
    assert main(["grand-challenge", "init", str(tmp_path / "c"), "--structures", "liver=Liver"]) == 1
    assert "labels are numbers here" in capsys.readouterr().err


@pytest.fixture(scope="module")
def submission(tmp_path_factory):
    """Four cases: one perfect, one moved, one that no file can be read of, one without a prediction."""
    root = tmp_path_factory.mktemp("challenge")
    truth = write_phantoms(root / "truth", structures=STRUCTURES, count=4)
    place = fake_submission(truth, root / "input", leave_out=1)
    outputs = sorted(place.glob("*/output/images/segmentation/output.nii.gz"))
    assert len(outputs) == 3
    moved = np.roll(read_labels(outputs[1]).labels.layers[0], 1, axis=1)
    write_nifti(outputs[1], moved.copy(), Grid.from_spacing(moved.shape, (1.0, 1.0, 2.5)))
    outputs[2].write_bytes(b"no image")
    return place, truth


@pytest.mark.slow
def test_the_container_says_what_segauge_eval_says(submission, tmp_path, capsys):
    place, truth = submission
    folder = tmp_path / "container"
    create_container(folder, structures=STRUCTURES, metrics=["dice", "nsd@1.5", "hd95"])
    script = (folder / "evaluate.py").read_text()
    (folder / "evaluate.py").write_text(script.replace('PENALTY_MM = "diagonal"', "PENALTY_MM = 77.0"))
    places = {"INPUT_FOLDER": place, "GROUND_TRUTH_FOLDER": truth, "OUTPUT_FOLDER": tmp_path}
    ran = subprocess.run(
        [sys.executable, folder / "evaluate.py"],
        env={**os.environ, **{key: str(value) for key, value in places.items()}},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "'phantom_1': prediction missing, counts with the worst score" in ran.stdout
    found = json.loads((tmp_path / "metrics.json").read_text())
    code = main([
        "eval", "--pred", str(place), "--gt", str(truth), "--structures", "liver=1,lesions=2+3", "--executor", "serial",
        "--metrics", "dice,nsd@1.5,hd95", "--untrusted", "--failed", "penalty", "--penalty", "77",
        "--metrics-json", str(tmp_path / "eval.json"), "--cache", str(tmp_path / "cache"),
    ])  # fmt: skip
    assert code == 3
    expected = json.loads((tmp_path / "eval.json").read_text())
    assert found["results"] == expected["results"]
    assert found["aggregates"] == expected["aggregates"]
    assert (found["aggregates"]["cases"], found["aggregates"]["failed_cases"]) == (4, 2)
    scores = [case["structures"]["liver"] for case in found["results"]]
    # Two of four cases count as 0, and as 77 mm.
    assert found["aggregates"]["structures"]["liver"]["dice"]["value"] == pytest.approx(
        (scores[1]["dice"] + scores[2]["dice"]) / 4
    )
    assert found["aggregates"]["structures"]["liver"]["hd95"]["value"] == pytest.approx((0 + 1.0 + 77 + 77) / 4)
    assert "nsd@1_5" in found["aggregates"]
    assert "files" not in found["protocol"]


BLIND = """
import json, os, pathlib
found = {"aggregates": {"dice": 1.0, "cases": 2, "failed_cases": 0, "structures": {}}}
pathlib.Path(os.environ["OUTPUT_FOLDER"], "metrics.json").write_text(json.dumps(found))
"""


@pytest.mark.slow
def test_the_trial_without_docker_passes_and_can_fail(tmp_path):
    folder = tmp_path / "container"
    create_container(folder, structures=STRUCTURES)
    ran = subprocess.run([sys.executable, folder / "try_it.py"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "The evaluation works" in ran.stdout
    shutil.copytree(folder / "test" / "ground_truth", folder / "ground_truth", dirs_exist_ok=True)
    (folder / "evaluate.py").write_text(BLIND)
    ran = subprocess.run([sys.executable, folder / "try_it.py"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "does not tell a perfect submission" in ran.stdout


def test_a_missing_list_of_jobs_is_said(tmp_path):
    truth = write_phantoms(tmp_path / "truth")
    with pytest.raises(InvalidInput, match=r"predictions\.json"):
        evaluate_submission(tmp_path, truth)
    for penalty in ("diagonl", -3, float("inf")):
        with pytest.raises(InvalidInput, match="penalty_mm: expected"):
            evaluate_submission(tmp_path, truth, penalty_mm=penalty)
