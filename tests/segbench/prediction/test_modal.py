"""Modal: our side against a stand-in for its client, whose functions run here; the real client if it is installed."""

import inspect
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from segbench import registry
from segbench.prediction import PredictionSettings, predict
from segbench.prediction.modal_cloud import model_image
from segbench.prediction.predicting import _THERE
from segbench.prediction.remote import RemoteRequest, filled, marked, predict_there
from tests.segbench.prediction.toys import COPY, cases, toy


class Recorded:
    """Returns itself from every call, and remembers the calls."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def call(*args, **options):
            self.calls.append((name, args, options))
            return self

        return call


class StandIn:
    """Modal's client as far as we use it; a function's `map` runs its body here."""

    def __init__(self):
        self.Image, self.Volume, self.functions = Recorded(), Recorded(), []

    def App(self, name):  # noqa: ARG002, N802 - as Modal calls it
        return self

    @contextmanager
    def run(self):
        yield

    def function(self, **options):
        def register(body):
            self.functions.append(options)
            return Mapped(body)

        return register


class Mapped:
    def __init__(self, body):
        self.body = body

    def map(self, requests, return_exceptions):  # noqa: ARG002
        for request in requests:
            try:
                yield self.body(request)
            except Exception as error:
                yield error


@pytest.fixture
def cloud(monkeypatch):
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "modal", stand_in)
    return stand_in


def test_predictions_come_back_into_the_cache(tmp_path, cloud):
    found = cases(tmp_path / "data", 3)
    fails = "import sys; sys.exit('no good')"
    models = [toy(COPY, tmp_path / "count"), toy(fails, name="weak")]
    settings = PredictionSettings(tmp_path / "cache", executor="modal", timeout_s=50)
    told = []
    first = predict(models, found, settings, lambda *args: told.append(args)).predictions
    assert [one.failure for one in first] == ["", "", "", *["ended with exit code 1: no good"] * 3]
    assert Path(first[0].file).read_bytes() == found[0].image.read_bytes()
    assert [options["name"] for options in cloud.functions] == ["predict-toy", "predict-weak"]
    assert cloud.functions[0]["timeout"] == 650
    assert cloud.functions[0]["gpu"] is None
    assert told[-1][1:] == (6, 6)
    predict(models[:1], found, settings)
    assert (tmp_path / "count").read_text() == "xxx"  # the second time the cache has it
    kept = predict(models[:1], found, replace(settings, only_cached=True)).predictions
    assert kept == first[:3]
    here = predict(models[:1], found, PredictionSettings(tmp_path / "here", device="cpu")).predictions
    assert [one.sha256 for one in here] == [one.sha256 for one in first[:3]]


def test_an_error_of_the_cloud_is_that_cases_failure(tmp_path, cloud, monkeypatch):
    def broken(self, requests, return_exceptions):
        for _ in requests:
            yield RuntimeError("no container")

    monkeypatch.setattr(Mapped, "map", broken)
    (found,) = predict(
        [toy(COPY)], cases(tmp_path / "data", 1), PredictionSettings(tmp_path / "c", executor="modal")
    ).predictions
    assert found.failure == "RuntimeError: no container"


def test_the_image_of_a_model_is_made_from_its_lock_in_one_step():
    # It was one pip step per item, and a later step replaced the torch of an earlier one.
    stand_in = StandIn()
    model_image(stand_in, registry.model("deepbet"))
    ((_, (lock,), options),) = [call for call in stand_in.Image.calls if call[0] == "pip_install_from_requirements"]
    assert Path(lock).name == "deepbet.txt"
    assert options == {"extra_options": "--require-hashes --no-deps"}
    assert stand_in.Image.calls[-1][:2] == ("add_local_python_source", ("segauge", "segbench"))


def test_without_a_lock_the_image_has_all_requirements_in_one_step():
    stand_in = StandIn()
    model_image(stand_in, toy(COPY, requirements=["a==1", "b==2 c==3", "--no-deps d==4"]))
    installed = [(args, options) for name, args, options in stand_in.Image.calls if name == "pip_install"]
    assert installed[:2] == [(("a==1", "b==2", "c==3"), {}), (("d==4",), {"extra_options": "--no-deps"})]


def test_folders_that_a_command_names_go_along(tmp_path, cloud):
    # The commands of nnU-Net and MONAI named folders of this machine, and nobody brought them there.
    weights = tmp_path / "weights"
    (weights / "fold_0").mkdir(parents=True)
    (weights / "fold_0" / "net.pth").write_bytes(b"net")
    model = toy("pass", str(weights), f"--net={weights}/fold_0/net.pth")
    predict([model], cases(tmp_path / "data", 1), PredictionSettings(tmp_path / "cache", executor="modal"))
    added = [(args, options) for name, args, options in cloud.Image.calls if name.startswith("add_local_dir")]
    assert added == [((str(weights),), {"remote_path": "/models/0/weights"})]
    (log,) = (tmp_path / "cache").rglob("*.log")
    assert "/models/0/weights --net=/models/0/weights/fold_0/net.pth" in log.read_text()
    assert str(weights) not in log.read_text()


def test_a_program_of_this_machine_is_told(tmp_path, cloud):
    program = tmp_path / "venv" / "bin" / "predict"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    model = toy("pass", str(program))
    settings = PredictionSettings(tmp_path / "cache", executor="modal")
    (found,) = predict([model], cases(tmp_path / "data", 1), settings).predictions
    assert found.failure.startswith("the command names the program predict, which is installed on this machine only")
    assert cloud.functions == []


@pytest.mark.parametrize("name", ["totalsegmentator", "moose", "ctfm", "deepbet", "brainextractor"])
def test_no_place_of_this_machine_goes_over(name):
    """Commands are sent with marks, which become places on the other side."""
    image, output = Path("/data/case_1.nii.gz"), Path("/cache/x/prediction.nii.gz")
    argv = registry.model(name).command(image, output, "cuda", _THERE)
    sent = marked(argv, image, output)
    assert not [word for word in sent if "/data" in word or "/cache" in word or str(Path(__file__).parents[3]) in word]
    there = filled(sent, Path("/there/image.nii.gz"), Path("/there/prediction.nii.gz"))
    assert "/there/image.nii.gz" in there
    assert not [word for word in there if "{" in word]
    drivers = [word for word in there if word.endswith(".py")]
    assert all(Path(word).is_file() for word in drivers)


def test_the_body_keeps_time_and_says_what_happened():
    program = "import shutil, sys; print('working'); shutil.copyfile(*sys.argv[1:3])"
    answer = predict_there(RemoteRequest(("{python}", "-c", program, "{image}", "{output}"), b"image"))
    assert (answer.output, answer.failure) == (b"image", "")
    assert b"working" in answer.log
    late = predict_there(RemoteRequest(("{python}", "-c", "import time; time.sleep(60)"), b"", timeout_s=0.5))
    assert late.output is None
    assert late.failure == "took longer than 0.5 s"


def test_the_real_client_takes_our_calls():
    modal = pytest.importorskip("modal")
    for function, ours in (
        (modal.App.function, ("image", "gpu", "memory", "volumes", "timeout", "env", "name", "serialized")),
        (modal.Image.pip_install, ("extra_options",)),
        (modal.Image.pip_install_from_requirements, ("extra_options",)),
        (modal.Image.add_local_dir, ("remote_path",)),
        (modal.Image.add_local_file, ("remote_path",)),
        (modal.Image.debian_slim, ("python_version",)),
        (modal.Volume.from_name, ("create_if_missing",)),
        (modal.Function.map, ("return_exceptions",)),
    ):
        assert set(ours) <= set(inspect.signature(function).parameters)
