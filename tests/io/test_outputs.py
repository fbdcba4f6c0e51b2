"""Files are there whole or not at all; what is no file is written to, not replaced."""

import os
import stat
import threading

import pytest

from segauge.errors import InvalidInput
from segauge.io.outputs import check_output, check_outputs, write_json, write_whole


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


def test_nothing_that_is_read_is_overwritten(tmp_path):
    folder = tmp_path / "labels"
    (folder / "case").mkdir(parents=True)
    for name in ("a.nii.gz", "case/IM0001", "case/1.dcm", "old.json", "dataset.json"):
        (folder / name).write_bytes(b"")
    table = tmp_path / "m.csv"
    table.write_text("")
    for name in ("labels/a.nii.gz", "labels/case/../a.nii.gz", "labels/case/IM0001", "labels/case/1.dcm", "m.csv"):
        with pytest.raises(InvalidInput, match="is one of the files that are read"):
            check_outputs([tmp_path / name], [folder, table, None])
    with pytest.raises(InvalidInput, match="is one of the files that are read"):
        check_outputs([folder / "dataset.json"], [])
    with pytest.raises(InvalidInput, match="two outputs are to be written here"):
        check_outputs([tmp_path / "r.json", None, tmp_path / "labels" / ".." / "r.json"], [])
    check_outputs([folder / "old.json", folder / "new.html", tmp_path / "r.json"], [folder, table])
