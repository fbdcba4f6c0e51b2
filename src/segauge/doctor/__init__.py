"""Preflight: what is wrong with the files, before any number."""

from segauge.doctor.examination import Diagnosis, Finding, Level, examine

__all__ = ["Diagnosis", "Finding", "Level", "examine"]
