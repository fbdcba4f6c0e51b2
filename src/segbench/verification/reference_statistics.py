"""The statistics of segauge 0.2 and its harness, recomputed from per-case scores to the last digit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from segauge import bootstrap_ci, paired_significance, ranking_stability
from segauge.stats.missing import is_measurement, scale_of
from segbench.records import RunRecord


def reference_statistics(record: RunRecord) -> dict[str, Any]:
    """Return summary and analysis as the reference harness publishes them.

    Every model that the file has scores of takes part: whom that harness took for clean is in its own file. A pair's
    interval has the level 1 - (1 - confidence) / pairs (Bonferroni); pairs are listed best model first.
    """
    settings = record.settings
    summary = {
        name: {
            structure: {metric: _summary(table.column(structure, metric), settings) for metric in record.metrics}
            for structure in table.structures
        }
        for name, table in record.tables.items()
    }
    analysis = {
        structure: {metric: _analysis(record, structure, metric) for metric in record.metrics}
        for structure in record.structures
    }
    return {"summary": summary, "analysis": analysis}


def _summary(values: Any, settings: Mapping[str, Any]) -> dict[str, float | None]:
    found = bootstrap_ci(
        values, confidence=settings["confidence"], n_resamples=settings["n_resamples"], seed=settings["seed"]
    )
    return {"value": found.value, "ci_low": found.ci_low, "ci_high": found.ci_high}


def _analysis(record: RunRecord, structure: str, metric: str) -> dict[str, Any]:
    settings, scale = record.settings, None if is_measurement(metric) else scale_of(metric)
    higher = scale is not None and scale.higher_is_better
    tables = {name: table for name, table in record.tables.items() if structure in table.structures}
    first = next(iter(tables.values()))
    cases = [case for case in first.cases if all(case in table.cases for table in tables.values())]
    columns = {}
    for name, table in tables.items():
        rows = {case: i for i, case in enumerate(table.cases)}
        columns[name] = table.column(structure, metric)[[rows[case] for case in cases]]
    ranking = ranking_stability(
        columns, higher_is_better=higher, n_resamples=settings["n_resamples"], seed=settings["seed"], metric=metric
    )
    names = [stat.name for stat in ranking.stats]
    pairs = list(combinations(names, 2))
    level = 1.0 - (1.0 - settings["confidence"]) / len(pairs) if len(pairs) > 1 else settings["confidence"]
    return {
        "n_cases": ranking.n_cases,
        "confidence": settings["confidence"],
        "n_comparisons": len(pairs),
        "correction": "bonferroni" if len(pairs) > 1 else "none",
        "adjusted_confidence": level,
        "ranking": {
            "metric": metric,
            "higher_is_better": higher,
            "n_cases": ranking.n_cases,
            "n_resamples": ranking.n_resamples,
            "stats": [{key: _plain(value) for key, value in vars(stat).items()} for stat in ranking.stats],
        },
        "pairwise": [_pair(columns, a, b, higher, level, settings) for a, b in pairs],
    }


def _pair(
    columns: Mapping[str, Any], a: str, b: str, higher: bool, level: float, settings: Mapping[str, Any]
) -> dict[str, Any]:
    found = paired_significance(
        columns[a], columns[b], a_name=a, b_name=b, higher_is_better=higher, confidence=level,
        n_resamples=settings["n_resamples"], seed=settings["seed"],
    )  # fmt: skip
    return dict(vars(found))


def _plain(value: Any) -> Any:
    return None if isinstance(value, (float, np.floating)) and math.isnan(value) else value
