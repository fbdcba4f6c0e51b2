"""The commands on score tables: what they print, and their exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import segauge
from segauge.cli import COMMANDS, main
from segauge.cli.diff import REGRESSION
from segauge.io.tables import write_scores
from segauge.scores import ScoreTable, Status
from segbench.cli import main as segbench

RNG = np.random.default_rng(4)
EASY = RNG.beta(8, 2, 30)


def table(values, missed=()):
    cases = tuple(f"c{i:02d}" for i in range(len(values)))
    values = np.array(values, dtype=float)
    status = np.array([[Status.PRESENT]] * len(cases), dtype=object)
    for i in missed:
        status[i, 0], values[i] = Status.MISSED, 0.0
    return ScoreTable(cases, ("liver",), ("dice",), values.reshape(-1, 1, 1), status)


@pytest.fixture
def scores(tmp_path):
    tables = {
        "good": table(EASY),
        "bad": table(EASY - 0.1),
        "same": table(EASY + RNG.normal(0, 0.001, 30).clip(-0.01, 0)),
    }
    return write_scores(tables, tmp_path / "scores.json")


def version(tmp_path, name, values, missed=()):
    return str(write_scores({"model": table(values, missed)}, tmp_path / name))


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_rank_prints_places_and_writes_everything(capsys, tmp_path, scores):
    code, out, _ = run(capsys, "rank", scores, "--json", tmp_path / "rank.json", "--n-resamples", 500, "--pairs")
    assert code == 0
    assert "liver dice, 30 cases" in out
    assert "A model's place is 1 +" in out
    # The columns were "ranks" and "wins again", the failures a share, unlike those of every other board.
    assert "rank range" in out
    assert "chance to lead on new cases" in out
    assert "0 of 30" in out
    assert "Dropping a single case changes the ranking for " in out
    written = json.loads((tmp_path / "rank.json").read_text())
    assert written["tasks"]["liver"]["models"][-1]["name"] == "bad"


def test_rank_from_a_plain_csv_in_one_command(capsys, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text(
        "model,case,dice\n" + "".join(f"{m},{i},{v}\n" for m, v in (("a", 0.9), ("b", 0.5)) for i in range(12))
    )
    code, out, _ = run(capsys, "rank", path, "--n-resamples", 500)
    assert code == 0
    assert out.index(" a ") < out.index(" b ")


def test_several_structures_get_an_average(capsys, tmp_path):
    path = tmp_path / "scores_dice.csv"
    rows = [f"{m},{i},{v + RNG.normal(0, 0.02):.4f},{v:.3f}" for m, v in (("a", 0.8), ("b", 0.7)) for i in range(12)]
    path.write_text("model,case,liver,spleen\n" + "\n".join(rows) + "\n")
    code, out, _ = run(capsys, "rank", path, "--n-resamples", 500)
    assert code == 0
    assert "liver dice, 12 cases" in out
    assert "average, 12 cases" in out
    assert "Mean of 2 per-structure means; bootstrap over cases." in out


def test_a_refused_file_says_how_to_repair_it(capsys, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("model,case,dice\na,1,0.5\na,2,0.5\nb,1,0.5\n")
    code, _, err = run(capsys, "rank", path)
    assert code == 1
    assert "--cases keep (Python: cases='keep') keeps the cases of each model; --cases common" in err


def test_an_unknown_metric_needs_a_direction(capsys, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text(
        "model,case,metric,value\n" + "".join(f"{m},{i},zeal,{i + k}\n" for k, m in enumerate("ab") for i in range(12))
    )
    code, _, err = run(capsys, "rank", path)
    assert code == 1
    assert "zeal" in err
    code, out, _ = run(capsys, "rank", path, "--higher-is-better", "no", "--n-resamples", 500)
    assert code == 0
    assert out.index(" a ") < out.index(" b ")


def test_diff_passes_what_did_not_get_worse(capsys, tmp_path):
    before = version(tmp_path, "a.json", EASY)
    after = version(tmp_path, "b.json", np.clip(EASY + 0.02, 0, 1))
    code, out, _ = run(capsys, "diff", before, after, "--n-resamples", 500)
    assert code == 0
    assert "no regression" in out
    assert "better" in out


def test_diff_fails_on_a_regression_unless_within_the_margin(capsys, tmp_path):
    before = version(tmp_path, "a.json", EASY)
    after = version(tmp_path, "b.json", EASY - 0.005)
    arguments = ("diff", before, after, "--n-resamples", 500)
    assert run(capsys, *arguments)[0] == 6
    assert run(capsys, *arguments, "--margin", "dice=0.001")[0] == 6
    code, out, _ = run(capsys, *arguments, "--margin", "dice=0.01")
    assert code == 0
    assert "equivalent" in out


def test_diff_fails_on_new_failures_and_names_them(capsys, tmp_path):
    before = version(tmp_path, "a.json", EASY, missed=[3])
    after = version(tmp_path, "b.json", EASY, missed=[7])
    arguments = ("diff", before, after, "--n-resamples", 500, "--json", tmp_path / "d.json")
    code, out, _ = run(capsys, *arguments)
    assert code == 6
    assert "1: c07" in out
    assert json.loads((tmp_path / "d.json").read_text())["changes"][0]["recovered"] == ["c03"]
    assert run(capsys, *arguments, "--allowed-failures", 1)[0] == 0


def test_diff_takes_what_eval_writes_and_judges_no_measurement(capsys, tmp_path):
    """`eval` measures volumes by default: they change, and that is neither better nor worse."""
    gt = np.zeros((12, 12, 12), dtype=np.uint8)
    gt[3:9, 3:9, 3:9] = 1
    cases = [segauge.Case(f"c{i}", np.roll(gt, i % 2, axis=0), gt) for i in range(3)]
    path = segauge.evaluate(cases).to_json(tmp_path / "scores.json")
    code, out, _ = run(capsys, "diff", path, path, "--n-resamples", 200)
    assert code == 0
    judged, _, said = out.partition("note:")
    assert "dice" in judged
    assert "volume" not in judged
    assert "pred_volume" in said
    code, _, err = run(capsys, "diff", path, path, "--metric", "pred_volume")
    assert code == 1
    assert "no value is better than another" in err


def test_diff_counts_a_case_that_vanished_as_a_failure(capsys, tmp_path):
    before = version(tmp_path, "a.json", EASY)
    after = version(tmp_path, "b.json", EASY[:-1])
    assert run(capsys, "diff", before, after, "--n-resamples", 500)[0] == 6


def test_diff_asks_which_model(capsys, tmp_path, scores):
    code, _, err = run(capsys, "diff", scores, scores)
    assert code == 1
    assert "--model" in err
    assert run(capsys, "diff", scores, scores, "--model", "good", "--n-resamples", 500)[0] == 0


def test_plan_from_scores_and_from_numbers(capsys, scores):
    code, out, _ = run(capsys, "plan", scores)
    assert code == 0
    assert "sample size" in out
    assert "(80 % power)" in out
    code, out, _ = run(capsys, "plan", "--sd", 0.1, "--n", 20, "--half-width", 0.02, "--difference", 0.01)
    assert code == 0
    assert "(normal scores): about 151 cases\n" in out
    assert "find a difference of 0.01: about 1,090 cases (80 % power)" in out
    # Score files with --half-width: the option was ignored.
    code, out, _ = run(capsys, "plan", scores, "--half-width", 0.02)
    assert code == 0
    assert "interval of a mean with half width 0.02" in out
    assert run(capsys, "plan")[0] == 1


@pytest.fixture
def metadata(tmp_path):
    path = tmp_path / "meta.csv"
    rows = [f"c{i:02d};{20 + 2 * i};{'F' if i % 2 else 'M'};p{i // 2}" for i in range(30)]
    path.write_text("\ufeffimage_id;age;sex;patient\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_groups_from_metadata(capsys, tmp_path, scores, metadata):
    common = ("groups", scores, "--metadata", metadata, "--n-resamples", 500)
    code, out, _ = run(capsys, *common, "--by", "sex", "--json", tmp_path / "g.json")
    assert code == 0
    assert "liver dice by sex" in out
    assert set(json.loads((tmp_path / "g.json").read_text())["liver"]["models"]) == {"good", "bad", "same"}
    code, out, _ = run(capsys, *common, "--by", "age", "--edges", "40,60", "--cluster", "patient")
    assert code == 0
    assert "40 to <60" in out
    assert run(capsys, *common, "--by", "shoe size")[0] == 1
    assert run(capsys, "groups", scores, "--by", "sex")[0] == 1


def test_rank_by_patients(capsys, tmp_path, scores, metadata):
    arguments = ("rank", scores, "--metadata", metadata, "--cluster", "patient", "--n-resamples", 500)
    code, _, _ = run(capsys, *arguments, "--json", tmp_path / "r.json")
    assert code == 0
    assert json.loads((tmp_path / "r.json").read_text())["tasks"]["liver"]["models"][0]["score"]["n_clusters"] == 15
    assert run(capsys, "rank", scores, "--cluster", "patient")[0] == 1


def test_metadata_with_a_case_twice_is_refused(capsys, scores, metadata):
    metadata.write_text(metadata.read_text() + "c00;1;F;p0\n")
    code, _, err = run(capsys, "groups", scores, "--metadata", metadata, "--by", "sex")
    assert code == 1
    assert "'c00' appears twice" in err


def test_import_writes_what_it_read(capsys, tmp_path, scores):
    code, out, _ = run(capsys, "import", scores, "-o", tmp_path / "out.csv", "--to", "challenger")
    assert code == 0
    assert "audit: nothing to remark" in out
    assert (tmp_path / "out.csv").read_text().startswith("Task,Case,Algorithm,MetricValue\nliver,c00,good,")


@pytest.mark.parametrize(("name", "start"), [("out.csv", "model,"), ("out.CSV", "model,"), ("out.json", "{")])
def test_import_writes_what_the_ending_says(capsys, tmp_path, scores, name, start):
    assert run(capsys, "import", scores, "-o", tmp_path / name)[0] == 0
    assert (tmp_path / name).read_text().startswith(start)


def test_models_can_be_named_on_the_command_line(capsys, tmp_path):
    csv_a, csv_b = tmp_path / "a.csv", tmp_path / "b.csv"
    csv_a.write_text("case,liver\n" + "".join(f"{i},{v}\n" for i, v in enumerate(EASY)))
    csv_b.write_text("case,liver\n" + "".join(f"{i},{v - 0.1}\n" for i, v in enumerate(EASY)))
    code, out, _ = run(capsys, "rank", f"first={csv_a}", f"second={csv_b}", "--metric", "dice", "--n-resamples", 500)
    assert code == 0, out
    assert "first" in out
    assert run(capsys, "rank", f"first={csv_a}", csv_b)[0] == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_its_exit_codes(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert "Exit codes:" in " ".join(capsys.readouterr().out.split())


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert all(f"{command} {words}" in out for command, words in COMMANDS.items())


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from segauge.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = ('scipy', 'pandas', 'rich', 'pyarrow', 'nibabel', 'segauge.stats', 'segauge.io')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.splitlines()[-1] == "[]"


def _false_findings(folder):
    """Write two models, of which B is a little better on 20 cases and finds something in 10 that have nothing."""
    head = "case,model,structure,metric,value,status"
    found = {
        "A": [*(f"{0.86 + 0.002 * i:.4f},present" for i in range(20)), *[",absent"] * 10],
        "B": [*(f"{0.88 + 0.00201 * i:.4f},present" for i in range(20)), *["0,spurious"] * 10],
    }
    for model, cells in found.items():
        rows = [f"c{i:02d},{model},liver,dice,{cell}" for i, cell in enumerate(cells)]
        (folder / f"{model}.csv").write_text("\n".join([head, *rows]) + "\n")
    return [str(folder / "A.csv"), str(folder / "B.csv")]


@pytest.mark.parametrize("command", ["rank", "plan", "diff"])
def test_false_findings_are_counted_and_said(tmp_path, capsys, command):
    files = _false_findings(tmp_path)
    code = main([command, *files])
    said = " ".join(capsys.readouterr().out.split())
    assert "there is nothing to find" in said
    if command == "rank":
        assert said.index("1 │ A") < said.index("2 │ B")
    elif command == "plan":
        assert "A - B │ 30 │ +0.3" in said
    else:
        assert code == REGRESSION
        assert "worse" in said


def test_a_case_that_a_file_lacks_is_no_right_answer(tmp_path, capsys):
    """A has no rows of the ten cases where B finds something that is not there."""
    files = _false_findings(tmp_path)
    kept = [line for line in Path(files[0]).read_text().splitlines() if "absent" not in line]
    Path(files[0]).write_text("\n".join(kept) + "\n")
    assert main(["plan", *files, "--cases", "failed"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "there is nothing to find" not in said
    assert "│ 20 │" in said


def test_plans_by_ranks_say_so(tmp_path, capsys):
    rows = [f"c{i:02d},{model},hd95,{2 + i / 10 + (model == 'B')},present" for i in range(12) for model in "AB"]
    rows[-1] = "c11,B,hd95,,missed"
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["case,model,metric,value,status", *rows]) + "\n")
    assert main(["plan", str(path)]) == 0
    assert "scores are ranks within each case" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["rank", "groups", "plan", "diff", "claim"])
def test_what_the_audit_assumed_is_told_by_every_command(tmp_path, capsys, command):
    """No model has a row for the spleen of one case: whether it is absent, or was dropped, nobody knows."""
    rows = ["model,case,structure,metric,value"]
    for i in range(12):
        for structure in ("liver", "spleen") if i else ("liver",):
            rows += [
                f"{model},c{i:02d},{structure},dice,{0.6 + 0.02 * i - 0.001 * i * k:.4f}"
                for k, model in enumerate("ab")
            ]
    path, metadata = tmp_path / "scores.csv", tmp_path / "meta.csv"
    path.write_text("\n".join(rows))
    metadata.write_text("\n".join(["case,sex", *(f"c{i:02d},{'fm'[i % 2]}" for i in range(12))]))
    given = {
        "rank": (path,),
        "groups": (path, "--metadata", metadata, "--by", "sex"),
        "plan": (path,),
        "diff": (path, path, "--model", "a"),
        "claim": ("a > b on liver dice", path),
    }[command]
    run_command = segbench if command == "claim" else main
    run_command([command, *map(str, given)])
    said = " ".join(capsys.readouterr().err.split())
    assert "1 cell has no row for every model, such as spleen of c00. Treated as absent structures" in said
    assert command != "diff" or "note: before: 1 cell" in said


def test_diff_tells_of_cases_that_one_file_lacks(tmp_path, capsys):
    """Six of thirty cases vanished without a word where the common ones were asked for."""
    before, after = version(tmp_path, "before.json", EASY), version(tmp_path, "after.json", EASY[:24])
    _, common, _ = run(capsys, "diff", before, after, "--cases", "common")
    assert "note: 6 cases only before, such as c24, c25, c26 ...: left out" in common
    _, failed, _ = run(capsys, "diff", before, after)
    assert "note: 6 cases only before, such as c24, c25, c26 ...: counted as failures of after" in failed


def test_a_row_that_a_file_lacks_is_no_right_answer_for_diff(tmp_path, capsys):
    """It was forgotten why the cell is empty, and the file without the row was ahead by the whole scale."""
    rows = [f"c{i:02d},{name},dice,0.8" for i in range(12) for name in ("liver", "spleen")]
    for name, first in (("before", []), ("after", ["c00,spleen,dice,0"])):
        kept = [row for row in rows if not row.startswith("c00,spleen")]
        (tmp_path / f"{name}.csv").write_text("\n".join(["case,structure,metric,value", *first, *kept]))
    run(capsys, "diff", tmp_path / "before.csv", tmp_path / "after.csv", "--json", tmp_path / "diff.json")
    (spleen,) = (
        one for one in json.loads((tmp_path / "diff.json").read_text())["changes"] if one["structure"] == "spleen"
    )
    assert (spleen["n"], spleen["n_false_findings"], spleen["delta"]) == (11, 0, 0.0)


def test_scores_are_not_overwritten_by_what_is_made_of_them(capsys, tmp_path, scores):
    before = scores.read_bytes()
    named = f"all={scores}"
    for command in (("rank", scores), ("rank", named), ("groups", scores, "--by", "sex"), ("diff", scores, scores)):
        code, _, said = run(capsys, *command, "--json", scores)
        assert code == 1
        assert "is one of the files that are read" in said
    assert run(capsys, "import", scores, "-o", scores)[0] == 1
    assert scores.read_bytes() == before


@pytest.fixture
def results(tmp_path):
    """A result file whose cases know sex and age, the latter with a decimal comma."""
    mask = np.zeros((6, 6, 6), dtype=np.uint8)
    mask[1:5, 1:5, 1:5] = 1
    cases = [
        segauge.Case(f"c{i}", np.roll(mask, i % 2, axis=0), mask, metadata={"sex": "FM"[i % 2], "age": f"{30 + i},5"})
        for i in range(12)
    ]
    cases.insert(0, segauge.Case("nobody", mask, mask))
    return segauge.evaluate(cases, metrics=["dice"], n_resamples=100).to_json(tmp_path / "results.json")


def test_groups_from_the_metadata_of_the_result_file(capsys, results):
    code, out, _ = run(capsys, "groups", results, "--by", "sex", "--n-resamples", 100)
    assert code == 0
    assert "1 case has no group" in out
    assert {"F", "M"} <= set(out.split())
    code, out, _ = run(capsys, "groups", results, "--by", "age", "--edges", "36", "--n-resamples", 100)
    assert code == 0
    assert "under 36" in out
    assert run(capsys, "groups", results, "--by", "shoe size")[0] == 1
    assert run(capsys, "diff", results, results, "--cluster", "sex", "--n-resamples", 100)[0] == 0


def test_a_column_that_makes_no_group_is_refused(capsys, tmp_path, results):
    code, _, said = run(capsys, "groups", results, "--by", "sex", "--edges", "36", "--n-resamples", 100)
    assert code == 1
    assert "No case has a group: expected numbers in the column 'sex', found others, such as 'F'" in said


def test_metadata_that_differ_between_files_are_told(capsys, tmp_path, results):
    data = json.loads(results.read_text())
    data["per_case"][3]["meta.sex"] = "X"
    (tmp_path / "other.json").write_text(json.dumps(data))
    code, _, told = run(capsys, "groups", results, tmp_path / "other.json", "--by", "sex", "--n-resamples", 100)
    assert code == 0
    assert "1 value of its metadata differs from another file, such as: sex of 'c2' is 'F' and 'X'" in told


def test_a_protocol_chooses_the_policy_of_scores_too(capsys, tmp_path):
    """`compare` of score files read the protocol, and ignored its policy."""
    path, protocol = tmp_path / "scores.csv", tmp_path / "p.yaml"
    rows = [f"c{i:02d},{model},liver,dice,{0.5 + 0.01 * i},present" for i in range(12) for model in "AB"]
    rows[-1] = "c11,B,liver,dice,0,missed"
    path.write_text("\n".join(["case,model,structure,metric,value,status", *rows]))
    protocol.write_text("policy: exclude\n")
    _, flag, _ = run(capsys, "compare", path, "--policy", "exclude", "--n-resamples", 200)
    _, written, _ = run(capsys, "compare", path, "--protocol", protocol, "--n-resamples", 200)
    assert written == flag
    assert "failed cases are left out" in written.lower()
