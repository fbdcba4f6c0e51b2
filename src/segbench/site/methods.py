"""Methods and reproduction of a record, written from the record itself, so that the words cannot drift from the run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from segauge.plural import agreeing, counted
from segauge.report.html import glossary
from segauge.report.references import Reference, references_for
from segauge.scores import MetricInfo
from segauge.stats import METHODS
from segbench.analysis import Analysis, SetAnalysis
from segbench.boards import RULES
from segbench.site.chapters import Chapter, info_of
from segbench.site.downloads import download_names
from segbench.site.words import changes, rules_in_words, warnings_of

#: What the downloads are called.
_FILES = {"json": "the record (JSON)", "scores.csv": "every score (CSV)", "scores.parquet": "every score (Parquet)"}


@dataclass(frozen=True)
class Method:
    """What the page of methods says about one record.

    Attributes:
        chapter: the record.
        sentences: how the numbers were made.
        commands: how to make them again.
        config: the config as it was written; "" where there was none.
        versions: names and values of what the scores depend on.
        glossary: definitions of the metrics.
        references: what to cite.
        files: downloads: name, address.
        notes: what was odd.

    """

    chapter: Chapter
    sentences: list[str]
    commands: list[str]
    config: str
    versions: list[tuple[str, str]]
    glossary: list[tuple[MetricInfo, list[str]]]
    references: tuple[Reference, ...]
    files: list[tuple[str, str]]
    notes: list[str]
    citation: str


def method_of(chapter: Chapter) -> Method:
    """Return methods and reproduction of a record."""
    record = chapter.record
    known = [info for metric in record.metrics if (info := info_of(metric)) is not None]
    written = record.config.get("written") or {}
    return Method(
        chapter,
        list(_sentences(chapter)),
        list(_commands(chapter, bool(written))),
        json.dumps(written, indent=2, ensure_ascii=False, sort_keys=True) if written else "",
        [*_flat(record.protocol), *((f"platform {name}", value) for name, value in _flat(record.platform))],
        glossary(known),
        references_for(known, _interval_methods(chapter), others=("romano2005", "wiesenfarth2021")),
        [(_FILES[name], f"downloads/{chapter.key}.{name}") for name in download_names(record)],
        [*record.notes, *(f"{one['model']} {one['structure']}: {one['reason']}" for one in record.exclusions)],
        f"{chapter.title}. segbench record sha256:{chapter.fingerprint[:16]}. {record.dataset.citation}".strip(),
    )


def _interval_methods(chapter: Chapter) -> list[str]:
    """Return the methods that the intervals of a record's boards were made by."""
    found = {one.estimate.method for board in chapter.boards for one in board.rows if one.estimate}
    return sorted(method for method in found if method)


def _sentences(chapter: Chapter) -> Iterator[str]:
    record, settings = chapter.record, chapter.leaderboard.settings
    percent = f"{100 * settings['level']:g} %"
    yield (
        f"{agreeing(len(record.models), 'model was', 'models were')} scored on {counted(len(record.cases), 'case')} of "
        f"{record.dataset.title} for {counted(len(record.structures), 'structure')} by {', '.join(record.metrics)}."
    )
    methods = [METHODS[one].name if one in METHODS else one for one in _interval_methods(chapter)]
    how = f" ({', '.join(methods)})" if methods else ""
    yield (
        f"Means have {percent} intervals{how}. All pairs of ranked models were compared on "
        f"the same cases, with {settings['n_resamples']} resamples of the cases (seed {settings['seed']}), corrected "
        f"for all pairs; a place is 1 + the number of models that are significantly better."
    )
    clusters = record.dataset.cluster_column
    if clusters:
        yield f"Cases of one {clusters} were resampled together."
    yield (
        "A case that a model missed, invented or could not predict counts at the worst value of the metric's scale; "
        f"where the scale has none (distances), {_without_worst(settings)}."
    )
    yield (
        "Where there is nothing to find, a model that finds nothing has no score; compared with one that failed "
        "there, it counts with the best value of the scale. In averages over structures each model has its own mean."
    )
    policy = record.settings.get("exposure_policy", "strict")
    ranked = sum(entry.ranked for entry in record.models)
    others = "all models are ranked." if ranked == len(record.models) else (
        f"{ranked} of {len(record.models)} models are ranked, the others are shown."
    )  # fmt: skip
    yield f"Exposure policy {policy!r}: {others}"
    yield f"The statistics follow the rules {RULES}; the chance to lead on new cases is a replication probability."


def _without_worst(settings: Mapping[str, Any]) -> str:
    """Return what becomes of a failure that has no worst value, as `leaderboard.making` decides it."""
    failed, penalty = settings.get("failed", "auto"), settings.get("penalty")
    if failed == "diagonal":
        return "it counts as the diagonal of its image"
    if failed == "exclude":
        return "it is left out"
    if penalty is not None and failed in ("auto", "penalty"):
        return f"it counts as {penalty:g}"
    return "the models are ranked within each case, failures last"


def _commands(chapter: Chapter, has_config: bool) -> Iterator[str]:
    yield f"segbench verify {chapter.key}.json"
    yield f"segbench verify {chapter.key}.json --write --boards"
    yield f"segbench render {chapter.key}.json --out site"
    if has_config:
        yield f"segbench run --config {chapter.key}.yaml  # the config below: models, cases and seeds as they were"


def _flat(given: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield names and values of nested options, "versions numpy", for a table."""
    for name in sorted(given):
        value, words = given[name], f"{before} {name}".strip()
        if isinstance(value, Mapping):
            yield from _flat(value, words)
        else:
            yield words, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Audit:
    """What the page of data and methods says about the analysis of one test set."""

    study: SetAnalysis
    findings: list[str]
    changes: list[str]
    warnings: list[str]
    rules: list[tuple[str, str]]


def audit_of(one: SetAnalysis, analysis: Analysis) -> Audit:
    """Return the audit of a test set, and what common mistakes would have changed."""
    return Audit(
        one, list(one.coverage.findings), list(changes(one, analysis)), list(warnings_of(one, analysis)),
        rules_in_words(analysis),
    )  # fmt: skip
