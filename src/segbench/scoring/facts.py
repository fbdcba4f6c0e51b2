"""What records say about cases and models: of our own runs, and of scores that were made elsewhere.

Of a case these are the hashes of its files, its metadata, and its size where a failure may count as that. What is known
about models of imported scores comes from cards, or is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from segauge import ScoreTable, read_labels
from segauge.errors import SegaugeError
from segauge.io.contents import path_hash
from segauge.io.tables import ImportedScores
from segbench.cards import DatasetCard, ModelCard, exposure, known_lineage, model_cards
from segbench.config import EXPOSURE_POLICIES
from segbench.planning import Exclusion
from segbench.records import CaseInfo, ModelEntry, RunRecord
from segbench.records.files import portable
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


def record_of_scores(
    imported: ImportedScores,
    dataset: DatasetCard,
    *,
    metadata: Mapping[str, Mapping[str, str]] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> RunRecord:
    """Return the record of imported scores, without its analysis.

    A model whose name (or folder, "nnU-Net_MedNeXt") is that of a card takes the card; of any other nothing is known,
    so that it is shown and not ranked unless the policy says otherwise.

    Args:
        imported: scores after the audit.
        dataset: the dataset they were made on.
        metadata: per case what is known about it.
        settings: as in a config: confidence, n_resamples, seed, exposure_policy, title, ...

    """
    chosen = {"exposure_policy": "strict", **(settings or {})}
    allowed = EXPOSURE_POLICIES[chosen["exposure_policy"]]
    lineage = known_lineage([dataset])
    entries: list[ModelEntry] = []
    tables: dict[str, ScoreTable] = {}
    exclusions = []
    for name, table in imported.tables.items():
        card = replace(card_for(name), structures={})
        seen = exposure(card, dataset, lineage)
        ranked = seen.level.value in allowed
        if not ranked:
            exclusions.append(Exclusion(card.name, "", f"shown, not ranked: {seen.reason}"))
        entries.append(ModelEntry(card, seen, ranked))
        tables[card.name] = table
    first = next(iter(tables.values()))
    ids = sorted({case for table in tables.values() for case in table.cases})
    known = metadata or {}
    return RunRecord(
        dataset=dataset,
        cases=tuple(CaseInfo(case, metadata=dict(known.get(case, {}))) for case in ids),
        models=tuple(entries),
        structures=tuple(dict.fromkeys(name for table in tables.values() for name in table.structures)),
        metrics=first.metrics,
        tables=tables,
        config={"written": {}, "resolved": portable(chosen)},
        exclusions=tuple({str(k): str(v) for k, v in vars(one).items()} for one in exclusions),
        notes=(
            f"The scores were imported ({', '.join(imported.formats)}).",
            *(portable(str(finding)) for finding in imported.audit.findings),
        ),
    )


def card_for(name: str) -> ModelCard:
    """Return the card of a model by its name or that of its folder; one that says only the name if there is none."""
    cards = {_letters(card.name): card for card in model_cards()}
    parts = name.split("_")
    for start in range(len(parts)):
        found = cards.get(_letters("_".join(parts[start:])))
        if found is not None:
            return found
    return ModelCard(name)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())
