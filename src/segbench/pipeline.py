"""The walk of a run: config, plan, predictions, scores, record, leaderboard. Each step can be taken alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from segauge.errors import SegaugeError
from segauge.scores import ScoreTable
from segbench.boards import make_leaderboard
from segbench.cards import Lineage, known_lineage
from segbench.config import RunConfig
from segbench.planning import Candidate, Plan, make_plan
from segbench.prediction import Predictions, PredictionSettings, predict
from segbench.records import RunRecord, load_record, save_record
from segbench.registry import Dataset, DatasetCase, Model, Progress, dataset, model
from segbench.scoring import RunDetails, score

#: Cells (cases x structures x models) from which on statistics are worth worker processes: they take a second to start.
WORTH_WORKERS = 20_000


@dataclass(frozen=True)
class Benchmark:
    """A config with its dataset and models at hand, and the plan that follows from them."""

    config: RunConfig
    dataset: Dataset
    models: tuple[Model, ...]
    lineage: Lineage
    plan: Plan

    @property
    def planned_models(self) -> tuple[Model, ...]:
        """The models that are run."""
        names = {planned.name for planned in self.plan.models}
        return tuple(one for one in self.models if one.card.name in names)


def open_benchmark(config: RunConfig) -> Benchmark:
    """Return the benchmark of a config: plug-ins loaded, cases chosen, exposures judged; nothing is fetched or run."""
    chosen = dataset(config.dataset.name, config.dataset.root, config.dataset.options)
    models = tuple(model(choice.type, choice.options) for choice in config.models)
    lineage = known_lineage([chosen.card])
    known = seconds_before(config.results_path)
    candidates = [Candidate(one.card, one.needs_gpu, known.get(one.card.name)) for one in models]
    available = chosen.case_ids()
    groups = None
    if config.selection == "stratified":
        groups = {case.case_id: str(case.metadata.get(config.stratify_by, "")) for case in chosen.cases(available)}
    plan = make_plan(config, chosen.card, available, candidates, lineage, groups)
    return Benchmark(config, chosen, models, lineage, plan)


def fetch_cases(benchmark: Benchmark, progress: Progress | None = None) -> Sequence[DatasetCase]:
    """Fetch what is missing of the chosen cases, and return them."""
    benchmark.dataset.prepare(benchmark.plan.case_ids, progress)
    return benchmark.dataset.cases(benchmark.plan.case_ids)


def make_predictions(
    benchmark: Benchmark,
    cases: Sequence[DatasetCase],
    progress: Progress | None = None,
    *,
    only_cached: bool = False,
) -> Predictions:
    """Run every planned model on every case, or take what the cache has, and nothing else if so asked."""
    config = benchmark.config
    settings = PredictionSettings(
        config.cache_dir, config.device, config.timeout_s, config.memory_gb, config.jobs, config.executor, only_cached
    )
    return predict(benchmark.planned_models, cases, settings, progress)


def make_record(
    benchmark: Benchmark, cases: Sequence[DatasetCase], made: Predictions, *, show_progress: bool = False
) -> RunRecord:
    """Score the predictions, and return the record with its leaderboard."""
    record = score_predictions(benchmark, cases, made, show_progress=show_progress)
    return with_leaderboard(record, jobs=benchmark.config.jobs)


def score_predictions(
    benchmark: Benchmark, cases: Sequence[DatasetCase], made: Predictions, *, show_progress: bool = False
) -> RunRecord:
    """Score the predictions, and return the record without any statistics."""
    details = {
        one.card.name: RunDetails(dict(one.options), made.environments.get(one.card.name, {}))
        for one in benchmark.planned_models
    }
    return score(
        benchmark.plan,
        cases,
        made.predictions,
        benchmark.config,
        details=details,
        cache=benchmark.config.cache_dir / "scores",
        progress=show_progress,
    )


def with_leaderboard(record: RunRecord, *, jobs: int | None = None, progress: Progress | None = None) -> RunRecord:
    """Return a record with the leaderboard that follows from its scores.

    Args:
        record: the scores.
        jobs: worker processes, at most; one per core if None. Few scores are analysed without any.
        progress: called with the structure that is done, how many are, and of how many.

    """
    count = worker_count(record.tables.values(), most=jobs)
    return record.with_analysis(make_leaderboard(record, jobs=count, progress=progress).to_dict())


def worker_count(tables: Iterable[ScoreTable], *, most: int | None = None) -> int:
    """Return how many processes the statistics of scores are worth: one per core or `most`; one if the scores are few.

    What is computed before the processes have started needs none.
    """
    worth = sum(table.status.size for table in tables) >= WORTH_WORKERS
    return (most or os.cpu_count() or 1) if worth else 1


def run(config: RunConfig, progress: Progress | None = None, *, show_progress: bool = False) -> RunRecord:
    """Run a benchmark from its config to its record, which is written to `results_path`.

    What was done before a stop is kept in the cache: the same call goes on where it was.
    """
    benchmark = open_benchmark(config)
    cases = fetch_cases(benchmark, progress)
    made = make_predictions(benchmark, cases, progress)
    record = make_record(benchmark, cases, made, show_progress=show_progress)
    save_record(record, config.results_path)
    return record


def seconds_before(results: Path) -> dict[str, float]:
    """Return per model how long a case took in the record that the last run left, if there is one."""
    if not results.is_file():
        return {}
    try:
        timings = load_record(results).timings
    except SegaugeError:  # whatever stands there will be written over, and says nothing about time
        return {}
    return {name: sum(cases.values()) / len(cases) for name, cases in timings.items() if cases}
