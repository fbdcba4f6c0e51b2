"""What `EvaluationResult` hands out of this layer: the report, LaTeX, Markdown, and what a notebook shows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from segauge.evaluation import Case, EvaluationResult
from segauge.report.html import write_report
from segauge.report.latex import latex
from segauge.report.markdown import markdown
from segauge.report.notebook import notebook_html
from segauge.report.summary import Summary
from segauge.report.tables import result_table


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
    return latex(result_table(Summary(result), metrics), label=label)


def to_markdown(result: EvaluationResult, metrics: Iterable[str] | None) -> str:
    """Return the table of structures as Markdown."""
    return markdown(result_table(Summary(result), metrics))


def to_notebook(result: EvaluationResult) -> str:
    """Return what a notebook shows."""
    return notebook_html(Summary(result))
