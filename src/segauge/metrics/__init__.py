"""Metrics: plain functions, and one catalog of what there is."""
