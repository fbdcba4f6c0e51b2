"""Files are there whole or not at all; what is no file is written to, not replaced."""

import os
import stat
import threading

import pytest

from segauge.errors import InvalidInput
from segauge.io.outputs import check_output, write_json, write_whole


def test_folders_are_made_and_nothing_else_is_left(tmp_path):
    target = write_json(tmp_path / "a" / "b" / "r.json", {"x": 1})
    assert target.read_text() == '{\n "x": 1\n}\n'
    assert [path.name for path in target.parent.iterdir()] == ["r.json"]
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(target, {"x": float("nan")})
    assert target.read_text() == '{\n "x": 1\n}\n'


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_stays_a_pipe(tmp_path):
    """As /dev/stdout does: a file put in its place would be the end of it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "content")
    reader.join(timeout=120)
    assert read == ["content"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_places_where_no_file_can_be_are_refused_before_anything_is_computed(tmp_path):
    with pytest.raises(InvalidInput, match="is a folder; expected the name of a file"):
        check_output(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="its folder cannot be made"):
        check_output(tmp_path / "file" / "r.json")
    check_output(tmp_path / "new" / "r.json")
