"""Records: strict and sorted on disk, the same when they come back, and honest about what they cannot read."""

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from segauge import Status
from segauge.errors import InvalidInput
from segbench.boards import make_leaderboard
from segbench.records import load_record, save_record
from segbench.records.files import portable
from segbench.verification import verify_statistics
from tests.segbench.made_up import record, table, three_models


def with_gaps():
    return record(
        {
            "a": table([[0.9, 0.8], [np.nan, np.nan], [0.0, 0.1]], structures=("x", "y"), missed=[(2, 0)]),
            "b": table([[0.7], [np.nan], [0.5]], structures=("x",)),
        }
    )


@pytest.mark.parametrize("large", [10**9, 1], ids=["json", "parquet"])
def test_a_record_comes_back_as_it_was(tmp_path, large):
    made = with_gaps().with_analysis(make_leaderboard(with_gaps()).to_dict())
    path = save_record(made, tmp_path / "run.json", large=large)
    back = load_record(path)
    assert back.fingerprint() == made.fingerprint()
    assert back.tables["a"]["case_002", "x", "dice"].status is Status.MISSED
    assert back.tables["b"].structures == ("x",)
    assert (tmp_path / "run.scores.parquet").is_file() == (large == 1)
    before = path.read_bytes()
    save_record(back, path, large=large)
    assert path.read_bytes() == before


def test_the_file_is_strict_and_sorted(tmp_path):
    text = save_record(with_gaps(), tmp_path / "run.json").read_text()
    assert "NaN" not in text
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert json.loads(text)["scores"]["a"]["structures"]["x"] == {
        "dice": [0.9, None, 0.0],
        "status": ["present", "absent", "missed"],
    }


def test_scores_of_another_run_beside_a_record_are_refused(tmp_path):
    save_record(with_gaps(), tmp_path / "run.json", large=1)
    save_record(record({"c": table([[0.9], [0.3], [0.0]], structures=("x",))}), tmp_path / "other.json", large=1)
    (tmp_path / "other.scores.parquet").replace(tmp_path / "run.scores.parquet")
    with pytest.raises(InvalidInput, match=r"run\.json: .*has no scores of a"):
        load_record(tmp_path / "run.json")
    other = table([[0.9, 0.8], [0.3, 0.3], [0.0, 0.1]], structures=("x", "y"))
    changed = record({"a": other, "b": with_gaps().tables["b"]})
    save_record(changed, tmp_path / "other.json", large=1)
    (tmp_path / "other.scores.parquet").replace(tmp_path / "run.scores.parquet")
    with pytest.raises(InvalidInput, match="are not those that the record was written with"):
        load_record(tmp_path / "run.json")
    (tmp_path / "run.scores.parquet").unlink()
    with pytest.raises(InvalidInput, match="which is not next to it"):
        load_record(tmp_path / "run.json")


def test_more_scores_than_a_record_can_have_are_refused_unread(tmp_path):
    """A file of 400 kB beside a record took 2 GB: rows were counted after they were read."""
    save_record(with_gaps(), tmp_path / "run.json", large=1)
    many = table([[0.5, 0.5]] * 4, structures=("x", "y"))
    save_record(record({"a": many, "b": many}), tmp_path / "other.json", large=1)
    (tmp_path / "other.scores.parquet").replace(tmp_path / "run.scores.parquet")
    with pytest.raises(InvalidInput, match="has 16 rows, but its record has 2 models, 2 structures and 3 cases"):
        load_record(tmp_path / "run.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[: len(text) // 2], "is not JSON"),
        (lambda text: text.replace('"schema": "segbench-record/1"', '"schema": "segbench-record/99"'), "does not know"),
        (lambda text: text.replace('"status"', '"state"'), "is not built as a record is"),
        (lambda text: text.replace('"present"', '"splendid"'), "is not built as a record is"),
        (lambda text: text.replace('{\n "analysis"', '{\n "notes": [],\n "analysis"'), "'notes' appears twice"),
        (lambda _: "[]", "is no record of a run"),
        (lambda _: "{}", "it has no schema"),
        (lambda _: "[" * 100_000, "is nested too deeply|is not JSON"),
        (lambda text: text.replace('"case_001"', '"case_000"'), "twice|appears twice"),
    ],
)
def test_what_is_damaged_is_refused_by_name(tmp_path, change, words):
    path = save_record(with_gaps(), tmp_path / "run.json")
    path.write_text(change(path.read_text()))
    with pytest.raises(InvalidInput, match=words) as caught:
        load_record(path)
    assert "run.json" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("other", [[], "text", 3, {"x": [None]}, None])
def test_no_key_of_a_record_may_hold_anything_else(tmp_path, other):
    """Put something else into every place of the tree: it is refused in words, or read; nothing else may come out."""
    path = save_record(with_gaps().with_analysis(make_leaderboard(with_gaps()).to_dict()), tmp_path / "run.json")
    whole = json.loads(path.read_text())

    def places(tree, way=()):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield (*way, key)
            if isinstance(tree[key], (dict, list)) and len(way) < 4:
                yield from places(tree[key], (*way, key))

    for way in list(places(whole)):
        place = whole
        for key in way[:-1]:
            place = place[key]
        was, place[way[-1]] = place[way[-1]], other
        path.write_text(json.dumps(whole))
        place[way[-1]] = was
        with suppress(InvalidInput):
            verify_statistics(load_record(path))


def test_a_value_that_json_cannot_hold_is_refused(tmp_path):
    made = with_gaps()
    broken = made.with_analysis({"rules": "x", "number": float("nan")})
    with pytest.raises(InvalidInput, match="cannot hold"):
        save_record(broken, tmp_path / "run.json")
    assert not (tmp_path / "run.json").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/me/data/scan.nii.gz", ".../scan.nii.gz"),
        ("~/data/scan.nii.gz is damaged", ".../scan.nii.gz is damaged"),
        (r"C:\Users\me\scan.nii.gz", ".../scan.nii.gz"),
        ("mymodel --in /tmp/x/in.nii --out={output}", "mymodel --in .../in.nii --out={output}"),
        ("see (/var/log/x.log)", "see (.../x.log)"),
        ("prostate/uterus, 3 +/- 1 and n/a", "prostate/uterus, 3 +/- 1 and n/a"),
        ("https://github.com/neheller/kits23", "https://github.com/neheller/kits23"),
        ("file:///home/me/x", ".../x"),
        ("data/kits23", "data/kits23"),
        ("Kidney /tumor", "Kidney /tumor"),
        ("a </b> tag, a / and /", "a </b> tag, a / and /"),
        (r"\\\\server\share\scan.nii", ".../scan.nii"),
    ],
)
def test_paths_are_cut_down_and_nothing_else(text, expected):
    assert portable(text) == expected
    assert portable({"root": "x", "name": [text]}) == {"name": [expected]}


def test_a_title_is_what_somebody_wrote():
    title = "Liver /tumor/vessels in /our/hospital"
    assert portable({"title": title, "dataset": {"title": title}, "preview_label": title, "note": title}) == {
        "title": title,
        "dataset": {"title": title},
        "preview_label": title,
        "note": "Liver .../vessels in .../hospital",
    }


def test_reading_never_crashes_on_flipped_bytes(tmp_path):
    """A damaged record is refused in words, or read as what it says; nothing else may come out."""
    path = save_record(with_gaps(), tmp_path / "run.json")
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(150):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), 3):
            damaged[place] = int(rng.integers(0, 256))
        path.write_bytes(bytes(damaged))
        with suppress(InvalidInput):
            load_record(path)


def reference(rows, **summary):
    """Return a result file as the reference harness writes it, of one model and one organ."""
    model = {"name": "MOOSE", "license": "Apache-2.0", "version": "3", "contaminated_on": [], "fair": True}
    return {
        "benchmark": "segauge-benchmark",
        "segauge_version": "0.2.0",
        "preview": False,
        "preview_label": "",
        "dataset": {
            "name": "kits23",
            "license": "CC",
            "citation": "x",
            "organs": [{"id": 1, "name": "kidney"}],
            "n_cases": len(rows),
        },
        "metrics": ["dice", "hd95"],
        "config": {
            "confidence": 0.95, "n_resamples": 100, "seed": 0, "nsd_tolerance": 2.0, "spot_check_dice": 0.1,
        },
        "models": [{**model, "per_organ": {"kidney": {"summary": summary, "per_case": rows}}}],
        "analysis": {},
    }  # fmt: skip


def test_files_of_the_reference_harness_with_empty_masks_and_both_spellings_of_infinity(tmp_path):
    path = tmp_path / "old.json"
    rows = [
        {"case_id": "a", "dice": 0.9, "hd95": 2.0},
        {"case_id": "b", "dice": 0.0, "hd95": float("inf")},
        {"case_id": "c", "dice": 0.0, "hd95": None},
    ]
    path.write_text(json.dumps(reference(rows)))
    found = load_record(path).tables["MOOSE"]
    assert [status.value for status in found.status[:, 0]] == ["present", "missed", "missed"]
    assert found["a", "kidney", "hd95"].value == 2.0


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"case_id": "a", "dice": 0.9}, {"case_id": "a", "dice": 0.8}], "a case twice"),
        ([{"dice": 0.9}], "is not built as a file of its kind"),
        ([{"case_id": "a", "dice": "good"}], "is not built as a file of its kind"),
    ],
)
def test_files_of_the_reference_harness_that_are_damaged(tmp_path, rows, words):
    path = tmp_path / "old.json"
    path.write_text(json.dumps(reference(rows)))
    with pytest.raises(InvalidInput, match=words):
        load_record(path)


def test_scores_of_a_long_file_are_read_model_by_model(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow", reason="large records need segauge[bench]")
    made = three_models()
    path = save_record(made, tmp_path / "run.json", large=1)
    monkeypatch.setattr("segbench.records.tables.MOST_ROWS_AT_ONCE", 10)
    again = load_record(path)
    assert again.scores_hash == made.scores_hash
    assert again.fingerprint() == made.fingerprint()


def test_the_fingerprint_of_a_large_record_is_that_of_its_scores_too(monkeypatch):
    made = three_models()
    plain = made.fingerprint()
    monkeypatch.setattr("segbench.records.run_record.LARGE", 1)
    large = made.fingerprint()
    assert large != plain
    name, scores = next(iter(made.tables.items()))
    values = scores.values.copy()
    values[0, 0, 0] = np.nextafter(values[0, 0, 0], 0.0)
    other = replace(made, tables={**made.tables, name: replace(scores, values=values)})
    assert other.fingerprint() != large
    assert replace(made, timings={name: {made.case_ids[0]: 3.0}}).fingerprint() == large


def test_a_case_failed_by_its_status_also_where_nobody_says_why():
    values = table([0.9, np.nan, 0.8])
    status = values.status.copy()
    status[1] = Status.REFUSED
    found = record({"m": replace(values, status=status)})
    assert found.failed_cases("m") == {"case_001": ""}
