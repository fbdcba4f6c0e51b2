"""Structures from files: what is declared is taken, what could mean something else is refused (bad input 48)."""

import json

import pytest

from segauge.errors import InvalidInput, MissingExtra, SegaugeError
from segauge.io.layouts import read_structures


def read(tmp_path, text, name="s.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return read_structures(path)


def test_json(tmp_path):
    found = read(tmp_path, json.dumps({"labels": {"background": 0, "a": 1, "b": [1, 2], "ignore": 9}}), "dataset.json")
    assert dict(found.structures) == {"a": (1,), "b": (1, 2)}
    assert found.ignore == 9
    assert dict(read(tmp_path, '{"a": 3}', "x.json").structures) == {"a": (3,)}


@pytest.mark.parametrize(
    "text", ['{"labels": 3}', "[1]", '{"a": 1.5}', '{"a": []}', '{"a": true}', "{", '{"labels": {}}']
)
def test_json_that_is_no_labels(tmp_path, text):
    with pytest.raises(InvalidInput):
        read(tmp_path, text, "dataset.json")


def test_yaml(tmp_path):
    pytest.importorskip("yaml")
    assert dict(read(tmp_path, "liver: 1\nkidneys: [2, 3]\n").structures) == {"liver": (1,), "kidneys": (2, 3)}
    found = read(tmp_path, "structures:\n  liver: 1\nignore: 7\n")
    assert (dict(found.structures), found.ignore) == ({"liver": (1,)}, 7)


BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in zip("abcdefghij", "bcdefghijk", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !!python/object/apply:os.system ['true']\n", "not plain YAML"),
        ("no: 3\n", "write it in quotes"),
        ("structures: {a: 1}\ntolerance: 3\n", "unknown key 'tolerance'"),
        ("structures: 3\n", "should hold names and labels"),
        ("a: yes\n", "a label or a list of labels, got True"),
        ("- 1\n", "expected names and labels"),
        ("a: [", "not plain YAML"),
        (BOMB, "refers to itself until it is too large"),
        (BOMB * 3, "refers to itself more than 100 times"),
        ("a: &a [*a]\n", "refers to itself until it is too large"),
        ("liver: 1\nspleen: 2\nliver: 3\n", "the key 'liver' appears twice"),
    ],
)
def test_yaml_that_could_mean_something_else(tmp_path, text, message):
    pytest.importorskip("yaml")
    with pytest.raises(InvalidInput, match=message) as caught:
        read(tmp_path, text)
    assert len(str(caught.value)) < 1000


def test_yaml_without_the_package(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtra, match=r"segauge\[bench\]"):
        read(tmp_path, "a: 1")


def test_files_that_are_not_there(tmp_path):
    pytest.importorskip("yaml")
    with pytest.raises(SegaugeError):
        read_structures(tmp_path / "none.yaml")
    with pytest.raises(SegaugeError):
        read_structures(tmp_path / "none.json")
