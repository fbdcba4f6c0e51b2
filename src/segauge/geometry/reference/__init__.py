"""The NumPy reference: slow, readable, and the definition of what the compiled kernel must answer.

Every function here has its twin of the same name and arguments in `segauge.geometry._kernel`.
"""

from segauge.geometry.reference.masks import ReferenceMask, count_common, pack, pair_table
from segauge.geometry.reference.surfaces import boundary_band, prepare, surface_distances

__all__ = ["ReferenceMask", "boundary_band", "count_common", "pack", "pair_table", "prepare", "surface_distances"]
