"""Reading a study: scores, metadata, declared groups and the registry of models, from the files people have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from mmap import ACCESS_READ, mmap
from pathlib import Path

from segauge.errors import InvalidInput
from segauge.io.tables import Repairs, metadata_column, read_metadata, read_scores
from segauge.io.yaml_files import read_yaml
from segauge.plural import counted
from segauge.scores import ScoreTable
from segauge.stats import MissingPolicy, Scale, ScoredSet
from segbench.addresses import numbered, slugs
from segbench.analysis.entries import RegisteredModel, entries_of, touchstone_entries
from segbench.analysis.groups import (
    Family,
    families_of,
    small_groups,
    strata_of,
    suggested_families,
    touchstone_families,
)
from segbench.analysis.study import Analysis, StudyInput, analyze
from segbench.boards import Leaderboard, Rules, rules_of, scored_set_of
from segbench.cards import DatasetCard, Exposure, ExposureLevel, ModelCard
from segbench.records import CaseInfo, ModelEntry, RunRecord, load_record

#: Groups may list their cases one by one; a larger file is something else.
_MAX_GROUPS_BYTES = 4 << 20
#: Usual names of the column with the official splits.
SPLIT_COLUMNS = ("split", "subset", "fold")


@dataclass(frozen=True)
class StudyOptions:
    """How to read a study.

    Attributes:
        sources: per test set its name and the file or folder with the scores.
        metadata: per test set (or "" for all) the table with a row per case.
        key: per test set (or "" for all) the column of the case ids in the metadata, or a pattern of columns, as in
            `read_metadata`; a usual name if left out.
        groups: file with declared groups; suggested from the metadata if None.
        models: file with the registry of models.
        format, columns: of the score tables, as in `read_scores`.
        repairs: what to do with problems; unequal lists of cases are left to the rules.
        metric: only this one; the name of the metric if the file has none.
        cluster: per test set (or "" for all) the metadata column of the patient (or institute): resampled together.
        split: metadata column of the official splits; found by its name if None, "" for none.
        stratify: column or family to hold gaps between groups against.
        policy, scales: of cases without a number, and of metrics that segauge does not know.

    """

    sources: Mapping[str, Path]
    metadata: Mapping[str, Path] = field(default_factory=dict)
    key: Mapping[str, str] = field(default_factory=dict)
    groups: Path | None = None
    models: Path | None = None
    format: str = "auto"
    columns: Mapping[str, str] = field(default_factory=dict)
    repairs: Repairs = field(default_factory=lambda: Repairs(cases="keep"))
    metric: str | None = None
    cluster: Mapping[str, str] = field(default_factory=dict)
    split: str | None = None
    stratify: str | None = None
    policy: MissingPolicy = field(default_factory=MissingPolicy)
    scales: Mapping[str, Scale] = field(default_factory=dict)


def read_study(options: StudyOptions, rules: Rules) -> tuple[tuple[StudyInput, ...], dict[str, RegisteredModel]]:
    """Return the test sets with their groups, and what is known about the models by their display names."""
    if not options.sources:
        raise InvalidInput("Expected at least one file or folder with scores.")
    registry = entries_of(read_yaml(options.models, "a registry of models")) if options.models is not None else ()
    found = {name: _source(path, options) for name, path in options.sources.items()}
    carded = {entry.key: entry for one in found.values() for entry in one.entries}
    models = list(dict.fromkeys(model for one in found.values() for model in one.tables))
    entries = _entries(registry, carded, models, any(one.is_touchstone for one in found.values()))
    inputs = tuple(_input(name, one, entries, options, rules) for name, one in found.items())
    return inputs, {entry.name: entry for entry in entries.values()}


@dataclass(frozen=True)
class _Source:
    """One test set as its files have it: scores, what was found on the way, and what a record knows besides."""

    tables: Mapping[str, ScoreTable]
    findings: tuple[str, ...]
    is_touchstone: bool = False
    entries: tuple[RegisteredModel, ...] = ()
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cluster: Mapping[str, str] | None = None


def _source(path: Path, options: StudyOptions) -> _Source:
    if options.format == "auto" and is_record(path):
        return _of_record(load_record(path))
    repairs = replace(options.repairs, cases="keep")
    try:
        found = read_scores(
            path, format=options.format, metric=options.metric, columns=options.columns, repairs=repairs
        )
    except InvalidInput as error:
        raise InvalidInput(f"{error}{_hint(path)}") from error
    findings = tuple(str(finding) for finding in found.audit.findings)
    return _Source(found.tables, findings, "touchstone" in found.formats)


def _hint(path: Path) -> str:
    """Return which folder in this one has scores, for those who named the one above it."""
    inner = sorted(found for found in path.iterdir() if found.is_dir()) if path.is_dir() else []
    fitting = [found.name for found in inner if next(found.glob("*/dsc.csv"), None) is not None]
    return f" Did you mean the folder {fitting[0]} in it?" if fitting else ""


def records_in(path: Path) -> list[Path]:
    """Return the records of segbench that lie in a folder, by name; none for a file."""
    return [found for found in sorted(path.glob("*.json")) if is_record(found)] if path.is_dir() else []


def is_record(path: Path) -> bool:
    """Return whether a file is a record of segbench, by the name of its schema."""
    if path.suffix.lower() != ".json" or not path.is_file() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return data.find(b'"segbench-record/') >= 0


def _of_record(record: RunRecord) -> _Source:
    """Return scores, metadata, patients and cards of a run; models that the run does not rank are left out by name."""
    ranked = [entry for entry in record.models if entry.ranked]
    findings = [f"{one['model']} {one['structure']}: {one['reason']}".strip() for one in record.exclusions]
    findings += [f"{entry.name} is not ranked: {entry.exposure.reason}" for entry in record.models if not entry.ranked]
    columns = list(dict.fromkeys(key for case in record.cases for key in case.metadata))
    metadata = {
        case.case_id: {key: _text(case.metadata.get(key)) for key in columns} for case in record.cases if columns
    }
    tables = {entry.name: record.tables[entry.name] for entry in ranked}
    entries = tuple(_of_card(entry.card) for entry in ranked)
    return _Source(tables, (*findings, *record.notes), False, entries, metadata, record.clusters())


def _of_card(card: ModelCard) -> RegisteredModel:
    return RegisteredModel(
        key=card.name,
        name=card.name,
        organisation=card.organisation,
        framework=card.framework,
        paper=card.paper,
        code=card.code,
        parameters=_text(card.parameters),
        trained_on=tuple(one.dataset for one in card.trained_on or ()),
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _entries(
    registry: Sequence[RegisteredModel],
    carded: Mapping[str, RegisteredModel],
    models: Sequence[str],
    is_touchstone: bool,
) -> dict[str, RegisteredModel]:
    """Return per model of the files its entry: the registry's, its card's, or what its folder says (Touchstone)."""
    known = {**carded, **{entry.key: entry for entry in registry}}
    plain = touchstone_entries(models) if is_touchstone else tuple(RegisteredModel(name, name) for name in models)
    found = {entry.key: known.get(entry.key, entry) for entry in plain}
    names = [entry.name for entry in found.values()]
    for entry in found.values():
        if names.count(entry.name) > 1:
            raise InvalidInput(f"Two models of the score files would be called {entry.name!r}; give them other names.")
    return found


def _input(
    name: str, found: _Source, entries: Mapping[str, RegisteredModel], options: StudyOptions, rules: Rules
) -> StudyInput:
    file = options.metadata.get(name) or options.metadata.get("")
    metadata = read_metadata(file, key=_of_set(options.key, name)) if file is not None else found.metadata
    column = _of_set(options.cluster, name)
    cluster = found.cluster if column is None else _cluster(column, metadata)
    tables = {entries[model].name: _chosen(table, options.metric) for model, table in found.tables.items()}
    scored = ScoredSet(name, tables, metadata, cluster, options.policy, options.scales)
    findings = [*found.findings, *_lacking_structures(tables)]
    unmatched = [case for case in scored.cases if case not in metadata] if metadata else []
    if metadata and len(unmatched) == len(scored.cases):
        raise InvalidInput(
            f"{name}: no case id of the scores ({scored.cases[0]!r}, ...) is in the metadata "
            f"({next(iter(metadata))!r}, ...); name the column with the ids (key)."
        )
    if unmatched:
        shown = ", ".join(unmatched[:5])
        findings.append(f"{counted(len(unmatched), 'case')} without a row in the metadata, such as {shown}")
    split = _split(options.split, metadata)
    families = _families(options, metadata, scored, rules, [name for name in (split, column) if name is not None])
    findings += small_groups(scored, families, rules) if options.groups is not None else []
    strata = strata_of(options.stratify, families, metadata) if options.stratify else None
    return StudyInput(scored, families, tuple(findings), split, strata)


def _lacking_structures(tables: Mapping[str, ScoreTable]) -> list[str]:
    known = dict.fromkeys(structure for table in tables.values() for structure in table.structures)
    return [
        f"{model} has no scores of {structure}"
        for model, table in tables.items()
        for structure in known
        if structure not in table.structures
    ]


def _chosen(table: ScoreTable, metric: str | None) -> ScoreTable:
    """Return the table with one metric only, where one was chosen among several."""
    if metric is None or metric not in table.metrics or len(table.metrics) == 1:
        return table
    return table.select(metrics=[metric])


def _of_set(named: Mapping[str, str], name: str) -> str | None:
    """Return what was said for a test set, or for all of them."""
    return named.get(name, named.get(""))


def _cluster(column: str, metadata: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    if not metadata:
        raise InvalidInput("cluster needs metadata that have the column.")
    return metadata_column(metadata, column)


def _split(column: str | None, metadata: Mapping[str, Mapping[str, str]]) -> str | None:
    known = next(iter(metadata.values()), {})
    if column is None:
        return next((name for name in SPLIT_COLUMNS if name in known), None)
    if column and column not in known:
        raise InvalidInput(f"No metadata column {column!r} with splits; there are {', '.join(known) or 'none'}.")
    return column or None


def _families(
    options: StudyOptions,
    metadata: Mapping[str, Mapping[str, str]],
    scored: ScoredSet,
    rules: Rules,
    without: Sequence[str],
) -> tuple[Family, ...]:
    if options.groups is not None:
        return families_of(read_yaml(options.groups, "groups of cases", max_bytes=_MAX_GROUPS_BYTES), metadata)
    if not metadata:
        return ()
    if rules.is_touchstone:
        return touchstone_families(metadata)
    return suggested_families(metadata, scored.cases, rules.minimum, without)


def record_of(given: StudyInput, models: Mapping[str, RegisteredModel], rules: Rules) -> RunRecord:
    """Return the record of a test set that was read from score files: what its pages and downloads are made of.

    Nothing is known of what the models saw in training, so that none is excluded for it.
    """
    scored = given.scored
    names = slugs([scored.name])
    dataset = DatasetCard(names[scored.name], title=scored.name)
    entries = []
    for name in scored.models:
        known = models.get(name, RegisteredModel(name, name))
        facts = {"parameters": known.parameters, "speed": known.speed, "checkpoint": known.checkpoint}
        facts["trained on"] = ", ".join(known.trained_on)
        card = ModelCard(
            name, organisation=known.organisation, framework=known.framework, paper=known.paper, code=known.code,
            note="; ".join(f"{what}: {value}" for what, value in facts.items() if value),
        )  # fmt: skip
        seen = Exposure(name, dataset.name, ExposureLevel.UNKNOWN, "not in the score files")
        entries.append(ModelEntry(card, seen, ranked=True))
    settings = {"title": scored.name, "confidence": rules.level, "n_resamples": rules.n_resamples, "seed": rules.seed}
    return RunRecord(
        dataset=dataset,
        cases=tuple(CaseInfo(case, metadata=dict(scored.metadata.get(case, {}))) for case in scored.cases),
        models=tuple(entries),
        structures=scored.structures,
        metrics=next(iter(scored.tables.values())).metrics,
        tables={name: table.select(structures=_kept(table, scored)) for name, table in scored.tables.items()},
        config={"written": {}, "resolved": {**settings, "exposure_policy": "all"}},
        notes=given.findings,
    )


def _kept(table: ScoreTable, scored: ScoredSet) -> list[str]:
    return [name for name in table.structures if name in scored.structures]


def study_of_records(records: Sequence[RunRecord], boards: Sequence[Leaderboard], jobs: int = 1) -> Analysis | None:
    """Return the analysis of records with the boards that they have: groups, cohort, audit, boards over all of them."""
    names = numbered([record.dataset.title for record in records])
    inputs = [_input_of(*one) for one in zip(names, records, boards, strict=True)]
    if not all(one.boards for one in inputs):
        return None
    settings = boards[0].settings
    rules = rules_of(
        cases="failed", level=settings["level"], n_resamples=settings["n_resamples"], seed=settings["seed"]
    )
    newest = {record.dataset.name: number for number, record in enumerate(records)}
    shared = set.intersection(*(set(inputs[i].scored.ranked) for i in newest.values()))
    joint = tuple(newest.values()) if len(newest) > 1 and len(shared) > 1 else ()
    return analyze(inputs, rules, joint=joint, jobs=jobs)


def _input_of(name: str, record: RunRecord, leaderboard: Leaderboard) -> StudyInput:
    scored = replace(scored_set_of(record), name=name)
    every = (*leaderboard.averages, *leaderboard.boards)
    boards = {metric: tuple(one for one in every if one.metric == metric and one.rows) for metric in record.metrics}
    columns = next(iter(scored.metadata.values()), {})
    split = next((name for name in SPLIT_COLUMNS if name in columns), None)
    without = [name for name in (split, record.dataset.cluster_column) if name]
    families = suggested_families(scored.metadata, scored.cases, rules_of().minimum, without)
    findings = [f"{one['model']} {one['structure']}: {one['reason']}".strip() for one in record.exclusions]
    return StudyInput(
        scored, families, tuple(findings), split, boards={key: found for key, found in boards.items() if found}
    )
