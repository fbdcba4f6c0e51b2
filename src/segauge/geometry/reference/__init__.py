"""The NumPy reference: slow, readable, and the definition of what the compiled kernel must answer.

Every function here has its twin of the same name and arguments in `segauge.geometry._kernel`.
"""

from segauge.geometry.reference.components import (
    ReferenceComponents,
    centroid_pairs,
    component_labels,
    component_table,
    dilate,
    label_components,
    restrict_components,
    select_components,
    shared_voxels,
)
from segauge.geometry.reference.masks import ReferenceMask, count_common, cut_out, pack, pair_table
from segauge.geometry.reference.skeleton import skeletonize, skeletonize_pair
from segauge.geometry.reference.subvoxel import prepare_subvoxel, subvoxel_band, subvoxel_distances
from segauge.geometry.reference.surfaces import (
    boundary_band,
    boundary_band_pair,
    cell_distances,
    largest,
    prepare,
    read_shapes,
    surface_distances,
    totals,
    weight_within,
    weighted_quantile,
)

__all__ = [
    "ReferenceComponents", "ReferenceMask", "boundary_band", "boundary_band_pair", "cell_distances", "centroid_pairs",
    "component_labels", "component_table", "count_common", "cut_out", "dilate", "label_components", "largest", "pack",
    "pair_table", "prepare", "prepare_subvoxel", "read_shapes", "restrict_components", "select_components",
    "shared_voxels", "skeletonize", "skeletonize_pair", "subvoxel_band", "subvoxel_distances", "surface_distances",
    "totals", "weight_within", "weighted_quantile",
]  # fmt: skip
