"""Steps: the parts of an analysis that need nothing of each other, computed here or in workers, and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from segauge.errors import InvalidInput, SegaugeError
from segauge.executors import Crash, Outcome, run

#: Called with what is done, how many are, and of how many.
Progress = Callable[[str, int, int], None]
Key = TypeVar("Key")


@dataclass(frozen=True)
class Step:
    """A call to be made.

    Attributes:
        what: in words, for whoever waits: "liver dice".
        function: at the top level of a module, so that a worker process finds it.
        arguments, options: what it is called with.

    """

    what: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Refused:
    """What a step refused, in the words of its error."""

    words: str


def take(step: Step) -> Any:
    """Return the result of a step, or what it refused: what one worker is asked for."""
    try:
        return step.function(*step.arguments, **step.options)
    except InvalidInput as error:
        return _Refused(str(error))


def compute(
    planned: Mapping[Key, Sequence[Step]], *, jobs: int = 1, progress: Progress | None = None
) -> dict[Key, list[Any]]:
    """Return the results of all steps under the keys they were planned by, in their order.

    No result depends on `jobs`, the number of worker processes; 1 computes here.
    """
    steps = [step for group in planned.values() for step in group]
    results: dict[int, Any] = {}
    for done, outcome in enumerate(_outcomes(steps, min(jobs, len(steps))), start=1):
        what = steps[outcome.index].what
        if isinstance(outcome.result, Crash):
            raise SegaugeError(f"{what} could not be analysed: {outcome.result.reason}.")
        if isinstance(outcome.result, _Refused):
            raise InvalidInput(outcome.result.words)
        results[outcome.index] = outcome.result
        if progress is not None:
            progress(what, done, len(steps))
    ordered = iter(range(len(steps)))
    return {key: [results[next(ordered)] for _ in group] for key, group in planned.items()}


def _outcomes(steps: Sequence[Step], jobs: int) -> Iterator[Outcome]:
    if jobs > 1:
        return run(take, steps, jobs=jobs)
    return (Outcome(index, take(step)) for index, step in enumerate(steps))
