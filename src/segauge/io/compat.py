"""Missing values as files have them: plain values since 0.4, a sentence in the files of earlier versions."""

from __future__ import annotations

from collections.abc import Mapping

from segauge.scores import CASE_FAILURES, Missing, Place, Status

#: The end of the sentence by which earlier versions told that a failed case lacks the structure in its ground truth.
_LACKING = "; the ground truth lacks the structure, so it counts neither way"


def causes_of(status: Status, given: Mapping[str, Mapping[str, str]] | str) -> dict[str, Missing]:
    """Return why values of a cell are missing by metric, "" for all of them.

    Args:
        status: of the cell.
        given: what `ScoreTable.details` gave, or the sentence that an earlier version wrote.

    Raises:
        InvalidInput: if it is neither.

    """
    if isinstance(given, str):
        return {"": _of_sentence(status, given)} if given else {}
    return {metric: Missing.from_dict(cause) for metric, cause in given.items()}


def missing_of(
    case: str, structure: str, status: Status, details: Mapping[str, Mapping[str, str]] | None, reason: str
) -> dict[Place, Missing]:
    """Return why values of a cell are missing by their place, from its details or, without these, from its sentence."""
    causes = causes_of(status, reason if details is None else details)
    return {(case, structure, metric) if metric else (case, structure): cause for metric, cause in causes.items()}


def _of_sentence(status: Status, sentence: str) -> Missing:
    if status is Status.ABSENT and sentence.endswith(_LACKING):
        failure, _, because = sentence.removesuffix(_LACKING).partition(": ")
        if failure in CASE_FAILURES:
            return Missing.lacking(Status(failure), because)
    # An absent structure needs no explanation: where a file gives one, no one knows what was found there.
    return Missing(status, sentence, "unknown") if status is Status.ABSENT else Missing.of(status, sentence)
