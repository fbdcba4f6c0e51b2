"""What leaves this layer: the report, tables and figures as files for a paper, and what a notebook shows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.evaluation import Case, EvaluationResult
from segauge.io.outputs import write_json, write_whole
from segauge.report import figures
from segauge.report.html import write_report
from segauge.report.illustrations import Illustration, illustrations
from segauge.report.summary import Summary
from segauge.report.tables import estimate_table, result_table
from segauge.tables import Table, flat


def to_html(
    result: EvaluationResult,
    path: str | os.PathLike[str],
    cases: Iterable[Case] | None,
    images: Mapping[str, Any] | None,
    title: str | None,
    worst: int,
) -> Path:
    """Write the report."""
    return write_report(result, path, cases=cases, images=images, title=title, worst=worst)


def to_latex(result: EvaluationResult, metrics: Iterable[str] | None, label: str) -> str:
    """Return the table of structures as LaTeX."""
    return result_table(Summary(result), metrics).latex(label=label)


def to_markdown(result: EvaluationResult, metrics: Iterable[str] | None) -> str:
    """Return the table of structures as Markdown."""
    return result_table(Summary(result), metrics).markdown()


def to_figures(
    result: EvaluationResult,
    folder: str | os.PathLike[str],
    metrics: Iterable[str] | None,
    formats: Sequence[str] | None,
    theme: figures.ThemeName,
) -> list[Path]:
    """Write every figure of a result with its caption, and its tables."""
    summary = Summary(result)
    tables = {"results": result_table(summary, metrics), "estimates": estimate_table(summary)}
    drawn = write_figures(illustrations(summary), folder, formats=formats or figures.FILE_FORMATS, theme=theme)
    return [*write_tables(tables, folder), *drawn]


def to_notebook(result: EvaluationResult) -> str:
    """Return what a notebook shows: the sentences of the summary, then the table of structures."""
    summary = Summary(result)
    first, *others = (escape(flat(sentence)) for sentence in summary.sentences())
    listed = "".join(f"<li>{sentence}</li>" for sentence in others)
    return f"<div><strong>{first}</strong><ul>{listed}</ul>{result_table(summary).html()}</div>"


def write_figures(
    found: Iterable[Illustration],
    folder: str | os.PathLike[str],
    *,
    formats: Sequence[str] = figures.FILE_FORMATS,
    theme: figures.ThemeName = "light",
) -> list[Path]:
    """Write every figure in every format, and their captions as captions.md; return the paths."""
    target = _made(folder)
    written, captions = [], []
    for one in found:
        chart = one.make()
        written += [figures.save(chart, target / f"{one.key}{ending}", theme=theme) for ending in formats]
        captions.append(f"**{one.key}**: {one.title}. {one.caption}\n")
    written.append(write_whole(target / "captions.md", "\n".join(captions)))
    return written


def write_tables(tables: Mapping[str, Table], folder: str | os.PathLike[str]) -> list[Path]:
    """Write every table as LaTeX, Markdown, CSV and JSON; return the paths."""
    target = _made(folder)
    written = []
    for name, table in tables.items():
        written.append(write_whole(target / f"{name}.tex", table.latex(label=f"tab:{name}")))
        written.append(write_whole(target / f"{name}.md", table.markdown()))
        written.append(write_whole(target / f"{name}.csv", table.csv()))
        written.append(write_json(target / f"{name}.json", table.json()))
    return written


def _made(folder: str | os.PathLike[str]) -> Path:
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{target}: the folder cannot be made ({error.strerror}).") from error
    return target
