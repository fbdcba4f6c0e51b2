"""Records of other days: each schema is turned into the next one, and the reference harness's JSON into ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from segauge.errors import InvalidInput
from segbench.cards import DatasetCard, ModelCard, TrainingSet, dataset_card, exposure, known_lineage, model_cards

CURRENT = "segbench-record/1"

#: Which rules made the statistics of a file that segbench did not write itself.
REFERENCE_RULES = "segauge-0.2"


def migrated(given: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return a record in today's form; a schema that nobody knows is refused."""
    plain = dict(given)
    seen: list[str] = []
    while (schema := _schema_of(plain, source)) != CURRENT:
        if schema in seen or schema not in _STEPS:
            raise InvalidInput(
                f"{source}: has the schema {schema!r}, which this version does not know; it reads {CURRENT!r}."
            )
        seen.append(schema)
        try:
            plain = _STEPS[schema](plain)
        except InvalidInput as error:
            raise InvalidInput(f"{source}: {error}") from error
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InvalidInput(f"{source}: is not built as a file of its kind ({schema}) is: {error!r}.") from error
    return plain


def _schema_of(plain: Mapping[str, Any], source: str) -> str:
    if "schema" in plain:
        return str(plain["schema"])
    models = plain.get("models")
    if isinstance(models, list) and models and isinstance(models[0], dict) and "per_organ" in models[0]:
        return "segauge-benchmark"
    raise InvalidInput(f"{source}: is no record of a run: it has no schema.")


_NOTHING_KNOWN: dict[str, Any] = {"image_sha256": None, "gt_sha256": None, "metadata": {}, "diagonal_mm": None}


def _from_reference(old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a reference harness's result file; its statistics are kept as what they are: published."""
    dataset = _reference_dataset(old["dataset"])
    structures = [organ["name"] for organ in old["dataset"]["organs"]]
    metrics = list(old["metrics"])
    ids = sorted(
        {row["case_id"] for m in old["models"] for found in m["per_organ"].values() for row in found["per_case"]}
    )
    models = [_reference_model(model, dataset) for model in old["models"]]
    return {
        "schema": CURRENT,
        "dataset": dataset.to_dict(),
        "cases": [{**_NOTHING_KNOWN, "id": case} for case in ids],
        "models": models,
        "structures": structures,
        "metrics": metrics,
        "scores": {model["name"]: _reference_scores(model, metrics) for model in old["models"]},
        "config": {"written": {}, "resolved": _reference_settings(old)},
        "protocol": {"versions": {"segauge": old["segauge_version"]}},
        "exclusions": [],
        "suspects": [],
        "notes": ["The scores were made and published by the reference harness (segauge 0.2)."],
        "timings": {},
        "platform": {},
        "analysis": None,
        "published": _reference_statistics(old),
    }


def _reference_dataset(old: Mapping[str, Any]) -> DatasetCard:
    """Return our card of the dataset, with what the file says about licence and labels."""
    known = dataset_card(old["name"]).to_dict()
    labels = {organ["name"]: tuple(_as_list(organ["id"])) for organ in old["organs"]}
    # The whole kidney of the reference is the union that our card has under the same name.
    structures = {name: known["structures"].get(name, ids) for name, ids in labels.items()}
    return DatasetCard.from_dict(
        {**known, "structures": structures, "licence": old["license"], "citation": old["citation"]}
    )


def _reference_model(old: Mapping[str, Any], dataset: DatasetCard) -> dict[str, Any]:
    """Return a model with what our cards know about its training, or what the file declares where there is no card."""
    declared = tuple(TrainingSet(name, "declared in the results file") for name in old["contaminated_on"])
    known = {card.name.casefold(): card for card in model_cards()}.get(old["name"].removesuffix("-fast").casefold())
    base = ModelCard(old["name"], trained_on=declared, pretrained_on=None) if known is None else known
    card = replace(base, name=old["name"], version=old["version"], licence=old["license"], structures={})
    seen = exposure(card, dataset, known_lineage())
    return {
        "card": card.to_dict(),
        "exposure": seen.to_dict(),
        "ranked": seen.is_clean,
        "options": {},
        "environment": {},
        "predictions": {},
        "failures": {},
    }


def _reference_scores(old: Mapping[str, Any], metrics: list[str]) -> dict[str, Any]:
    organs = old["per_organ"]
    # In the order of the file: its random numbers were drawn for the cases as they stand there.
    cases = list(dict.fromkeys(row["case_id"] for found in organs.values() for row in found["per_case"]))
    structures = {}
    for organ, found in organs.items():
        rows = {row["case_id"]: row for row in found["per_case"]}
        if len(rows) != len(found["per_case"]):
            raise InvalidInput(f"{old['name']} has a case twice for {organ}")
        scored = [rows.get(case) for case in cases]
        structures[organ] = {
            "status": [_reference_status(row, metrics) for row in scored],
            **{metric: [None if row is None else _finite(row.get(metric)) for row in scored] for metric in metrics},
        }
    return {"cases": cases, "structures": structures, "reasons": {}}


def _reference_status(row: Mapping[str, Any] | None, metrics: list[str]) -> str:
    """What segauge 0.2 meant: it wrote a Dice of 0 and no (or an infinite) distance for an empty mask."""
    if row is None:
        return "prediction missing"
    lacking = any(_finite(row.get(metric)) is None for metric in metrics)
    return "missed" if lacking and row.get("dice") == 0.0 else "present"


def _reference_settings(old: Mapping[str, Any]) -> dict[str, Any]:
    known = {
        key: old["config"][key] for key in ("confidence", "n_resamples", "seed", "nsd_tolerance", "spot_check_dice")
    }
    return {**known, "preview": old["preview"], "preview_label": old["preview_label"], "metrics": list(old["metrics"])}


def _reference_statistics(old: Mapping[str, Any]) -> dict[str, Any]:
    summary = {
        model["name"]: {organ: found["summary"] for organ, found in model["per_organ"].items()}
        for model in old["models"]
    }
    return {"rules": REFERENCE_RULES, "summary": summary, "analysis": old["analysis"]}


def _as_list(value: Any) -> list[int]:
    return list(value) if isinstance(value, list) else [value]


def _finite(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


_STEPS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {"segauge-benchmark": _from_reference}
