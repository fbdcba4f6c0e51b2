"""Tables fit the terminal; no name and no number is cut or broken, and no column is lost."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from segauge.cli.tables import print_table

ROWS = [
    ["place", "model", "mean [95 %]", "failed", "ranks", "remark"],
    ["1", "Vision_Language_Swin_UNETR_CLIP", "0.925 [0.910, 0.937]", "", "1-11", "seen: " + "a reason in words " * 5],
    ["2", "Vision_Language_U-Net_CLIP", "0.919 [0.903, 0.931]", "", "2-12", ""],
]


def printed(width: int, **options) -> str:
    out = Console(file=io.StringIO(), width=width)
    print_table(out, "a title", ROWS, keys=2, right=("place",), text=("remark",), **options)
    return out.file.getvalue()


@pytest.mark.parametrize("width", [70, 80, 100, 160])
def test_nothing_is_cut(width):
    text = printed(width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for word in ("Vision_Language_Swin_UNETR_CLIP", "Vision_Language_U-Net_CLIP", *(row[2] for row in ROWS), "1-11"):
        assert word in text
    assert text.count("a title") == 1


def test_a_column_without_content_is_left_out_and_narrow_terminals_get_more_tables():
    assert "failed" not in printed(160)
    assert printed(160).count("model") == 1
    assert printed(80).count("model") > 1


def test_the_last_columns_stay_in_the_first_table_when_asked():
    first = printed(80, tail=1).splitlines()[2]
    assert "remark" in first
    assert "ranks" not in first


def test_a_name_wider_than_the_terminal_is_folded():
    text = printed(40)
    cells = [line.split("│")[2].strip() for line in text.splitlines() if line.startswith("│")]
    assert "Vision_Language_Swin_UNETR_CLIP" in "".join(cells)
