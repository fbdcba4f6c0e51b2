"""Figures and tables as files for a paper: SVG, PDF and PNG; LaTeX, Markdown and CSV."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from segauge.errors import InvalidInput
from segauge.io.outputs import csv_text, write_whole
from segauge.report import figures
from segauge.report.illustrations import Illustration
from segauge.report.latex import latex
from segauge.report.markdown import markdown
from segauge.report.tables import TextTable


def write_figures(
    found: Iterable[Illustration],
    folder: str | os.PathLike[str],
    *,
    formats: Sequence[str] = figures.FILE_FORMATS,
    theme: figures.ThemeName = "light",
) -> list[Path]:
    """Write every figure in every format, and the words below them as captions.md; return the paths."""
    target = _made(folder)
    written, captions = [], []
    for one in found:
        chart = one.make()
        written += [figures.save(chart, target / f"{one.key}{ending}", theme=theme) for ending in formats]
        captions.append(f"**{one.key}**: {one.title}. {one.caption}\n")
    written.append(write_whole(target / "captions.md", "\n".join(captions)))
    return written


def write_tables(tables: dict[str, TextTable], folder: str | os.PathLike[str]) -> list[Path]:
    """Write every table as LaTeX, Markdown and CSV; return the paths."""
    target = _made(folder)
    written = []
    for name, table in tables.items():
        header = [column.title for column in table.columns]
        written.append(write_whole(target / f"{name}.tex", latex(table, label=f"tab:{name}")))
        written.append(write_whole(target / f"{name}.md", markdown(table)))
        written.append(write_whole(target / f"{name}.csv", csv_text(header, table.rows)))
    return written


def _made(folder: str | os.PathLike[str]) -> Path:
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{target}: the folder cannot be made ({error.strerror}).") from error
    return target
