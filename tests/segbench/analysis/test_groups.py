"""Declared groups: what is in them, what is unknown, what overlaps, and what is refused."""

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.stats import Scale, ScoreMatrix
from segbench.analysis.groups import (
    box_figure,
    families_of,
    membership,
    report_groups,
    stars,
    strata_of,
    suggested_families,
    touchstone_families,
)
from segbench.analysis.groups.conditions import Equals
from segbench.boards import rules_of

METADATA = {
    "a": {"sex": "m", "age": "30", "maker": "siemens", "where": "thorax,abdomen", "id": "1"},
    "b": {"sex": "f", "age": "35.0", "maker": "", "where": "abdomen", "id": "2"},
    "c": {"sex": "M", "age": "36", "maker": "ge", "where": "", "id": "3"},
    "d": {"sex": "", "age": "", "maker": "philips", "where": "head", "id": "4"},
}
CASES = tuple(METADATA)


def members(declaration):
    (family,) = families_of({"families": {"x": declaration}}, METADATA)
    found = membership(family, CASES, METADATA)
    return {name: "".join(np.array(CASES)[mask]) for name, mask in found.masks.items()}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"sex": "m"}, "ac"),
        ({"sex": ["m", "f"]}, "abc"),
        ({"age": {"from": 30, "to": 35}}, "ab"),
        ({"age": {"from": 30, "below": 35}}, "a"),
        ({"age": 35}, "b"),
        ({"all": [{"sex": "m"}, {"age": {"from": 30, "to": 35}}]}, "a"),
        ({"sex": "m", "age": {"to": 35}}, "a"),
        ({"any": [{"sex": "f"}, {"maker": "ge"}]}, "bc"),
        ({"not": {"maker": "siemens"}}, "cd"),  # b's maker is unknown, which is not "not Siemens"
        ({"where": {"has": "abdomen"}}, "ab"),
        ({"ids": ["d", "nobody"]}, "d"),
        ({"not": {"any": [{"sex": "f"}, {"maker": "ge"}]}}, "a"),
    ],
)
def test_conditions(condition, expected):
    assert members({"groups": {"g": condition}}) == {"g": expected}


def test_families_of_a_column():
    assert members({"column": "sex", "values": {"women": "f", "men": "m"}}) == {"women": "b", "men": "ac"}
    assert members({"column": "age", "ranges": {"30-35": [30, 35]}}) == {"30-35": "ab"}
    assert members({"column": "age", "bins": [31, 36]}) == {"under 31": "a", "31 to <36": "b", "36 and over": "c"}
    assert members({"column": "where", "separator": ","}) == {"abdomen": "ab", "head": "d", "thorax": "a"}


def test_overlaps_and_unknown_cases_are_counted():
    (family,) = families_of({"families": {"x": {"column": "where", "separator": ","}}}, METADATA)
    found = membership(family, CASES, METADATA)
    assert [(pair.a, pair.b, pair.n) for pair in found.overlaps] == [("abdomen", "thorax", 1)]
    assert found.unknown == {"abdomen": 1, "head": 1, "thorax": 1}
    assert found.ungrouped == 1


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ({"families": {"x": {"column": "sexx"}}}, "did you mean 'sex'"),
        ({"families": {"x": {"column": "sex", "colour": 1}}}, "unknown key 'colour'"),
        ({"families": {"x": {"groups": {"g": {"age": {"from": 40, "to": 30}}}}}}, "is empty"),
        ({"families": {"x": {"groups": {"g": {"age": {"form": 40}}}}}}, "unknown key 'form'"),
        ({"families": {"x": {"groups": {"g": {}}}}}, "expected a condition"),
        ({"families": {"x": {"column": "sex", "values": {"a": "m"}, "bins": [1]}}}, "one of them"),
        ({"families": {"x": {"column": "sex", "values": {"women": True}}}}, "in quotes"),
        ({"families": {"x": {"column": "age", "bins": [3, 2]}}}, "ascending"),
        ({"families": {}}, "no families"),
        ({"families": {"x": {"column": "sex"}}, "minimum": 1}, "2 or more"),
        (["x"], "key: value"),
    ],
)
def test_mistakes_are_named(declaration, words):
    with pytest.raises(InvalidInput, match=words):
        families_of(declaration, METADATA)


def test_nesting_is_bounded():
    condition = {"sex": "m"}
    for _ in range(60):
        condition = {"not": condition}
    with pytest.raises(InvalidInput, match="nested"):
        families_of({"families": {"x": {"groups": {"g": condition}}}}, METADATA)


def test_touchstones_ages_have_both_ends_in():
    metadata = {str(age): {"age": f"{age}.00"} for age in range(15, 105)}
    (family,) = touchstone_families(metadata)
    found = membership(family, tuple(metadata), metadata)
    assert found.sizes == {"18-29": 12, **{f"{low}-{low + 9}": 10 for low in range(30, 91, 10)}}
    assert not found.overlaps


def test_families_suggest_themselves():
    metadata = {
        f"c{i}": {"age": str(20 + i), "sex": "mf"[i % 2], "id": f"x{i}", "place": "a,b" if i % 3 else "b", "one": "k"}
        for i in range(60)
    }
    found = {family.name: list(family.groups) for family in suggested_families(metadata, tuple(metadata), 5)}
    assert list(found) == ["age", "sex", "place"]
    assert found["place"] == ["b", "a"]
    assert len(found["age"]) == 4


def matrix_of(n=60, models=("x", "y"), shift=0.2, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.beta(8, 2, (n, len(models))) * 0.7
    values[: n // 2] += shift
    return ScoreMatrix(tuple(f"c{i:03d}" for i in range(n)), models, values, Scale(True, (0.0, 1.0)))


def halves(n=60):
    return {f"c{i:03d}": {"half": "first" if i < n // 2 else "second", "odd": str(i % 2)} for i in range(n)}


def test_report_finds_the_gap_and_leaves_small_groups_out():
    metadata = halves()
    metadata["c000"]["half"] = "tiny"
    (family,) = families_of({"families": {"half": {"column": "half"}}}, metadata)
    strata = strata_of("odd", (family,), metadata)
    report = report_groups(matrix_of(), family, metadata, "liver", "dice", rules_of(), strata=strata)
    assert report.estimated == ("second", "first")
    gap = report.largest_gap("x")
    assert (gap.a, gap.b) == ("second", "first")
    assert gap.ci_low < -0.2 < gap.ci_high < 0
    assert [one for one in report.models["x"].gaps if one.p_value < 0.05] == [gap]
    assert [one.model for one in report.adjusted] == ["x", "y"]
    assert report.adjusted[0].within.gap.value == pytest.approx(gap.delta, abs=0.02)


def test_boxes_correct_over_the_whole_figure():
    (family,) = families_of({"families": {"half": {"column": "half"}}}, halves())
    one = box_figure(matrix_of(models=("x",)), family, halves(), "liver", "dice", 5)
    two = box_figure(matrix_of(models=("x", "y")), family, halves(), "liver", "dice", 5)
    assert (one.factor, two.factor) == (1, 2)
    assert two.tests[0].p_plain != 0
    assert two.tests[0].p_value == pytest.approx(2 * two.tests[0].p_plain)
    assert box_figure(matrix_of(), family, halves(), "liver", "dice", 31) is None


def test_a_closed_gate_gives_no_stars():
    (family,) = families_of({"families": {"odd": {"column": "odd"}}}, halves())
    figure = box_figure(matrix_of(models=("x",), shift=0.0), family, halves(), "liver", "dice", 5)
    assert figure.gate > 0.05
    assert {test.stars for test in figure.tests} == {""}


def test_stars():
    assert [stars(p) for p in (0.06, 0.05, 0.01, 0.001, 0.0001)] == ["", "*", "**", "***", "****"]


def test_long_codes_are_told_apart():
    """Seven digits and more: 1234567 is not 1234568, however it is printed."""
    condition = Equals("code", ("1234567",))
    assert condition.holds("a", {"code": "1234567"}) is True
    assert condition.holds("a", {"code": "01234567"}) is True
    assert condition.holds("a", {"code": "1234567.00"}) is True
    assert condition.holds("a", {"code": "1234568"}) is False
    assert Equals("code", ("12345678901234567",)).holds("a", {"code": "12345678901234568"}) is False
    assert Equals("dose", ("0.10",)).holds("a", {"dose": "0.1"}) is True
