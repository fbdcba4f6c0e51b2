"""Datasets in the folder structure their makers publish, made small."""

import json

import numpy as np
import pytest

from segauge import Grid, evaluate
from segauge.errors import InvalidInput
from segauge.io import write_nifti
from segbench import registry
from segbench.datasets.kits23 import NUMBERS
from segbench.datasets.msd import TASKS
from tests.segbench.downloads.server import Behaviour, serving

GRID = Grid.from_spacing((6, 6, 6), 1.5)


def volume(path, *labels):
    """Write a small label map with the given labels, one slice each."""
    array = np.zeros((6, 6, 6), dtype=np.uint8)
    for place, label in enumerate(labels):
        array[place] = label
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_nifti(path, array, GRID)


def test_kits23_as_its_repository_has_it(tmp_path):
    for number in (0, 500):
        for name in ("imaging", "segmentation"):
            volume(tmp_path / "dataset" / f"case_{number:05}" / f"{name}.nii.gz", 1, 2, 3)
    entries = [{"case_id": "case_00000", "gender": "female", "age_at_nephrectomy": 61, "bmi": None,
                "tumor_histologic_subtype": "clear_cell_rcc"}]  # fmt: skip
    (tmp_path / "dataset" / "kits23.json").write_text(json.dumps(entries))
    dataset = registry.dataset("kits23", tmp_path)
    assert len(dataset.case_ids()) == len(NUMBERS) == dataset.card.n_cases == 489
    dataset.prepare(["case_00000", "case_00500"])
    first, last = dataset.cases(["case_00000", "case_00500"])
    assert first.metadata == {"sex": "female", "age": 61, "histology": "clear_cell_rcc", "phase": "arterial"}
    assert last.metadata == {"phase": "nephrogenic"}
    assert first.gt.name == "segmentation.nii.gz"
    assert dataset.card.structures["kidney"] == (1, 2, 3)


def test_kits23_is_fetched_case_by_case(tmp_path):
    table = json.dumps([{"case_id": "case_00004", "bmi": 31.5}]).encode()
    behaviour = Behaviour(volume(tmp_path / "x.nii.gz", 1).read_bytes(), others={"/kits23.json": table})
    with serving(behaviour) as url:
        mirror = url.rpartition("/")[0]
        dataset = registry.dataset(
            "kits23", tmp_path / "kits", {"case_numbers": [3, 4], "images": mirror, "labels": mirror}
        )
        assert dataset.case_ids() == ["case_00003", "case_00004"]
        dataset.prepare(["case_00004"])
        dataset.prepare(["case_00004"])
    assert behaviour.paths == ["/kits23.json", "/case_00004.nii.gz", "/case_00004/segmentation.nii.gz"]
    (case,) = dataset.cases(["case_00004"])
    assert case.metadata == {"bmi": 31.5, "phase": "arterial"}
    assert case.image.read_bytes() == case.gt.read_bytes() == behaviour.content
    assert not (tmp_path / "kits" / "case_00003").exists()


@pytest.mark.parametrize("number", [300, 589, -1, "0"])
def test_kits23_has_no_other_cases(number):
    with pytest.raises(InvalidInput, match=r"no case .* with public labels"):
        registry.dataset("kits23", None, {"case_numbers": [number]})


def amos(folder):
    for part, numbers in (("Tr", (1, 507)), ("Va", (8,))):
        for number in numbers:
            volume(folder / f"images{part}" / f"amos_{number:04}.nii.gz")
            volume(folder / f"labels{part}" / f"amos_{number:04}.nii.gz", 1, 15)
    volume(folder / "imagesTs" / "amos_0100.nii.gz")
    (folder / "labelsTr" / "._amos_0001.nii.gz").write_text("what macOS leaves")
    (folder / "labeled_data_meta_0000_0599.csv").write_text(
        "amos_id,Patient's Sex,Patient's Age,Manufacturer's Model Name,Site\n1,F,062Y,Brilliance16,A\n8,M,,SOMATOM,B\n"
    )


@pytest.mark.parametrize("inner", ["", "amos22"])
def test_amos22_labelled_cases_of_both_splits(tmp_path, inner):
    amos(tmp_path / inner)
    dataset = registry.dataset("amos_ct", tmp_path, {"modality": "CT"})
    assert dataset.case_ids() == ["amos_0001", "amos_0008"]
    first, second = dataset.cases(dataset.case_ids())
    assert first.metadata == {
        "sex": "F", "age": "062Y", "scanner": "Brilliance16", "site": "A", "modality": "CT", "split": "Tr",
    }  # fmt: skip
    assert second.metadata["site"] == "B"
    assert registry.dataset("amos22", tmp_path, {"modality": "MR"}).case_ids() == ["amos_0507"]
    assert len(registry.dataset("amos22", tmp_path, {"modality": "all"}).case_ids()) == 3
    assert dataset.card.structures["prostate/uterus"] == (15,)
    assert dataset.card.n_cases == 300


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("amos22", {}, "Fetch https://zenodo.org/records/7262581/files/amos22.zip"),
        ("totalsegmentator", {}, "zenodo.org/records/8367088"),
        ("btcv", {}, "Register at synapse.org"),
        ("msd", {"task": "Task09_Spleen"}, "medicaldecathlon.com"),
        ("folder", {"structures": {"liver": 1}}, "Check `root`"),
    ],
)
def test_what_is_not_there_is_said_with_what_to_do(tmp_path, name, options, words):
    with pytest.raises(InvalidInput, match=words.replace(".", r"\.")):
        registry.dataset(name, tmp_path / "nowhere", options).case_ids()


def test_totalsegmentator_masks_are_measured_by_name(tmp_path):
    rows = [
        "image_id;age;gender;institute;study_type;split;manufacturer;scanner_model;kvp;pathology;pathology_location"
    ]
    for name, split in (("s0000", "train"), ("s0001", "test")):
        volume(tmp_path / name / "ct.nii.gz")
        volume(tmp_path / name / "segmentations" / "liver.nii.gz", 1, 1)
        volume(tmp_path / name / "segmentations" / "aorta.nii.gz", 0, 0, 1)
        rows.append(f"{name};60;f;B;ct abdomen;{split};SIEMENS;;120;no_pathology;")
    (tmp_path / "meta.csv").write_text("\n".join(rows))
    dataset = registry.dataset("totalsegmentator", tmp_path)
    assert dataset.case_ids() == ["s0001"]
    assert registry.dataset("totalsegmentator", tmp_path, {"split": "all"}).case_ids() == ["s0000", "s0001"]
    (case,) = dataset.cases(["s0001"])
    assert (case.metadata["sex"], case.metadata["kvp"]) == ("f", "120")
    assert "scanner_model" not in case.metadata
    assert len(dataset.card.structures) == 117
    # The prediction has the labels of the model: liver 5, aorta 52.
    pred = volume(tmp_path / "pred.nii.gz", 5, 5, 52)
    wanted = {name: dataset.card.structures[name] for name in ("liver", "aorta")}
    result = evaluate([segauge_case(case, pred)], structures=wanted, pred_structures=wanted, metrics=["dice"])
    assert [row["dice"] for row in result.rows] == [1.0, 1.0]


def segauge_case(case, pred):
    from segauge import Case

    return Case(case.case_id, pred, case.gt)


def test_msd_by_its_own_list(tmp_path):
    folder = tmp_path / "Task09_Spleen"
    for name in ("spleen_2", "spleen_10"):
        volume(folder / "imagesTr" / f"{name}.nii.gz")
        volume(folder / "labelsTr" / f"{name}.nii.gz", 1)
    training = [
        {"image": f"./imagesTr/{name}.nii.gz", "label": f"./labelsTr/{name}.nii.gz"}
        for name in ("spleen_10", "spleen_2")
    ]
    (folder / "dataset.json").write_text(
        json.dumps({"name": "Spleen", "labels": {"0": "background", "1": "spleen"}, "training": training, "test": []})
    )
    for root in (tmp_path, folder):
        dataset = registry.dataset("msd", root, {"task": "Task09_Spleen"})
        assert dataset.case_ids() == ["spleen_10", "spleen_2"]
        dataset.prepare(dataset.case_ids())
        assert dataset.card.title == "MSD Task09 Spleen"
    with pytest.raises(InvalidInput, match="did you mean 'Task09_Spleen'"):
        registry.dataset("msd", tmp_path, {"task": "Task09_Spleeen"})
    with pytest.raises(InvalidInput, match="expected the option 'task'"):
        registry.dataset("msd", tmp_path)


def test_msd_structures_that_the_card_leaves_open_come_from_the_files(tmp_path):
    folder = tmp_path / "Task01_BrainTumour"
    folder.mkdir()
    labels = {"0": "background", "1": "edema", "2": "non-enhancing tumor", "3": "enhancing tumour"}
    (folder / "dataset.json").write_text(json.dumps({"labels": labels, "training": []}))
    card = registry.dataset("msd", tmp_path, {"task": "Task01_BrainTumour"}).card
    assert card.structures["edema"] == (1,)


def test_every_msd_task_has_a_card(tmp_path):
    for name in TASKS:
        assert registry.dataset("msd", tmp_path, {"task": name}).card.citation


@pytest.mark.parametrize(
    "places", [("img", "label"), ("averaged-training-images", "averaged-training-labels"), ("", "")]
)
def test_btcv_in_each_of_its_layouts(tmp_path, places):
    images, labels = places
    top = tmp_path / "RawData" / "Training" if images == "img" else tmp_path
    for number in (1, 40):
        volume(top / images / f"img{number:04}.nii.gz")
        volume(top / labels / f"label{number:04}.nii.gz", 1, 13)
    dataset = registry.dataset("btcv", tmp_path)
    assert dataset.case_ids() == ["img0001", "img0040"]
    dataset.prepare(dataset.case_ids())


def test_any_nnunet_folder(tmp_path):
    for part in ("Tr", "Ts"):
        volume(tmp_path / f"images{part}" / f"{part}_0000.nii.gz")
        volume(tmp_path / f"images{part}" / f"{part}_0001.nii.gz")
        volume(tmp_path / f"labels{part}" / f"{part}.nii.gz", 1, 2, 9)
    described = {"labels": {"background": 0, "whole": [1, 2], "core": 2, "ignore": 9}, "file_ending": ".nii.gz"}
    (tmp_path / "dataset.json").write_text(json.dumps(described))
    dataset = registry.dataset("folder", tmp_path, {"called": "mine"})
    assert dataset.case_ids() == ["Ts"]
    assert dataset.cases(["Ts"])[0].image.name == "Ts_0000.nii.gz"
    assert dataset.card.structures == {"whole": (1, 2), "core": (2,)}
    assert (dataset.card.name, dataset.card.ignore, dataset.card.lineage) == ("mine", 9, None)
    assert registry.dataset("folder", tmp_path, {"images": "imagesTr", "labels": "labelsTr"}).case_ids() == ["Tr"]


def test_images_and_masks_of_one_name_with_a_table(tmp_path):
    volume(tmp_path / "images" / "a.nii.gz")
    volume(tmp_path / "masks" / "a.nii.gz", 1)
    (tmp_path / "people.csv").write_text("case,person,sex\na,p1,F\n")
    dataset = registry.dataset(
        "folder",
        tmp_path,
        {"structures": {"brain": 1}, "metadata": "people.csv", "cluster_column": "person", "lineage": []},
    )
    assert dataset.cases(["a"])[0].metadata == {"person": "p1", "sex": "F"}
    assert (dataset.card.cluster_column, dataset.card.metadata_columns) == ("person", ("person", "sex"))
    assert dataset.card.lineage == ()


def test_a_label_without_image_is_named(tmp_path):
    volume(tmp_path / "images" / "a.nii.gz")
    volume(tmp_path / "labels" / "b.nii.gz", 1)
    with pytest.raises(InvalidInput, match=r"labels has b\.nii\.gz, but images has no image of that name"):
        registry.dataset("folder", tmp_path, {"structures": {"x": 1}}).case_ids()
    with pytest.raises(InvalidInput, match="expected `structures`"):
        registry.dataset("folder", tmp_path).card  # noqa: B018
    with pytest.raises(InvalidInput, match="expected `root`"):
        registry.dataset("folder")


def test_a_missing_file_of_a_case_is_named(tmp_path):
    amos(tmp_path)
    (tmp_path / "imagesTr" / "amos_0001.nii.gz").unlink()
    dataset = registry.dataset("amos22", tmp_path)
    with pytest.raises(InvalidInput, match=r"amos_0001 has no file .*imagesTr"):
        dataset.prepare(["amos_0001"])
    with pytest.raises(InvalidInput, match="No case 'amos_9'"):
        dataset.cases(["amos_9"])


def test_every_dataset_on_offer_can_be_made(tmp_path):
    volume(tmp_path / "images" / "a.nii.gz")
    volume(tmp_path / "labels" / "a.nii.gz", 1)
    options = {"msd": {"task": "Task03_Liver"}, "folder": {"structures": {"liver": 1}}}
    for name in registry.offers(registry.DATASETS):
        registry.dataset(name, tmp_path, options.get(name, {}))
        with pytest.raises(InvalidInput, match="No option 'nonsense'"):
            registry.dataset(name, tmp_path, {**options.get(name, {}), "nonsense": 1})
