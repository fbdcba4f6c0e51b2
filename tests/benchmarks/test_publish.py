import os
import re

import pytest
from benchmarks.accuracy.surfaces import Answer
from benchmarks.accuracy_summary import compare, summarise
from tests.conftest import PROJECT

from benchmarks import digest, publish

TRUTH = {"hd": 1.0, "hd95": 2.0, "hd95_pooled": 3.0, "assd": 1.0, "masd": 1.0, "nsd": 1.0}


def test_only_what_was_measured_is_replaced():
    page = "intro\n<!-- begin: a -->\nold\n<!-- end: a -->\n<!-- begin: b -->\nkept\n<!-- end: b -->\n"
    assert publish.replaced(page, "a", "new") == page.replace("\nold\n", "\n\nnew\n\n")
    with pytest.raises(SystemExit, match="once each"):
        publish.replaced(page, "c", "new")


@pytest.mark.parametrize("path", [digest.PAGE, digest.DETAILS], ids=lambda path: path.name)
def test_the_page_has_a_place_for_every_part(path):
    page = path.read_text(encoding="utf-8")
    assert list(digest.PARTS) == list(publish.PARTS)
    assert re.findall(r"<!-- begin: (\w+) -->", page) == re.findall(r"<!-- end: (\w+) -->", page) == list(publish.PARTS)


def test_the_page_and_its_charts_are_made_from_the_results():
    page = digest.PAGE.read_text(encoding="utf-8")
    results = digest.DETAILS.read_text(encoding="utf-8")
    made, charts = digest.digest(page, results)
    assert made == page, "run python -m benchmarks.digest"
    assert {name: (digest.IMAGES / name).read_text(encoding="utf-8") for name in charts} == charts
    assert len(page.split()) < 3000, "one page of results; the rest belongs to benchmarks/results.md"
    assert "0.342 (1.00)" in results
    assert digest.digest(page, results.replace("0.342 (1.00)", "0.242 (1.00)"))[0] != page


def test_promises_that_were_missed_are_on_the_page():
    results, page = digest.DETAILS.read_text(encoding="utf-8"), digest.PAGE.read_text(encoding="utf-8")
    missed = re.findall(r"^- FAIL +([^,]+)", results, flags=re.MULTILINE)
    assert missed
    assert all(f"- {name}" in page for name in missed)


@pytest.mark.parametrize(("load", "options", "parts", "code"), [
    (5.0, [], ["accuracy", "coverage"], 3),
    (5.0, ["--any-load"], ["speed", "scale", "accuracy", "coverage"], 0),
    (0.5, [], ["speed", "scale", "accuracy", "coverage"], 0),
    (5.0, ["--parts", "accuracy"], ["accuracy"], 0),
])  # fmt: skip
def test_times_are_taken_on_a_quiet_machine_only(monkeypatch, tmp_path, load, options, parts, code):
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    monkeypatch.setattr(publish, "measure", lambda part, quick: (f"measured {part} {quick}", ""))
    out = tmp_path / "page.md"
    assert publish.main([*options, "--out", str(out)]) == code
    assert re.findall(r"measured (\w+) False", out.read_text()) == parts


def test_every_program_of_a_part_is_there():
    for run in (run for runs in publish.PARTS.values() for run in runs):
        for arguments in (run.full, run.quick):
            name = arguments[1].replace(".", "/") if arguments[0] == "-m" else arguments[0].removesuffix(".py")
            assert (PROJECT / f"{name}.py").is_file() or (PROJECT / name / "__main__.py").is_file(), name


def test_the_summary_holds_every_tool_against_its_own_definition():
    answers = [
        Answer("ball", (1.0, 1.0, 1.0), "segauge", {"hd95": 2.1, "nsd": 0.9}, TRUTH),
        Answer("box", (1.0, 1.0, 1.0), "segauge", {"hd95": 2.3, "nsd": 1.0}, TRUTH),
        Answer("ball", (1.0, 1.0, 1.0), "medpy", {"hd95_pooled": 3.4}, TRUTH),
        Answer("box", (1.0, 1.0, 1.0), "medpy", {}, TRUTH, "MemoryError"),
    ]
    text = summarise(answers)
    assert re.search(r"\| segauge +\| +- \| 0.200 \(1.00\) \|", text)
    assert re.search(r"\| medpy +\| +- \| 0.400 \(2.00\) \|", text)
    assert "- medpy: MemoryError" in text


def test_the_sub_voxel_surface_stands_beside_marching_cubes_and_the_best_package():
    values = {"segauge": 2.4, "segauge-subvoxel": 2.1, "segauge-0.1": 2.01, "monai": 2.5, "medpy": 3.0}
    answers = [Answer("ball", (1.0, 1.0, 5.0), tool, {"hd95": value}, TRUTH) for tool, value in values.items()]
    assert re.search(r"\| ball, 1 x 1 x 5 +\| +1 \| +- \| 0.100 \(0.250, 0.200\) \|", summarise(answers))


def test_the_page_has_a_place_for_the_comparison():
    table = compare([Answer("ball", (1.0, 1.0, 1.0), "monai", {"hd95": 2.5}, TRUTH)])
    assert re.search(r"\| MONAI [\d.]+ \| - \| 0.500 \|", table)
    page = publish.replaced(publish.COMPARISON.read_text(encoding="utf-8"), "comparison", table)
    assert page.count("0.500") == 1
    assert "MeshMetrics 0.2.1" in page


def test_a_printed_report_becomes_a_section():
    assert publish._as_markdown("# Speed\n\nwords\n\n## One\n", PROJECT) == "words\n\n#### One"
