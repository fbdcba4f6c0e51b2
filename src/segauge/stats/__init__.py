"""Statistics of score tables: intervals, comparisons, rankings, subgroups, planning. Reads arrays and tables only."""

from segauge.stats.comparison import Comparison, PairResult, compare
from segauge.stats.consensus import TaskRanking, average_matrix, rank_tasks
from segauge.stats.estimation import Estimate, bootstrap_ci, estimate, share
from segauge.stats.intervals import METHODS, IntervalMethod
from segauge.stats.matrix import ScoreMatrix, score_matrix
from segauge.stats.missing import MissingPolicy, summarise
from segauge.stats.planning import (
    PairPlan,
    cases_for_half_width,
    cases_to_separate,
    detectable_difference,
    paired_power,
    plan_pairs,
    upper_sd,
)
from segauge.stats.published import PairedComparison, RankingResult, RankStat, paired_significance, ranking_stability
from segauge.stats.ranking import Flip, RankedModel, Ranking, rank, rank_frequencies
from segauge.stats.regression import Change, Difference, difference
from segauge.stats.scales import Scale, scale_of
from segauge.stats.schemes import SCHEMES, RankingScheme, kendall_tau
from segauge.stats.subgroups import Gap, Group, Interaction, SubgroupReport, binned, estimate_groups, group_interaction

__all__ = [
    "METHODS",
    "SCHEMES",
    "Change",
    "Comparison",
    "Difference",
    "Estimate",
    "Flip",
    "Gap",
    "Group",
    "Interaction",
    "IntervalMethod",
    "MissingPolicy",
    "PairPlan",
    "PairResult",
    "PairedComparison",
    "RankStat",
    "RankedModel",
    "Ranking",
    "RankingResult",
    "RankingScheme",
    "Scale",
    "ScoreMatrix",
    "SubgroupReport",
    "TaskRanking",
    "average_matrix",
    "binned",
    "bootstrap_ci",
    "cases_for_half_width",
    "cases_to_separate",
    "compare",
    "detectable_difference",
    "difference",
    "estimate",
    "estimate_groups",
    "group_interaction",
    "kendall_tau",
    "paired_power",
    "paired_significance",
    "plan_pairs",
    "rank",
    "rank_frequencies",
    "rank_tasks",
    "ranking_stability",
    "scale_of",
    "score_matrix",
    "share",
    "summarise",
    "upper_sd",
]
