"""Overlap: near-duplicate images between two datasets, found by what is in them, whatever they are called."""

from segbench.overlap.fingerprints import Fingerprint, Likeness, compare_fingerprints, fingerprint
from segbench.overlap.search import Overlap, OverlapPair, find_overlap, images_of

__all__ = [
    "Fingerprint",
    "Likeness",
    "Overlap",
    "OverlapPair",
    "compare_fingerprints",
    "find_overlap",
    "fingerprint",
    "images_of",
]
