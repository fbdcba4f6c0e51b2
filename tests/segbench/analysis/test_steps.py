"""Steps of an analysis: the same numbers here and in worker processes, counted as they are done, refusals in words."""

import pickle

import pytest

from segauge.errors import InvalidInput, SegaugeError
from segauge.executors import Crash, Outcome
from segbench.analysis import StudyInput, analyze, families_of, steps
from segbench.analysis.steps import Step, compute, take
from segbench.boards import rules_of
from tests.executors.work import do
from tests.segbench.analysis.test_boards import random_set

RULES = rules_of(n_resamples=200)


def half(number):
    if number < 0:
        raise InvalidInput(f"expected 0 or more, got {number}.")
    if number > 100:
        raise RuntimeError("too large")
    return number / 2


def planned(*numbers):
    return {"even": [Step(f"half of {n}", half, (n,)) for n in numbers], "none": [], "one": [Step("one", half, (2,))]}


def test_results_stand_under_their_keys_and_are_counted():
    told = []
    found = compute(planned(4, 8), progress=lambda *said: told.append(said))
    assert found == {"even": [2.0, 4.0], "none": [], "one": [1.0]}
    assert told == [("half of 4", 1, 3), ("half of 8", 2, 3), ("one", 3, 3)]


def test_a_refusal_keeps_its_words():
    with pytest.raises(InvalidInput, match=r"^expected 0 or more, got -1\.$"):
        compute(planned(4, -1))
    # Here an error of the program is what it is.
    with pytest.raises(RuntimeError, match="too large"):
        compute(planned(101))


def test_what_workers_send_back_has_the_same_words(monkeypatch):
    def answers(*results):
        monkeypatch.setattr(steps, "run", lambda _function, _items, **_: map(Outcome, range(3), results))
        return compute(planned(4, 8), jobs=2)

    refused = take(Step("half of -1", half, (-1,)))
    assert answers(2.0, 4.0, 1.0) == compute(planned(4, 8))
    with pytest.raises(InvalidInput, match=r"^expected 0 or more, got -1\.$"):
        answers(2.0, pickle.loads(pickle.dumps(refused)), 1.0)  # noqa: S301 - our own bytes
    with pytest.raises(SegaugeError, match="half of 8 could not be analysed: RuntimeError: too large"):
        answers(2.0, Crash("RuntimeError: too large"), 1.0)


def study():
    scored = random_set(models=("good", "fair", "bad"))
    families = families_of({"families": {"sex": {"column": "sex"}}}, scored.metadata)
    return StudyInput(scored, families, split="split")


def plain(analysis):
    """Return what pages and tables are made of."""
    (one,) = analysis.sets
    groups = [(report.family, report.subject, dict(report.models), report.interaction) for report in one.groups]
    return repr((one.boards, one.maps, groups, one.parts, one.stability, one.pairing, one.typical))


@pytest.mark.slow
def test_no_number_depends_on_the_number_of_processes():
    told = []
    here = analyze([study()], RULES, progress=lambda *said: told.append(said))
    there = analyze([study()], RULES, jobs=2)
    assert plain(there) == plain(here)
    assert [done for _, done, _ in told] == list(range(1, len(told) + 1))
    assert {total for _, _, total in told} == {len(told)}
    # Two averages and two structures, two splits, two contrasts, three subjects by sex, all models together by sex.
    assert len(told) == 4 + 2 + 2 + 3 + 1


def test_a_step_whose_worker_died_is_tried_again_and_then_named(tmp_path):
    asked = [Step("the first", do, (("killed once", tmp_path),)), Step("half of 4", half, (4,))]
    assert compute({"all": asked}, jobs=2) == {"all": [[], 2.0]}
    deadly = [*asked, Step("the deadly one", do, ("kill",))]
    with pytest.raises(SegaugeError, match="the deadly one could not be analysed: its worker process was killed"):
        compute({"all": deadly}, jobs=2)
