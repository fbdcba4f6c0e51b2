"""Studies from files to page, figures and tables: small tables with every trap that an organiser's files have."""

import csv
import json
import re
from functools import partial

import numpy as np
import pytest

from segauge.errors import SegaugeError
from segbench.boards import rules_of
from segbench.cli import main
from segbench.records import save_record
from segbench.site.drawing import render_figures
from segbench.site.figures import StudyFigure, with_own_names
from segbench.study_files import StudyOptions, is_record, read_study
from tests.executors.work import do
from tests.segbench.made_up import record, table

NASTY = "<script>alert(1)</script>"


def read_rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def write_scores(path, n=40, seed=0, models=("alpha", "beta", NASTY), short=None):
    """Write a long table of Dice of two structures; `short` lacks the last ten cases."""
    rng = np.random.default_rng(seed)
    base = rng.beta(9, 2, (n, 2))
    rows = ["model,case,structure,metric,value"]
    for k, model in enumerate(models):
        for i in range(n - 10 if model == short else n):
            for j, structure in enumerate(("liver", "spleen")):
                value = np.clip(base[i, j] - 0.05 * k + rng.normal(0, 0.02), 0.01, 1)
                rows.append(f"{model},c{i:02d},{structure},dice,{value:.4f}")
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def files(tmp_path):
    write_scores(tmp_path / "scores.csv", short="beta")
    rows = [
        "image_id;age;sex;patient;split",
        *(f"c{i:02d};{30 + i};{'mf'[i % 2]};p{i // 2};{'test' if i % 3 == 0 else 'train'}" for i in range(40)),
    ]
    (tmp_path / "meta.csv").write_text("﻿" + "\n".join(rows))
    (tmp_path / "groups.yaml").write_text(
        "families:\n"
        "  sex: {column: sex, values: {women: f, men: m}}\n"
        "  mine:\n"
        "    groups:\n"
        "      men under 50: {all: [{sex: m}, {age: {below: 50}}]}\n"
        "      everybody else: {not: {all: [{sex: m}, {age: {below: 50}}]}}\n"
    )
    (tmp_path / "models.yaml").write_text(
        "models:\n  alpha: {name: Alpha, organisation: '=HYPERLINK(\"x\")', parameters: 31 M}\n"
    )
    return tmp_path


def analyze(folder, *arguments, figures="none"):
    options = ["--n-resamples", "200", "--processes", "1", "--figures", figures]
    return main(["analyze", *map(str, arguments), "--out", str(folder), *options])


def everything(files):
    """Return the arguments that ask for all there is."""
    meta = ("--metadata", files / "meta.csv", "--key", "image_id", "--cluster", "patient")
    return (files / "scores.csv", *meta, "--groups", files / "groups.yaml", "--models", files / "models.yaml")


def test_one_command_makes_page_and_tables(files, capsys):
    out = files / "out"
    assert analyze(out, *everything(files), "--stratify", "sex") == 0
    said = capsys.readouterr().out
    assert "Not every model has every case: 40 cases in all, 30 shared by all" in said
    for path in out.rglob("*.html"):
        page = path.read_text()
        assert NASTY not in page, path
        assert "Content-Security-Policy" in page
        assert not re.search(r'(src|href)="(https?:)?//', page.replace("https://example.org", ""))
    page = (out / "methods.html").read_text()
    tables = {path.name for path in (out / "tables").iterdir()}
    assert {"audit.csv", "overview-dice.csv", "overview-dice.tex", "boards-dice.md", "pairs-dice.csv"} <= tables
    assert {"cohort.csv", "groups-dice.csv", "groups-gaps-dice.csv", "splits-dice.csv"} <= tables
    assert "groups-adjusted-dice.csv" in tables
    rows = read_rows(out / "tables" / "overview-dice.csv")
    assert rows[0]["model"] == "Alpha"
    assert rows[0]["organisation"].startswith("'=")  # no spreadsheet runs it
    for link in re.findall(r'href="((?:figures|tables)/[^"]+)"', page):
        assert (out / link).exists(), link


@pytest.mark.slow
def test_one_command_makes_figures(files):
    out = files / "out"
    assert analyze(out, *everything(files), figures="svg") == 0
    page = (out / "methods.html").read_text()
    assert NASTY not in page
    for name in (
        "maps/all-dice",
        "cohort",
        "groups/sex/average-dice",
        "groups/mine/liver-dice",
        "groups/all-models-dice",
    ):
        assert (out / "figures" / f"{name}.svg").read_text().startswith("<svg"), name
    for link in re.findall(r'href="((?:figures|tables)/[^"]+)"', page):
        assert (out / link).exists(), link


def test_both_presets_and_their_numbers(files):
    for preset in ("segbench", "touchstone"):
        out = files / preset
        assert analyze(out, files / "scores.csv", "--metadata", files / "meta.csv", "--preset", preset) == 0
    ours, theirs = (
        {
            (row["structure"], row["average rule"], row["model"]): row
            for row in read_rows(files / preset / "tables" / "boards-dice.csv")
        }
        for preset in ("segbench", "touchstone")
    )
    assert ours["liver", "", "alpha"]["n"] == "30"
    assert theirs["liver", "", "alpha"]["n"] == "40"
    assert theirs["liver", "", "beta"]["n"] == "30"
    assert ours["liver", "", "alpha"]["low"] != ""
    assert theirs["liver", "", "alpha"]["low"] == ""


def test_two_test_sets_get_a_board_over_both(files):
    other = write_scores(files / "other.csv", seed=5)
    out = files / "two"
    assert (
        analyze(out, f"first={files / 'scores.csv'}", f"second={other}", "--metadata", f"first={files / 'meta.csv'}")
        == 0
    )
    rows = read_rows(out / "tables" / "all-test-sets-dice.csv")
    assert rows[0]["model"] == "alpha"
    mean = (float(rows[0]["first"]) + float(rows[0]["second"])) / 2
    assert float(rows[0]["mean of sets"]) == pytest.approx(mean)
    assert (out / "tables" / "first-audit.csv").exists()
    assert not (out / "figures").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("families:\n  x: {column: colour}\n", "No metadata column 'colour'"),
        ("a: &a [1]\n" + "b: *a\n" * 101, "refers to itself more than 100 times"),
        ("families: !!python/object:os.system {}\n", "is not plain YAML"),
        ("families: [", "is not plain YAML"),
    ],
)
def test_bad_declarations_are_refused_by_name(files, capsys, text, words):
    (files / "bad.yaml").write_text(text)
    arguments = (files / "scores.csv", "--metadata", files / "meta.csv", "--groups", files / "bad.yaml")
    assert analyze(files / "out", *arguments) == 1
    assert words in capsys.readouterr().err
    assert not (files / "out").exists()


def test_metadata_of_other_cases_are_refused(files, capsys):
    (files / "other.csv").write_text("case,age\nx1,30\n")
    assert analyze(files / "out", files / "scores.csv", "--metadata", files / "other.csv") == 1
    assert "no case id of the scores" in capsys.readouterr().err


def test_claims_on_the_command_line(files, capsys):
    scores = str(files / "scores.csv")
    assert main(["claim", "alpha > beta on liver dice", scores, "--json", str(files / "claim.json")]) == 0
    assert "Verdict: supported" in capsys.readouterr().out
    found = json.loads((files / "claim.json").read_text())
    assert found["n"] == 30
    assert found["rivals"][0]["ci_low"] > 0
    assert main(["claim", "beta > alpha on liver dice", scores]) == 7
    assert main(["claim", "beta = alpha by 0.001 on liver dice", scores]) == 7
    assert main(["claim", "Alpha > all on average DSC", scores, "--n-resamples", "500"]) == 0
    assert main(["claim", "alpha > gamma on liver dice", scores]) == 1
    assert "No model 'gamma'" in capsys.readouterr().err
    assert main(["claim", "alpha > beta on liver dice"]) == 1


def test_reviewers_need_no_cases(capsys):
    numbers = ["--mean", "0.95", "0.90", "--sd", "0.03", "0.04", "--n", "100"]
    assert main(["claim", "A > B on dice", "--reviewer", *numbers]) == 0
    assert main(["claim", "A < B on dice", "--reviewer", *numbers]) == 7
    assert main(["claim", "A > B on hd95", "--reviewer", *numbers, "--higher-is-better", "no"]) == 7
    # A distance is better where it is smaller, without being told; an unknown metric has to be told.
    assert main(["claim", "A > B on hd95", "--reviewer", *numbers]) == 7
    assert main(["claim", "A > B on blobs", "--reviewer", *numbers]) == 1
    assert main(["claim", "A > B on dice", "--reviewer", "--mean", "0.95", "0.90"]) == 1
    assert "--sd A B" in capsys.readouterr().err


def test_an_output_that_is_a_file_is_refused(files, capsys):
    (files / "out").write_text("mine")
    assert analyze(files / "out", files / "scores.csv") == 1
    assert (files / "out").read_text() == "mine"
    assert "is a file" in capsys.readouterr().err


def test_records_of_a_run_bring_their_models_and_patients(tmp_path):
    """A model that has seen the dataset is not compared, and the page says why."""
    scores = np.random.default_rng(0).beta(9, 1, (24, 3))
    tables = {name: table(scores[:, k]) for k, name in enumerate(("one", "two", "cheat"))}
    patients = {f"case_{i:03d}": f"p{i // 2}" for i in range(24)}
    path = save_record(record(tables, levels={"cheat": "labels"}, clusters=patients), tmp_path / "run.json")
    assert is_record(path)
    assert not is_record(tmp_path / "nowhere.json")
    inputs, models = read_study(StudyOptions({"run": path}), rules_of())
    assert inputs[0].scored.models == tuple(models) == ("one", "two")
    assert inputs[0].scored.cluster == patients
    assert any(finding.startswith("cheat is not ranked: trained on") for finding in inputs[0].findings)
    assert analyze(tmp_path / "out", path) == 0
    assert (tmp_path / "out" / "tables" / "boards-dice.csv").exists()


def test_a_folder_of_records_is_several_test_sets(tmp_path, capsys):
    for seed in (0, 1):
        scores = np.random.default_rng(seed).beta(9, 1, (24, 2))
        tables = {name: table(scores[:, k]) for k, name in enumerate(("one", "two"))}
        save_record(record(tables), tmp_path / "runs" / f"run-{seed}.json")
    (tmp_path / "runs" / "notes.json").write_text("{}")
    assert analyze(tmp_path / "out", tmp_path / "runs") == 0
    names = {path.name for path in (tmp_path / "out" / "tables").iterdir()}
    assert {"run-0-boards-dice.csv", "run-1-boards-dice.csv", "all-test-sets-dice.csv"} <= names


def test_the_folder_above_the_scores_gets_a_hint(tmp_path, capsys):
    (tmp_path / "data" / "results" / "nnU-Net_A").mkdir(parents=True)
    (tmp_path / "data" / "results" / "nnU-Net_A" / "dsc.csv").write_text("name,liver\nc1,0.9\n")
    assert analyze(tmp_path / "out", tmp_path / "data") == 1
    assert "Did you mean the folder results in it?" in capsys.readouterr().err


def test_groups_of_too_few_cases_are_named(files, capsys):
    (files / "few.yaml").write_text("families:\n  few: {groups: {these: {ids: [c01]}, those: {ids: [c02, nobody]}}}\n")
    given = (files / "scores.csv", "--metadata", files / "meta.csv", "--groups", files / "few.yaml")
    assert analyze(files / "out", *given) == 0
    said = capsys.readouterr().out
    assert "groups of 'few' are not compared: it takes two of 5 cases or more (these 1, those 1)" in said


def test_groups_without_a_mean_are_named(files, capsys):
    rows = [
        f"c{i:02d},{model},hd95,{'' if (i, model) == (3, 'B') else 2 + i / 10}" for i in range(20) for model in "AB"
    ]
    status = [",missed" if row.endswith(",") else ",present" for row in rows]
    lines = ["case,model,metric,value,status", *(row + state for row, state in zip(rows, status, strict=True))]
    (files / "distances.csv").write_text("\n".join(lines) + "\n")
    meta = "case,sex\n" + "".join(f"c{i:02d},{'fm'[i % 2]}\n" for i in range(20))
    (files / "sexes.csv").write_text(meta)
    assert analyze(files / "out", files / "distances.csv", "--metadata", files / "sexes.csv") == 0
    assert "groups are not compared by hd95" in capsys.readouterr().out


def test_parts_of_a_figure_follow_their_names():
    """Structures that a file system cannot tell apart get other file names, and the joined figure finds each."""
    names = ("maps/Liver-dice", "maps/liver-dice", "maps/liver-dice")
    figures = [StudyFigure(name, "maps", name, "", lambda: None) for name in names]
    joined, *others = with_own_names([StudyFigure("maps/all", "maps", "all", "", None, parts=names), *figures])
    assert joined.parts == tuple(figure.name for figure in others)
    assert len({figure.name.casefold() for figure in others}) == 3


def test_a_figure_whose_worker_dies_is_named(tmp_path):
    """A pool that breaks would end the command with a traceback, and name no figure."""
    deadly = [StudyFigure(f"map {i}", "maps", "", "", partial(do, "segfault")) for i in range(2)]
    with pytest.raises(SegaugeError, match=r"The figure map \d could not be drawn: its worker process crashed"):
        render_figures(deadly, tmp_path, processes=2)
