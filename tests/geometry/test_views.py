"""Views: ways to look at a lattice that change nothing, and what they show."""

import numpy as np
import pytest

from segauge.geometry.patterns import cell_patterns


def points_of(patterns, code):
    return patterns.sample_point[patterns.sample_start[code] : patterns.sample_start[code + 1]]


@pytest.mark.parametrize(
    ("spacing", "count"),
    [((1.0, 1.0, 1.0), 48), ((2.5, 0.8, 0.8), 16), ((0.5, 0.7, 3.0), 8), ((2.0, 2.0), 8), ((1.0, 3.0), 4)],
)
def test_a_lattice_has_its_mirrors_and_the_exchanges_of_equal_axes(spacing, count):
    patterns = cell_patterns("marching-cubes", np.diag(spacing))
    assert len(patterns.view_axis) == count
    assert patterns.view_axis[0].tolist() == list(range(len(spacing)))
    assert (patterns.view_sign[0] == 1).all()


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (2.5, 0.8, 0.8), (0.5, 0.7, 3.0), (2.0, 2.0)])
def test_every_sample_is_seen_where_a_sample_of_the_seen_code_is(spacing):
    ndim = len(spacing)
    patterns = cell_patterns("marching-cubes", np.diag(spacing))
    own = np.flatnonzero(patterns.same_as == np.arange(len(patterns.same_as)))
    for axis, sign, code_seen, sample_seen in zip(
        patterns.view_axis, patterns.view_sign, patterns.view_code, patterns.view_sample, strict=True
    ):
        for code in own:
            points = points_of(patterns, code)[:, 3 - ndim :]
            # in a mirror, along axis i: from the far side of the cell
            mirrored = np.where(sign > 0, points[:, axis], np.array(spacing) - points[:, axis])
            rows = sample_seen[patterns.sample_start[code] : patterns.sample_start[code + 1]]
            shown = points_of(patterns, code_seen[code])[:, 3 - ndim :][rows]
            assert sorted(rows) == list(range(len(points)))
            assert np.abs(shown - mirrored).max(initial=0) <= 1e-12  # the same fractions, in another order of summation


@pytest.mark.parametrize("surface", ["marching-cubes", "voxel"])
def test_cells_that_change_in_a_mirror_are_seen_as_they_are(surface):
    sheared = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    patterns = cell_patterns(surface, sheared if surface == "marching-cubes" else np.eye(3))
    assert len(patterns.view_axis) == 1
    assert patterns.view_code[0].tolist() == patterns.same_as.tolist()
