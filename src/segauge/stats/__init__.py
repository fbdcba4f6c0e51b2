"""Statistics of score tables: intervals, comparisons, rankings, subgroups, planning. Reads arrays and tables only."""

from segauge.stats.comparison import Comparison, PairedComparison, PairResult, compare, paired_significance
from segauge.stats.consensus import TaskRanking, average_matrix, rank_tasks
from segauge.stats.estimation import Estimate, bootstrap_ci, estimate, share
from segauge.stats.intervals import METHODS, IntervalMethod
from segauge.stats.matrix import ScoreMatrix, score_matrix
from segauge.stats.missing import MissingPolicy, summarise
from segauge.stats.ranking import Flip, RankedModel, Ranking, rank
from segauge.stats.ranking_stability import RankingResult, RankStat, ranking_stability
from segauge.stats.scales import Scale, scale_of
from segauge.stats.schemes import SCHEMES, RankingScheme, kendall_tau

__all__ = [
    "METHODS",
    "SCHEMES",
    "Comparison",
    "Estimate",
    "Flip",
    "IntervalMethod",
    "MissingPolicy",
    "PairResult",
    "PairedComparison",
    "RankStat",
    "RankedModel",
    "Ranking",
    "RankingResult",
    "RankingScheme",
    "Scale",
    "ScoreMatrix",
    "TaskRanking",
    "average_matrix",
    "bootstrap_ci",
    "compare",
    "estimate",
    "kendall_tau",
    "paired_significance",
    "rank",
    "rank_tasks",
    "ranking_stability",
    "scale_of",
    "score_matrix",
    "share",
    "summarise",
]
