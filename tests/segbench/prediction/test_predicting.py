"""predict(): every job once, kept under all that it depends on; failures with reasons; nothing lost in a kill."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from segauge.errors import InvalidInput
from segauge.io.contents import file_hash
from segbench.prediction import Environment, PredictionSettings, predict, predicting
from segbench.prediction.predicting import chosen_device
from tests.segbench.prediction.toys import COPY, cases, toy


def runs(path):
    return len(path.read_text()) if path.exists() else 0


@pytest.fixture
def counted(tmp_path):
    """A model that counts its runs, the cases, and the settings."""
    return toy(COPY, tmp_path / "count"), cases(tmp_path / "data"), PredictionSettings(tmp_path / "cache", device="cpu")


def test_every_case_is_predicted_once(tmp_path, counted):
    model, found, settings = counted
    told = []
    first = predict([model], found, settings, lambda *args: told.append(args)).predictions
    assert [one.case_id for one in first] == ["case0", "case1", "case2"]
    for one, case in zip(first, found, strict=True):
        assert one.failure == ""
        assert one.sha256 == file_hash(case.image)
        assert one.seconds > 0
    assert told[-1][1:] == (3, 3)
    assert predict([model], found, settings).predictions == first
    assert runs(tmp_path / "count") == 3
    description = json.loads(next((tmp_path / "cache").rglob("*.json")).read_text())
    assert description["device"] == "cpu"
    assert description["structures"] == {"liver": [1]}
    assert not list((tmp_path / "cache").rglob("*.work"))


@pytest.mark.parametrize("change", ["version", "labels", "command", "image"])
def test_whatever_a_prediction_depends_on_makes_it_another_one(tmp_path, counted, change):
    model, found, settings = counted
    predict([model], found[:1], settings)
    if change == "version":
        model = toy(COPY, tmp_path / "count", version="2")
    elif change == "labels":
        model = toy(COPY, tmp_path / "count", structures={"liver": 1, "tumor": 2})
    elif change == "command":
        model = toy(COPY, tmp_path / "count", "--more")
    else:
        found = found[1:]
    predict([model], found[:1], settings)
    assert runs(tmp_path / "count") == 2


@pytest.mark.parametrize("name", ["first", "second"])
def test_the_first_case_of_an_environment_goes_ahead(tmp_path, monkeypatch, name):
    """It may fetch weights: no other case of the model runs beside it."""
    asked = []

    def run(function, queue, **options):
        asked.append([(job.model, job.case_id) for job in queue])
        return []

    monkeypatch.setattr(predicting, "run", run)
    made = Environment(Path(sys.executable), "key", ())
    monkeypatch.setattr(predicting, "make_environment", lambda *_, **__: made)
    models = [
        toy(COPY, name="first", requirements=["a==1"]),
        toy(COPY, name="second", requirements=["a==1"]),
        toy(COPY),
    ]
    predict(models, cases(tmp_path / "data", 2), PredictionSettings(tmp_path / "cache", device="cpu"))
    ahead, behind = asked
    assert ahead.count((name, "case0")) == 1
    assert (name, "case1") in behind
    assert ("toy", "case0") in behind


def test_a_damaged_or_missing_prediction_is_made_again(tmp_path, counted):
    model, found, settings = counted
    first = predict([model], found, settings).predictions
    damaged = Path(first[0].file)
    damaged.write_bytes(damaged.read_bytes() + b"x")
    Path(first[1].file).unlink()
    assert predict([model], found, settings).predictions == first
    assert runs(tmp_path / "count") == 5


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_model_sees_none_of_our_packages(tmp_path, monkeypatch, executor):
    """Our workers find modules through PYTHONPATH; a model's interpreter would find ours before its own."""
    monkeypatch.setenv("PYTHONPATH", "/the/users/own")
    says = "import os, sys; sys.exit(repr(os.environ['PYTHONPATH']))"
    found = cases(tmp_path / "data", 1)
    settings = PredictionSettings(tmp_path / "cache", device="cpu", executor=executor)
    (bare,) = predict([toy(says)], found, settings).predictions
    assert bare.failure == "ended with exit code 1: '/the/users/own'"
    made = Environment(Path(sys.executable), "key", ())
    monkeypatch.setattr(predicting, "make_environment", lambda *_, **__: made)
    (own,) = predict([toy(says, requirements=["a==1"])], found, settings).predictions
    assert own.failure == "ended with exit code 1: ''"


def test_a_failure_is_that_models_with_its_reason(tmp_path, counted):
    model, found, settings = counted
    fails = "import sys; sys.exit('cannot read ' + sys.argv[2]) if 'case1' in sys.argv[1] else None;"
    fails += "import shutil; shutil.copyfile(*sys.argv[1:3])"
    both = predict([toy(fails, name="weak"), model], found, settings).predictions
    assert [bool(one.failure) for one in both] == [False, True, False, False, False, False]
    assert both[1].failure == "ended with exit code 1: cannot read prediction.nii.gz"  # no path of this machine
    assert both[1].file is None
    assert both[1].sha256 is None


WRITE = (
    "import sys, nibabel, numpy as np\n"
    "def write(path, array): nibabel.save(nibabel.Nifti1Image(array.astype(np.uint8), np.eye(4)), path)\n"
    "write"
)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("pass", "ended without an error, but wrote no output"),
        ("import sys; open(sys.argv[2], 'w').write('no image')", "wrote an output that cannot be read"),
        # Two empty volumes were read as channels without foreground: Dice 0, and no failure.
        (f"{WRITE}(sys.argv[2], np.zeros((4, 4, 4, 2)))", "holds 2 volumes; expected one label map"),
        (f"{WRITE}(sys.argv[2], np.zeros((4, 4, 4)))", ""),
        ("import os, sys; os.symlink(sys.argv[1], sys.argv[2])", "wrote a link in place of an output"),
        ("import time; time.sleep(60)", "took longer than 1 s"),
        ("x = bytearray(10**9)", "MemoryError"),
    ],
)
def test_every_kind_of_failure_has_words(tmp_path, program, reason):
    settings = PredictionSettings(
        tmp_path / "cache", device="cpu", timeout_s=1.0 if "sleep" in program else 60, memory_gb=0.7
    )
    (found,) = predict([toy(program)], cases(tmp_path / "data", 1), settings).predictions
    assert reason in found.failure
    assert bool(found.failure) == bool(reason)
    assert str(tmp_path) not in found.failure


def test_a_failure_is_tried_again_in_the_next_run(tmp_path):
    once = "import os, shutil, sys; image, output, mark = sys.argv[1:4]\n"
    once += "if not os.path.exists(mark): open(mark, 'w'); sys.exit(1)\nshutil.copyfile(image, output)"
    model, found = toy(once, tmp_path / "mark"), cases(tmp_path / "data", 1)
    settings = PredictionSettings(tmp_path / "cache", device="cpu")
    assert predict([model], found, settings).predictions[0].failure
    assert not predict([model], found, settings).predictions[0].failure


def test_a_model_that_needs_a_gpu_says_so(tmp_path):
    (found,) = predict(
        [toy(COPY, gpu=True)], cases(tmp_path / "data", 1), PredictionSettings(tmp_path / "cache", device="cpu")
    ).predictions
    assert found.failure == "needs a GPU, and there is none (or device: cpu was asked for)"


@pytest.mark.parametrize(
    ("asked", "gpus", "device"), [("auto", 0, "cpu"), ("auto", 2, "cuda"), ("cuda:1", 2, "cuda:1")]
)
def test_the_device(asked, gpus, device):
    assert chosen_device(asked, gpus) == device


def test_a_misspelt_device_is_refused():
    with pytest.raises(InvalidInput, match="device: expected"):
        chosen_device("gpu", 1)


SLOW_COPY = COPY.replace("shutil.copyfile", "import time; time.sleep(0.4); shutil.copyfile")
WALK = """
import pathlib, sys
from tests.segbench.prediction.toys import cases, toy
from tests.segbench.prediction.test_predicting import SLOW_COPY
from segbench.prediction import Environment, PredictionSettings, predict, predicting
folder = pathlib.Path(sys.argv[1])
settings = PredictionSettings(folder / "cache", device="cpu")
found = predict([toy(SLOW_COPY, folder / "count")], cases(folder / "data", 4), settings)
print([(one.case_id, one.sha256, one.failure) for one in found.predictions])
"""


def started(folder):
    return subprocess.Popen([sys.executable, "-c", WALK, str(folder)], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_the_same(tmp_path):
    whole, _ = started(tmp_path / "whole").communicate(timeout=300)
    for kill in range(1, 4):
        process = started(tmp_path / "killed")
        # The model counts itself and then takes a while: it is killed in the middle of its work.
        while runs(tmp_path / "killed" / "count") < kill and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert process.returncode < 0
    resumed, _ = started(tmp_path / "killed").communicate(timeout=300)
    assert resumed == whole
    assert "case3" in whole
    assert not list((tmp_path / "killed").rglob("*.work"))


@pytest.mark.slow
def test_two_runs_at_once_make_each_prediction_once(tmp_path):
    both = [started(tmp_path), started(tmp_path)]
    said = [process.communicate(timeout=300)[0] for process in both]
    assert said[0] == said[1] != ""
    assert runs(tmp_path / "count") == 4


@pytest.mark.slow
def test_worker_processes_and_dask_give_the_same(tmp_path, counted):
    model, found, settings = counted
    first = predict([model], found, settings).predictions
    for executor in ("processes", "dask"):
        elsewhere = PredictionSettings(tmp_path / executor, device="cpu", jobs=2, executor=executor)
        again = predict([model], found, elsewhere).predictions
        assert [(one.case_id, one.sha256) for one in again] == [(one.case_id, one.sha256) for one in first]
