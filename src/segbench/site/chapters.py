"""Chapter: one record with its leaderboard, and the addresses of everything that the site says about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from segauge.digits import unit_word
from segauge.errors import SegaugeError
from segauge.metrics.catalog import metric as metric_info
from segauge.report.summary import named
from segauge.scores import MetricInfo
from segauge.stats import AVERAGE, Board, CaseRule, ScoredSet
from segbench.addresses import numbered, slugs
from segbench.analysis import SetAnalysis
from segbench.boards import Leaderboard, leaderboard_of, scored_set_of
from segbench.records import RunRecord
from segbench.site.counts import Counts, counts_of

#: Fewer tolerances than this make no curve.
FEWEST_POINTS = 3


@dataclass(frozen=True, eq=False)
class Chapter:
    """One record on the site.

    Attributes:
        record: what was recorded.
        leaderboard: what follows from it.
        key: its part of addresses.
        title: what the record calls itself; different for each record.
        name: of its test set, numbered where several records are of one.
        fingerprint: hash of the record.
        check: what a verification of the record said; "" where none was made.
        holds: whether everything that was checked follows.
        model_keys: per model its part of addresses.
        places: structure and metric of every board, in the order of the selectors.
        seconds: per model the mean time of a prediction; None where it was not taken.
        study: groups, cohort, audit and everything else that was analysed.
        has_exposures: whether it is known what the models saw in training.

    """

    record: RunRecord
    leaderboard: Leaderboard
    key: str
    title: str
    name: str
    fingerprint: str
    check: str = ""
    holds: bool = True
    model_keys: dict[str, str] = field(default_factory=dict)
    places: tuple[tuple[str, str], ...] = ()
    seconds: dict[str, float | None] = field(default_factory=dict)
    study: SetAnalysis | None = None
    has_exposures: bool = True
    _counts: dict[str, dict[str, Counts]] = field(default_factory=dict)
    _structures: dict[str, str] = field(default_factory=dict)
    _metrics: dict[str, str] = field(default_factory=dict)

    @cached_property
    def scored(self) -> ScoredSet:
        """The scores that the boards are made of."""
        return scored_set_of(self.record) if self.study is None else self.study.scored

    @property
    def case_rule(self) -> CaseRule:
        """Which cases the boards count."""
        return "failed" if self.study is None else self.study.case_rule

    @cached_property
    def boards(self) -> tuple[Board, ...]:
        """The boards in the order of the selectors: the average over structures first, where there is one."""
        return shown_boards(self.leaderboard, self.record.metrics)

    def of_structure(self, structure: str) -> Chapter:
        """Return what the pages of one structure are made of: small enough to be sent to a worker."""
        known = self.leaderboard
        boards, averages = (
            tuple(board for board in every if board.structure == structure) for every in (known.boards, known.averages)
        )
        counts = {name: {structure: found[structure]} for name, found in self._counts.items() if structure in found}
        return replace(
            self,
            record=self.record.of_structure(structure),
            leaderboard=Leaderboard(boards, averages, known.settings),
            study=None if self.study is None else self.study.of_structure(structure),
            _counts=counts,
        )

    def curve(self, structure: str) -> dict[float, Board]:
        """Return the boards of the surface Dice of a structure by tolerance in mm; {} for fewer than three."""
        every = (*self.leaderboard.averages, *self.leaderboard.boards)
        found = {_tolerance(board.metric): board for board in every if board.structure == structure}
        known = {tolerance: found[tolerance] for tolerance in sorted(t for t in found if t is not None)}
        return known if len(known) >= FEWEST_POINTS else {}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that have a board."""
        return tuple(dict.fromkeys(board.metric for board in self.boards))

    def structures(self) -> Iterator[tuple[str, list[Board]]]:
        """Yield each structure with its boards."""
        for structure in dict.fromkeys(board.structure for board in self.boards):
            yield structure, [board for board in self.boards if board.structure == structure]

    def board_of(self, structure: str, metric: str) -> Board | None:
        """Return a board, None where there is no such one."""
        found = (board for board in self.boards if (board.structure, board.metric) == (structure, metric))
        return next(found, None)

    def metric_title(self, board: Board) -> str:
        """Return what the site calls the metric of a board."""
        return metric_title(board.metric, self.record, board.structure)

    def axis(self, board: Board) -> str:
        """Return the title of a board's axis, with its unit."""
        return axis_of(board, self.record)

    def place(self, board: Board, model: str) -> int | None:
        """Return the place of a model on a board; None where it has none."""
        return next((standing.place for standing in board.rows if standing.model == model), None)

    def counts(self, structure: str, model: str) -> Counts:
        """Return how often a model missed or invented a structure, or was not measured; over all for the average."""
        return self._counts.get(model, {}).get(structure, Counts())

    def selection(self, board: Board) -> dict[str, str]:
        """Return the selection that shows a board on the front page."""
        return {"set": self.key, "structure": self.structure_key(board), "metric": self._metrics[board.metric]}

    def structure_key(self, board: Board) -> str:
        """Return the structure's part of addresses."""
        return self._structures[board.structure]

    def address(self, board: Board, kind: str = "") -> str:
        """Return the address of a board's page, or of that of its cases or groups, from the root of the site."""
        return self.address_of(board.structure, board.metric, kind)

    def address_of(self, structure: str, metric: str, kind: str = "") -> str:
        """Return the same for the board of a structure and metric."""
        ending = f".{kind}" if kind else ""
        return f"{self.key}/{self._structures[structure]}/{self._metrics[metric]}{ending}.html"

    def scores(self, board: Board) -> str:
        """Return the address of the scores of a board, which pages load when they need them."""
        return f"data/{self.key}/{self.structure_key(board)}/{self._metrics[board.metric]}.js"

    def embed(self, board: Board) -> str:
        """Return the address of the board for pages of others."""
        return f"embed/{self.key}/{self.structure_key(board)}/{self._metrics[board.metric]}.html"

    def badge(self, model: str) -> str:
        """Return the address of a model's badge."""
        return f"badges/{self.key}/{self.model_keys[model]}.svg"

    @property
    def leading(self) -> Board | None:
        """The board that speaks for the record: the first of the selectors that ranks anybody, or the first of all."""
        ranked = (board for board in self.boards if any(standing.place for standing in board.rows))
        return next(ranked, next(iter(self.boards), None))


def chapters_of(
    records: Sequence[RunRecord],
    checks: Sequence[tuple[str, bool]] = (),
    studies: Sequence[SetAnalysis] = (),
) -> tuple[Chapter, ...]:
    """Return the chapters of records in their order.

    `checks` say per record what a verification found; `studies` are their analyses where these were made already, with
    boards of their own.
    """
    titles, names = numbered([one.title for one in records]), numbered([one.dataset.name for one in records])
    keys, shown = slugs(names), numbered([one.dataset.title for one in records])
    models = slugs(name for record in records for name in record.tables)
    found = []
    for i, record in enumerate(records):
        leaderboard = leaderboard_of(record) if not studies else _leaderboard_of(studies[i])
        boards = (*leaderboard.averages, *leaderboard.boards)
        check, holds = checks[i] if checks else ("", True)
        found.append(
            Chapter(
                record,
                leaderboard,
                keys[names[i]],
                titles[i],
                shown[i],
                record.fingerprint(),
                check,
                holds,
                {name: models[name] for name in record.tables},
                tuple((one.structure, one.metric) for one in shown_boards(leaderboard, record.metrics)),
                {name: mean_seconds(record, name) for name in record.tables},
                studies[i] if studies else None,
                _has_exposures(record),
                {name: counts_of(table) for name, table in record.tables.items()},
                slugs(board.structure for board in boards),
                slugs(board.metric for board in boards),
            )
        )
    return tuple(found)


def _leaderboard_of(study: SetAnalysis) -> Leaderboard:
    """Return the boards of an analysis; of several averages the one that leads."""
    every = [board for boards in study.boards.values() for board in boards]
    leading = tuple(boards[0] for boards in study.boards.values() if boards and boards[0].is_average)
    return Leaderboard(tuple(board for board in every if not board.is_average), leading, study.settings)


def _has_exposures(record: RunRecord) -> bool:
    return any(entry.exposure.level.value != "unknown" for entry in record.models)


def shown_boards(leaderboard: Leaderboard, metrics: Sequence[str]) -> tuple[Board, ...]:
    """Return the boards that the site has, the averages over structures first.

    Scores at tolerances that make a curve beside the metric itself have no boards of their own.
    """
    averages = tuple(board for board in leaderboard.averages if board.rows)
    points = curve_points(metrics)
    return tuple(board for board in (*averages, *leaderboard.boards) if board.metric not in points)


def mean_seconds(record: RunRecord, model: str) -> float | None:
    """Return the mean time of a prediction in seconds, None where it was not taken."""
    times = list(record.timings.get(model, {}).values())
    return sum(times) / len(times) if times else None


def curve_points(metrics: Sequence[str]) -> frozenset[str]:
    """Return the metrics that are points of a curve: the NSD at three tolerances or more, beside the NSD itself."""
    points = frozenset(metric for metric in metrics if _tolerance(metric) is not None)
    return points if "nsd" in metrics and len(points) >= FEWEST_POINTS else frozenset()


def _tolerance(metric: str) -> float | None:
    """Return the tolerance of "nsd@2.5" in mm; None for any other metric."""
    name, _, text = metric.partition("@")
    try:
        return float(text) if name == "nsd" and text else None
    except ValueError:
        return None


def structure_title(board: Board) -> str:
    """Return what the site calls the structure of a board."""
    return structure_name(board.structure)


def structure_name(structure: str) -> str:
    """Return what the site calls a structure."""
    return "all structures" if structure == AVERAGE else structure


def info_of(metric: str) -> MetricInfo | None:
    """Return the facts of a metric, None for one that another tool made up."""
    try:
        return metric_info(metric)
    except SegaugeError:
        return None


def metric_title(metric: str, record: RunRecord | None = None, structure: str = AVERAGE) -> str:
    """Return what the site calls a metric: its name where it has one, and the tolerance that the record says."""
    info = info_of(metric)
    if info is None:
        return metric
    return info.name if record is None else named(info, record.protocol, structure).name


def axis_of(board: Board, record: RunRecord) -> str:
    """Return the title of a board's axis, with its unit."""
    title = metric_title(board.metric, record, board.structure)
    return f"{title} in {unit}" if (unit := unit_word(board.unit)) else title
