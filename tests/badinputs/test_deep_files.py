"""Files nested without end (bad input 48), values that no reader can hold: one line, at once, from every command."""

import contextlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import segauge.cli
import segbench.cli
from segauge.errors import InvalidInput, SegaugeError
from segauge.io import read_labels
from segauge.io.gate import MAX_DEPTH, parse_json
from segauge.io.yaml_files import read_yaml

#: Text of JSON that is also YAML, and what is said of it. A hundred and some levels are read by any parser, but not
#: walked through; a hundred thousand are not even read.
DEEP = {"endless": "[" * 100_000, "closed": "[" * 300 + "]" * 300, "objects": '{"a":' * 20_000}

#: Commands that read JSON or YAML; FILE stands for it.
COMMANDS = [
    ("segauge", "eval", "--pred", "masks", "--gt", "masks", "--structures", "FILE.json"),
    ("segauge", "eval", "--pred", "masks", "--gt", "masks", "--structures", "FILE.yaml"),
    ("segauge", "verify", "FILE.json"),
    ("segauge", "compare", "FILE.json"),
    ("segauge", "compare", "FILE.json", "--metadata", "FILE.json", "--by", "sex"),
    ("segauge", "plan", "FILE.json"),
    ("segauge", "diff", "FILE.json", "FILE.json"),
    ("segauge", "import", "FILE.json", "--output", "out.json"),
    ("segbench", "run", "--config", "FILE.yaml"),
    ("segbench", "render", "FILE.json", "--out", "site"),
    ("segbench", "verify", "FILE.json"),
    ("segbench", "analyze", "FILE.json", "--out", "page"),
    ("segbench", "claim", "A > B on liver dice", "FILE.json"),
]


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]) + Path(words[-1]).suffix)
def test_every_command_says_it_in_one_line(words, text, tmp_path, monkeypatch, capsys):
    pytest.importorskip("yaml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "masks").mkdir()
    np.save(tmp_path / "masks" / "a.npy", np.eye(4, dtype=np.uint8))
    for ending in ("json", "yaml"):
        (tmp_path / f"FILE.{ending}").write_text(text)
    program, *arguments = words
    main = {"segauge": segauge.cli.main, "segbench": segbench.cli.main}[program]
    assert main(arguments) == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert said[0].startswith(f"{program}: ")
    assert "is nested too deeply" in said[0] or "is not JSON" in said[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- " * 100_000, "is nested too deeply for a config"),
        ("\n".join(" " * i + "a:" for i in range(200)), "is nested too deeply for a config"),
        ("a: 2024-13-45\n", "holds a value that cannot be: month must be in 1..12"),
        (f"a: {'1' * 5000}\n", "holds a number of 5000 digits"),
    ],
)
def test_yaml_that_no_reader_can_hold(text, words, tmp_path):
    pytest.importorskip("yaml")
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=words):
        read_yaml(path, "a config")


def test_json_within_the_limits_is_read_and_beyond_refused():
    inside, beyond = ("[" * n + "]" * n for n in (MAX_DEPTH, MAX_DEPTH + 1))
    assert parse_json(inside.encode(), "x.json") == json.loads(inside)
    with pytest.raises(InvalidInput, match="is nested too deeply"):
        parse_json(beyond.encode(), "x.json")
    with pytest.raises(InvalidInput, match=r"x\.json: holds a whole number of 5000 digits"):
        parse_json(b"1" * 5000, "x.json")


@pytest.mark.parametrize(
    "text",
    [
        "a: !!int ''", "a: !!int '-'", "a: !!int '_'", "a: !!float ''", "a: !!bool x", "a: !!bool ''",
        "a: !!timestamp x", "a: !!timestamp 2020-01-01 0:0:0.1", "a: !!set [1]", "a: !!map [1]", "a: !!omap [1]",
        "a: 1" + ":59" * 20_000, "a: 1" + ":59" * 20_000 + ".5", "a: 0x" + "f" * 20_000, "a: 0b" + "1" * 20_000,
    ],
)  # fmt: skip
def test_yaml_tags_and_numbers_that_do_not_fit_are_told_in_words(text, tmp_path):
    """IndexError, KeyError, AttributeError, TypeError, OverflowError; numbers to the base of 60 took quadratic time."""
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(InvalidInput, match=r"a\.yaml: "):
        read_yaml(tmp_path / "a.yaml", "a config")


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_damaged_archives_of_arrays_are_told_in_words(tmp_path, compression):
    """An LZMAError, a UnicodeDecodeError and a ValueError came out; as ground truth one ended a whole evaluation."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w", compression) as archive:
        for name, array in (("labels", np.ones((3, 4, 5), dtype=np.uint8)), ("affine", np.eye(4))):
            stream = io.BytesIO()
            np.save(stream, array)
            archive.writestr(f"{name}.npy", stream.getvalue())
    good = (tmp_path / "a.npz").read_bytes()
    for place in range(len(good)):
        for value in (0, 255, good[place] ^ 0x80):
            (tmp_path / "b.npz").write_bytes(good[:place] + bytes([value]) + good[place + 1 :])
            with contextlib.suppress(SegaugeError):
                read_labels(tmp_path / "b.npz")
