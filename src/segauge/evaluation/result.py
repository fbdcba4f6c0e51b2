"""EvaluationResult: the scores of a dataset, and the questions asked of them next."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from segauge.errors import InvalidInput, MissingExtra, UnknownStructure
from segauge.io.outputs import plain_values, write_whole
from segauge.plural import counted
from segauge.scores import MetricInfo, ScoreTable, Status
from segauge.stats.estimation import Estimate, method_for
from segauge.stats.missing import AUTO, MissingPolicy, Resolved, estimate_resolved, resolve
from segauge.stats.noise_floors import Floor, noise_floors
from segauge.tables import csv_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from segauge.evaluation.cases import Case

T = TypeVar("T")

#: Written into every result file.
SCHEMA = "segauge-evaluation/1"
META_PREFIX = "meta."
#: A metadata field with more values than this is not a grouping; `by_subgroup` still takes it.
MOST_GROUPS = 30


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """The scores of all cases, with a status for every case and structure.

    Attributes:
        table: the scores.
        metrics: facts of each metric of the table.
        metadata: per case id what the cases came with.
        notes: per case id what was odd about its files and how it was taken; only cases that have any.
        warnings: what concerns the whole dataset.
        counts: voxels of each case and structure: true and false positives, false and true negatives.
        protocol: versions, options, policies, seeds and the hashes of all files: what is needed to get the same again.
        confidence, n_resamples, seed: of the intervals.
        policy: what cases without a number count as.
        ci, statistic: interval method, and "mean" or "median".
        diagonal_mm: largest diagonal of the images, which no mean distance exceeds; None where it is not known.

    """

    table: ScoreTable
    metrics: tuple[MetricInfo, ...]
    metadata: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    counts: Mapping[tuple[str, str], tuple[int, int, int, int]] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    confidence: float = 0.95
    n_resamples: int = 2000
    seed: int = 0
    policy: MissingPolicy = AUTO
    ci: str = "auto"
    statistic: str = "mean"
    diagonal_mm: float | None = None

    @property
    def metric_names(self) -> list[str]:
        """Keys of the metrics, in the order of the columns."""
        return list(self.table.metrics)

    @property
    def structures(self) -> list[str]:
        """Names of the structures."""
        return list(self.table.structures)

    @property
    def metadata_keys(self) -> list[str]:
        """Every metadata field that any case has."""
        return list(dict.fromkeys(key for row in self.metadata.values() for key in row))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per case and structure: case_id, structure, status, reason, each metric (or None), meta.* fields."""
        rows = []
        for row in self.table.rows():
            case = row.pop("case")
            known = {f"{META_PREFIX}{key}": value for key, value in self.metadata.get(case, {}).items()}
            rows.append({"case_id": case, **row, **known})
        return rows

    @property
    def failures(self) -> dict[str, tuple[Status, str]]:
        """Cases that could not be measured at all: status and reason by case id."""
        found = ((case, self.table.case_failure(case)) for case in self.table.cases)
        return {case: failure for case, failure in found if failure is not None}

    def summary(self, structure: str | None = None) -> dict[str, Estimate]:
        """Return the estimate of each metric over all cases: of one structure, or of all structures together.

        Together means the mean over all structures of all cases; structures of one case are not independent, so cases
        are resampled as wholes.
        """
        return self._estimates(self.table, structure)

    def by_structure(self) -> dict[str, dict[str, Estimate]]:
        """Return the summary of each structure."""
        return {name: self.summary(name) for name in self.table.structures}

    def noise_floors(self) -> dict[str, dict[str, Floor]]:
        """Return by structure and metric below which difference two numbers mean nothing; {} if it was not measured.

        Ask for it with `evaluate(..., noise_floor=True)`, or measure `hd95_noise` beside `hd95`.
        """
        return noise_floors(self.table)

    def by_subgroup(self, key: str, structure: str | None = None) -> dict[object, dict[str, Estimate]]:
        """Return the summary of each group of cases with one value of a metadata field; None groups those without."""
        if key not in self.metadata_keys:
            raise InvalidInput(f"No metadata field {key!r}; there are {', '.join(self.metadata_keys) or 'none'}.")
        return self._grouped([self.metadata.get(case, {}).get(key) for case in self.table.cases], structure)

    def _grouped(self, values: Sequence[T], structure: str | None = None) -> dict[T, dict[str, Estimate]]:
        """Return the summary of the cases of each value; `values` has one per case."""
        groups: dict[T, list[int]] = {}
        for i, value in enumerate(values):
            groups.setdefault(value, []).append(i)
        return {value: self._estimates(self._only(chosen), structure) for value, chosen in groups.items()}

    def _only(self, rows: Sequence[int]) -> ScoreTable:
        return self.table.select([self.table.cases[i] for i in rows])

    def _estimates(self, table: ScoreTable, structure: str | None) -> dict[str, Estimate]:
        if structure is not None and structure not in table.structures:
            raise UnknownStructure(f"No structure {structure!r}; there are {', '.join(table.structures)}.")
        names = table.structures if structure is None else (structure,)
        cluster = None if len(names) == 1 else list(table.cases) * len(names)
        found = {}
        for info in self.metrics:
            scale = info.scale
            columns = [resolve(table, name, info.key, scale=scale, policy=self.policy) for name in names]
            found[info.key] = estimate_resolved(
                _pooled(columns), scale, ci=method_for(self.ci, scale.bounds, is_clustered=cluster is not None),
                level=self.confidence, cluster=cluster, n_resamples=self.n_resamples, seed=self.seed,
                name=f"{'+'.join(names)}/{info.key}", statistic=self.statistic, most=self.diagonal_mm,
            )  # fmt: skip
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for strict JSON."""
        plain: dict[str, Any] = plain_values(self._contents())
        return plain

    def _contents(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "n_cases": len(self.table),
            "config": {"confidence": self.confidence, "n_resamples": self.n_resamples, "seed": self.seed},
            "summary": _plain(self.summary()),
            "structures": {name: _plain(found) for name, found in self.by_structure().items()},
            **_plain_floors(self.noise_floors()),
            "subgroups": {
                key: {text: _plain(found) for text, found in self._grouped(self._texts(key)).items()}
                for key in self._grouping_keys()
            },
            "per_case": [self._plain_row(row) for row in self.rows],
            "notes": self.notes,
            "warnings": self.warnings,
            "protocol": self.protocol,
        }

    def _plain_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        plain = {key: _json_value(value) for key, value in row.items()}
        details = self.table.details(row["case_id"], row["structure"])
        return {**plain, "missing": details} if details else plain

    def _texts(self, key: str) -> list[str]:
        """Return a metadata field of every case as text: in a file, 1 and "1" are one group, and not one of the two."""
        return [str(self.metadata.get(case, {}).get(key)) for case in self.table.cases]

    def _grouping_keys(self) -> list[str]:
        """Return the metadata fields that make groups: those with few values. An age or a patient's id makes none."""
        values = {key: {str(row.get(key)) for row in self.metadata.values()} for key in self.metadata_keys}
        return [key for key, found in values.items() if len(found) <= MOST_GROUPS]

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write everything as JSON; `segauge.read_scores` reads it back."""
        return write_whole(path, json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n")

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows as CSV; a cell that a spreadsheet would run as a formula gets an apostrophe before it."""
        rows = self.rows
        header = list(dict.fromkeys(key for row in rows for key in row))
        return write_whole(path, csv_text(header, ([row.get(key) for key in header] for row in rows)))

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a data frame of pandas; `segauge.read_scores` takes it back."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtra("to_pandas needs pandas: install it with `pip install 'segauge[pandas]'`.") from error
        return pd.DataFrame(self.rows)

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a data frame of polars; `segauge.read_scores` takes it back."""
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtra("to_polars needs polars: install it with `pip install 'segauge[polars]'`.") from error
        return pl.DataFrame(
            [{key: _json_value(value) for key, value in row.items()} for row in self.rows],
            schema_overrides=dict.fromkeys(self.table.metrics, pl.Float64),
            infer_schema_length=None,
            strict=False,
        )

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        cases: Iterable[Case] | None = None,
        images: Mapping[str, Any] | None = None,
        title: str | None = None,
        worst: int = 6,
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
        written: Path = _exports().to_html(self, path, cases, images, title, worst)
        return written

    def to_latex(self, metrics: Iterable[str] | None = None, *, label: str = "tab:segauge") -> str:
        """Return a LaTeX table (booktabs) with a row per structure; of the leading metrics, or of those named."""
        text: str = _exports().to_latex(self, metrics, label)
        return text

    def to_markdown(self, metrics: Iterable[str] | None = None) -> str:
        """Return a Markdown table with a row per structure; of the leading metrics, or of those named."""
        text: str = _exports().to_markdown(self, metrics)
        return text

    def to_figures(
        self,
        folder: str | os.PathLike[str],
        metrics: Iterable[str] | None = None,
        *,
        formats: Sequence[str] | None = None,
        theme: Literal["light", "dark"] = "light",
    ) -> list[Path]:
        """Write every figure and table of a paper into a folder, with captions; needs the extra `report`.

        Args:
            folder: made if it is not there.
            metrics: columns of the table of results; the leading metrics by default.
            formats: endings of the figures: ".svg", ".pdf", ".png"; all of them by default.
            theme: colours of the figures.

        Returns:
            The files.

        """
        written: list[Path] = _exports().to_figures(self, folder, metrics, formats, theme)
        return written

    def _repr_html_(self) -> str:
        text: str = _exports().to_notebook(self)
        return text

    def __str__(self) -> str:
        failed = len(self.failures)
        head = counted(len(self.table), "case") + (f", {failed} of them could not be measured" if failed else "")
        lines = [head]
        for name, found in self.by_structure().items():
            lines += [f"{name}  {key}  {estimate!r}" for key, estimate in found.items()]
        return "\n".join(lines)


def _exports() -> ModuleType:
    """Return the module that makes reports, LaTeX and Markdown: the one import upwards, made when one is asked for.

    The contract of the layers names it (docs/decisions/0004-results-hand-out-their-report.md).
    """
    from segauge.report import exports

    return exports


def _pooled(columns: Sequence[Resolved]) -> Resolved:
    """Return several columns below one another."""
    import numpy as np

    def summed(kind: str) -> dict[str, int]:
        counts: dict[str, int] = {}
        for column in columns:
            for reason, count in getattr(column, kind).items():
                counts[reason] = counts.get(reason, 0) + count
        return counts

    values = np.concatenate([column.values for column in columns])
    failures = [column.is_failure for column in columns if column.is_failure is not None]
    is_failure = np.concatenate(failures) if len(failures) == len(columns) else None
    return Resolved(values, summed("excluded"), summed("failed"), summed("behind"), columns[0].policy, is_failure)


def _plain(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    return {key: estimate.to_dict() for key, estimate in estimates.items()}


def _plain_floors(floors: Mapping[str, Mapping[str, Floor]]) -> dict[str, Any]:
    """Return the noise floors under their name, nothing where none was measured."""
    plain = {name: {key: floor.to_dict() for key, floor in found.items()} for name, found in floors.items()}
    return {"noise_floors": plain} if plain else {}


def _json_value(value: object) -> object:
    """Return metadata as JSON can hold it: what is no number, text or truth value, as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    return str(value)
