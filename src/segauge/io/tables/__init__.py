"""Score tables in and out: everybody's result files become score tables, after a strict audit."""

from segauge.io.tables.audit import Audit, Finding, Repairs
from segauge.io.tables.reading import FORMATS, ImportedScores, TableFormat, metadata_column, read_metadata, read_scores
from segauge.io.tables.rules import RuleDifferences, Rules, rule_differences
from segauge.io.tables.score_files import write_scores

__all__ = [
    "FORMATS", "Audit", "Finding", "ImportedScores", "Repairs", "RuleDifferences", "Rules", "TableFormat",
    "metadata_column", "read_metadata", "read_scores", "rule_differences", "write_scores",
]  # fmt: skip
