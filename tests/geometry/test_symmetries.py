"""The symmetries of a lattice, and where they map cell codes and samples."""

import numpy as np
import pytest

from segauge.geometry.patterns import cell_patterns, cell_shapes


def points_of(patterns, code):
    return patterns.sample_point[patterns.sample_start[code] : patterns.sample_start[code + 1]]


@pytest.mark.parametrize(
    ("spacing", "count"),
    [((1.0, 1.0, 1.0), 48), ((2.5, 0.8, 0.8), 16), ((0.5, 0.7, 3.0), 8), ((2.0, 2.0), 8), ((1.0, 3.0), 4)],
)
def test_a_lattice_has_its_mirrors_and_the_exchanges_of_equal_axes(spacing, count):
    symmetries = cell_shapes("marching-cubes", np.diag(spacing)).symmetries
    assert len(symmetries.axis) == count
    assert symmetries.axis[0].tolist() == list(range(len(spacing)))
    assert (symmetries.sign[0] == 1).all()


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (2.5, 0.8, 0.8), (0.5, 0.7, 3.0), (2.0, 2.0)])
def test_the_image_of_a_sample_is_a_sample_of_the_image_code(spacing):
    ndim = len(spacing)
    linear = np.diag(spacing)
    patterns, symmetries = cell_patterns("marching-cubes", linear), cell_shapes("marching-cubes", linear).symmetries
    own = np.flatnonzero(patterns.same_as == np.arange(len(patterns.same_as)))
    for axis, sign, image_code, image_sample in zip(
        symmetries.axis, symmetries.sign, symmetries.code, symmetries.sample, strict=True
    ):
        for code in own:
            points = points_of(patterns, code)[:, 3 - ndim :]
            # in a mirror, along axis i: from the far side of the cell
            mirrored = np.where(sign > 0, points[:, axis], np.array(spacing) - points[:, axis])
            rows = image_sample[patterns.sample_start[code] : patterns.sample_start[code + 1]]
            shown = points_of(patterns, image_code[code])[:, 3 - ndim :][rows]
            assert sorted(rows) == list(range(len(points)))
            assert np.abs(shown - mirrored).max(initial=0) <= 1e-12  # the same fractions, in another order of summation


@pytest.mark.parametrize("surface", ["marching-cubes", "voxel"])
def test_cells_that_change_in_a_mirror_have_the_identity_alone(surface):
    sheared = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    shapes = cell_shapes(surface, sheared if surface == "marching-cubes" else np.eye(3))
    assert len(shapes.symmetries.axis) == 1
    assert shapes.symmetries.code[0].tolist() == shapes.unit.same_as.tolist()
