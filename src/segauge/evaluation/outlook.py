"""The results of an evaluation as a reader wants them: report, LaTeX, Markdown, notebook.

All of it is made by `segauge.report`, which stands above this layer. The methods are here because people ask a result
for its report; the one import upwards is made when one of them is called, and is the one exception that the layers'
contract names (docs/decisions/0004-results-hand-out-their-report.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from segauge.evaluation.cases import Case
    from segauge.evaluation.result import EvaluationResult


class Outlook:
    """Methods of `EvaluationResult` that turn it into something to read."""

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        cases: Iterable[Case] | None = None,
        images: Mapping[str, Any] | None = None,
        title: str | None = None,
        worst: int = 8,
    ) -> Path:
        """Write the report as one HTML file that opens offline; needs the extra `report`.

        Args:
            path: of the file.
            cases: the cases that were measured. With them the report shows pictures of the worst ones and the recall of
                lesions by size; their files are read again.
            images: per case id the image to draw below the outlines: a file, a folder of DICOM, or an array on the
                ground truth's grid.
            title: of the page.
            worst: how many of the worst cases get pictures.

        """
        written: Path = _exports().to_html(_result(self), path, cases, images, title, worst)
        return written

    def to_latex(self, metrics: Iterable[str] | None = None, *, label: str = "tab:segauge") -> str:
        """Return a LaTeX table (booktabs) with a row per structure; of the leading metrics, or of those named."""
        text: str = _exports().to_latex(_result(self), metrics, label)
        return text

    def to_markdown(self, metrics: Iterable[str] | None = None) -> str:
        """Return a Markdown table with a row per structure; of the leading metrics, or of those named."""
        text: str = _exports().to_markdown(_result(self), metrics)
        return text

    def _repr_html_(self) -> str:
        text: str = _exports().to_notebook(_result(self))
        return text


def _result(outlook: Outlook) -> EvaluationResult:
    return cast("EvaluationResult", outlook)


def _exports() -> ModuleType:
    from segauge.report import exports

    return exports
