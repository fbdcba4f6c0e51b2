"""What a record says about a case: the hashes of its files, its metadata, and its size where a failure may be that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from segauge import ScoreTable, read_labels
from segauge.errors import SegaugeError
from segauge.io.contents import path_hash
from segbench.records import CaseInfo
from segbench.records.portability import portable
from segbench.registry import DatasetCase


def case_info(case: DatasetCase, *, with_diagonal: bool) -> CaseInfo:
    """Return the facts of a case; its diagonal where some model failed, since a failure may count as that."""
    diagonal = float(read_labels(case.gt).labels.grid.diagonal_mm) if with_diagonal else None
    return CaseInfo(case.case_id, _hash(case.image), _hash(case.gt), portable(dict(case.metadata)), diagonal)


def failed_cases(tables: Iterable[ScoreTable]) -> set[str]:
    """Return the cases on which any model failed, on any structure."""
    return {
        case
        for table in tables
        for case, states in zip(table.cases, table.status.tolist(), strict=True)
        if any(state.is_failure for state in states)
    }


def shared_images(cases: Sequence[CaseInfo]) -> list[str]:
    """Return which cases have the same image, in words: they are one case that counts more than once."""
    by_image: dict[str, list[str]] = {}
    for case in cases:
        if case.image_sha256 is not None:
            by_image.setdefault(case.image_sha256, []).append(case.case_id)
    return [f"{', '.join(ids)} have the same image, byte for byte" for ids in by_image.values() if len(ids) > 1]


def _hash(path: Path) -> str | None:
    """Return the SHA-256 of a file (of all it holds, for a folder), None where it cannot be read."""
    try:
        return path_hash(Path(path))
    except (SegaugeError, OSError):
        return None
