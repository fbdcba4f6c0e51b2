"""Groups of cases: declared, checked for overlap, compared by our rules or by Touchstone's."""

from segbench.analysis.groups.boxes import BoxFigure, BoxTest, aggregated_matrix, box_figure, stars
from segbench.analysis.groups.declaration import Family, families_of
from segbench.analysis.groups.membership import Membership, Overlap, membership
from segbench.analysis.groups.presets import suggested_families, touchstone_families
from segbench.analysis.groups.reports import (
    AdjustedGap,
    GroupReport,
    report_groups,
    small_groups,
    strata_of,
    subjects_of,
)

__all__ = [
    "AdjustedGap", "BoxFigure", "BoxTest", "Family", "GroupReport", "Membership", "Overlap", "aggregated_matrix",
    "box_figure", "families_of", "membership", "report_groups", "small_groups", "stars", "strata_of", "subjects_of",
    "suggested_families", "touchstone_families",
]  # fmt: skip
