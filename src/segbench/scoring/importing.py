"""Records of scores that were made elsewhere: what is known about the models comes from cards, or is unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from segauge import ScoreTable
from segauge.io.tables import ImportedScores
from segbench.cards import DatasetCard, ModelCard, exposure, known_lineage, model_cards
from segbench.config import EXPOSURE_POLICIES
from segbench.planning import Exclusion
from segbench.records import CaseInfo, ModelEntry, RunRecord
from segbench.records.portability import portable


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
