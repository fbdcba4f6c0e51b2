"""`segauge eval`: what it prints and writes, and its exit codes."""

import csv
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from tests.badinputs.files import AFFINE, nifti_bytes

from segauge import noise_floor
from segauge.cli import main
from segauge.stats import MissingPolicy
from segauge.stats.missing import scale_of


def box(shift=0, label=1):
    array = np.zeros((14, 12, 12), dtype=np.uint8)
    array[1 + shift : 11 + shift, 1:11, 1:11] = label
    return array


def save(path, array, affine=AFFINE):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(nifti_bytes(array, affine))


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for i in range(3):
        save(tmp_path / "gt" / f"00{i}.nii", box())
        save(tmp_path / "pred" / f"00{i}.nii", box(shift=i))
    return tmp_path


def run(folder, *more):
    common = ["--pred", str(folder / "pred"), "--gt", str(folder / "gt"), "--executor", "serial", "--resamples", "200"]
    try:
        return main(["eval", *common, *map(str, more)])
    except SystemExit as usage:
        return usage.code


def test_every_metric_that_was_asked_for_has_a_column(folders, capsys):
    """The example of the help text asks for nsd@2, which was measured, written and not printed."""
    assert run(folders, "--metrics", "dice,nsd@2,gt_volume,biou") == 0
    (head,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("┃"))
    assert [word.strip() for word in head.strip("┃│ ").split("┃")] == [
        "structure", "dice", "nsd@2", "gt_volume (ml)", "biou at 1 mm", "n", "failed",
    ]  # fmt: skip


def test_table_json_csv_and_metadata(folders, capsys):
    """Bad input 47: a byte-order mark, semicolons, ids such as 001, missing and unknown rows, a formula."""
    (folders / "m.csv").write_bytes("\N{BOM}case;sex;note\n000;F;=1+1\n001;M;\n1;F;\n".encode())
    code = run(folders, "--metadata", folders / "m.csv", "--json", folders / "r.json", "--csv", folders / "r.csv")
    told = capsys.readouterr()
    assert code == 0
    assert "foreground" in told.out
    assert "warning: 1 case has no row in m.csv: '002'" in told.err
    assert "warning: 1 row of m.csv belongs to no case: '1'" in told.err
    data = json.loads((folders / "r.json").read_text())
    assert [row["dice"] for row in data["per_case"]] == [1.0, 0.9, 0.8]
    assert [row.get("meta.sex") for row in data["per_case"]] == ["F", "M", None]
    assert set(data["subgroups"]["sex"]) == {"F", "M", "None"}
    rows = list(csv.DictReader((folders / "r.csv").read_text().splitlines()))
    assert rows[0]["case_id"] == "000"
    assert rows[0]["meta.note"] == "'=1+1"


def test_the_same_command_goes_on_where_it_was(folders, capsys):
    run(folders, "--json", folders / "r.json")
    first = (folders / "r.json").read_bytes()
    assert len((folders / "r.json.cache" / "cases.jsonl").read_text().splitlines()) == 3
    (folders / "r.json").unlink()
    run(folders, "--json", folders / "r.json")
    assert (folders / "r.json").read_bytes() == first
    assert len((folders / "r.json.cache" / "cases.jsonl").read_text().splitlines()) == 3


def test_missing_and_extra_predictions(folders, capsys):
    (folders / "pred" / "001.nii").rename(folders / "pred" / "zzz.nii")
    assert run(folders) == 3
    told = capsys.readouterr()
    assert "1 prediction has no ground truth and is not measured: 'zzz'" in told.err
    assert "1 of 3 cases has no prediction: '001'" in told.err
    out = told.out
    assert "3 cases, 1 of them not measured" in out
    assert "1 prediction missing" in out


def test_refused_geometry_has_its_own_exit_code(folders, capsys):
    affine = AFFINE.copy()
    affine[0, 3] += 40
    save(folders / "pred" / "001.nii", box(), affine)
    (folders / "pred" / "002.nii").unlink()
    assert run(folders) == 4
    assert "40 mm apart" in " ".join(capsys.readouterr().err.split())
    assert run(folders, "--trust-array") == 3


def test_refused_geometry_leads_to_the_doctor(folders, capsys):
    save(folders / "pred" / "001.nii", box(), AFFINE + 40 * np.eye(4, k=3))
    assert run(folders) == 4
    assert "`segauge doctor`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--json", "{}"], "is a folder; expected the name of a file to write"),
        (["--report", "{}/r.html", "--images", "{}/nowhere"], "nowhere: cannot be listed"),
        (["--structures", "9"], "--structures all (Python"),
        (["--structures", "a=1,a=2"], "The structure 'a' is listed twice: join its labels, as in NAME=1+2"),
        (["--structures", "a=1", "--pred-structures", "a=1,a=2"], "The structure 'a' is listed twice"),
        (["--label", "1", "--structures", "2"], "Give --label or --structures, not both"),
        (
            ["--structures", "a=1", "--nsd-tolerance", "b=1"],
            "has no entry for 'a'",
        ),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_measured(folders, capsys, options, said):
    assert run(folders, *(option.format(folders) for option in options)) == 1
    told = capsys.readouterr()
    assert said in told.err
    assert "mean [" not in told.out


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--spacing=0", "--spacing: expected MM or MM,MM,MM, each above 0, got '0'."),
        ("--spacing=1,inf", "each above 0, got '1,inf'."),
        ("--jobs=0", "--jobs: expected a whole number of at least 1, got 0."),
        ("--detection-iou=3", "--detection-iou: expected a number above 0 and up to 1, got '3'."),
        ("--nsd-tolerance=-1", "--nsd-tolerance: expected MM or NAME=MM,NAME=MM, each of 0 or more, got '-1'."),
        ("--nsd-tolerance=a=1,a=2", "each of 0 or more, got 'a=1,a=2'."),
        ("--nsd-tolerance=a=1,2", "each of 0 or more, got 'a=1,2'."),
        ("--nsd-tolerance=wide", "each of 0 or more, got 'wide'."),
        ("--metrics=dice,foo", "--metrics: No metric 'foo'."),
        ("--confidence=95", "between 0 and 1, such as 0.95, got 95.0. For 95 % pass 0.95."),
        ("--n-resamples=5", "Expected n_resamples of 100 or more, got 5"),
        ("--penalty=nan", "--penalty: expected a finite number, got nan."),
        ("--penalty=inf", "--penalty: expected a finite number, got inf."),
        ("--timeout=0", "--timeout: expected a number above 0, got '0'."),
        ("--max-voxels=0", "--max-voxels: expected a whole number of at least 1, got 0."),
    ],
)
def test_a_value_that_an_option_cannot_have_is_a_usage_error(folders, capsys, option, said):
    assert run(folders, option) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""


def test_tool_errors_and_usage(folders, capsys):
    assert run(folders, "--label", 9) == 1
    assert "'label 9' occurs in none of 3 ground truths" in capsys.readouterr().err
    save(folders / "pred" / "001.nii.gz", box())
    assert run(folders) == 1
    assert "both case '001'" in capsys.readouterr().err
    assert main(["eval", "--pred", "nowhere", "--gt", str(folders / "gt")]) == 1
    with pytest.raises(SystemExit) as stop:
        main(["eval", "--pred", "x"])
    assert stop.value.code == 2


def test_structures_metrics_and_tolerances(folders, capsys):
    for i in range(3):
        both = box() + box(label=0)
        both[6:11] *= 3
        save(folders / "gt" / f"00{i}.nii", both)
    save(folders / "pred" / "000.nii", both)
    out = folders / "r.json"
    assert run(folders, "--structures", "1,3", "--metrics", "dice,nsd", "--nsd-tolerance", "label 1=1,label 3=2",
               "--json", out) == 0  # fmt: skip
    data = json.loads(out.read_text())
    assert list(data["structures"]) == ["label 1", "label 3"]
    assert list(data["summary"]) == ["dice", "nsd"]
    assert data["protocol"]["options"]["nsd_tolerance_mm"] == {"label 1": 1.0, "label 3": 2.0}
    assert run(folders, "--structures", "all", "--json", out) == 0
    assert "det_f1" not in json.loads(out.read_text())["summary"]


def test_structures_with_names_of_the_users_choice(folders, capsys):
    save(folders / "gt" / "000.nii", np.where(box(), 1 + (np.arange(12) > 6), 0).astype(np.uint8))
    out = folders / "r.json"
    assert run(folders, "--structures", "whole=1+2,part=2", "--json", out, "--metrics", "dice") == 0
    rows = json.loads(out.read_text())["per_case"]
    assert {row["structure"]: row["dice"] for row in rows if row["case_id"] == "000"} == {"whole": 1.0, "part": 0.0}
    assert run(folders, "--structures", "whole=1,2") == 1
    assert "NAME=LABEL,NAME=LABEL+LABEL for all structures, got '2'" in capsys.readouterr().err


def test_predictions_with_labels_of_their_own(folders):
    for path in (folders / "pred").iterdir():
        save(path, 5 * box(shift=1))
    where = folders / "named.json"
    options = ("--structures", "organ=1", "--pred-structures", "organ=5", "--metrics", "dice", "--json", str(where))
    assert run(folders, *options) == 0
    assert json.loads(where.read_text())["summary"]["dice"]["value"] > 0.5
    assert run(folders, "--structures", "organ=1", "--pred-structures", "organ") == 1


def test_names_of_a_dataset(folders, capsys):
    (folders / "dataset.json").write_text(
        '{"labels": {"background": 0, "liver": 1, "spleen": 2}, "file_ending": ".nii"}'
    )
    assert run(folders) == 1
    assert "'spleen' occurs in none" in capsys.readouterr().err
    assert run(folders, "--structures", "liver", "--summary-json", folders / "summary.json") == 0
    summary = json.loads((folders / "summary.json").read_text())
    assert summary["mean"]["1"]["n_ref"] == 1000
    assert summary["metric_per_case"][1]["metrics"]["1"]["Dice"] == 0.9
    assert run(folders, "--structures", "heart") == 1
    assert "there are liver, spleen" in capsys.readouterr().err


def test_stopped_by_hand(folders, capsys, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("segauge.evaluation.dataset.score_case", stop)
    assert run(folders, "--json", folders / "r.json") == 130
    assert "rerun the command to resume" in capsys.readouterr().err


def test_names_that_would_move_the_cursor(folders, capsys):
    save(folders / "gt" / "evil\x1b[2J.nii", box())
    assert run(folders) == 3
    assert "\x1b[2J" not in capsys.readouterr().out


@pytest.mark.parametrize("failed", ["auto", "penalty", "last", "exclude"])
@pytest.mark.parametrize("metric", ["dice", "hd95"])
def test_every_policy_has_words(failed, metric):
    policy = MissingPolicy(failed, penalty=100.0 if failed == "penalty" else None).for_scale(scale_of(metric))
    assert policy.sentence.endswith(".")
    assert "=" not in policy.sentence


@pytest.mark.parametrize("width", [60, 80, 100, 130, 200])
def test_the_table_fits_the_terminal_and_leaves_nothing_out(folders, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    run(folders)
    lines = capsys.readouterr().out.splitlines()
    table = [line for line in lines if line[:1] in "┏┃┡│└"]
    assert max(map(len, table)) <= width
    heads = [line for line in table if line.startswith("┃")]
    assert len(table) == 5 * len(heads)  # no cell was broken
    assert all("structure" in line for line in heads)
    for key in ("dice", "hd95 (mm)", "nsd at 1 mm", "assd (mm)"):
        assert sum(key in line for line in heads) == 1
    assert "┃ n ┃" in heads[0]
    assert "┃ failed" in heads[0]
    assert (len(heads) > 1) == (width <= 100)


def test_a_reader_that_stops_is_no_crash(folders):
    """As in `segauge eval ... | head -1`."""
    command = [sys.executable, "-c", "from segauge.cli import main; raise SystemExit(main())", "doctor"]
    with subprocess.Popen(
        [*command, *[str(next((folders / "gt").iterdir()))] * 2000], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_the_noise_floor_is_that_of_the_function(folders, capsys):
    assert run(folders, "--metrics", "dice,hd95,iou", "--noise-floor", "--json", folders / "r.json") == 0
    out = capsys.readouterr().out
    data = json.loads((folders / "r.json").read_text())
    floors = [noise_floor(box(shift=i), box(), np.abs(np.diag(AFFINE)[:3])) for i in range(3)]
    assert [row["hd95_noise"] for row in data["per_case"]] == [floor.sd["hd95"] for floor in floors]
    expected = 1.96 * math.sqrt(2) * math.sqrt(sum(floor.sd["hd95"] ** 2 for floor in floors) / 3)
    assert data["noise_floors"]["foreground"]["hd95"]["one_case"] == pytest.approx(expected)
    assert list(data["noise_floors"]["foreground"]) == ["dice", "hd95"]
    assert (
        f"95 % Hausdorff distance: differences below {expected:.2g} mm are within the noise floor at this spacing."
        in out
    )
    assert "hd95_noise" not in out
    run(folders, "--metrics", "dice", "--json", folders / "plain.json")
    assert "noise_floors" not in json.loads((folders / "plain.json").read_text())
    assert "within the noise floor" not in capsys.readouterr().out


def test_a_noise_floor_of_nothing_is_refused(folders, capsys):
    assert run(folders, "--metrics", "iou", "--noise-floor") == 1
    assert "needs one of dice, hd, hd95, assd, masd, nsd among the metrics, got iou" in (capsys.readouterr().err)


def test_a_bad_ground_truth_is_told_and_not_counted_against_the_model(folders, capsys):
    torn = folders / "gt" / "001.nii"
    torn.write_bytes(torn.read_bytes()[:400])
    assert run(folders, "--metrics", "dice", "--json", folders / "r.json") == 3
    told = capsys.readouterr()
    assert "1 ground truth unreadable" in told.out
    assert "001: ground truth unreadable: " in told.err
    data = json.loads((folders / "r.json").read_text())
    assert data["per_case"][1]["status"] == "ground truth unreadable"
    assert data["summary"]["dice"]["excluded"] == {"ground truth unreadable": 1}
    assert data["summary"]["dice"]["value"] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--spacing", "1,1"), "spacing: expected one number or 3"),
        (("--structures", "organ=x"), "cannot be found in it. Give its label: --structures x=1 ("),
    ],
)
def test_an_option_that_fails_for_every_case_is_a_mistake_of_usage(folders, capsys, options, words):
    assert run(folders, *options) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert "It is the same in 3 cases: nothing was measured." in said.err
    assert said.out == ""


def test_false_positives_outside_of_the_ground_truth_are_a_warning(folders, capsys):
    larger = np.zeros((20, 12, 12), dtype=np.uint8)
    larger[1:11, 1:11, 1:11] = 1
    larger[16:18, 1:3, 1:3] = 1
    save(folders / "pred" / "001.nii", larger)
    assert run(folders, "--json", folders / "r.json") == 0
    words = (
        "predicted outside of the ground truth's image is not counted, neither as wrong nor as right: '001' (8 voxels)"
    )
    assert words in capsys.readouterr().err
    assert words in json.loads((folders / "r.json").read_text())["warnings"][0]


@pytest.mark.parametrize("value", ["0", "-1", "2", "nan"])
def test_a_threshold_is_a_probability(folders, capsys, value):
    assert run(folders, f"--threshold={value}") == 2
    assert "expected a probability above 0 and up to 1" in capsys.readouterr().err


def test_a_threshold_is_for_no_label_maps(folders, capsys):
    """Labels 1 and 2 became one mask, without a word."""
    for i in range(3):
        save(folders / "pred" / f"00{i}.nii", box() + box(shift=2))
    assert run(folders, "--threshold", "0.5") == 2
    said = capsys.readouterr().err
    assert "holds labels, up to 2, and no probabilities" in said
    assert "Leave out --threshold" in said


def test_inputs_are_not_overwritten(folders, capsys):
    image = folders / "gt" / "001.nii"
    before = image.read_bytes()
    assert run(folders, "--json", image) == 1
    assert "001.nii: is one of the files that are read, and would be overwritten" in capsys.readouterr().err
    assert image.read_bytes() == before
    assert run(folders, "--json", folders / "r", "--csv", folders / "r") == 1
    assert "two outputs are to be written here" in capsys.readouterr().err


def test_messages_name_no_option_that_the_command_lacks(tmp_path, capsys):
    for side in ("pred", "gt"):
        (tmp_path / side).mkdir()
        np.savez(tmp_path / side / "a.npz", one=box(), two=box())
    assert run(tmp_path) == 3
    said = capsys.readouterr().err
    assert "holds the arrays ['one', 'two']. Keep only the one that has the labels, or read it" in said


def test_one_case_against_a_folder_of_cases_is_refused(folders, capsys):
    for pred, gt in (("pred/000.nii", "gt"), ("pred", "gt/000.nii")):
        assert main(["eval", "--pred", str(folders / pred), "--gt", str(folders / gt)]) == 2
        said = capsys.readouterr().err
        assert "000.nii is one file, " in said
        assert "Give two files, or two folders; --layout masks" in said


def test_an_empty_path_is_not_the_folder_one_is_in(folders, capsys):
    for side in ("--pred", "--gt"):
        assert run(folders, side, "") == 2
        assert f"{side}: expected a file or folder, got an empty text." in capsys.readouterr().err
