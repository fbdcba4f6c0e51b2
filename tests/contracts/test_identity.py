"""A prediction that is the ground truth is perfect, in whatever format and however its structures are named.

The first release gave two identical files with `--structures kidney=1+2,tumor=2` a Dice of 0.967 for the kidney and an
HD95 of 8.5 mm: where files have names, the word for the union replaced its labels, in the prediction alone.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from segauge import Case, evaluate
from segauge.cli import main
from segauge.errors import UnusableOption
from segauge.evaluation import structures as pairing
from segauge.io.reading import Reading
from segauge.labelmap import LabelMap
from segbench.cards import DatasetCard, ModelCard, exposure, known_lineage
from segbench.config import RunConfig
from segbench.planning import Plan, PlannedModel, Prediction
from segbench.registry import DatasetCase
from segbench.scoring.scores import score
from tests.contracts.scenes import FORMATS, OTHER, SCENE, SPECS, Scene, as_text, fits, given, parts_of

METRICS = ["dice", "iou", "hd", "hd95", "assd", "masd", "nsd", "det_f1", "lesion_fp", "lesion_fn"]
PERFECT = {"dice": 1, "iou": 1, "hd": 0, "hd95": 0, "assd": 0, "masd": 0, "nsd": 1, "det_f1": 1,
           "lesion_fp": 0, "lesion_fn": 0}  # fmt: skip
#: What does not change, and what is exchanged, when prediction and ground truth are.
SYMMETRIC = ["dice", "iou", "hd", "hd95", "assd", "masd", "nsd", "biou", "lesion_tp", "det_f1"]
EXCHANGED = [("precision", "sensitivity"), ("pred_volume", "gt_volume"), ("lesion_fp", "lesion_fn"),
             ("det_precision", "det_recall")]  # fmt: skip

PAIRS = [(form, way) for form in FORMATS for way in SPECS if fits(FORMATS[form], way)]


def covering():
    """Return pairs with every format and every way to say structures: what is run each time."""
    found = []
    for k, way in enumerate(SPECS):
        forms = [form for form in FORMATS if (form, way) in PAIRS]
        found.append((forms[3 * k % len(forms)], way))
    return found


CHOSEN = covering()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a function that writes a scene once in a format; it returns the path of its case."""
    known = {}

    def path_of(form, scene=SCENE):
        key = form, id(scene)
        if key not in known:
            known[key] = scene, FORMATS[form].write(tmp_path_factory.mktemp("scene"), scene)
        return known[key][1]

    return path_of


def complaints(rows):
    """Return every number of a perfect prediction that is not perfect, and every structure without numbers."""
    return [
        f"{row['structure']}: {key} is {row[key]}, not {best}"
        for row in rows
        for key, best in PERFECT.items()
        if key in row and row[key] != best
    ] or ([] if rows else ["nothing was measured"])


def identical(path, structures, **options):
    result = evaluate([Case("a", path, path)], structures=structures, metrics=METRICS, **options)
    assert not result.failures
    return complaints(result.rows)


@pytest.mark.parametrize("form", FORMATS)
def test_identical_files_are_perfect(form, written, tmp_path):
    ways = [way for way in SPECS if fits(FORMATS[form], way)]
    assert {way: found for way in ways if (found := identical(written(form), given(way, tmp_path)))} == {}


@pytest.mark.parametrize("form", FORMATS)
def test_identical_files_are_perfect_where_each_side_says_its_labels(form, written):
    ways = [way for way in SPECS if fits(FORMATS[form], way) and isinstance(SPECS[way], dict)]
    found = {way: identical(written(form), SPECS[way], pred_structures=SPECS[way]) for way in ways}
    assert found == {way: [] for way in ways}


def test_the_contract_can_fail(written, monkeypatch):
    """With the rule of the first release: the word for a structure is looked up before its numbers."""
    rule = pairing._Search.labels_in_pred

    def by_the_word_first(search, name, parts):
        return search.pred.named(name) or rule(search, name, parts)

    monkeypatch.setattr(pairing._Search, "labels_in_pred", by_the_word_first)
    ways = ("a union that contains the other", "a number under another's name", "a union under a name of neither")
    for way in ways:
        assert any("dice" in words for words in identical(written("seg.nrrd with layers"), SPECS[way]))
        assert identical(written("nifti"), SPECS[way]) == []


def check_eval(path, text, out):
    paths = ["--pred", path, "--gt", path, "--json", out / "result.json"]
    told = ["--structures", text, "--metrics", ",".join(METRICS), "--n-resamples", "100"]
    assert main(["eval", *map(str, paths), *told, "--jobs", "1", "--executor", "serial"]) == 0
    found = json.loads((out / "result.json").read_text())
    assert complaints(found["per_case"]) == []


def check_compare(path, text, out):
    models = ["--pred", f"A={path}", "--pred", f"B={path}", "--gt", path, "--json", out / "compared.json"]
    told = ["--structures", text, "--metrics", "dice,hd95", "--n-resamples", "1000"]
    assert main(["compare", *map(str, models), *told, "--jobs", "1", "--executor", "serial"]) == 0
    found = json.loads((out / "compared.json").read_text())
    means = {(key, row["model"]): row["value"] for key in found for row in found[key]["rows"]}
    assert means == {("dice", "A"): 1, ("dice", "B"): 1, ("hd95", "A"): 0, ("hd95", "B"): 0}


def check_score(path, structures):
    """Score a prediction as segbench does, whose cards say the labels of both sides."""
    labels = {name: tuple(parts if isinstance(parts, list) else [parts]) for name, parts in structures.items()}
    dataset = DatasetCard("made-up", structures=labels, lineage=())
    model = ModelCard("model", "1", structures=labels, trained_on=(), pretrained_on=())
    seen = exposure(model, dataset, known_lineage([dataset]))
    plan = Plan(dataset, ("a",), tuple(labels), (PlannedModel(model, seen, True, tuple(labels)),))
    config = {"dataset": {"name": "made-up"}, "models": [{"type": "predictions"}], "metrics": METRICS}
    case = DatasetCase("a", path, path)
    record = score(plan, [case], [Prediction("model", "a", path)], RunConfig.from_dict(config))
    assert complaints(rows_of(record.tables["model"])) == []


def rows_of(table):
    return [
        {"structure": name, **{key: table["a", name, key].value for key in table.metrics}} for name in table.structures
    ]


def is_of_cards(way):
    """Say whether cards of segbench can hold a spec: numbers by name."""
    return isinstance(SPECS[way], dict) and all(isinstance(part, int) for part in parts_of(SPECS[way]))


def check_paths(form, way, path, tmp_path):
    text = as_text(way, tmp_path)
    place = path.parent if path.is_dir() else path  # a folder of masks is one case of a folder of cases
    check_eval(place, text, tmp_path)
    check_compare(place, text, tmp_path)
    if is_of_cards(way):
        check_score(path, SPECS[way])


@pytest.mark.parametrize(("form", "way"), CHOSEN)
def test_every_path_finds_identical_files_perfect(form, way, written, tmp_path):
    check_paths(form, way, written(form), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "way"), [pair for pair in PAIRS if pair not in CHOSEN])
def test_every_path_finds_identical_files_perfect_in_every_format_and_way(form, way, written, tmp_path):
    check_paths(form, way, written(form), tmp_path)


def test_the_choice_covers_every_format_and_way():
    assert {form for form, _ in CHOSEN} == set(FORMATS)
    assert {way for _, way in CHOSEN} == set(SPECS)


def scores(pred, gt, structures, metrics):
    result = evaluate([Case("a", pred, gt)], structures=structures, metrics=metrics)
    assert not result.failures
    return {(row["structure"], key): row[key] for row in result.rows for key in metrics}


@pytest.mark.parametrize("form", FORMATS)
def test_swapping_both_sides_swaps_precision_and_recall_and_nothing_else(form, written, tmp_path):
    keys = [*SYMMETRIC, *(key for pair in EXCHANGED for key in pair)]
    after = dict(pair for a, b in EXCHANGED for pair in ((a, b), (b, a)))
    pred, gt = written(form, OTHER), written(form)
    for way in [way for way in SPECS if fits(FORMATS[form], way)]:
        spec = given(way, tmp_path)
        there, back = scores(pred, gt, spec, keys), scores(gt, pred, spec, keys)
        assert {name for name, _ in there} == {name for name, _ in back}
        for (name, key), value in there.items():
            # The mean of two directions is added in the other order.
            assert back[name, after.get(key, key)] == pytest.approx(value, rel=1e-12), (way, name, key)


RENUMBERED = {"kidney": 2, "tumor": 5, "vein": 1}


@pytest.mark.parametrize("form", [form for form in FORMATS if FORMATS[form].has_names and FORMATS[form].has_numbers])
def test_renumbering_a_prediction_together_with_its_names_changes_nothing(form, written, tmp_path):
    moved = Scene(OTHER.masks, RENUMBERED)
    for way in [way for way in SPECS if fits(FORMATS[form], way)]:
        spec = given(way, tmp_path)
        before, after = (scores(written(form, one), written(form), spec, METRICS) for one in (OTHER, moved))
        assert before == after, way


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("side", ["pred", "gt", pytest.param("both", marks=pytest.mark.slow)])
def test_an_unrelated_structure_changes_nothing(form, side, written, tmp_path):
    more = {name: scene.and_unrelated(3) if side in (name, "both") else scene
            for name, scene in (("pred", OTHER), ("gt", SCENE))}  # fmt: skip
    for way in [way for way in SPECS if fits(FORMATS[form], way) and SPECS[way] != "foreground"]:
        spec = given(way, tmp_path)
        before = scores(written(form, OTHER), written(form), spec, METRICS)
        after = scores(written(form, more["pred"]), written(form, more["gt"]), spec, METRICS)
        assert before.items() <= after.items(), way


def test_a_ground_truth_without_names_takes_the_users_word_for_one_number_alone(written):
    """The prediction numbers its segments as it found them; the word for a union is not looked up."""
    pred = written("DICOM-SEG binary", Scene(SCENE.masks, RENUMBERED))
    every = {"kidney": 1, "tumor": 2, "vein": 7}
    assert complaints_of(pred, written("nifti"), every) == []
    assert complaints_of(pred, written("nifti"), {**every, "organs": [1, 2]}) == []
    assert complaints_of(pred, written("nifti"), {"kidney": [1, 2], "mass": 2, "vein": 7}) != []


def complaints_of(pred, gt, structures):
    found = scores(pred, gt, structures, METRICS)
    return [f"{name}: {key}" for (name, key), value in found.items() if value != PERFECT[key]]


def test_what_was_found_by_name_is_said_once(written):
    """Not once per structure that contains it."""
    pred = written("seg.nrrd with layers", Scene(SCENE.masks, RENUMBERED))
    spec = {"kidney": [1, 2], "tumor": 2, "both": [1, 2]}
    result = evaluate([Case("a", pred, written("seg.nrrd with layers"))], structures=spec, metrics=["dice"])
    (note,) = [note for note in result.notes["a"] if "name" in note]
    assert note == (
        "pred: numbers its labels otherwise; found by name: 'kidney' (label 1) is its label 2, 'tumor' (label 2) is "
        "its label 5"
    )


def test_a_union_of_numbers_is_refused_where_one_side_is_a_folder_that_has_only_names(written):
    """The mask called "kidney" may be the whole organ or not: HD95 was 8.5 mm where it was not."""
    case = Case("a", written("a file per structure"), written("nifti"))
    with pytest.raises(UnusableOption, match=r"label 1 of 'kidney' cannot be found among them. Name that label, too"):
        evaluate([case], structures={"kidney": [1, 2], "tumor": 2})
    named = Case("a", written("a file per structure"), written("seg.nrrd with layers"))
    assert complaints_of(named.pred, named.gt, {"kidney": [1, 2], "tumor": 2}) == []
    assert complaints_of(case.pred, case.gt, {"left": [1, 2], "kidney": 1, "tumor": 2}) == []


PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "structures.md"


@pytest.mark.parametrize("row", [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| 1")])
def test_the_examples_of_the_page_are_what_happens(row):
    gt, pred, asked, taken = (cell.strip(" `") for cell in row.strip("|").split("|"))
    spec = {name: tuple(map(int, parts.split("+"))) for name, parts in (one.split("=") for one in asked.split(","))}
    pair = pairing.label_pair(pairing.StructureSpec("named", spec), side(gt), side(pred), 1)
    found = {name: " and ".join(map(str, labels)) for name, labels in pair.pred.items() if labels != side(pred).unused}
    assert "; ".join(f"{name}: {found.get(name, 'nothing')}" for name in spec) == taken


def side(words):
    """Return a file as the page describes it: "1 liver, 2 spleen", or "1, 2 (no names)"."""
    parts = [part.split() for part in words.removesuffix(" (no names)").split(",")]
    array = np.array([int(part[0]) for part in parts], dtype=np.uint8)
    names = {int(part[0]): part[1] for part in parts if len(part) > 1}
    return pairing.Side(
        Reading(LabelMap.from_array(array[:, None], names=names), "nifti"), tuple(sorted(array.tolist()))
    )
