"""The figures of report, leaderboard and papers: functions of plain values that return Altair charts.

Report, pages and analyses all draw with these; what a figure shows is decided by its arguments alone. `save` writes a
chart as SVG, PDF or PNG, `inline_svg` gives it to a page.
"""

from segauge.report.figures.agreement import AgreementLimits, agreement_limits, bland_altman
from segauge.report.figures.cohorts import ColumnCounts, cohort
from segauge.report.figures.curves import Curve, curves, stability
from segauge.report.figures.distributions import MOST_POINTS, MOST_POINTS_IN_ALL, Cases, Point, boxes, raincloud
from segauge.report.figures.intervals import Interval, Recall, forest, recall_by_size
from segauge.report.figures.panels import joined_svg, panels, save_as, with_row_notes
from segauge.report.figures.places import podium, rank_blobs
from segauge.report.figures.rankings import PairCell, cliques, critical_difference, significance_map
from segauge.report.figures.rendering import FILE_FORMATS, inline_svg, save, svg
from segauge.report.figures.themes import COLOURS, ThemeName, config, style_rules

__all__ = [
    "COLOURS", "FILE_FORMATS", "MOST_POINTS", "MOST_POINTS_IN_ALL", "AgreementLimits", "Cases", "ColumnCounts",
    "Curve", "Interval", "PairCell", "Point", "Recall", "ThemeName", "agreement_limits", "bland_altman", "boxes",
    "cliques", "cohort", "config", "critical_difference", "curves", "forest", "inline_svg", "joined_svg", "panels",
    "podium", "raincloud", "rank_blobs", "recall_by_size", "save", "save_as", "significance_map", "stability",
    "style_rules", "svg", "with_row_notes",
]  # fmt: skip
