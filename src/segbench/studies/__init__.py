"""Studies: an analysis as people use it: read from files, written as page, figures and tables."""

from segbench.studies.reading import StudyOptions, read_study, records_in
from segbench.studies.writing import write_study

__all__ = ["StudyOptions", "read_study", "records_in", "write_study"]
