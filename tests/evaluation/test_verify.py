"""A result file is computed again, and whatever was changed in it is named."""

import contextlib
import json
import re
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segauge import Case, evaluate, verify
from segauge.cli import main
from segauge.errors import InvalidInput, SegaugeError
from segauge.evaluation import read_result
from tests.badinputs.files import nifti_bytes
from tests.evaluation.test_resume import make_cases


@pytest.fixture
def made(tmp_path):
    cases = [
        Case(case.case_id, case.pred, case.gt, metadata={"sex": "FM"[i % 2]})
        for i, case in enumerate(make_cases(tmp_path, 5))
    ]
    path = evaluate(cases, n_resamples=200, nsd_tolerance=2.0).to_json(tmp_path / "result.json")
    return cases, path


def edit(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_what_was_written_is_confirmed(made):
    cases, path = made
    found = verify(path)
    assert found.is_confirmed
    assert not found.remeasured
    again = verify(path, cases)
    assert again.is_confirmed
    assert again.remeasured
    assert again.n_compared > found.n_compared > 100


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda data: data["summary"]["dice"].update(value=0.99), "summary / dice / value"),
        (lambda data: data["structures"]["foreground"]["hd95"].update(low=0.0), "structures / foreground / hd95 / low"),
        (lambda data: data["subgroups"]["sex"]["F"]["nsd"].update(n=9), "subgroups / sex / F / nsd / n"),
        (lambda data: data["per_case"][2].update(dice=1.2), "c002 / foreground / dice"),
        (lambda data: data["per_case"].pop(), "n_cases"),
        (lambda data: data["config"].update(n_resamples=10_000), "config / n_resamples"),
        (lambda data: data["config"].pop("seed"), "config / seed"),
        (lambda data: data.pop("config"), "config"),
        (lambda data: data["per_case"][0].update({"meta.sex": "M"}), "subgroups / sex / F / dice / n"),
    ],
)  # fmt: skip
def test_an_edit_is_found_from_the_rows_alone(made, change, where):
    _, path = made
    edit(path, change)
    found = verify(path)
    assert where in [one.where for one in found.discrepancies]


@pytest.mark.parametrize(
    "chosen",
    [
        {"convention": "monai", "metrics": ["hd95"]},
        {"structures": {"a": 1, "nowhere": 9}, "allow_absent": True, "metrics": ["dice"]},
        {"structures": {"a": 1}, "pred_structures": {"a": 1}, "metrics": ["dice"]},
        {"threshold": 0.5, "metrics": ["dice"]},
    ],
)
def test_whatever_was_asked_for_can_be_measured_again(made, tmp_path, chosen):
    cases, _ = made
    path = evaluate(cases[:2], n_resamples=200, **chosen).to_json(tmp_path / "chosen.json")
    assert verify(path, cases[:2]).is_confirmed
    edit(path, lambda data: data["per_case"][0].update({chosen["metrics"][0]: 0.125}))
    where = f"c000 / {next(iter(chosen.get('structures', {'foreground': 1})))} / {chosen['metrics'][0]}"
    assert where in [one.where for one in verify(path, cases[:2]).discrepancies]


def test_an_edited_noise_floor_is_found(made, tmp_path):
    cases, _ = made
    found = evaluate(cases[:2], metrics=["assd"], noise_floor=True, n_resamples=200)
    path = found.to_json(tmp_path / "floors.json")
    assert verify(path).is_confirmed
    assert read_result(path).noise_floors() == found.noise_floors()
    edit(path, lambda data: data["noise_floors"]["foreground"]["assd"].update(one_case=0.001))
    assert [one.where for one in verify(path).discrepancies] == ["noise_floors / foreground / assd / one_case"]


def test_an_edit_of_rows_and_summary_alike_is_found_by_measuring_again(made, tmp_path):
    cases, path = made
    forged = json.loads(path.read_text())
    right = forged["per_case"][3]["dice"]
    forged["per_case"][3]["dice"] = 0.99

    def follow(data):
        data["per_case"] = forged["per_case"]

    edit(path, follow)
    for discrepancy in verify(path).discrepancies:
        place = discrepancy.where.split(" / ")

        def correct(data, place=place, value=discrepancy.found):
            for key in place[:-1]:
                data = data[key]
            data[place[-1]] = value

        edit(path, correct)
    assert verify(path).is_confirmed
    (found,) = verify(path, cases).discrepancies
    assert str(found) == f"c003 / foreground / dice: the file has 0.99, expected {right!r}"


def test_other_images_are_named(made):
    cases, path = made
    cases[1].pred.write_bytes(cases[2].pred.read_bytes())
    places = [one.where for one in verify(path, cases).discrepancies]
    assert "c001 / pred / sha256" in places
    assert all(place.startswith("c001 / ") for place in places)
    missing = [one.where for one in verify(path, cases[:4]).discrepancies]
    assert "c004 / foreground / status" in missing


def test_spacing_and_structures_are_those_of_the_file(tmp_path):
    cases = [Case(one.case_id, one.pred, one.gt, spacing=(1, 2, 3)) for one in make_cases(tmp_path, 3)]
    path = evaluate(cases, structures={"box": 1}, n_resamples=100).to_json(tmp_path / "r.json")
    plain = [Case(one.case_id, one.pred, one.gt) for one in cases]
    assert verify(path, plain).is_confirmed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "expected a result that `segauge eval --json` wrote"),
        ('{"schema": "segauge-evaluation/1"}', "is not built as a result of segauge is: KeyError"),
        ("no", "is not JSON"),
    ],
)
def test_files_that_are_no_results(tmp_path, text, message):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InvalidInput, match=message):
        verify(tmp_path / "r.json")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("executor", "tcp://elsewhere:8786", "an option that is not known here: 'executor'"),
        ("cache", "somewhere", "an option that is not known here: 'cache'"),
        ("structures", "secret.yaml", "names no structures, but 'secret.yaml'"),
    ],
)
def test_a_file_cannot_choose_where_work_is_done_or_what_is_opened(made, option, value, message):
    cases, path = made
    edit(path, lambda data: data["protocol"]["options"].update({option: value}))
    with pytest.raises(InvalidInput, match=message):
        verify(path, cases)


def test_predictions_that_number_their_labels_otherwise(tmp_path):
    cases = make_cases(tmp_path, 2)
    path = evaluate(cases, structures={"box": 1}, pred_structures={"box": 1}).to_json(tmp_path / "r.json")
    assert verify(path, cases).is_confirmed


WORDS = [b"0", b"-1", b"1e400", b"NaN", b"null", b"[]", b"{}", b'""', b"1e9", b"true", b"99999999999999999999"]


def test_damaged_results_give_our_errors_only(made):
    """Each number or text of a result replaced by something else, and bytes lost or changed."""
    _, path = made
    seed = path.read_bytes()
    values = [match.span() for match in re.finditer(rb'(?<=: )("[^"]*"|[-\d.e]+)', seed)]

    @settings(max_examples=25)
    @given(st.integers(0, len(values) - 1), st.sampled_from(WORDS), st.integers(0, 3), st.integers(0, len(seed) - 9))
    def run(which, word, cut, at):
        start, end = values[which]
        changed = seed[:start] + word + seed[end:]
        path.write_bytes(changed[:at] + changed[at + cut :])
        with contextlib.suppress(SegaugeError):
            verify(path)

    run()


def test_the_command(made, capsys):
    cases, path = made
    assert main(["verify", str(path)]) == 0
    assert "confirmed" in capsys.readouterr().out
    folders = ["--pred", str(cases[0].pred.parent), "--gt", str(cases[0].gt.parent), "--jobs", "1"]
    assert main(["verify", str(path), *folders]) == 0
    edit(path, lambda data: data["per_case"][1].update(iou=0.5))
    assert main(["verify", str(path), *folders]) == 5
    assert "c001 / foreground / iou: the file has 0.5, expected" in capsys.readouterr().out
    assert main(["verify", str(path), "--pred", "x"]) == 1


@pytest.fixture
def noted(tmp_path):
    """A result whose cases have notes with names of files, and a warning."""
    cases = []
    for i, case in enumerate(make_cases(tmp_path / "first", 2)):
        flipped = nifti_bytes(np.zeros((4, 4, 4 + i), dtype=np.uint8) + 3, np.diag([-1.0, 1.0, 1.0, 1.0]))
        straight = nifti_bytes(np.zeros((4, 4, 4), dtype=np.uint8) + 1 + i, np.diag([-1.0, 1.0, 1.0, 1.0]))
        case.pred.write_bytes(flipped)
        case.gt.write_bytes(straight)
        cases.append(case)
    result = evaluate(cases, n_resamples=200, metrics=["dice"])
    return tmp_path, cases, result.to_json(tmp_path / "result.json")


def test_notes_and_warnings_are_compared_with_the_images(noted):
    folder, cases, path = noted
    data = json.loads(path.read_text())
    assert data["notes"]["c001"]
    assert data["warnings"]
    assert verify(path, cases).is_confirmed
    elsewhere = folder / "some where" / "else"
    shutil.copytree(folder / "first", elsewhere)
    moved = [
        Case(case.case_id, *(elsewhere / side.relative_to(folder / "first") for side in (case.pred, case.gt)))
        for case in cases
    ]
    assert verify(path, moved).is_confirmed
    assert "notes" not in verify(path, cases).unchecked
    for change, where in (
        (lambda data: data.update(warnings=[]), "warnings"),
        (lambda data: data.pop("notes"), "notes / c001"),
        (lambda data: data["notes"]["c001"].append("all is well"), "notes / c001"),
    ):
        path.write_text(json.dumps(data))
        edit(path, change)
        assert where in [one.where for one in verify(path, cases).discrepancies]
        assert "notes" in verify(path).unchecked
    path.write_text(json.dumps(data))
    edit(path, lambda data: (data["protocol"]["versions"].update(segauge="0.2.0"), data.pop("notes")))
    other = verify(path, cases)
    assert other.is_confirmed
    assert "notes" in other.unchecked
