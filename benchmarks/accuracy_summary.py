"""The accuracy run in three small tables: every metric over all pairs, HD95 by shape, HD95 by spacing."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from benchmarks.accuracy.surfaces import COLUMNS, OURS, Answer
from benchmarks.tables import MISSING, markdown_table, three_digits

_HD95 = "HD95, mm"


def summarise(answers: Sequence[Answer]) -> str:
    """Return the tables as Markdown."""
    pairs = len({(answer.shape, answer.spacing, tuple(answer.truth.items())) for answer in answers})
    parts = [
        f"Mean absolute error over {pairs} pairs of masks; in brackets its ratio to that of `{OURS[0]}` (above 1: further "
        "from the truth than we). Each tool is held against the definition it implements: a pooled HD95 against the "
        "pooled truth, a MASD against MASD. The truth is that of the solids, so what voxels cannot show is part of "
        "everybody's error.",
        _by_metric(answers),
        f"{_HD95} by shape:",
        _by(answers, lambda answer: answer.shape),
        f"{_HD95} by voxel edges in mm:",
        _by(answers, lambda answer: " x ".join(f"{edge:g}" for edge in answer.spacing)),
    ]
    failures = dict.fromkeys(f"- {answer.tool}: {answer.error}" for answer in answers if answer.error)
    return "\n\n".join([*parts, *(["Failed:\n\n" + "\n".join(failures)] if failures else [])])


def _tools(answers: Sequence[Answer]) -> list[str]:
    return list(dict.fromkeys(answer.tool for answer in answers))


def _error(answers: Sequence[Answer], column: str) -> float | None:
    errors = [error for answer in answers for error in answer.errors(column)]
    return statistics.fmean(errors) if errors else None


def _cell(error: float | None, ours: float | None) -> str:
    if error is None:
        return MISSING
    return f"{error:.3f}" if not ours else f"{error:.3f} ({three_digits(error / ours)})"


def _by_metric(answers: Sequence[Answer]) -> str:
    of = {tool: [answer for answer in answers if answer.tool == tool] for tool in _tools(answers)}
    rows = [
        [tool, *(_cell(_error(own, column), _error(of.get(OURS[0], []), column)) for column in COLUMNS)]
        for tool, own in of.items()
    ]
    return markdown_table(["tool", *COLUMNS], rows)


def _by(answers: Sequence[Answer], group: Callable[[Answer], str]) -> str:
    groups = list(dict.fromkeys(map(group, answers)))
    rows = []
    for tool in _tools(answers):
        own = [answer for answer in answers if answer.tool == tool]
        errors = [_error([answer for answer in own if group(answer) == name], _HD95) for name in groups]
        rows.append([tool, *(MISSING if error is None else f"{error:.3f}" for error in errors)])
    return markdown_table(["tool", *groups], rows)
