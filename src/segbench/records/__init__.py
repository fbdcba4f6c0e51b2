"""Records: one file that describes a run, from which everything that is published can be computed again."""

from segbench.records.files import load_record, save_record
from segbench.records.run_record import SCHEMA, CaseInfo, ModelEntry, RunRecord
from segbench.records.schema import Suspect

__all__ = ["SCHEMA", "CaseInfo", "ModelEntry", "RunRecord", "Suspect", "load_record", "save_record"]
