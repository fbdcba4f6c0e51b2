"""Adapters of models: the commands as their makers document them, the labels as their packages have them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from segauge import Grid, read_labels
from segauge.errors import InvalidInput
from segauge.io import write_nifti
from segbench import registry
from segbench.cards.exposure import model_card
from segbench.label_orders import TOTALSEGMENTATOR_V1, TOTALSEGMENTATOR_V2
from segbench.models.drivers.brainextractor_bet import isotropic, resampled
from segbench.models.drivers.moose import merge_arrays
from segbench.prediction import PredictionSettings, predict
from tests.badinputs.files import metaimage_bytes
from tests.segbench.prediction.toys import cases

IMAGE, OUTPUT, PYTHON = Path("/data/ct.nii.gz"), Path("/out/prediction.nii.gz"), Path("/env/bin/python")


def command_of(type_, options=None, device="cpu"):
    return registry.model(type_, options or {}).command(IMAGE, OUTPUT, device, PYTHON)


def test_totalsegmentator():
    assert command_of("totalsegmentator", {"fast": True, "name": "TS 3 mm", "device": "gpu"}, "cuda:1") == [
        "/env/bin/TotalSegmentator", "-i", "/data/ct.nii.gz", "-o", "/out/prediction.nii.gz", "--ml",
        "--device", "gpu:1", "--fast",
    ]  # fmt: skip
    model = registry.model("totalsegmentator", {"roi_subset": ["liver", "aorta"], "device": "cpu"})
    assert model.command(IMAGE, OUTPUT, "cuda", PYTHON)[-5:] == ["--device", "cpu", "--roi_subset", "liver", "aorta"]
    assert model.options == {"roi_subset": ["liver", "aorta"]}
    assert model.card.version == "2.18.0"
    assert "TotalSegmentator==2.18.0" in model.requirements[1]
    assert model.card.structures["aorta"] == (52,)
    assert model.card.structures["kidney"] == (2, 3, 23, 24)
    with pytest.raises(InvalidInput, match="did you mean 'liver'"):
        registry.model("totalsegmentator", {"roi_subset": ["livr"]})
    with pytest.raises(InvalidInput, match="choose one"):
        registry.model("totalsegmentator", {"fast": True, "fastest": True})


def test_moose_numbers_each_model_by_hundreds():
    model = registry.model("moose", {"parts": ["organs", "cardiac", "digestive"]})
    assert model.command(IMAGE, OUTPUT, "cpu", PYTHON)[-4:] == [
        "--models", "clin_ct_organs", "clin_ct_cardiac", "clin_ct_digestive",
    ]  # fmt: skip
    structures = model.card.structures
    assert (structures["liver"], structures["aorta"], structures["esophagus"]) == ((8,), (106,), (203,))
    assert not registry.model("moose").card.supports("aorta")
    parts = [np.array([0, 8, 8, 0]), np.array([6, 6, 0, 0]), np.array([0, 0, 0, 3])]
    assert merge_arrays(parts).tolist() == [106, 8, 8, 203]
    with pytest.raises(SystemExit, match="wrote shape"):
        merge_arrays([np.zeros(3), np.zeros(4)])


def test_ctfm_has_the_labels_of_version_2():
    model = registry.model("ctfm")
    assert model.card.structures["aorta"] == (52,)  # in version 1 this would be the right iliac artery
    assert model.command(IMAGE, OUTPUT, "cuda:0", PYTHON)[2:] == [
        "--image", "/data/ct.nii.gz", "--output", "/out/prediction.nii.gz", "--device", "cuda:0", "--spacing", "1.5",
    ]  # fmt: skip


def test_the_monai_bundle_is_told_its_resolution_where_it_looks_for_it():
    words = command_of("monai", {"bundle": "/models/b", "highres": False})
    place = words.index("--displayable_configs#highres")
    assert words[place + 1] == "False"
    assert "--highres" not in words
    assert words[words.index("--output-name") + 1] == "image/image_trans.nii.gz"
    assert registry.model("monai").card.structures["urinary_bladder"] == (104,)
    with pytest.raises(InvalidInput, match="expected the option 'bundle'"):
        command_of("monai")


def test_stunet():
    words = command_of("stunet", {"results": "/weights", "program": "/opt/nnUNet_predict", "mirroring": False})
    start = words.index("env")
    assert words[start:] == [
        "env", "RESULTS_FOLDER=/weights", "CUDA_VISIBLE_DEVICES=", "/opt/nnUNet_predict", "-i", "{input}",
        "-o", "{output}", "-t", "101", "-m", "3d_fullres", "-f", "0", "-tr", "STUNetTrainer_base", "-chk", "base_ep4k",
        "--mode", "fast", "--disable_tta",
    ]  # fmt: skip
    assert registry.model("stunet").card.structures["kidney_left"] == (38,)


def nnunet_folder(folder, **described):
    (folder / "fold_0").mkdir(parents=True)
    (folder / "fold_all").mkdir()
    content = {"labels": {"background": 0, "whole": [1, 2], "core": 2}, "channel_names": {"0": "CT"},
               "file_ending": ".nii.gz", **described}  # fmt: skip
    (folder / "dataset.json").write_text(json.dumps(content))
    return str(folder)


def test_an_nnunet_says_its_own_labels_and_folds(tmp_path):
    folder = nnunet_folder(tmp_path / "nnUNetTrainer__nnUNetPlans__3d_fullres")
    model = registry.model("nnunet", {"folder": folder, "name": "mine", "mirroring": False, "trained_on": ["kits19"]})
    assert model.card.structures == {"whole": (1, 2), "core": (2,)}
    assert model.card.trained_on[0].dataset == "kits19"
    words = model.command(IMAGE, OUTPUT, "cuda", PYTHON)
    assert words[words.index("-f") + 1 : words.index("-device")] == ["0", "all"]
    assert words[-2:] == ["cuda", "--disable_tta"]
    assert registry.model("nnunet", {"folder": folder}).card.trained_on is None


@pytest.mark.parametrize(
    ("change", "words"),
    [({"file_ending": ".nrrd"}, "only .nii.gz"), ({"channel_names": {"0": 1, "1": 2}}, "needs 2 images")],
)
def test_an_nnunet_that_cannot_be_run_is_refused(tmp_path, change, words):
    with pytest.raises(InvalidInput, match=words):
        registry.model("nnunet", {"folder": nnunet_folder(tmp_path / "m", **change)})
    with pytest.raises(InvalidInput, match=r"no dataset\.json"):
        registry.model("nnunet", {"folder": str(tmp_path)})


def test_a_command_of_ones_own():
    described = {
        "name": "mine",
        "structures": {"liver": 1},
        "command": "tool --in {image} '--out={output}' -d {device}",
    }
    assert registry.model("command", described).command(Path("/a b/c;d"), OUTPUT, "cpu", None) == [
        "tool", "--in", "/a b/c;d", "--out=/out/prediction.nii.gz", "-d", "cpu",
    ]  # fmt: skip
    assert registry.model("command", described).card.trained_on is None
    assert registry.model("command", {**described, "trained_on": []}).card.trained_on == ()
    for lacking in ("name", "structures", "command"):
        with pytest.raises(InvalidInput, match=f"expected the option '{lacking}'"):
            registry.model("command", {key: value for key, value in described.items() if key != lacking})
    with pytest.raises(InvalidInput, match=r"expected \{output\}"):
        registry.model("command", {**described, "command": "tool {image}"})


def test_containers_have_no_network_and_see_two_folders():
    described = {"name": "suprem", "structures": {"liver": 1}, "image": "qchen99/suprem:v1", "arguments": "-x 1",
                 "input": "/workspace/inputs", "output": "/workspace/outputs",
                 "input_name": "case/ct.nii.gz", "output_name": "case/combined_labels.nii.gz"}  # fmt: skip
    words = command_of("container", described, "cuda")
    assert words[words.index("docker") :] == [
        "docker", "run", "--rm", "--network", "none", "--gpus", "all", "--volume", "{input}:/workspace/inputs:ro",
        "--volume", "{output}:/workspace/outputs", "qchen99/suprem:v1", "-x", "1",
    ]  # fmt: skip
    words = command_of("container", {**described, "engine": "apptainer", "image": "suprem.sif"})
    assert words[words.index("apptainer") :][:6] == ["apptainer", "run", "--containall", "--net", "--network", "none"]


def test_a_program_for_folders_is_run_for_one_image(tmp_path):
    """As nnU-Net works: reads case_0000.nii.gz from one folder, writes case.nii.gz to another."""
    program = tmp_path / "program.py"
    program.write_text(
        "import shutil, sys\nshutil.copyfile(sys.argv[1] + '/case_0000.nii.gz', sys.argv[2] + '/case.nii.gz')"
    )
    engine = tmp_path / "bin" / "nnUNetv2_predict_from_modelfolder"
    engine.parent.mkdir()
    engine.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$2" "$4"\n')
    engine.chmod(0o755)
    model = registry.model("nnunet", {"folder": nnunet_folder(tmp_path / "m"), "requirements": []})
    words = model.command(tmp_path / "x", tmp_path / "y", "cpu", None)
    assert words[words.index("-i") - 1] == "nnUNetv2_predict_from_modelfolder"
    found = predict([_with_program(model, engine)], cases(tmp_path / "data", 2), PredictionSettings(tmp_path / "cache"))
    assert [one.failure for one in found.predictions] == ["", ""]


def _with_program(model, engine):
    from dataclasses import replace

    def make(image, output, device, python):
        return [
            str(engine) if word == engine.name else word for word in model.make_command(image, output, device, python)
        ]

    return replace(model, make_command=make)


def test_an_output_that_is_not_where_it_should_be_is_said(tmp_path):
    described = {"name": "c", "structures": {"liver": 1}, "image": "x", "output_name": "labels.nii.gz"}
    model = registry.model("container", described)
    words = model.command(tmp_path / "ct.nii.gz", tmp_path / "o" / "p.nii.gz", "cpu", None)
    assert words[words.index("--output-name") + 1] == "labels.nii.gz"
    (tmp_path / "o").mkdir()
    (tmp_path / "ct.nii.gz").write_bytes(b"x")
    call = [*words[: words.index("--") + 1], sys.executable, "-c", "open('{output}/other.txt', 'w').close()"]
    ended = subprocess.run(call, capture_output=True, text=True)
    assert ended.returncode == 3
    assert "expected one output labels.nii.gz, found 0; the output folder holds: other.txt" in ended.stderr


@pytest.mark.parametrize(("link", "name"), [("pred.nii.gz", "*.nii.gz"), ("folder", "folder/*.nii.gz")])
def test_a_folder_program_that_leaves_a_link_has_left_nothing(tmp_path, link, name):
    """A container sees its input only; we would follow its link to the ground truth."""
    for folder in ("o", "secret"):
        (tmp_path / folder).mkdir()
    image, output = tmp_path / "secret" / "ct.nii.gz", tmp_path / "o" / "labels.nii.gz"
    image.write_bytes(b"x")
    described = {"name": "c", "structures": {"liver": 1}, "image": "x", "output_name": name}
    words = registry.model("container", described).command(image, output, "cpu", None)
    target = image.parent if link == "folder" else image
    program = f"import os; os.symlink('{target}', '{{output}}/{link}')"
    call = [*words[: words.index("--") + 1], sys.executable, "-c", program]
    ended = subprocess.run(call, capture_output=True, text=True)
    assert ended.returncode == 3
    assert "found a link" in ended.stderr
    assert not output.exists()


def test_predictions_that_are_there_already(tmp_path):
    found = cases(tmp_path / "data", 3)
    folder = tmp_path / "ready"
    folder.mkdir()
    (folder / "case0.nii.gz").write_bytes(found[0].image.read_bytes())
    for name, value in (("liver", 1), ("spleen", 0), ("other", 1)):
        (folder / "case1").mkdir(exist_ok=True)
        array = np.zeros((8, 8, 8), dtype=np.uint8)
        array[2:4] = value
        write_nifti(folder / "case1" / f"{name}.nii.gz", array, Grid.from_spacing(array.shape, 2.0))
    options = {"name": "old", "structures": {"liver": 5, "spleen": 1, "both": [1, 5]}, "folder": str(folder)}
    model = registry.model("predictions", options)
    first, second, third = predict([model], found, PredictionSettings(tmp_path / "cache")).predictions
    assert Path(first.file).read_bytes() == found[0].image.read_bytes()
    assert read_labels(second.file).labels.labels() == (5,)
    assert third.failure.endswith("no prediction called case2 in ready; name them after the cases")
    # A changed file is another prediction, although its name is the same.
    (folder / "case0.nii.gz").write_bytes(found[1].image.read_bytes())
    again = predict([registry.model("predictions", options)], found[:1], PredictionSettings(tmp_path / "cache"))
    assert Path(again.predictions[0].file).read_bytes() == found[1].image.read_bytes()


def test_a_prediction_whose_voxels_lie_in_another_file_comes_whole(tmp_path):
    folder = tmp_path / "ready"
    folder.mkdir()
    labels = np.zeros((8, 8, 8), dtype=np.uint8)
    labels[2:5, 3:7, 1:3] = 1
    (folder / "case0.mhd").write_bytes(metaimage_bytes(labels, {"ElementDataFile": "v.raw"}, b""))
    (folder / "v.raw").write_bytes(labels.tobytes(order="F"))
    model = registry.model("predictions", {"name": "m", "structures": {"liver": 1}, "folder": str(folder)})
    (found,) = predict([model], cases(tmp_path / "data", 1), PredictionSettings(tmp_path / "cache")).predictions
    got, given = read_labels(found.file).labels, read_labels(folder / "case0.mhd").labels
    assert np.array_equal(got.layers[0], labels)
    assert np.allclose(got.grid.affine, given.grid.affine, atol=1e-5)


def test_masks_that_share_voxels_are_refused_and_none_of_them_cut(tmp_path):
    folder = tmp_path / "ready" / "case0"
    folder.mkdir(parents=True)
    for name, stop in (("liver", 5), ("tumor", 3)):
        array = np.zeros((8, 8, 8), dtype=np.uint8)
        array[2:stop, :2, :2] = 1
        write_nifti(folder / f"{name}.nii.gz", array, Grid.from_spacing(array.shape, 2.0))
    given = {"name": "m", "structures": {"liver": 1, "tumor": 2}, "folder": str(folder.parent)}
    found = cases(tmp_path / "data", 1)
    (both,) = predict([registry.model("predictions", given)], found, PredictionSettings(tmp_path / "cache")).predictions
    assert "liver and tumor share 4 voxels" in both.failure
    given["structures"] = {"liver": 1}
    (one,) = predict([registry.model("predictions", given)], found, PredictionSettings(tmp_path / "cache")).predictions
    assert int((read_labels(one.file).labels.layers[0] == 1).sum()) == 12


def test_brain_extractors():
    assert command_of("deepbet") == [
        "/env/bin/deepbet-cli", "-i", "/data/ct.nii.gz", "-o", "/out/brain.nii.gz", "-m", "/out/prediction.nii.gz",
        "--no_gpu",
    ]  # fmt: skip
    assert registry.model("deepbet").requirements[0] == "torch==2.13.0"
    assert registry.model("brainextractor").requirements[-1] == "--no-deps brainextractor==0.3.0"


def test_brain_masks_come_back_to_the_grid_they_came_from():
    """A box whose faces lie on voxel borders at 1 mm keeps them: outer corners are the same before and after."""
    spacing = np.array([1.0, 1.0, 3.0])
    data = np.zeros((12, 12, 8))
    data[3:9, 3:9, 2:6] = 1.0
    affine = np.diag([-1.0, 1.0, 3.0, 1.0])
    affine[:3, 3] = (40.0, -20.0, 7.0)
    fine, scaled = isotropic(data, affine, spacing)
    assert fine.shape == (12, 12, 24)
    assert np.allclose(np.linalg.norm(scaled[:3, :3], axis=0), 1.0)
    corner = np.array([-0.5, -0.5, -0.5, 1.0])
    assert np.allclose(scaled @ corner, affine @ corner)
    assert np.array_equal(resampled((fine > 0.5).astype(float), 1.0 / spacing, data.shape) > 0.5, data > 0.5)


@pytest.mark.parametrize("library", ["TotalSegmentator", "CT-FM"])
def test_cards_of_version_2_agree_with_its_order(library):
    for name, labels in model_card(library).structures.items():
        assert name == "kidney" or labels == (TOTALSEGMENTATOR_V2[name],)


def test_cards_of_version_1_agree_with_its_order():
    for name, labels in model_card("MONAI wholeBody").structures.items():
        assert name == "kidney" or labels == (TOTALSEGMENTATOR_V1[name],)


def test_stunet_has_the_same_structures_in_the_order_of_the_alphabet():
    order = {name: place for place, name in enumerate(sorted(TOTALSEGMENTATOR_V1), start=1)}
    for name, labels in model_card("STU-Net").structures.items():
        assert name == "kidney" or labels == (order[name],)


OPTIONS = {
    "classical": {"method": "threshold"},
    "command": {"name": "a", "structures": {"liver": 1}, "command": "x {image} {output}"},
    "container": {"name": "a", "structures": {"liver": 1}, "image": "x"},
    "predictions": {"name": "a", "structures": {"liver": 1}, "folder": "."},
}


@pytest.mark.parametrize("name", sorted(registry.offers(registry.MODELS)))
def test_every_model_on_offer_can_be_made_and_refuses_what_it_does_not_know(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    options = OPTIONS.get(name, {"folder": nnunet_folder(tmp_path / "net")} if name == "nnunet" else {})
    model = registry.model(name, options)
    assert model.card.structures
    assert isinstance(json.dumps(dict(model.options)), str)
    with pytest.raises(InvalidInput, match="No option 'nonsense'"):
        registry.model(name, {**options, "nonsense": 1})
