"""Readers on small files written here: every format, every problem, and the way out of it."""

import json
import math

import numpy as np
import pytest

from segauge import Case, evaluate, rank
from segauge.errors import InvalidInput
from segauge.io.tables import FORMATS, Repairs, read_metadata, read_scores, write_scores
from segauge.scores import ScoreTable, Status


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


WIDE = "name,liver,spleen\nc1,0.9,0.8\nc2,0,\nc3,0.7,0.6\n"


def touchstone(tmp_path, **models):
    for name, text in models.items():
        write(tmp_path / name / "dsc.csv", text)
    return tmp_path


def test_touchstone_folders(tmp_path):
    found = read_scores(touchstone(tmp_path, a=WIDE, b=WIDE))
    assert found.formats == ("touchstone",)
    assert list(found.tables) == ["a", "b"]
    table = found.tables["a"]
    assert table["c1", "liver", "dice"].value == 0.9
    assert table["c2", "liver", "dice"].status == Status.MISSED
    assert table["c2", "spleen", "dice"].status == Status.ABSENT
    assert found.audit.is_clean


def test_empty_cells_that_disagree_are_refused_or_repaired(tmp_path):
    folder = touchstone(tmp_path, a=WIDE, b=WIDE.replace("c3,0.7,0.6", "c3,0.7,"))
    with pytest.raises(InvalidInput, match=r"1 cell is empty.*spleen of c3 for b.*--empty failed .*--empty absent"):
        read_scores(folder)
    failed = read_scores(folder, repairs=Repairs(empty="failed"))
    assert failed.tables["b"]["c3", "spleen", "dice"].status == Status.PREDICTION_MISSING
    assert not failed.audit.is_clean
    absent = read_scores(folder, repairs=Repairs(empty="absent"))
    assert {absent.tables[m]["c3", "spleen", "dice"].status for m in "ab"} == {Status.ABSENT}


def test_empty_cells_that_nobody_can_check_are_counted_and_named(tmp_path):
    """With one model an empty cell may be an absent structure or a failure: the reader says what it took it for."""
    path = tmp_path / "dice.csv"
    path.write_text("name,liver,spleen\nc1,0.9,0.8\nc2,0.7,\nc3,0.8,\n", encoding="utf-8")
    found = read_scores(path, metric="dice")
    (finding,) = found.audit.findings
    assert (finding.kind, finding.count) == ("empty", 2)
    assert "2 cells are empty, such as spleen of c2. Treated as absent structures and excluded" in str(finding)
    assert found.audit.is_clean  # nothing was repaired
    both = read_scores(touchstone(tmp_path, a=WIDE, b=WIDE)).audit
    assert "1 cell is empty for every model" in str(both)


LONG = "model,case,structure,metric,value\n" + "".join(
    f"{model},{case},{structure},dice,0.{i + 5}\n"
    for model in "ab"
    for i, (case, structure) in enumerate([("c1", "liver"), ("c1", "spleen"), ("c2", "liver"), ("c2", "spleen")])
)


def test_a_row_that_one_model_lacks_is_refused_as_an_empty_cell_is(tmp_path):
    """A dropped failure must not become a structure that is not there: the mean would rise without a word."""
    path = write(tmp_path / "x.csv", LONG.replace("b,c2,spleen,dice,0.8\n", ""))
    with pytest.raises(InvalidInput, match=r"1 cell has no row where another.*spleen of c2 for b"):
        read_scores(path)
    failed = read_scores(path, repairs=Repairs(empty="failed"))
    assert failed.tables["b"]["c2", "spleen", "dice"].status == Status.PREDICTION_MISSING
    absent = read_scores(path, repairs=Repairs(empty="absent"))
    assert {absent.tables[m]["c2", "spleen", "dice"].status for m in "ab"} == {Status.ABSENT}


@pytest.mark.parametrize(("models", "who"), [("ab", " for every model"), ("a", "")])
def test_a_row_that_every_model_lacks_is_taken_for_absent_in_words(tmp_path, models, who):
    lines = [line for line in LONG.splitlines(keepends=True) if line[0] in ("m", *models) and ",c2,spleen," not in line]
    found = read_scores(write(tmp_path / "x.csv", "".join(lines)))
    (finding,) = found.audit.findings
    assert f"1 cell has no row{who}, such as spleen of c2. Treated as absent structures" in str(finding)
    cell = found.tables["a"]["c2", "spleen", "dice"]
    assert (cell.status, cell.reason) == (Status.ABSENT, "the file does not have it")


def test_a_structure_that_a_model_was_never_scored_on_is_told_and_no_failure(tmp_path):
    lines = [line for line in LONG.splitlines(keepends=True) if not (line.startswith("b,") and "spleen" in line)]
    found = read_scores(write(tmp_path / "x.csv", "".join(lines)))
    (finding,) = found.audit.findings
    assert str(finding) == "b has no score of spleen, in no case"
    assert found.tables["b"]["c1", "spleen", "dice"].status == Status.ABSENT


def test_a_dice_of_0_without_a_distance_is_a_missed_structure(tmp_path):
    """Left as present it has no distance that counts: the model would gain by missing the hard case."""
    good = write(tmp_path / "good.csv", "case,dice,hd95\nc1,0.8,5\nc2,0.5,20\nc3,0.7,6\n")
    bad = write(tmp_path / "bad.csv", "case,dice,hd95\nc1,0.9,3\nc2,0,\nc3,0.7,\n")
    found = read_scores([good, bad])
    states = [found.tables["bad"][case, "structure", "hd95"].status for case in ("c1", "c2", "c3")]
    assert states == [Status.PRESENT, Status.MISSED, Status.PRESENT]
    missed, lacking = map(str, found.audit.findings)
    assert "1 cell has an overlap of 0 and no other score, such as structure of c2 for bad: taken for missed" in missed
    assert "1 cell is empty although other scores are there, such as hd95 of structure of c3 for bad" in lacking
    ranked = rank(found.tables, structure="structure", metric="hd95")
    assert (ranked["good"].failure_share, ranked["bad"].failure_share) == (0.0, 0.5)


def test_zeros_where_all_others_are_empty_are_seen(tmp_path):
    """Thirty-four of them were in an earlier Touchstone release."""
    folder = touchstone(tmp_path, a=WIDE, b=WIDE, c=WIDE.replace("c2,0,", "c2,0,0"))
    with pytest.raises(InvalidInput, match="2 cells are empty"):
        read_scores(folder)


def test_unequal_cases_are_refused_or_repaired(tmp_path):
    folder = touchstone(tmp_path, a=WIDE, b=WIDE.replace("c1,0.9,0.8\n", ""))
    with pytest.raises(InvalidInput, match=r"of 3, 1 missing for b.*--cases keep.*--cases common .*--cases failed"):
        read_scores(folder)
    assert {len(t) for t in read_scores(folder, repairs=Repairs(cases="common")).tables.values()} == {2}
    kept = read_scores(folder, repairs=Repairs(cases="keep")).tables
    assert (len(kept["a"]), len(kept["b"])) == (3, 2)
    failed = read_scores(folder, repairs=Repairs(cases="failed")).tables["b"]
    assert failed["c1", "liver", "dice"].status == Status.PREDICTION_MISSING


def test_a_lacking_case_is_no_failure_where_the_structure_is_absent(tmp_path):
    folder = touchstone(tmp_path, a=WIDE, b=WIDE.replace("c2,0,\n", ""))
    table = read_scores(folder, repairs=Repairs(cases="failed")).tables["b"]
    assert table["c2", "liver", "dice"].status == Status.PREDICTION_MISSING
    assert table["c2", "spleen", "dice"].status == Status.ABSENT
    # What the file does not have says so; an empty cell of the file needs no reason.
    assert table["c2", "spleen", "dice"].reason == "the file does not have it"
    assert read_scores(folder, repairs=Repairs(cases="failed")).tables["a"].reasons == {}


def test_duplicates_with_other_values_are_refused_with_their_lines(tmp_path):
    folder = touchstone(tmp_path, a=WIDE + "c1,0.5,0.8\n")
    with pytest.raises(InvalidInput, match=r"c1 of a: 0.9 \(a/dsc.csv line 2\) and 0.5 \(a/dsc.csv line 5\)"):
        read_scores(folder)
    for how, value in (("first", 0.9), ("last", 0.5), ("mean", 0.7)):
        table = read_scores(folder, repairs=Repairs(duplicates=how)).tables["a"]
        assert table["c1", "liver", "dice"].value == pytest.approx(value)
    merged = read_scores(touchstone(tmp_path / "same", a=WIDE + "c1,0.9,0.8\n"))
    assert "twice with the same value" in str(merged.audit)


def test_values_out_of_range_are_refused_with_the_likely_reason(tmp_path):
    folder = touchstone(tmp_path, a=WIDE.replace("0.9", "90.0"))
    with pytest.raises(InvalidInput, match=r"dice 90 of c1.*Per cent"):
        read_scores(folder)
    barely = touchstone(tmp_path / "barely", a=WIDE.replace("0.9", "1.0000001"))
    with pytest.raises(
        InvalidInput, match=r"dice 1\.0000001 of c1 \(a/dsc.csv line 2\); dice lies between 0 and 1\. To continue"
    ):
        read_scores(barely)
    table = read_scores(folder, repairs=Repairs(out_of_range="drop")).tables["a"]
    assert table["c1", "liver", "dice"].value is None
    assert table["c1", "liver", "dice"].status == Status.FAILED


def test_odd_bytes_are_survived_and_told(tmp_path):
    path = tmp_path / "m" / "dsc.csv"
    path.parent.mkdir()
    path.write_bytes(b"\xef\xbb\xbfname,liver\r\nc\x001,0.5\r\nc2,nan\r\n")
    found = read_scores(tmp_path)
    assert found.tables["m"].cases == ("c1", "c2")
    assert "NUL" in str(found.audit)


CHALLENGE = "Task,Case,Algorithm,MetricValue\nT,1,A,0.5\nT,2,A,NA\nT,1,B,0.25\nT,2,B,0.75\n"


def test_challenger_tables(tmp_path):
    found = read_scores(write(tmp_path / "x.csv", CHALLENGE), metric="Dice")
    assert found.formats == ("long",)
    assert found.tables["A"]["2", "T", "dice"].status == Status.PREDICTION_MISSING
    assert found.tables["B"]["2", "T", "dice"].value == 0.75


def test_the_metric_may_stand_in_the_file_name(tmp_path):
    assert read_scores(write(tmp_path / "lesion_hd95_long.csv", CHALLENGE)).tables["A"].metrics == ("hd95",)
    with pytest.raises(InvalidInput, match="pass --metric"):
        read_scores(write(tmp_path / "x.csv", CHALLENGE))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_any_separator_and_decimal_comma(tmp_path, separator):
    value = "0,5" if separator == ";" else "0.5"
    text = f"case;model;dice\n001;a;{value}\n1;a;0.25\n".replace(";", separator)
    table = read_scores(write(tmp_path / "x.csv", text)).tables["a"]
    assert table["001", "structure", "dice"].value == 0.5
    assert table.cases == ("001", "1")


def test_wide_tables_of_metrics_and_of_structures(tmp_path):
    metrics = read_scores(write(tmp_path / "a.csv", "case_id,Dice,HD95,comment\nx,0.5,3,\ny,0,inf,\n")).tables["a"]
    assert metrics.metrics == ("dice", "hd95")
    assert metrics["y", "structure", "hd95"].status == Status.FAILED
    structures = read_scores(write(tmp_path / "b.csv", "case,liver\nx,0.5\n"), metric="nsd", model="m").tables["m"]
    assert (structures.structures, structures.metrics) == (("liver",), ("nsd",))


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"case": ["a", "b"], "dice": [0.5, None]}), tmp_path / "m.parquet")
    table = read_scores(tmp_path / "m.parquet").tables["m"]
    assert table["a", "structure", "dice"].value == 0.5
    with pytest.raises(InvalidInput, match="not a readable Parquet"):
        read_scores(write(tmp_path / "bad.parquet", "hello"))


def test_unusual_columns_can_be_named(tmp_path):
    path = write(tmp_path / "x.csv", "pid,net,dice\np1,a,0.5\n")
    with pytest.raises(InvalidInput, match="none of the known kinds"):
        read_scores(path)
    found = read_scores(path, format="wide", columns={"case": "pid", "model": "net"})
    assert found.tables["a"].cases == ("p1",)
    with pytest.raises(InvalidInput, match="no column 'nope'"):
        read_scores(path, format="wide", columns={"case": "nope"})


@pytest.mark.parametrize("kind", ["auto", "wide", "long"])
def test_a_column_with_a_role_is_not_guessed_for_another(tmp_path, kind):
    """`case=task` made a board per task of one case each: the column was the case and the structure, too."""
    path = write(tmp_path / "x.csv", "model,task,score\na,t1,0.5\na,t2,0.75\nb,t1,0.25\nb,t2,1\n")
    table = read_scores(path, format=kind, columns={"case": "task"}, metric="dice").tables["a"]
    assert (table.cases, table.structures, table.values.ravel().tolist()) == (("t1", "t2"), ("structure",), [0.5, 0.75])


def test_told_columns_make_a_plain_table_of_a_file(tmp_path):
    path = write(tmp_path / "x.csv", "pid,net,grade,case\np1,a,0.5,c\n")
    columns = {"case": "pid", "model": "net", "value": "grade"}
    assert read_scores(path, columns=columns, metric="dice").tables["a"]["p1", "structure", "dice"].value == 0.5


@pytest.mark.parametrize(
    ("columns", "words"),
    [({"cases": "task"}, "no role 'cases'; there are"), ({"case": "task", "model": "task"}, "'task' was given two")],
)
def test_roles_that_cannot_be(tmp_path, columns, words):
    path = write(tmp_path / "x.csv", "model,task,score\na,t1,0.5\n")
    with pytest.raises(InvalidInput, match=words):
        read_scores(path, columns=columns)


def test_nnunet_summary(tmp_path):
    def metrics(dice, n_pred, n_ref):
        return {"Dice": dice, "IoU": dice, "n_pred": n_pred, "n_ref": n_ref}

    cases = [
        {"reference_file": "gt/c1.nii.gz", "metrics": {"(1, 2)": metrics(0.5, 4, 4), "2": metrics(0.0, 0, 3)}},
        {"reference_file": "gt\\c2.nii.gz", "metrics": {"(1, 2)": metrics(math.nan, 0, 0), "2": metrics(0.0, 3, 0)}},
    ]  # fmt: skip
    write(tmp_path / "dataset.json", json.dumps({"labels": {"background": 0, "all": [1, 2], "core": 2}}))
    write(tmp_path / "fold_0" / "summary.json", json.dumps({"metric_per_case": cases, "mean": {}}))
    table = read_scores(tmp_path / "fold_0").tables["fold_0"]
    assert table.structures == ("all", "core")
    states = {(c, s): table[c, s, "dice"].status for c in table.cases for s in table.structures}
    assert states == {
        ("c1", "all"): Status.PRESENT,
        ("c1", "core"): Status.MISSED,
        ("c2", "all"): Status.ABSENT,
        ("c2", "core"): Status.SPURIOUS,
    }


def test_monai_raw_files_tell_what_happened_together(tmp_path):
    write(
        tmp_path / "val_mean_dice_raw.csv",
        "filename,c0,mean\na.nii.gz,0.5,0.5\nb.nii.gz,0.0,0\nc.nii.gz,nan,nan\nd.nii.gz,nan,nan\n",
    )
    write(
        tmp_path / "val_hd_raw.csv",
        "filename,c0,mean\na.nii.gz,3,3\nb.nii.gz,inf,inf\nc.nii.gz,nan,nan\nd.nii.gz,inf,inf\n",
    )
    table = read_scores(tmp_path, model="net").tables["net"]
    assert [table[c, "c0", "dice"].status for c in "abcd"] == [
        Status.PRESENT, Status.MISSED, Status.ABSENT, Status.SPURIOUS,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("summary.json", {"metric_per_case": 5}),
        ("summary.json", {"metric_per_case": [{"reference_file": "a.nii.gz"}]}),
        ("summary.json", {"metric_per_case": [{"reference_file": "a.nii.gz", "metrics": {"1": 3}}]}),
        ("x.json", {"a": {"liver": {"n_ref_instances": "many", "n_pred_instances": 1}}, "b": 3}),
        ("x.json", {"per_case": [3]}),
        ("x.json", {"schema": "segauge-scores/1", "models": {"m": [{"case": "a"}]}}),
    ],
)
def test_files_that_are_not_built_as_their_kind_is_are_refused_in_words(tmp_path, name, content):
    with pytest.raises(InvalidInput, match="is not built as"):
        read_scores(write(tmp_path / name, json.dumps(content)))


def test_a_subject_that_stands_twice_in_jsonl_is_seen(tmp_path):
    line = {"subject_name": "a", "groups": {"liver": {"n_ref_instances": 1, "n_pred_instances": 1, "pq": 0.5}}}
    other = json.loads(json.dumps(line).replace("0.5", "0.9"))
    with pytest.raises(InvalidInput, match=r"appears twice with different values, in 1 case, such as a"):
        read_scores(write(tmp_path / "x.jsonl", f"{json.dumps(line)}\n{json.dumps(other)}\n"))


def test_a_surface_that_agrees_nowhere_is_no_missed_structure(tmp_path):
    folder = touchstone(tmp_path, a="name,liver\nc1,0.3\nc2,0\n")
    write(folder / "a" / "nsd.csv", "name,liver\nc1,0\nc2,0\n")
    table = read_scores(folder).tables["a"]
    assert table.status[:, 0].tolist() == [Status.PRESENT, Status.MISSED]
    assert table["c1", "liver", "nsd"].value == 0.0


def test_old_segauge_evaluations(tmp_path):
    rows = [
        {"case_id": "a", "dice": 0.5, "hd95": 2.0, "meta.sex": "F"},
        {"case_id": "b", "dice": 0.0, "hd95": math.inf, "meta.sex": "M"},
    ]
    table = read_scores(write(tmp_path / "run.json", json.dumps({"summary": {}, "per_case": rows}))).tables["run"]
    assert table.metrics == ("dice", "hd95")
    assert table["b", "structure", "hd95"].status == Status.MISSED


@pytest.mark.parametrize("form", ["json", "long"])
def test_written_scores_are_read_back_without_loss(tmp_path, form):
    folder = touchstone(tmp_path / "in", a=WIDE, b=WIDE)
    tables = read_scores(folder).tables
    again = read_scores(
        write_scores(tables, tmp_path / f"out.{'json' if form == 'json' else 'csv'}", format=form)
    ).tables
    for name, table in tables.items():
        np.testing.assert_array_equal(table.values, again[name].values)
        assert (table.status == again[name].status).all()
        assert (table.cases, table.structures, table.metrics) == (
            again[name].cases, again[name].structures, again[name].metrics,
        )  # fmt: skip


def test_challenger_export_is_read_back_with_na_for_failures(tmp_path):
    tables = read_scores(write(tmp_path / "x.csv", CHALLENGE), metric="dice").tables
    path = write_scores(tables, tmp_path / "out.csv", format="challenger")
    assert sorted(path.read_text().splitlines()[1:]) == sorted(CHALLENGE.splitlines()[1:])
    assert path.read_text().splitlines()[0] == "Task,Case,Algorithm,MetricValue"


def test_wide_export(tmp_path):
    tables = read_scores(touchstone(tmp_path / "in", a=WIDE)).tables
    text = write_scores(tables, tmp_path / "out.csv", format="wide").read_text()
    assert text == "model,case,liver,spleen\na,c1,0.9,0.8\na,c2,0.0,\na,c3,0.7,0.6\n"


def test_exports_cannot_become_formulas(tmp_path):
    tables = read_scores(touchstone(tmp_path / "in", a=WIDE.replace("c1", "=cmd()"))).tables
    assert "\na,'=cmd(),liver" in write_scores(tables, tmp_path / "out.csv", format="long").read_text()


IDS = ("-5", "=x", "+1", "@a", "'=x", "''-5", "'quoted'", "007", "1e5", "0x1f", "NA", "True", "1,5", 'a"b', "line\nend")


@pytest.mark.parametrize("form", ["json", "long", "wide", "challenger"])
def test_names_come_back_as_they_were(tmp_path, form):
    """Neither the apostrophe that keeps a spreadsheet from running a cell, nor a number in it, changes a name."""
    table = ScoreTable(
        IDS, ("=liver", "-spleen"), ("dice",), np.full((len(IDS), 2, 1), 0.5), np.full((len(IDS), 2), Status.PRESENT)
    )
    path = write_scores({"+model": table}, tmp_path / f"out.{'json' if form == 'json' else 'csv'}", format=form)
    again = read_scores(path, metric="dice").tables
    assert list(again) == ["+model"]
    assert set(again["+model"].cases) == set(IDS)
    assert set(again["+model"].structures) == {"=liver", "-spleen"}
    assert np.nanmin(again["+model"].values) == 0.5


def test_ids_of_a_result_and_of_its_metadata_come_back_from_csv(tmp_path):
    mask = np.zeros((6, 6, 6), dtype=np.uint8)
    mask[2:4, 2:4, 2:4] = 1
    cases = [Case(name, mask, mask, metadata={"delta": "-3", "age": np.float64(61.5)}) for name in IDS]
    path = evaluate(cases, metrics=["dice"]).to_csv(tmp_path / "r.csv")
    assert tuple(read_scores(path).tables["r"].cases) == IDS
    found = read_metadata(path, key="case_id")
    assert {row["meta.delta"] for row in found.values()} == {"-3"}
    assert {row["meta.age"] for row in found.values()} == {"61.5"}


@pytest.mark.parametrize("form", ["scores", "result", "csv"])
def test_reasons_are_read_back(tmp_path, form):
    gt = np.zeros((6, 6, 6), dtype=np.uint8)
    gt[2:4, 2:4, 2:4] = 1
    result = evaluate([Case("a", None, gt), Case("b", gt[:5], gt), Case("c", gt, gt)], metrics=["dice", "iou"])
    path = {
        "scores": lambda: write_scores({"m": result.table}, tmp_path / "m.json"),
        "result": lambda: result.to_json(tmp_path / "m.json"),
        "csv": lambda: result.to_csv(tmp_path / "m.csv"),
    }[form]()
    imported = read_scores(path)
    assert imported.tables["m"].reasons == result.table.reasons
    assert set(result.table.reasons) == {("a", "foreground"), ("b", "foreground")}
    assert not [finding for finding in imported.audit.findings if "reason" in finding.message]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.csv", "", "found nothing"),
        ("x.csv", "case,dice\na,0.5,7\n", "line 2: expected 2 cells"),
        ("x.csv", "case,dice\na,good\n", "line 2, column dice: expected a number"),
        ("x.csv", "case,dice\na,=1+1\n", "expected a number"),
        ("x.csv", "case,dice,dice\na,1,1\n", "appears twice"),
        ("x.csv", "case,dice\n", "not a single score"),
        ("x.json", "{", "is not JSON"),
        ("x.json", "[" * 100_000, "nested too deeply|not JSON"),
        ("x.json", '{"models": [{"per_organ": {"a": 3}}]}', "is not built as"),
        ("x.json", '{"schema": "segauge-scores/99", "models": {}}', "reads 'segauge-scores/1'"),
        ("x.bin", "abc", "none of the known kinds"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_in_words(tmp_path, name, content, words):
    with pytest.raises(InvalidInput, match=words):
        read_scores(write(tmp_path / name, content))


def test_missing_files_and_unknown_formats(tmp_path):
    with pytest.raises(InvalidInput, match="no such file"):
        read_scores(tmp_path / "nope.csv")
    with pytest.raises(InvalidInput, match="touchstone"):
        read_scores(write(tmp_path / "x.csv", CHALLENGE), format="excel")


def test_a_failed_write_leaves_no_file(tmp_path):
    with pytest.raises(InvalidInput, match="there are json"):
        write_scores({}, tmp_path / "x", format="excel")
    assert list(tmp_path.iterdir()) == []


def test_every_format_has_a_name_and_a_reader():
    for key, found in FORMATS.items():
        assert found.key == key
        assert found.name


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dice": "0.9"}, "dice of 'foreground' in case 'b' is '0.9'; expected a number"),
        ({"dice": True}, "is True; expected a number"),
        ({"dice": math.nan}, "is nan, although the structure is in both masks"),
        ({"hd95": math.inf}, "hd95 of 'foreground' in case 'b' is inf, although"),
        ({"dice": None}, "is not there, although the structure is in both masks"),
    ],
)
def test_scores_that_are_no_numbers_are_refused(tmp_path, change, words):
    """They were dropped, and the mean was over the rest."""
    mask = np.ones((4, 4, 4), dtype=np.uint8)
    result = evaluate([Case(name, mask, mask) for name in "abc"], metrics=["dice", "hd95"])
    path = result.to_json(tmp_path / "r.json")
    data = json.loads(path.read_text())
    data["per_case"][1].update(change)
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidInput, match=words):
        read_scores(path)
    file = write_scores({"m": result.table}, tmp_path / "s.json")
    data = json.loads(file.read_text())
    data["models"]["m"][1]["scores"].update(change)
    file.write_text(json.dumps(data))
    with pytest.raises(InvalidInput, match=words):
        read_scores(file)


def test_a_score_that_a_row_lacks_is_as_one_that_is_null(tmp_path):
    rows = [{"case": "a", "status": "present", "dice": 0.5, "site": "A"}, {"case": "b", "status": "present"}]
    file = write(tmp_path / "r.json", json.dumps({"per_case": rows}))
    with pytest.raises(InvalidInput, match="dice of 'structure' in case 'b' is not there"):
        read_scores(file)
    rows[1]["status"] = "missed"
    table = read_scores(write(tmp_path / "r.json", json.dumps({"per_case": rows}))).tables["r"]
    assert table.metrics == ("dice",)  # a column of text is none
