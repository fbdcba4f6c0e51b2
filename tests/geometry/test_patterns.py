"""The pieces of surface inside one cell: closed, symmetric, and of the right size."""

import itertools
from collections import Counter

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.geometry.patterns import cell_patterns, check_surface, pieces_by_code, triangle_normals, triangles_of


def directed_edges(piece):
    return Counter(frozenset(pair) for pair in zip(piece, (*piece[1:], piece[0]), strict=True))


def test_empty_and_full_cells_have_no_surface():
    for ndim in (2, 3):
        codes = pieces_by_code("marching-cubes", ndim)
        assert codes[0] == codes[-1] == ()
    assert pieces_by_code("voxel", 3)[0] == ()


def test_every_loop_is_simple_and_every_cut_edge_has_one_vertex():
    corners = list(itertools.product((0, 1), repeat=3))
    for code, pieces in enumerate(pieces_by_code("marching-cubes", 3)):
        vertices = [vertex for piece in pieces for vertex in piece]
        cut = {
            tuple((a + b) / 2 for a, b in zip(corners[i], corners[j], strict=True))
            for i, j in itertools.combinations(range(8), 2)
            if sum(a != b for a, b in zip(corners[i], corners[j], strict=True)) == 1
            and (code >> i & 1) != (code >> j & 1)
        }
        assert sorted(vertices) == sorted(cut)


@pytest.mark.parametrize("seed", range(5))
def test_the_surface_of_noise_is_closed(seed):
    """Each side of a polygon lies in a face of its cell and must be met by exactly one polygon of the next cell."""
    mask = np.random.default_rng(seed).random((6, 6, 6)) < 0.5
    padded = np.pad(mask, 1)
    sides = Counter()
    for z, y, x in itertools.product(range(7), repeat=3):
        block = padded[z : z + 2, y : y + 2, x : x + 2].ravel()
        code = sum(int(bit) << i for i, bit in enumerate(block))
        for piece in pieces_by_code("marching-cubes", 3)[code]:
            moved = [tuple(np.add(vertex, (z, y, x))) for vertex in piece]
            sides.update(directed_edges(moved))
    assert set(sides.values()) == {2}


def test_a_cell_and_its_mirror_image_have_mirrored_surfaces():
    def areas_and_centres(code):
        pieces = [np.array(piece) for piece in pieces_by_code("marching-cubes", 3)[code]]
        triangles = np.concatenate([triangles_of(piece) for piece in pieces])
        return np.linalg.norm(triangle_normals(triangles), axis=1), triangles.mean(axis=1)

    for code in range(1, 255):
        mirrored = sum(1 << (7 - corner) for corner in range(8) if code >> corner & 1)  # through the centre
        (areas, centres), (other_areas, other_centres) = areas_and_centres(code), areas_and_centres(mirrored)
        here = sorted(np.round(np.column_stack([areas, centres]), 9).tolist())
        there = sorted(np.round(np.column_stack([other_areas, 1 - other_centres]), 9).tolist())
        assert here == there


@pytest.mark.parametrize(
    ("code", "area"), [(0b00001111, 1.0), (0b00000001, np.sqrt(3) / 8), (0b00000011, np.sqrt(0.5))]
)
def test_known_areas(code, area):
    """A plane through the cell, a corner cut off (equilateral triangle of side 1/sqrt 2), an edge cut off."""
    patterns = cell_patterns("marching-cubes", np.eye(3))
    assert patterns.sample_area[patterns.sample_start[code] : patterns.sample_start[code + 1]].sum() == pytest.approx(
        area
    )


def test_voxel_faces_have_their_area_in_any_lattice():
    linear = np.array([[2.0, 0.3, 0.1], [0, 1.5, -0.4], [0, 0, 0.7]])
    patterns = cell_patterns("voxel", linear)
    for axis in range(3):
        first, second = (linear[:, other] for other in range(3) if other != axis)
        rows = slice(patterns.sample_start[1 << axis], patterns.sample_start[(1 << axis) + 1])
        assert patterns.sample_area[rows].sum() == pytest.approx(np.linalg.norm(np.cross(first, second)))


def test_an_unknown_surface_is_refused_with_those_there_are():
    with pytest.raises(InvalidInput, match="'marching-cubes', 'voxel', 'subvoxel', got 'mesh'"):
        check_surface("mesh")
