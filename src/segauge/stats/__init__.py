"""Statistics of score tables: intervals, comparisons, rankings, subgroups, planning. Reads arrays and tables only."""

from segauge.stats.comparison import Comparison, PairedComparison, PairResult, compare, paired_significance
from segauge.stats.estimation import Estimate, bootstrap_ci, estimate, share
from segauge.stats.intervals import METHODS, IntervalMethod
from segauge.stats.matrix import ScoreMatrix, score_matrix
from segauge.stats.missing import MissingPolicy, summarise
from segauge.stats.ranking_stability import RankingResult, RankStat, ranking_stability
from segauge.stats.scales import Scale, scale_of
from segauge.stats.schemes import SCHEMES, RankingScheme, kendall_tau

__all__ = [
    "METHODS",
    "SCHEMES",
    "Comparison",
    "Estimate",
    "IntervalMethod",
    "MissingPolicy",
    "PairResult",
    "PairedComparison",
    "RankStat",
    "RankingResult",
    "RankingScheme",
    "Scale",
    "ScoreMatrix",
    "bootstrap_ci",
    "compare",
    "estimate",
    "kendall_tau",
    "paired_significance",
    "ranking_stability",
    "scale_of",
    "score_matrix",
    "share",
    "summarise",
]
