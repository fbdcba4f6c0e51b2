"""The same work on a real cluster of two worker processes, one of which is killed in the middle."""

import os
import signal
import threading
import warnings

import numpy as np
import pytest

from segauge import Case, evaluate
from segauge.errors import InvalidInput
from segauge.executors import run_on_dask
from tests.evaluation.test_resume import make_cases

distributed = pytest.importorskip("distributed", reason="needs dask.distributed")
FutureState = distributed.client.FutureState

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each with a nanny: what a test kills is started again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster:
            yield cluster


def test_a_killed_worker_loses_no_case(cluster, tmp_path):
    """The cases come from a generator that kills one worker process after a third of them was taken."""
    cases = make_cases(tmp_path, 24)
    expected = evaluate(cases).to_json(tmp_path / "here.json").read_bytes()
    with distributed.Client(cluster.scheduler_address) as client:
        client.wait_for_workers(2, timeout=120)
        pids = list(client.run(os.getpid).values())
    assert len(set(pids)) == 2
    killed = []

    def with_a_kill():
        for i, case in enumerate(cases):
            if i == 8:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])
            yield case

    result = evaluate(with_a_kill(), executor=cluster.scheduler_address)
    assert killed
    assert result.failures == {}
    assert result.to_json(tmp_path / "cluster.json").read_bytes() == expected
    with distributed.Client(cluster.scheduler_address) as client:
        assert pids[0] not in client.run(os.getpid).values()


def test_a_result_that_dies_with_its_worker_before_it_is_fetched_is_made_again(cluster, monkeypatch):
    """Three results wait on the workers when both are killed: finished, then lost, then finished again."""
    lost = threading.Event()
    lose = FutureState.lose
    monkeypatch.setattr(FutureState, "lose", lambda state: (lose(state), lost.set()))
    with distributed.Client(cluster.scheduler_address) as client:
        client.wait_for_workers(2, timeout=120)
        outcomes = run_on_dask(str, range(10), client, None)
        seen = [next(outcomes)]
        waiting = list(client.futures)
        distributed.wait([distributed.Future(key, client) for key in waiting], timeout=120)
        pids = client.run(os.getpid).values()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        assert lost.wait(timeout=120)
        seen += outcomes
    assert {outcome.index: outcome.result for outcome in seen} == {i: str(i) for i in range(10)}


def test_a_client_is_used_and_left_open_and_failures_are_rows(cluster, tmp_path):
    bad = Case("bad", np.zeros((2, 2, 2), int), np.ones((3, 3, 3), int))
    with distributed.Client(cluster.scheduler_address) as client:
        result = evaluate([*make_cases(tmp_path, 2), bad], executor=client, cache=tmp_path / "cache")
        assert result.failures["bad"][0] == "refused"
        assert client.status == "running"


@pytest.mark.long
def test_words_where_no_scheduler_answers():
    with pytest.raises(InvalidInput, match="No dask scheduler answers at"):
        evaluate([Case("a", np.ones((2, 2, 2), int), np.ones((2, 2, 2), int))], executor="tcp://127.0.0.1:9")
