"""panoptica's tables: `results.tsv` (columns `<group>-<metric>`), `results.jsonl`, and dumped `to_dict()` JSON.

The instance counts of a subject and group say whether it was there and found. Rows of single instances are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from segauge.io.gate import load_json, parse_json, read_bytes
from segauge.io.tables.cells import Cell, Names, Reading, number
from segauge.io.tables.delimited import read_delimited
from segauge.scores import Status

#: Scores of panoptica; counts, volumes and standard deviations describe the subject, not how good the result is.
METRICS = ("prec", "rec", "rq", "sq", "pq", "sq_dsc", "pq_dsc", "sq_assd", "pq_assd", "global_bin_dsc")
_INSTANCE = re.compile(r".+_inst_\d+")


def recognises(path: Path) -> bool:
    """Return True for the three forms."""
    if path.suffix.lower() == ".tsv":
        return read_delimited(path).column("subject_name") == 0
    if path.suffix.lower() == ".jsonl":
        return b'"subject_name"' in read_bytes(path)[:200]
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    data = load_json(path)
    first = next(iter(data.values()), None) if isinstance(data, dict) else None
    inner = next(iter(first.values()), None) if isinstance(first, dict) else None
    return isinstance(inner, dict) and "n_ref_instances" in inner


def read(path: Path, names: Names) -> Reading:
    """Return the scores of all subjects and groups."""
    reading = Reading([])
    model = names.model or path.stem
    for subject, group, found in _groups(path):
        status = Status.of(in_pred=found.get("n_pred_instances", 0) > 0, in_gt=found.get("n_ref_instances", 0) > 0)
        for metric in METRICS:
            if metric in found:
                value = found[metric]
                finite = value if math.isfinite(value) else math.nan
                reading.cells.append(Cell(model, subject, group, metric, finite, status, path.name))
    return reading


def _groups(path: Path) -> Iterator[tuple[str, str, dict[str, float]]]:
    if path.suffix.lower() == ".tsv":
        yield from _tsv_groups(path)
        return
    if path.suffix.lower() == ".jsonl":
        lines = [parse_json(line, path.name) for line in read_bytes(path).splitlines() if line.strip()]
        subjects = [(entry["subject_name"], entry["groups"]) for entry in lines]
    else:
        subjects = list(load_json(path).items())
    for subject, groups in subjects:
        for group, found in groups.items():
            yield str(subject), str(group), _numbers(found)


def _numbers(found: Mapping[str, Any]) -> dict[str, float]:
    plain = {key: value for key, value in found.items() if value is None or isinstance(value, (int, float))}
    return {key: math.nan if value is None else float(value) for key, value in plain.items()}


def _tsv_groups(path: Path) -> Iterator[tuple[str, str, dict[str, float]]]:
    table = read_delimited(path)
    for i, row in enumerate(table.rows):
        if _INSTANCE.fullmatch(row[0]):
            continue
        groups: dict[str, dict[str, float]] = {}
        for column, text in zip(table.header[1:], row[1:], strict=True):
            group, _, metric = column.rpartition("-")
            groups.setdefault(group, {})[metric] = number(text, table.where(i))
        for group, found in groups.items():
            yield row[0], group, found
