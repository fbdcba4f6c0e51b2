"""Level 1: the statistics follow from the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from segauge.errors import InvalidInput
from segauge.plural import agreeing, counted
from segbench.boards import KNOWN_RULES, RULES, Leaderboard, make_leaderboard, other_rules
from segbench.cards import dataset_cards, exposure, known_lineage, model_cards
from segbench.config import EXPOSURE_POLICIES
from segbench.records import RunRecord
from segbench.records.migrations import REFERENCE_RULES
from segbench.verification.agreement import Mismatch, count_numbers, disagreements, mismatches
from segbench.verification.earlier_rules import as_written, numbers_of, reference_statistics

#: What no level can check.
REPORTED_ONLY = "Reported, not verified: timings, packages, platform, versions."

#: What a card says about training data, by which exposure is judged.
_TRAINING = ("trained_on", "pretrained_on")

#: Types of models whose cards have other names.
_CARD_OF_TYPE = {"monai": "MONAI wholeBody"}


@dataclass(frozen=True)
class Verification:
    """What a check found.

    Attributes:
        level: 1 statistics follow from scores, 2 scores follow from predictions, 3 predictions can be made again.
        checked: what was compared, in words.
        mismatches: every place that does not follow.
        rounding: how many numbers differ in their last digits only, as other machines may add in another order.
        notes: what could not be checked.

    """

    level: int
    checked: str
    mismatches: tuple[Mismatch, ...] = ()
    rounding: int = 0
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """True if everything that was compared follows."""
        return not self.mismatches

    def __str__(self) -> str:
        head = f"level {self.level}: {self.checked}"
        if self.holds:
            extra = f" ({self.rounding} of them but for rounding)" if self.rounding else ""
            return f"{head}: all of it follows{extra}."
        return f"{head}: {agreeing(len(self.mismatches), 'does', 'do')} not follow."


def verify_statistics(
    record: RunRecord,
    *,
    jobs: int = 1,
    recomputed: Leaderboard | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    strict_cards: bool = True,
) -> Verification:
    """Recompute every statistic of a record from its per-case scores, and who may be ranked from the cards.

    Predictions, failures and scores must agree: a score without a prediction follows from nothing.

    Args:
        record: what is checked.
        jobs: worker processes that recompute the boards.
        recomputed: the leaderboard that follows from the scores, where `make_leaderboard` made it already.
        progress: called with the structure that is done, how many are, and of how many.
        strict_cards: whether a card that says other things about training data than the library is a mismatch, or
            only a note.

    """
    if record.analysis is None and record.published is None:
        raise InvalidInput("This record has no statistics yet; `segbench verify FILE --write` makes them.")
    found: list[Mismatch] = []
    numbers = 0
    for name, published, follows in _pairs(record, recomputed, jobs, progress):
        numbers += count_numbers(published)
        found += mismatches(published, follows, name)
    found += exposure_mismatches(record)
    found += disagreements(record)
    differing = list(card_mismatches(record))
    found += differing if strict_cards else []
    real = tuple(one for one in found if not one.is_rounding)
    notes = [f"the library differs: {one}" for one in differing] if not strict_cards else []
    return Verification(
        1,
        f"{counted(numbers, 'published number')}, recomputed from the scores",
        real,
        len(found) - len(real),
        (*notes, REPORTED_ONLY),
    )


def _pairs(
    record: RunRecord, recomputed: Leaderboard | None, jobs: int, progress: Callable[[str, int, int], None] | None
) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Return what was published and what follows, per set of rules."""
    pairs: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = []
    if record.analysis is not None:
        rules = record.analysis.get("rules")
        if rules not in KNOWN_RULES:
            raise InvalidInput(other_rules(rules))
        board = recomputed if rules == RULES else None
        board = board or make_leaderboard(record, rules=str(rules), jobs=jobs, progress=progress)
        if rules == RULES:
            pairs.append(("analysis", record.analysis, board.to_dict()))
        else:
            pairs.append(("analysis", numbers_of(record.analysis), numbers_of(as_written(board, record))))
    if record.published is not None:
        rules = record.published.get("rules")
        if rules != REFERENCE_RULES:
            raise InvalidInput(f"The statistics were published by unknown rules {rules!r}.")
        published = {key: value for key, value in record.published.items() if key != "rules"}
        pairs.append(("published", published, reference_statistics(record)))
    return pairs


def exposure_mismatches(record: RunRecord) -> Iterator[Mismatch]:
    """Yield every model whose exposure does not follow from its card, or that the policy would treat otherwise."""
    lineage = known_lineage([record.dataset])
    allowed = EXPOSURE_POLICIES.get(str(record.settings.get("exposure_policy", "strict")), ())
    for entry in record.models:
        seen = exposure(entry.card, record.dataset, lineage)
        for name in ("level", "reason", "path"):
            recorded, follows = getattr(entry.exposure, name), getattr(seen, name)
            if recorded != follows:
                yield Mismatch(f"models.{entry.name}.exposure.{name}", recorded, follows)
        if entry.ranked != (seen.level.value in allowed):
            yield Mismatch(f"models.{entry.name}.ranked", entry.ranked, not entry.ranked)


def card_mismatches(record: RunRecord) -> Iterator[Mismatch]:
    """Yield what the cards of a record say about training data and lineage otherwise than those of the library.

    Whoever changes a card in a record changes who may be ranked, and the record still agrees with itself. A model
    is found in the library by its name, or by the type that the config gives it.
    """
    library = {_plain_name(card.name): card for card in model_cards()}
    types = {_display_name(choice): str(choice.get("type", "")) for choice in record.settings.get("models", ())}
    for entry in record.models:
        kind = types.get(entry.name, "")
        names = (entry.name, _CARD_OF_TYPE.get(kind, kind))
        known = next((library[_plain_name(name)] for name in names if _plain_name(name) in library), None)
        for key in _TRAINING if known is not None else ():
            recorded, ours = entry.card.to_dict()[key], known.to_dict()[key] if known else None
            if recorded != ours:
                yield Mismatch(f"models.{entry.name}.card.{key}", recorded, f"{ours} (library)")
    own = {_plain_name(card.name): card for card in dataset_cards()}.get(_plain_name(record.dataset.name))
    for key in ("lineage", "partial", "lacks") if own is not None else ():
        recorded, ours = record.dataset.to_dict()[key], own.to_dict()[key] if own else None
        if recorded != ours:
            yield Mismatch(f"dataset.{key}", recorded, f"{ours} (library)")


def _plain_name(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def _display_name(choice: Mapping[str, Any]) -> str:
    return str(choice.get("options", {}).get("name", choice.get("type", "")))
