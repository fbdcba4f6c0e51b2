"""The scale benchmark: it finds what it is meant to find, and a small run of it works."""

import pytest
from benchmarks.scale.findings import FEWEST_FOR_GROWTH, findings

COUNT = 2 * FEWEST_FOR_GROWTH


def seen(pace=lambda _: 0.1, parent=lambda _: 80e6, workers=lambda _: 160e6, failed=0, count=COUNT):
    """Return a run in which the times and the memory follow the share of the cases that are done."""
    taken, now = [], 5.0
    for case in range(count):
        taken.append(now)
        now += pace(case / count)
    moments = [0.5 * k for k in range(int(2 * now))]
    done = [sum(start <= moment for start in taken[:: max(1, count // 50)]) / 50 for moment in moments]
    samples = [(moment, parent(share), workers(share)) for moment, share in zip(moments, done, strict=True)]
    return {"seconds": now, "taken": taken, "processor": taken, "memory": samples, "failed": failed}


def test_an_even_run_has_nothing_to_complain_of():
    found = findings("run", seen())
    assert found.complaints == ()
    assert found.halves == pytest.approx(1.0)
    assert (found.cases, found.parent_mb, found.parent_growth_mb) == (COUNT, 80.0, 0.0)


def test_what_processes_load_at_first_is_no_growth():
    found = findings("run", seen(parent=lambda share: 80e6 if share > 0.2 else 20e6))
    assert found.parent_growth_mb == 0.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pace": lambda share: 0.05 + 0.1 * share}, "time per case grows"),
        ({"parent": lambda share: 80e6 + 60e6 * share}, "the process grows by 1"),  # 150 MB in a thousand
        ({"workers": lambda share: 160e6 + 60e6 * share}, "the workers grow by 1"),
        ({"failed": 2}, "2 cases failed"),
    ],
)
def test_growth_and_failures_are_found(change, words):
    (complaint,) = findings("run", seen(**change)).complaints
    assert words in complaint


def test_a_leak_is_measured_in_a_thousand_cases():
    found = findings("run", seen(parent=lambda share: 80e6 + 40e6 * share))
    # 40 MB in 400 cases; samples fall between cases.
    assert found.parent_growth_mb == pytest.approx(100.0, rel=0.1)


def test_a_short_run_says_nothing_about_memory():
    assert findings("run", seen(count=FEWEST_FOR_GROWTH - 1)).parent_growth_mb is None


@pytest.mark.slow
def test_a_small_run_measures_everything(tmp_path):
    from benchmarks.scale.__main__ import as_markdown, run
    from benchmarks.scale.dataset import write_cases

    write_cases(tmp_path / "data", 4)
    found = findings("1 worker", run(tmp_path / "data", "1 worker"))
    assert (found.cases, found.failed) == (4, 0)
    assert found.workers_mb > 10
    assert found.clock_halves > 0
    assert "| 1 worker |" in as_markdown([found], None)
