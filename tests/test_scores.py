from dataclasses import replace

import numpy as np
import pytest

from segauge.errors import InvalidInput, UnknownMetric, UnknownStructure
from segauge.scores import Missing, Score, ScoreTable, Status


def table(case="a", dice=0.9):
    return ScoreTable.of_case(
        case,
        ["dice", "hd"],
        {
            "liver": (Status.PRESENT, {"dice": dice, "hd": 3.0}),
            "tumor": (Status.MISSED, {"dice": 0.0, "hd": None}),
        },
    )


def test_a_cell_has_a_value_or_a_status():
    scores = table()
    assert scores["a", "liver", "dice"] == Score(0.9, Status.PRESENT)
    assert scores["a", "tumor", "hd"] == Score(None, Status.MISSED)
    assert str(scores["a", "tumor", "hd"]) == "missed"


def test_infinity_never_gets_in():
    of_case = ScoreTable.of_case("a", ["hd"], {"liver": (Status.MISSED, {"hd": float("inf")})})
    assert of_case["a", "liver", "hd"].value is None
    with pytest.raises(InvalidInput, match="infinity"):
        ScoreTable(("a",), ("liver",), ("hd",), [[[np.inf]]], [[Status.MISSED]])


def test_statuses_may_be_given_by_their_words():
    made = ScoreTable(("a",), ("liver", "tumor"), ("dice",), [[[0.9], [np.nan]]], [["present", Status.MISSED]])
    assert all(isinstance(status, Status) for status in made.status.flat)
    assert [row["status"] for row in made.rows()] == ["present", "missed"]
    with pytest.raises(InvalidInput, match=r"A status is one of 'present', 'missed'.*'fine' is not a valid Status"):
        ScoreTable(("a",), ("liver",), ("dice",), [[[0.9]]], [["fine"]])


def test_tables_of_cases_join():
    both = ScoreTable.concatenate([table("a"), table("b", 0.5)])
    assert len(both) == 2
    assert both.column("liver", "dice").tolist() == [0.9, 0.5]
    assert both.status_counts("tumor") == {Status.MISSED: 2}
    with pytest.raises(InvalidInput, match="twice"):
        ScoreTable.concatenate([table("a"), table("a")])


def test_rows_are_plain_values():
    row = list(table().rows())[1]
    assert row == {"case": "a", "structure": "tumor", "status": "missed", "reason": "", "dice": 0.0, "hd": None}


def test_prints_as_a_table():
    lines = str(table()).splitlines()
    assert lines[0].split() == ["case", "structure", "status", "dice", "hd"]
    assert lines[2].split() == ["a", "tumor", "missed", "0", "-"]


def test_arrays_are_locked():
    with pytest.raises(ValueError, match="read-only"):
        table().values[0] = 1


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (("b", "liver", "dice"), InvalidInput),
        (("a", "x", "dice"), UnknownStructure),
        (("a", "liver", "x"), UnknownMetric),
    ],
)
def test_what_is_not_there_is_named(key, error):
    with pytest.raises(error, match="there are"):
        table()[key]


@pytest.mark.parametrize(
    ("in_pred", "in_gt", "status", "failure"),
    [
        (True, True, Status.PRESENT, False),
        (False, True, Status.MISSED, True),
        (True, False, Status.SPURIOUS, True),
        (False, False, Status.ABSENT, False),
    ],
)
def test_the_four_states_of_a_measured_pair(in_pred, in_gt, status, failure):
    assert Status.of(in_pred=in_pred, in_gt=in_gt) is status
    assert status.is_failure is failure


def failed_table(status, *missing):
    places = {("a", name): found for name, found in zip(("liver", "tumor"), missing, strict=True) if found is not None}
    return ScoreTable(("a",), ("liver", "tumor"), ("dice",), np.full((1, 2, 1), np.nan), [status], places)


def test_a_failed_case_says_so_in_every_cell():
    lacking = Missing.lacking(Status.UNREADABLE, "torn: a.nii")
    assert failed_table([Status.ABSENT, Status.UNREADABLE], lacking, "torn: a.nii").case_failure("a") == (
        Status.UNREADABLE,
        "torn: a.nii",
    )
    assert failed_table([Status.ABSENT] * 2, lacking, lacking).case_failure("a") == (Status.UNREADABLE, "torn: a.nii")
    assert failed_table([Status.ABSENT, Status.MISSED], None, None).case_failure("a") is None


def test_no_state_is_read_from_a_sentence():
    """A reason that merely reads like that of a failed case made it one."""
    sentence = "unreadable: torn: a.nii; the ground truth lacks the structure, so it counts neither way"
    given = failed_table([Status.ABSENT] * 2, sentence, sentence)
    assert given.case_failure("a") is None
    assert given["a", "liver", "dice"].missing.counts_as == "absent"
    meant = failed_table([Status.ABSENT] * 2, *[Missing.lacking(Status.UNREADABLE, "torn: a.nii")] * 2)
    assert meant.reasons == given.reasons  # the words stay what they were


@pytest.mark.parametrize("status", list(Status))
def test_what_a_status_counts_as(status):
    expected = "absent" if status is Status.ABSENT else "failure" if status.is_failure else "nothing"
    assert Missing.of(status, "why").counts_as == expected
    assert Missing.from_dict(Missing.of(status, "why").to_dict()) == Missing.of(status, "why")


def test_a_missing_value_belongs_to_a_metric_or_to_all():
    cell = ("a", "liver")
    values = [[[0.9, np.nan, np.nan]]]
    made = ScoreTable(
        ("a",), ("liver",), ("dice", "hd", "assd"), values, [["present"]],
        {(*cell, "hd"): "too thin", (*cell, "assd"): "too thin"},
    )  # fmt: skip
    assert made["a", "liver", "dice"].missing is None
    assert made["a", "liver", "hd"].missing == Missing(Status.PRESENT, "too thin", "nothing")
    assert made["a", "liver", "hd"].reason == "no hd: too thin"
    assert made.reasons == {cell: "no hd, assd: too thin"}
    assert made.select(metrics=["dice", "assd"]).reasons == {cell: "no assd: too thin"}
    assert set(made.details("a", "liver")) == {"hd", "assd"}
    for place in (("b", "liver"), ("a", "lung"), (*cell, "dice2")):
        with pytest.raises(InvalidInput, match="is not in the score table"):
            replace(made, missing={place: "why"})


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"status": "odd", "because": "", "counts_as": "nothing"},
        {"status": "missed"},
        "x",
        {"status": "missed", "because": "", "counts_as": "odd"},
        {"status": "missed", "because": 1, "counts_as": "nothing"},
    ],
)
def test_a_missing_value_that_is_none_is_refused(given):
    with pytest.raises(InvalidInput):
        Missing.from_dict(given)


def test_a_part_of_a_table_is_selected_by_names():
    both = ScoreTable.concatenate([table("a"), table("b", 0.5)])
    both = replace(both, missing={("b", "tumor"): "too small", ("a", "tumor"): "torn"})
    part = both.select(cases=["b"], structures=["tumor", "liver"], metrics=["hd"])
    assert (part.cases, part.structures, part.metrics) == (("b",), ("tumor", "liver"), ("hd",))
    assert part["b", "liver", "hd"] == both["b", "liver", "hd"]
    assert part["b", "tumor", "hd"] == both["b", "tumor", "hd"]
    assert part.reasons == {("b", "tumor"): "too small"}
    assert both.select(iter(["b", "a"])).cases == ("b", "a")
    assert both.select(structures=[]).values.shape == (2, 0, 2)
    for axis, error in (("cases", InvalidInput), ("structures", UnknownStructure), ("metrics", UnknownMetric)):
        with pytest.raises(error, match="spleen"):
            both.select(**{axis: ["spleen"]})


#: Whether a case of each status counts against the model. `is_failure` counting an unreadable ground truth passed all
#: tests.
COUNTS_AGAINST_THE_MODEL = {
    Status.PRESENT: False,
    Status.MISSED: True,
    Status.SPURIOUS: True,
    Status.ABSENT: False,
    Status.PREDICTION_MISSING: True,
    Status.UNREADABLE: True,
    Status.GROUND_TRUTH_UNREADABLE: False,
    Status.REGION_NOT_FOUND: False,
    Status.REFUSED: True,
    Status.FAILED: True,
}


def test_which_statuses_count_against_the_model():
    assert {status: status.is_failure for status in Status} == COUNTS_AGAINST_THE_MODEL


def test_files_keep_only_what_status_and_reason_do_not_tell():
    cell, values = ("a", "liver"), [[[np.nan, np.nan]]]

    def details(missing, status="unreadable"):
        return ScoreTable(("a",), ("liver",), ("dice", "hd"), values, [[status]], missing).details(*cell)

    assert details({}) == {}
    assert details({cell: "torn"}) == {}
    lacking = Missing.lacking(Status.UNREADABLE, "torn")
    assert details({cell: lacking}, "absent") == {"": lacking.to_dict()}
    both = {cell: "torn", (*cell, "hd"): "too thin"}
    assert set(details(both)) == {"", "hd"}
    assert details({(*cell, "hd"): "too thin"}) == {"hd": Missing.of(Status.UNREADABLE, "too thin").to_dict()}
