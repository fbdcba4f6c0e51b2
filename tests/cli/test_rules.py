"""Results that were measured by different rules are not compared without a word."""

import json

import numpy as np
import pytest

from segauge.cli import main
from segauge.evaluation import Case, evaluate


def measured(path, *, shift=0, gt_shift=0, spacing=None, **options):
    cases = []
    for i in range(4):
        gt, pred = np.zeros((2, 12, 12, 12), dtype=np.uint8)
        gt[3 + gt_shift * (i == 2) : 9, 3:9, 3:9] = 1
        gt[3:9, 3:9, 9] = 2
        pred[3 + shift : 9, 3 + i % 2 : 9, 3:10] = 1
        cases.append(Case(f"c{i}", pred, gt, spacing))
    options = {"structures": {"organ": 1}, "metrics": ["dice", "hd95", "nsd", "nsd@2", "assd"], **options}
    evaluate(cases, n_resamples=100, **options).to_json(path)
    return str(path)


def run(capsys, *arguments):
    code = main([*map(str, arguments), "--n-resamples", "100"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("options", "words", "free"),
    [
        ({"nsd_tolerance": 3.0}, "nsd_tolerance of organ: 1 mm (before), 3 mm (after)", "nsd@2"),
        ({"surface": "voxel"}, "surface: marching-cubes (before), voxel (after)", "dice"),
        ({"convention": "monai"}, "convention: segauge (before), monai (after)", "dice"),
        ({"hd": "pooled"}, "hd: directed (before), pooled (after)", "assd"),
        ({"spacing": 2.0}, "spacing: not the same in 4 cases (c0, c1, c2, c3)", "dice"),
        ({"structures": {"organ": [1, 2]}}, "labels of organ: 1 (before), 1+2 (after)", None),
        ({"gt_shift": 1}, "ground truth: not the same in 1 case (c2)", None),
    ],
)
def test_diff_refuses_what_was_measured_otherwise(tmp_path, capsys, options, words, free):
    before, after = measured(tmp_path / "a.json"), measured(tmp_path / "b.json", shift=1, **options)
    code, _, said = run(capsys, "diff", before, after)
    assert code == 1
    assert words in said
    if free is not None:
        assert run(capsys, "diff", before, after, "--metric", free)[0] != 1
    code, _, told = run(capsys, "diff", before, after, "--allow-different-rules", "--json", tmp_path / "d.json")
    assert code != 1
    assert f"warning: not measured by the same rules: {words}" in told
    assert words in json.loads((tmp_path / "d.json").read_text())["rule_differences"]


def test_rank_refuses_what_was_measured_otherwise(tmp_path, capsys):
    files = [f"{name}={measured(tmp_path / f'{name}.json', shift=i)}" for i, name in enumerate("AB")]
    files.append(f"C={measured(tmp_path / 'C.json', nsd_tolerance={'organ': 2.5})}")
    assert run(capsys, "rank", *files)[0] == 0  # Dice has no tolerance
    code, _, said = run(capsys, "rank", *files, "--metric", "nsd")
    assert code == 1
    assert "nsd_tolerance of organ: 1 mm (A and B), 2.5 mm (C)" in said
    code, _, told = run(capsys, "rank", *files, "--metric", "nsd", "--allow-different-rules")
    assert code == 0
    assert "warning: not measured by the same rules: nsd_tolerance" in told


def test_how_predictions_were_read_is_told_and_not_refused(tmp_path, capsys):
    one = measured(tmp_path / "a.json")
    other = measured(tmp_path / "b.json", pred_structures={"organ": 1}, resample="nearest")
    code, _, told = run(capsys, "rank", one, other)
    assert code == 0
    assert "predictions were not read alike: pred_structures: none (a), organ=1 (b)" in told


def test_of_files_that_do_not_say_how_they_were_measured_nothing_is_claimed(tmp_path, capsys):
    known = measured(tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    del content["protocol"]
    (tmp_path / "b.json").write_text(json.dumps(content))
    assert run(capsys, "diff", known, tmp_path / "b.json")[0] == 0
    content["protocol"] = {"versions": {"segauge": "0.3.0"}}  # as inside MONAI
    (tmp_path / "b.json").write_text(json.dumps(content))
    assert run(capsys, "diff", known, tmp_path / "b.json")[0] == 0
