"""`segauge diff`: what is judged, what is only shown, and that both are said."""

import json

import numpy as np
import pytest

from segauge.cli import main

METRICS = ("dice", "iou", "hd95", "assd", "precision")


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(1)
    for name, shift in (("old", 0.0), ("new", 0.1)):
        rows = ["case,structure,metric,value"]
        for i in range(12):
            for metric in METRICS:
                sign, base = (1, 3.0) if metric in ("hd95", "assd") else (-1, 0.8)
                rows.append(f"c{i:02d},liver,{metric},{base + sign * shift + rng.normal(0, 0.005):.5f}")
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "meta.csv").write_text("\n".join(["case,patient", *(f"c{i:02d},p{i // 2}" for i in range(12))]))
    return tmp_path


def diff(files, *options):
    return main(["diff", str(files / "old.csv"), str(files / "new.csv"), "--n-resamples", "200", *map(str, options)])


def test_output_and_json_say_what_is_judged(files, capsys):
    assert diff(files, "--json", files / "diff.json") == 6
    said = capsys.readouterr().out
    assert "after - before, only shown" in said
    assert "judged at 95 %: dice, hd95 (Holm over 2 changes" in said
    assert "only shown: iou, assd, precision (--judge chooses)" in said
    assert "regression: 2 of 2 judged changes for the worse" in said
    found = json.loads((files / "diff.json").read_text())
    assert found["judged"] == ["dice", "hd95"]
    verdicts = {change["metric"]: change["verdict"] for change in found["changes"]}
    assert verdicts == {"dice": "worse", "hd95": "worse"} | dict.fromkeys(("iou", "assd", "precision"), "not judged")


def test_judge_chooses(files, capsys):
    assert diff(files, "--judge", "iou, assd") == 6
    assert "judged at 95 %: iou, assd (" in capsys.readouterr().out
    assert diff(files, "--judge", "all") == 6
    said = capsys.readouterr().out
    assert "Holm over 5 changes" in said
    assert "only shown" not in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--judge", ","), "such as dice,hd95, or all"),
        (("--judge", "dcie"), "did you mean 'dice'?"),
        (("--margin", "asssd=1"), "did you mean 'assd'?"),
        (("--structure", "livr"), "no structure 'livr'; there are liver."),
        (("--metric", "nsd"), "no metric 'nsd'; there are dice, iou"),
        (("--cluster", "patient"), "--cluster needs --metadata FILE"),
    ],
)
def test_mistakes_are_named(files, options, words, capsys):
    assert diff(files, *options) == 1
    assert words in capsys.readouterr().err


def test_patients_are_counted(files, capsys):
    # Six patients of two images each: fewer than ten independent units give no verdict.
    assert diff(files, "--metadata", files / "meta.csv", "--cluster", "patient") == 0
    assert "2 of 2 changes rest on fewer than 10 patients: no verdict" in capsys.readouterr().out


def test_metrics_are_known_by_either_name_and_distances_have_a_unit(tmp_path, capsys):
    rows = [f"c{i},organ,{metric},0.{5 + i}" for i in range(4) for metric in ("dice", "det_f1", "hd95", "iou")]
    for name in ("old", "new"):
        (tmp_path / f"{name}.csv").write_text("\n".join(["case,structure,metric,value", *rows]) + "\n")
    assert diff(tmp_path, "--judge", "dice,lesion_f1", "--margin", "lesion_f1=0.1") == 0
    out = capsys.readouterr().out
    assert "dice, det_f1 (Holm over 2 changes" in out
    assert "hd95 (mm)" in out
    assert diff(tmp_path, "--metric", "lesion_f1") == 0
    files = [f"{name}={tmp_path / name}.csv" for name in ("old", "new")]
    assert main(["rank", *files, "--metric", "lesion_f1", "--n-resamples", "100"]) == 0
