"""Statistics of score tables: intervals, comparisons, rankings, subgroups, planning. Reads arrays and tables only."""

from segauge.scores import Scale
from segauge.stats.boards import Board, BoardRow, BoardRules
from segauge.stats.changes import Change, Difference, difference
from segauge.stats.comparison import Comparison, PairResult, Verdict, compare
from segauge.stats.compat import PairedComparison, RankingResult, RankStat, paired_significance, ranking_stability
from segauge.stats.consensus import TaskRanking, average_matrix, rank_tasks
from segauge.stats.contests import (
    Contest,
    average_contest,
    board_on,
    boards_of,
    contests_of,
    make_board,
    structure_contest,
)
from segauge.stats.estimation import Estimate, bootstrap_ci, estimate, share
from segauge.stats.gaps import Gap, StratifiedGap, stratified_gap
from segauge.stats.groups import (
    Group,
    Interaction,
    SubgroupReport,
    binned,
    estimate_group_columns,
    estimate_groups,
    group_interaction,
)
from segauge.stats.intervals import METHODS, IntervalMethod
from segauge.stats.matrix import ScoreMatrix
from segauge.stats.missing import MissingPolicy, scale_of, summarise
from segauge.stats.noise_floors import Floor
from segauge.stats.pairs import ConfidenceDistribution, confidence_distribution
from segauge.stats.planning import (
    PairPlan,
    cases_for_half_width,
    cases_to_separate,
    detectable_difference,
    paired_power,
    plan_pairs,
    upper_sd,
)
from segauge.stats.ranking import Flip, RankedModel, Ranking, rank, rank_frequencies
from segauge.stats.schemes import SCHEMES, OrderStability, RankingScheme, kendall_tau, order_stability
from segauge.stats.scored_set import AVERAGE, AVERAGE_RULES, CASE_RULES, CaseRule, ScoredSet
from segauge.stats.shared_cases import score_matrix
from segauge.stats.significance import bonferroni, holm, kruskal_wallis, mann_whitney, wilcoxon

__all__ = [
    "AVERAGE", "AVERAGE_RULES", "CASE_RULES", "METHODS", "SCHEMES", "Board", "BoardRow", "BoardRules", "CaseRule",
    "Change", "Comparison", "ConfidenceDistribution", "Contest", "Difference", "Estimate", "Flip", "Floor", "Gap",
    "Group", "Interaction", "IntervalMethod", "MissingPolicy", "OrderStability", "PairPlan", "PairResult",
    "PairedComparison", "RankStat", "RankedModel", "Ranking", "RankingResult", "RankingScheme", "Scale",
    "ScoreMatrix", "ScoredSet", "StratifiedGap", "SubgroupReport", "TaskRanking", "Verdict", "average_contest",
    "average_matrix", "binned", "board_on", "boards_of", "bonferroni", "bootstrap_ci", "cases_for_half_width",
    "cases_to_separate", "compare", "confidence_distribution", "contests_of", "detectable_difference", "difference",
    "estimate", "estimate_group_columns", "estimate_groups", "group_interaction", "holm", "kendall_tau",
    "kruskal_wallis", "make_board", "mann_whitney", "order_stability", "paired_power", "paired_significance",
    "plan_pairs", "rank", "rank_frequencies", "rank_tasks", "ranking_stability", "scale_of", "score_matrix", "share",
    "stratified_gap", "structure_contest", "summarise", "upper_sd", "wilcoxon",
]  # fmt: skip
