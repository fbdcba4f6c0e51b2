"""Several models on the same cases: rankings, pairs, ranks over resamples, and the cases where models disagree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, UnknownMetric
from segauge.evaluation import EvaluationResult
from segauge.plural import counted
from segauge.report.floors import amount, unknown_sentences
from segauge.report.summary import LEADING, named
from segauge.scores import MetricInfo
from segauge.stats import AVERAGE, Board, BoardRules, PairResult, ScoredSet, ScoreMatrix, board_on, rank_frequencies
from segauge.stats.matrix import NOTHING_TO_FIND, RANKED_WITHIN_CASES
from segauge.stats.noise_floors import floor_of_difference, noise_floor_of

#: Metrics that are ranked beside the first one.
MOST_METRICS = 4
#: Pairs below the noise floor that a sentence names.
_NAMED_PAIRS = 4


@dataclass(frozen=True)
class Disagreement:
    """A structure of a case where the models' scores lie far apart: the best and the worst, with their scores.

    `best_found_nothing` is True where the best one rightly found nothing, and so has no score: `best_value` is then the
    best value of the scale, which it counts with.
    """

    case: str
    structure: str
    best: str
    worst: str
    best_value: float
    worst_value: float | None
    best_found_nothing: bool = False

    @property
    def gap(self) -> float:
        """How far apart they are; infinite where the worst failed without a value."""
        return math.inf if self.worst_value is None else abs(self.best_value - self.worst_value)


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """The results of several models on the same cases, compared by one metric first and by others beside it.

    Attributes:
        results: by name of the model.
        metric: key of the metric that decides; the first of the leading ones if not given.
        level, n_resamples, seed: of intervals, verdicts and resamples; by default those of the results' first.

    """

    results: Mapping[str, EvaluationResult]
    metric: str | None = None
    level: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        if len(self.results) < 2:
            raise InvalidInput(f"A comparison needs two models or more, got {len(self.results)}.")
        if self.metric is not None and self.metric not in {info.key for info in self.metrics}:
            raise UnknownMetric(f"The models share no metric {self.metric!r}; they share {', '.join(self._shared)}.")

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.results)

    @property
    def _shared(self) -> list[str]:
        known = [set(result.metric_names) for result in self.results.values()]
        return [key for key in next(iter(self.results.values())).metric_names if all(key in keys for keys in known)]

    @cached_property
    def metrics(self) -> tuple[MetricInfo, ...]:
        """Metrics that all models have and that say which way is better."""
        first = next(iter(self.results.values()))
        found = (info for info in first.metrics if info.key in self._shared and info.direction != "none")
        return tuple(self._named(info) for info in found)

    def _named(self, info: MetricInfo) -> MetricInfo:
        """Return a metric by the name that a reader sees; models may have been measured with different tolerances."""
        names = [named(info, result.protocol) for result in self.results.values()]
        if all(one == names[0] for one in names):
            return names[0]
        return replace(info, name=f"{info.name} (tolerances differ between the models)")

    @cached_property
    def leading(self) -> tuple[MetricInfo, ...]:
        """The metric that decides, then those beside it."""
        known = {info.key: info for info in self.metrics}
        order = [self.metric, *LEADING] if self.metric else list(LEADING)
        found = [known[key] for key in dict.fromkeys(order) if key in known]
        return tuple(found[:MOST_METRICS] or self.metrics[:MOST_METRICS])

    @property
    def family(self) -> str:
        """What the verdicts hold for together, in words; "" where one metric is ranked."""
        others = [info.name for info in self.leading if info.key in self.boards and info != self.deciding]
        if not others:
            return ""
        beside = f"{', '.join(others[:-1])} and {others[-1]}" if len(others) > 1 else others[0]
        return (
            f"Ranked by {self.deciding.name}; for reference: {beside}. Verdicts are corrected for all pairs of models "
            "within a metric, not across metrics."
        )

    @property
    def unranked(self) -> str:
        """Which leading metrics are not ranked, and why, in words; "" where all are."""
        names = [info.name for info in self.leading if info.key not in self.boards]
        return f"Not ranked over all structures, because failures have no value: {', '.join(names)}." if names else ""

    @cached_property
    def structures(self) -> tuple[str, ...]:
        """Structures that all models have."""
        names = [set(result.structures) for result in self.results.values()]
        shared = [name for name in next(iter(self.results.values())).structures if all(name in one for one in names)]
        if not shared:
            raise InvalidInput("The models have no structure in common.")
        return tuple(shared)

    @cached_property
    def n_cases(self) -> int:
        """Cases that any model was scored on; one that a model lacks counts as its failure."""
        return len({case for result in self.results.values() for case in result.table.cases})

    @cached_property
    def scored(self) -> ScoredSet:
        """The scores of all models on the structures that they share."""
        first = next(iter(self.results.values()))
        scales = {info.key: info.scale for info in self.metrics}
        tables = {name: result.table for name, result in self.results.items()}
        return ScoredSet("", tables, policy=first.policy, scales=scales).select(structures=self.structures)

    def matrix(self, structure: str, info: MetricInfo) -> ScoreMatrix:
        """Return the scores of all models on one structure and metric, paired by case."""
        return self.scored.matrix(structure, info.key, "failed")

    @property
    def _rules(self) -> BoardRules:
        return BoardRules(level=self.level, n_resamples=self.n_resamples, seed=self.seed)

    @cached_property
    def boards(self) -> dict[str, Board]:
        """The board of each leading metric, over all structures, where there is an order."""
        over = AVERAGE if len(self.structures) > 1 else self.structures[0]
        known = {info.key: board_on(self.scored, over, info.key, self._rules) for info in self.leading}
        found = {key: board for key, board in known.items() if board is not None and not board.no_order}
        if not found:
            raise InvalidInput(
                "No leading metric has a mean over the structures: failures of a distance have no value. "
                "Measure Dice or NSD as well, or give a penalty."
            )
        return found

    @cached_property
    def deciding(self) -> MetricInfo:
        """The metric of the main board."""
        return next(info for info in self.leading if info.key in self.boards)

    @property
    def board(self) -> Board:
        """The main board."""
        return self.boards[self.deciding.key]

    @cached_property
    def by_structure(self) -> dict[str, Board]:
        """The board of each structure by the deciding metric; {} for a single structure."""
        if len(self.structures) == 1:
            return {}
        known = {name: board_on(self.scored, name, self.deciding.key, self._rules) for name in self.structures}
        return {name: board for name, board in known.items() if board is not None}

    @cached_property
    def rank_frequencies(self) -> dict[str, dict[float, float]]:
        """Per model, best first, how often it has each rank over resampled cases (the resamples of the board)."""
        average = self.scored.average(self.deciding.key, "structure-means", "failed")
        matrix = self.matrix(self.structures[0], self.deciding) if average is None else average
        shares = rank_frequencies(matrix, n_resamples=self.n_resamples, seed=self.seed)
        return {row.model: shares[row.model] for row in self.board.ranked}

    @cached_property
    def mean_ranks(self) -> dict[str, float]:
        """Per model its mean rank within the cases (and structures), failures last."""
        sums, count = np.zeros(len(self.models)), 0
        for name in self.structures:
            ranked = self.matrix(name, self.deciding).as_ranks().values
            sums, count = sums + ranked.sum(axis=0), count + len(ranked)
        return {model: float(value) / max(count, 1) for model, value in zip(self.models, sums, strict=True)}

    def case_scores(self, info: MetricInfo) -> dict[str, dict[str, float]]:
        """Return per model the mean of each case over its structures, for cases that every model has a number for."""
        found: dict[str, list[npt.NDArray[np.float64]]] = {}
        for name in self.structures:
            matrix = self.matrix(name, info)
            for case, row in zip(matrix.cases, matrix.values, strict=True):
                if np.isfinite(row).all():
                    found.setdefault(case, []).append(row)
        means = {case: np.mean(rows, axis=0) for case, rows in sorted(found.items())}
        return {model: {case: float(mean[j]) for case, mean in means.items()} for j, model in enumerate(self.models)}

    def floor(self, info: MetricInfo, a: str, b: str) -> float | None:
        """Return below which difference two models' means mean nothing: what the voxel grid alone makes of it.

        None where it was not measured for both, or where the ranking is by ranks within the cases.
        """
        board = self.boards.get(info.key)
        if board is None or board.is_by_ranks:
            return None
        tables = [self.results[name].table for name in (a, b)]
        return floor_of_difference(
            (noise_floor_of(tables[0], name, info.key), noise_floor_of(tables[1], name, info.key))
            for name in self.structures
        )

    def below_floor(self, info: MetricInfo) -> list[tuple[PairResult, float]]:
        """Return the pairs of models whose difference lies below the noise floor, with that."""
        found = []
        for pair in self.boards[info.key].pairs if info.key in self.boards else ():
            floor = self.floor(info, pair.a, pair.b)
            if floor is not None and abs(pair.delta) < floor:
                found.append((pair, floor))
        return found

    def floor_sentences(self) -> list[str]:
        """Return which differences between models lie below the noise floor; [] where it was not measured."""
        lines, is_known = [], False
        for info in self.leading:
            found = self.below_floor(info)
            is_known |= self.floor(info, *self.models[:2]) is not None
            named = ", ".join(
                f"{pair.a} and {pair.b} ({amount(abs(pair.delta), info.unit)}, floor {amount(floor, info.unit)})"
                for pair, floor in found[:_NAMED_PAIRS]
            )
            more = f" and {len(found) - _NAMED_PAIRS} more pairs" if len(found) > _NAMED_PAIRS else ""
            if found:
                lines.append(
                    f"{info.name}: these differences are within the noise floor of the voxel grid: {named}{more}."
                )
        lines = lines or (["No difference between models is below its noise floor."] if is_known else [])
        for name, result in self.results.items():
            lines += [f"{name}: {words}" for words in unknown_sentences(self.leading, result.noise_floors())]
        return lines

    def disagreements(self, most: int = 12) -> list[Disagreement]:
        """Return the structures of cases where the best and the worst model lie farthest apart."""
        found = []
        for name in self.structures:
            matrix = self.matrix(name, self.deciding)
            made = (self._disagreement(matrix, i, name) for i in range(len(matrix.cases)))
            found += [one for one in made if one is not None]
        return sorted(found, key=lambda one: -one.gap)[:most]

    def _disagreement(self, matrix: ScoreMatrix, i: int, structure: str) -> Disagreement | None:
        """Return how far the models lie apart on a case; None where fewer than two say anything there."""
        row = matrix.values[i]
        quiet = [] if matrix.absent is None else np.flatnonzero(matrix.absent[i]).tolist()
        # Two that find nothing agree; on a scale without a best value nobody knows by how much the others differ.
        quiet = quiet if matrix.false_findings[i] and math.isfinite(matrix.scale.best) else []
        known = [j for j in range(len(row)) if math.isfinite(row[j])]
        failed = [j for j in range(len(row)) if math.isinf(row[j])]
        if not known + quiet or len(known) + len(failed) + len(quiet) < 2:
            return None
        ordered = sorted(known, key=lambda j: row[j], reverse=matrix.scale.higher_is_better)
        best = (quiet or ordered)[0]
        worst = failed[0] if failed else ordered[-1]
        return Disagreement(
            matrix.cases[i],
            structure,
            self.models[best],
            self.models[worst],
            matrix.scale.best if quiet else float(row[best]),
            None if failed else float(row[worst]),
            bool(quiet),
        )

    def sentences(self) -> list[str]:
        """Return what the comparison shows, in plain words."""
        board = self.board
        over = "" if len(self.structures) == 1 else f", averaged over {len(self.structures)} structures"
        lines = [
            f"{len(self.models)} models on the same {counted(self.n_cases, 'case')}.",
            f"By {self.deciding.name}{over}: {board.sentence}",
            board.rule,
        ]
        lines += [self.family] if self.family else []
        lines += [
            note
            for note in board.notes
            if note == RANKED_WITHIN_CASES or note.startswith("a case") or NOTHING_TO_FIND in note
        ]
        lines += stability_sentences(board)
        for info in self.leading:
            other = self.boards.get(info.key)
            if other is not None and info != self.deciding and other.rows[0].model != board.rows[0].model:
                lines.append(f"By {info.name} the order begins with {other.rows[0].model} instead.")
        lines += self.floor_sentences()
        lines += [self.unranked] if self.unranked else []
        return lines


def stability_sentences(board: Board) -> list[str]:
    """Return how far the order hangs on single cases."""
    if board.flip_share is None:
        return []
    count = round(board.flip_share * board.n_cases)
    lines = [f"Dropping a single case changes the ranking for {count} of the {counted(board.n_cases, 'case')}."]
    if board.flips:
        names = ", ".join(list(board.flips)[:4]) + (" and others" if len(board.flips) > 4 else "")
        lines.append(f"Another model would lead without {names}.")
    return lines
