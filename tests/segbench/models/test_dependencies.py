"""What a command names is part of what it is: other weights under the same name are another model."""

import hashlib
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from segauge import read_labels
from segbench.models import dependencies
from segbench.models.command import command, container
from segbench.models.dependencies import settled_hash
from segbench.models.nnunet import nnunet
from segbench.prediction.predicting import PredictionSettings, predict
from segbench.registry import DatasetCase
from tests.badinputs.files import nifti_bytes


@pytest.fixture(autouse=True)
def own_notes(tmp_path, monkeypatch):
    monkeypatch.setenv("SEGBENCH_HASHES", str(tmp_path / "notes"))
    monkeypatch.chdir(tmp_path)


def options_of(text):
    model = command({"name": "net", "structures": {"liver": 1}, "command": f"{text} --in {{image}} --out {{output}}"})
    return dict(model.options)


@pytest.mark.parametrize(
    "text", ["net --weights {}/w.pth", "net --weights={}/w.pth", "docker run -v {}/w.pth:/w.pth:ro net"]
)
def test_a_file_that_a_command_names_counts_by_its_content(text, tmp_path):
    weights, text = tmp_path / "w.pth", text.format(tmp_path)
    weights.write_bytes(b"first")
    first = options_of(text)
    assert first["files"] == {"w.pth": hashlib.sha256(b"first").hexdigest()}
    times = weights.stat()
    weights.write_bytes(b"other")
    os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert options_of(text)["files"] == {"w.pth": hashlib.sha256(b"other").hexdigest()}


def test_a_folder_of_weights_counts_with_all_that_is_in_it(tmp_path):
    (tmp_path / "weights" / "fold_0").mkdir(parents=True)
    (tmp_path / "weights" / "fold_0" / "w.pth").write_bytes(b"first")
    text = f"net --weights {tmp_path / 'weights'}"
    first = options_of(text)
    assert set(first["files"]) == {"weights"}
    (tmp_path / "weights" / "__pycache__").mkdir()
    (tmp_path / "weights" / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert options_of(text) == first
    (tmp_path / "weights" / "fold_0" / "w.pth").write_bytes(b"other")
    assert options_of(text) != first


def test_a_command_that_names_no_file_is_its_text_alone(tmp_path, monkeypatch):
    """Neither what happens to be called so where one stands, nor the system's programs, nor a folder of data."""
    (tmp_path / "net").write_bytes(b"x")
    (tmp_path / "data").mkdir()
    for number in range(6):
        (tmp_path / "data" / f"{number}.nii").write_bytes(b"x")
    monkeypatch.setattr(dependencies, "_MOST_FILES", 5)
    assert set(options_of(f"/bin/sh net --data {tmp_path / 'data'} /")) == {"command"}


@pytest.mark.parametrize("name", ["count", "net.log", "times.CSV"])
def test_a_file_that_a_command_writes_notes_to_is_no_part_of_it(name, tmp_path):
    text = f"net --notes {tmp_path / name}"
    before = options_of(text)
    (tmp_path / name).write_text("one more")
    assert options_of(text) == before


def test_the_manual_names_what_is_left_out_of_the_key():
    """A user whose model depends on such a file has to know: nothing else says why a prediction was not made again."""
    manual = (Path(__file__).parents[3] / "docs" / "how-to" / "add-a-model.md").read_text(encoding="utf-8")
    for ending in filter(None, dependencies._WRITTEN_TO):
        assert f"`{ending}`" in manual
    assert f"more than {dependencies._MOST_FILES:,} files" in manual


def test_a_program_counts_whatever_its_name_ends_in(tmp_path):
    program = tmp_path / "predict"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert set(options_of(f"{program} --fast")["files"]) == {"predict"}


def test_weights_that_changed_are_other_predictions(tmp_path):
    """The model gives out its weights, which are a label map."""
    image = tmp_path / "image.nii.gz"
    image.write_bytes(nifti_bytes(np.zeros((4, 4, 4), dtype=np.uint8)))
    settings = PredictionSettings(cache_dir=tmp_path / "cache", device="cpu")
    (tmp_path / "net.sh").write_text('cp "$3" "$2"\n')
    text = f"sh {tmp_path / 'net.sh'} {{image}} {{output}} {tmp_path / 'w.nii'}"

    def predicted(label):
        (tmp_path / "w.nii").write_bytes(nifti_bytes(np.full((4, 4, 4), label, dtype=np.uint8)))
        model = command({"name": "net", "structures": {"liver": 1}, "command": text})
        (found,) = predict([model], [DatasetCase("a", image, image)], settings).predictions
        assert not found.failure
        return read_labels(found.file).labels.labels()

    assert predicted(1) == (1,)
    assert predicted(2) == (2,)


def test_a_file_is_read_again_only_where_it_changed(tmp_path, monkeypatch):
    read = []
    real = dependencies.file_hash
    monkeypatch.setattr(dependencies, "file_hash", lambda path: read.append(path.name) or real(path))
    weights = tmp_path / "w.pth"
    weights.write_bytes(b"first")
    settled_hash(weights)
    settled_hash(weights)
    assert len(read) == 2  # it had been written just before: its times could not tell another change
    monkeypatch.setattr(dependencies, "_SETTLED_NS", -(10**18))
    settled_hash(weights)
    read.clear()
    assert settled_hash(weights) == hashlib.sha256(b"first").hexdigest()
    assert read == []
    times = weights.stat()
    weights.write_bytes(b"other")
    os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert settled_hash(weights) == hashlib.sha256(b"other").hexdigest()
    (note,) = (tmp_path / "notes").iterdir()
    note.write_text("[" * 10_000)
    assert settled_hash(weights) == hashlib.sha256(b"other").hexdigest()


def test_a_tag_that_was_moved_is_another_model(tmp_path, monkeypatch):
    engine = tmp_path / "bin" / "docker"
    engine.parent.mkdir()
    monkeypatch.setenv("PATH", f"{engine.parent}{os.pathsep}{os.environ['PATH']}")

    def here(image_id):
        engine.write_text(f'#!/bin/sh\n[ "$5" = me/net:v1 ] && echo {image_id}\n')
        engine.chmod(engine.stat().st_mode | stat.S_IXUSR)

    def found():
        given = {"name": "net", "structures": {"liver": 1}, "image": "me/net:v1"}
        return dict(container(given).options), options_of("docker run --rm me/net:v1")

    here("sha256:aaa")
    first = found()
    assert first[0]["image_id"] == "sha256:aaa"
    assert first[1]["images"] == {"me/net:v1": "sha256:aaa"}
    here("sha256:bbb")
    assert [one["image"] for one in found()[:1]] == ["me/net:v1"]
    assert all(one != other for one, other in zip(found(), first, strict=True))
    engine.write_text("#!/bin/sh\nexit 1\n")
    assert "image_id" not in found()[0]


def test_a_trained_nnunet_counts_by_its_checkpoints(tmp_path):
    folder = tmp_path / "trained"
    (folder / "fold_0").mkdir(parents=True)
    (folder / "dataset.json").write_text('{"labels": {"background": 0, "liver": 1}}')
    (folder / "fold_0" / "checkpoint_final.pth").write_bytes(b"first")
    first = dict(nnunet({"folder": str(folder)}).options)
    assert set(first["files"]) == {"dataset.json", "checkpoint_final.pth"}
    (folder / "fold_0" / "checkpoint_final.pth").write_bytes(b"other")
    assert dict(nnunet({"folder": str(folder)}).options) != first
