"""Layouts: how folders become pairs of prediction and ground truth, and what a layout says of its structures."""

from segauge.io.layouts.finding import LAYOUTS, find_pairs
from segauge.io.layouts.pairs import Pair, Pairing
from segauge.io.layouts.structure_files import read_structures

__all__ = ["LAYOUTS", "Pair", "Pairing", "find_pairs", "read_structures"]
