import numpy as np
import pytest

from segauge.errors import InvalidInput, UnknownStructure
from segauge.labeling import Labeling


def test_regions_may_overlap_and_keep_their_order():
    labeling = Labeling.of({"kidney+masses": (1, 2, 3), "masses": [2, 3], "tumor": 2})
    assert list(labeling) == ["kidney+masses", "masses", "tumor"]
    assert labeling.labels_of("masses") == (2, 3)
    assert len(labeling) == 3


def test_bare_values_take_the_names_of_the_file():
    labeling = Labeling.of([5, 1], names={1: "spleen"})
    assert dict(labeling.structures) == {"label 5": (5,), "spleen": (1,)}


def test_values_that_a_file_gives_one_name_stay_apart():
    """As the regions of a structure set may: the last of them stood for both."""
    labeling = Labeling.of([1, 2, 3], names={1: "kidney", 2: "kidney", 3: "liver"})
    assert dict(labeling.structures) == {"kidney (label 1)": (1,), "kidney (label 2)": (2,), "liver": (3,)}


def test_values_of_numpy_are_values():
    expected = {"a": (1,), "b": (2, 3), "c": (4,)}
    given = {"a": np.int64(1), "b": np.array([2, 3]), "c": np.array(4)}
    assert dict(Labeling.of(given).structures) == expected


def test_equal_labelings_are_equal_and_hash_alike():
    assert Labeling.of({"a": 1}) == Labeling.of({"a": (1,)})
    assert hash(Labeling.of({"a": 1})) == hash(Labeling.of({"a": (1,)}))
    assert Labeling.of({"a": 1}, ignore=4) != Labeling.of({"a": 1})


@pytest.mark.parametrize(
    ("structures", "ignore", "words"),
    [
        ({}, None, "at least one structure"),
        ({"a": ()}, None, "no label values"),
        ({"a": 0}, None, "background"),
        ({"a": (1, 1)}, None, "twice"),
        ({" ": 1}, None, "needs a name"),
        ({"a": (1, 9)}, 9, "ignore label 9"),
        ({"a": 1.7}, None, "Structure 'a': expected label values, which are whole numbers, got 1.7"),
        ([1.7], None, "whole numbers, got 1.7"),
        ({"a": "12"}, None, "whole numbers, got '12'"),
        (
            {"a": (1, 2**63)},
            None,
            "Structure 'a': expected labels of at least -2.63 and below 2.63, got 9223372036854775808",
        ),
        ({"a": 1}, -(2**63) - 1, "ignore: expected labels of at least"),
        ({1: 1, "1": 2}, None, "Two structures have one name: 1, '1'"),
        ("liver", None, r"such as \{'liver': 1\}, or label values, such as \[1, 2\], got 'liver'"),
        (1, None, r"or label values, such as \[1, 2\], got 1"),
        (np.array(1), None, r"or label values, such as \[1, 2\], got array\(1\)"),
        ({"a": "liver"}, None, "Structure 'a': expected label values, which are whole numbers, got 'liver'"),
    ],
)
def test_refuses_what_makes_no_sense(structures, ignore, words):
    with pytest.raises(InvalidInput, match=words):
        Labeling.of(structures, ignore=ignore)


def test_an_unknown_structure_is_named_with_those_there_are():
    with pytest.raises(UnknownStructure, match="'liver'; there are 'kidney'"):
        Labeling.of({"kidney": 1}).labels_of("liver")
