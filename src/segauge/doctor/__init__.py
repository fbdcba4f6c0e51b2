"""Preflight: what is wrong with the files, before any number."""

from segauge.doctor.examination import examine
from segauge.doctor.findings import Diagnosis, Finding, Level

__all__ = ["Diagnosis", "Finding", "Level", "examine"]
