"""One case, one structure, one model: no sentence of a command, report, study or site counts "1 cases"."""

import re
from html import unescape

import numpy as np
import pytest
from tests.badinputs.files import nifti_bytes

from segauge.cli import main as segauge
from segbench.cli import main as segbench

#: A plural behind a single one, whatever stands before it.
SLIP = re.compile(
    r"(?<![\d.,-])1 (case|model|structure|prediction|image|pair|group|number|note|patient|board|row|file)s\b"
)


def slips(text):
    """Return every plural behind a single one, with what stands around it."""
    plain = unescape(re.sub(r"<[^>]*>", " ", text))
    return [plain[max(0, found.start() - 40) : found.end() + 20] for found in SLIP.finditer(plain)]


@pytest.fixture
def single(tmp_path, monkeypatch):
    """Return a folder with one case of one structure, two models of it, and metadata of one case more."""
    monkeypatch.chdir(tmp_path)
    for shift, name in enumerate(("gt", "a", "b")):
        mask = np.zeros((14, 12, 12), dtype=np.uint8)
        mask[1 + shift : 9 + shift, 1:9, 1:9] = 1
        (tmp_path / name).mkdir()
        (tmp_path / name / "c1.nii").write_bytes(nifti_bytes(mask))
    (tmp_path / "meta.csv").write_text("case,sex\nc1,m\nc2,f\n")
    return tmp_path


def commands():
    """Yield every command that counts something, in the order in which they need each other."""
    yield segauge, "eval --pred a --gt gt --metadata meta.csv --json a.json --report a.html --executor serial"
    yield segauge, "eval --pred b --gt gt --json b.json --executor serial"
    yield segauge, "compare --pred a=a --pred b=b --gt gt --metric dice --report both.html --executor serial"
    yield segauge, "rank a.json b.json --metric dice --pairs"
    yield segauge, "diff a.json b.json"
    yield segauge, "verify a.json"
    yield segauge, "doctor --pred a --gt gt --notes"
    yield segbench, "import a.json b.json --dataset kits23 --exposure-policy all --output both.json"
    yield segbench, "import a.json --dataset kits23 --exposure-policy all --output alone.json"
    yield segbench, "verify both.json"
    yield segbench, "render both.json --out site --jobs 1"
    yield segbench, "render alone.json --out alone --jobs 1"
    yield segbench, "analyze both.json --out study --figures none --n-resamples 200 --metadata meta.csv --processes 1"


@pytest.mark.slow
def test_a_single_one_is_no_plural(single, capsys):
    for main, line in commands():
        assert main(line.split()) == 0, line
        printed = capsys.readouterr()
        assert slips(printed.out + printed.err) == [], line
    pages = [path for path in single.rglob("*") if path.suffix in (".html", ".md", ".tex")]
    assert len(pages) > 8
    assert {path.relative_to(single).as_posix(): found for path in pages if (found := slips(path.read_text()))} == {}


def test_a_slip_would_be_seen():
    assert slips("<p>on 1 cases</p>") == [" on 1 cases "]
    assert slips("on 11 cases, 0.1 cases and 1 case") == []
