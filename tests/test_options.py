"""Options are written once: arguments, flags, protocol and messages all come from segauge.options."""

import ast
import inspect
import re
from dataclasses import fields

import pytest

import segauge
from segauge.errors import InvalidInput, option
from segauge.options import GROUPS, OPTIONS, Measuring, Reading, facts_of, options_of, recorded, recorded_names
from tests.conftest import PROJECT

SOURCES = sorted((PROJECT / "src" / "segauge").rglob("*.py"))
#: Parameters of functions besides `evaluate` that are flags, too.
OTHERS = {"cases", "columns", "follow_links", "format", "key", "layout", "metric", "spacing"}
#: Modules whose messages only Python sees: nothing on the command line leads to them.
PYTHON_ONLY = {"measurement.py", "detection.py", "matching.py", "monai.py", "surfaces.py"}
NAMED = re.compile(rf"\b({'|'.join(sorted({*OPTIONS, *OTHERS} - {'metrics', 'label'}))})=(?!=)")


def messages(tree):
    """Yield the texts of a module that are no docstrings, and no text of a replaced default such as an annotation."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def named_in_python_only(path):
    return [found[0] for text in messages(ast.parse(path.read_text())) for found in NAMED.finditer(text)]


def test_messages_name_options_for_both_faces():
    # "pass threshold=0.5" means nothing on a command line; it was turned into a flag by a table of regular expressions.
    found = {path.name: slips for path in SOURCES if (slips := named_in_python_only(path))}
    assert {name: slips for name, slips in found.items() if name not in PYTHON_ONLY | {"errors.py"}} == {}
    assert "measurement.py" in found  # it would be seen


def test_every_option_that_a_message_names_is_there():
    named = [
        (path.name, node.args[0].value)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "option"
        and isinstance(node.args[0], ast.Constant)
    ]
    assert len(named) > 20
    assert [(file, name) for file, name in named if name not in {*OPTIONS, *OTHERS}] == []


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("trust_array", True, "--trust-array (Python: trust_array=True)"),
        ("threshold", 0.5, "--threshold 0.5 (Python: threshold=0.5)"),
        ("nan", "background", "--nan background (Python: nan='background')"),
        ("structures", {"a": 1}, "--structures a=1 (Python: structures={'a': 1})"),
        ("frame", ..., "--frame (Python: frame=)"),
    ],
)
def test_how_a_message_names_an_option(name, value, words):
    assert option(name, value) == words


def test_names_are_unique_and_every_option_is_explained():
    names = [one.name for group in GROUPS for one in fields(group)]
    assert len(names) == len(set(names)) == len(OPTIONS)
    for name, one in OPTIONS.items():
        facts = facts_of(one)
        assert facts.help, name
        assert not facts.help.endswith("."), name
        assert not facts.flag or facts.flag.startswith("--"), name


def test_evaluate_has_every_option_in_its_signature_and_docstring():
    given = inspect.signature(segauge.evaluate).parameters
    for name, one in OPTIONS.items():
        assert given[name].default == one.default, name
        assert f"        {name}: " in segauge.evaluate.__doc__
    assert "{options}" not in segauge.evaluate.__doc__


def test_measure_and_evaluate_agree_on_defaults():
    mine = inspect.signature(segauge.measure).parameters
    shared = {one.name: one.default for one in fields(Measuring)}.keys() & mine.keys() - {"detection"}
    assert {"surface", "hd", "nsd_tolerance", "convention", "ignore"} <= shared
    assert {name: mine[name].default for name in shared} == {name: OPTIONS[name].default for name in shared}


def test_a_mistyped_option_is_answered_with_the_right_one():
    with pytest.raises(InvalidInput, match=r"no option 'metricss'\. Did you mean 'metrics'"):
        segauge.evaluate([], metricss=[])


def test_single_options_win_over_their_group():
    base = options_of({"threshold": 0.3, "seed": 4})
    found = options_of({"threshold": 0.5}, base)
    assert (found.reading.threshold, found.summarising.seed) == (0.5, 4)


def test_a_protocol_records_what_scores_depend_on():
    written = recorded(Reading(threshold=0.5), Measuring(nsd_tolerance=2.0))
    assert written["threshold"] == 0.5
    assert written["nsd_tolerance_mm"] == 2.0
    assert "convention" not in written  # only where it is given, as in files of earlier versions
    assert recorded(Measuring(convention="monai"))["convention"] == "monai"
    if_given = {facts_of(one).key or name for name, one in OPTIONS.items() if facts_of(one).recorded == "if given"}
    assert written.keys() | if_given == recorded_names().keys()
