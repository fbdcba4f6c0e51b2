"""Files are opened in a few modules only, each with its limits: a reader elsewhere would have none."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"

_METHODS = {"read_text", "read_bytes", "ZipFile", "ParquetFile", "dcmread"}
_FUNCTIONS = {
    ("json", "load"), ("json", "loads"), ("np", "load"), ("np", "loadtxt"), ("csv", "reader"), ("csv", "DictReader"),
    ("yaml", "load"), ("tarfile", "open"), ("os", "open"), ("gzip", "open"), ("bz2", "open"), ("lzma", "open"),
    ("tomllib", "load"), ("tomllib", "loads"), ("pickle", "load"), ("pickle", "loads"), ("shutil", "unpack_archive"),
}  # fmt: skip

#: Where files of strangers are opened, and what bounds them.
READERS = {
    "segauge.io.gate": "bytes, values, depth and digits of text; links and special files",
    "segauge.io.streams": "regular files only, inflated piece by piece, never more than asked for",
    "segauge.io.yaml_files": "bytes from the gate; depth, references and digits",
    "segauge.io.arrays": "each member of an archive within its stored size; sidecars within a header's",
    "segauge.io.dicom_files": "parsed from memory, inflated within the limit on voxels",
    "segauge.io.tables.delimited": "bytes from the gate",
    "segauge.io.tables.text_tables": "cells of a Parquet file counted before they are read",
    "segbench.records.tables": "rows of a record's scores counted before they are read",
    "segbench.downloads.archives": "bytes, entries and names counted as they come out",
    "segbench.downloads.fetching": "bytes counted as they come",
    "segbench.study_files": "mapped into memory, to look at its beginning",
    "segbench.prediction.remote": "what a model wrote in a sandbox, within the size that was asked for",
}
#: Where we open what we made ourselves: templates, locks, journals, marks, logs.
OWN = {
    "segauge.cli.ending", "segauge.executors.worker", "segauge.integrations.grand_challenge", "segauge.io.journal",
    "segauge.report.html", "segauge.report.viewer", "segbench.cards.exposure", "segbench.locks",
    "segbench.prediction.environments", "segbench.prediction.modal_cloud", "segbench.prediction.running",
    "segbench.site.drawing", "segbench.site.pages", "segbench.typed",
}  # fmt: skip


def opened(source: str) -> Iterator[str]:
    """Yield what opens or parses a file in a module."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id == "open":
            yield "open"
        elif isinstance(called, ast.Attribute):
            owner = called.value.id if isinstance(called.value, ast.Name) else ""
            mode = node.args[0] if node.args else ast.Constant("r")
            reads = isinstance(mode, ast.Constant) and isinstance(mode.value, str) and "r" in mode.value
            if called.attr in _METHODS or (owner, called.attr) in _FUNCTIONS or (called.attr == "open" and reads):
                yield f"{owner}.{called.attr}"


def test_files_are_opened_behind_the_gate_only():
    found = {
        ".".join(path.relative_to(SRC).with_suffix("").parts)
        for path in SRC.rglob("*.py")
        if any(opened(path.read_text(encoding="utf-8")))
    }
    assert found - set(READERS) - OWN == set(), "open it with segauge.io.gate or segauge.io.streams, or name its limits"
    assert (set(READERS) | OWN) - found == set(), "this module opens nothing any more: take its name out"


@pytest.mark.parametrize(
    "source", ["open('x')", "path.read_text()", "json.loads(x)", "p.open()", "p.open('rb')", "zipfile.ZipFile(p)"]
)
def test_the_contract_can_be_broken(source):
    assert list(opened(source))
    assert not list(opened("path.open('wb'); writer.write(x); open_file(path); load_json(path)"))
