"""Connected components: exact small cases, kernel against reference bit for bit, and what must not change."""

import itertools
from types import ModuleType

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from segauge.errors import InvalidInput
from segauge.geometry import components as skin
from segauge.geometry import reference
from segauge.geometry.components import (
    centroid_pairs,
    component_labels,
    component_table,
    connectivity_rank,
    dilate,
    label_components,
    pack_mask,
    restrict_components,
    select_components,
    shared_voxels,
)
from segauge.geometry.engine import _kernel

BoolArray = npt.NDArray[np.bool_]

needs_kernel = pytest.mark.skipif(_kernel is None, reason="segauge was installed without its compiled kernel")


@st.composite
def masks(draw: st.DrawFn, number: int = 1) -> list[BoolArray]:
    """Masks of one shape, 2-D or 3-D: noise of any density, empty, full, or with rows longer than a word of 64 bits."""
    ndim = draw(st.sampled_from([2, 3]))
    shape = (*draw(hnp.array_shapes(min_dims=ndim - 1, max_dims=ndim - 1, max_side=7)), draw(st.integers(1, 140)))
    out = []
    for _ in range(number):
        density = draw(st.sampled_from([0.0, 0.03, 0.2, 0.5, 0.8, 0.97, 1.0]))
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        out.append(rng.random(shape) < density)
    return out


def packed(module: ModuleType, mask: BoolArray) -> object:
    return module.pack(mask.view(np.uint8), [1], [0] * mask.ndim, list(mask.shape), 1)


def both(function: str, *makers: object, **options: object) -> tuple[object, object]:
    """Call a function of the kernel and its twin with what `makers` build in each engine."""
    return tuple(
        getattr(module, function)(*[make(module) for make in makers], **options) for module in (_kernel, reference)
    )


def labelled(mask: BoolArray, rank: int) -> object:
    return lambda module: module.label_components(packed(module, mask), rank)


# Exact: what can be counted by hand.


def test_three_voxels_that_touch_by_edge_and_by_corner() -> None:
    mask = np.zeros((4, 4, 4), dtype=bool)
    mask[0, 0, 0] = mask[0, 1, 1] = mask[1, 2, 2] = True  # an edge, then a corner
    found = {connectivity: len(label_components(pack_mask(mask), connectivity)) for connectivity in (6, 18, 26)}
    assert found == {6: 3, 18: 2, 26: 1}


def test_components_are_numbered_by_their_first_voxel() -> None:
    mask = np.array([[0, 0, 0, 1, 0, 1], [1, 0, 1, 1, 0, 1], [1, 0, 0, 0, 0, 0]], dtype=bool)
    expected = [[0, 0, 0, 1, 0, 2], [3, 0, 1, 1, 0, 2], [3, 0, 0, 0, 0, 0]]
    assert component_labels(label_components(pack_mask(mask))).tolist() == expected


def test_table_of_two_boxes() -> None:
    mask = np.zeros((6, 7, 90), dtype=bool)
    mask[1:3, 2:5, 60:70] = True
    mask[4, 6, 0] = True
    table = component_table(label_components(pack_mask(mask)))
    assert table.voxels.tolist() == [60, 1]
    assert table.centroids.tolist() == [[1.5, 3.0, 64.5], [4.0, 6.0, 0.0]]
    assert table.boxes.tolist() == [[[1, 2, 60], [3, 5, 70]], [[4, 6, 0], [5, 7, 1]]]


def test_shared_voxels_of_a_bridge_over_two_boxes() -> None:
    pred, gt = np.zeros((2, 5, 20), dtype=bool)
    gt[0:3, 0:4] = gt[0:3, 10:14] = True
    pred[1, 2:12] = True
    pred[4, 18] = True
    shared = shared_voxels(label_components(pack_mask(pred)), label_components(pack_mask(gt)))
    assert shared.pairs.tolist() == [[0, 0], [0, 1]]
    assert shared.voxels.tolist() == [2, 2]


def test_centroid_between_two_voxels_lies_in_both() -> None:
    pred, gt = np.zeros((2, 3, 8), dtype=bool)
    pred[1, 2:4] = True  # centroid at 2.5, the face between voxels 2 and 3
    gt[1, 3] = True
    pair = [label_components(pack_mask(mask)) for mask in (pred, gt)]
    assert centroid_pairs(*pair).tolist() == [[0, 0]]
    mirrored = [label_components(pack_mask(mask[:, ::-1])) for mask in (pred, gt)]
    assert centroid_pairs(*mirrored).tolist() == [[0, 0]]


def test_centroid_of_a_ring_lies_in_its_hole() -> None:
    ring, dot = np.zeros((2, 5, 5), dtype=bool)
    ring[1:4, 1:4] = True
    ring[2, 2] = False
    dot[2, 2] = True
    pair = label_components(pack_mask(ring)), label_components(pack_mask(dot))
    assert len(shared_voxels(*pair)) == 0
    assert centroid_pairs(*pair).tolist() == [[0, 0]]


def test_dilation_of_one_voxel_has_the_shape_of_the_element() -> None:
    mask = np.zeros((9, 9, 9), dtype=bool)
    mask[4, 4, 4] = True
    offsets = np.abs(np.indices(mask.shape) - 4)
    for times in (1, 2, 3):
        expected = (offsets.max(axis=0) <= times) & (offsets.sum(axis=0) <= 2 * times)  # 18 neighbours, `times` over
        assert np.array_equal(dilate(pack_mask(mask), 18, times).unpack(), expected)


def test_selected_components_can_be_cut_to_their_box() -> None:
    mask = np.zeros((5, 5, 100), dtype=bool)
    mask[1:4, 1:4, 62:66] = True
    mask[0, 0, 0] = True
    components = label_components(pack_mask(mask))
    box = component_table(components).boxes[1]
    assert select_components(components, [1], box).unpack().shape == (3, 3, 4)
    assert select_components(components, [1], box).count() == 36
    assert select_components(components, [0, 1]).count() == 37
    assert select_components(components, []).count() == 0


def test_empty_and_full_masks() -> None:
    nothing = label_components(pack_mask(np.zeros((3, 4, 5), dtype=bool)))
    everything = label_components(pack_mask(np.ones((3, 4, 64), dtype=bool)))
    assert len(nothing) == 0
    assert component_table(nothing).boxes.shape == (0, 2, 3)
    assert len(everything) == 1
    assert component_table(everything).boxes.tolist() == [[[0, 0, 0], [3, 4, 64]]]


# The kernel answers what the reference defines.


@needs_kernel
@given(masks(), st.integers(1, 3))
def test_kernel_labels_as_the_reference_and_as_scipy(mask: list[BoolArray], rank: int) -> None:
    kernel, twin = both("label_components", lambda module: packed(module, mask[0]), rank=rank)
    assert len(kernel) == len(twin)
    assert kernel.shape == twin.shape
    labels = _kernel.component_labels(kernel)
    assert labels.dtype == np.int32
    assert np.array_equal(labels, reference.component_labels(twin))
    structure = ndimage.generate_binary_structure(mask[0].ndim, rank)
    assert np.array_equal(labels, ndimage.label(mask[0], structure)[0])


@needs_kernel
@given(masks(2), st.integers(1, 3), st.integers(1, 3))
def test_kernel_tables_and_pairs_are_those_of_the_reference(pair: list[BoolArray], rank: int, other_rank: int) -> None:
    one, other = labelled(pair[0], rank), labelled(pair[1], other_rank)
    for function, arguments in (("component_table", (one,)), ("shared_voxels", (one, other))):
        for kernel_array, twin_array in zip(*both(function, *arguments), strict=True):
            assert kernel_array.dtype == twin_array.dtype == np.int64
            assert np.array_equal(kernel_array, twin_array)
    kernel_pairs, twin_pairs = both("centroid_pairs", one, other)
    assert kernel_pairs.dtype == twin_pairs.dtype == np.int64
    assert np.array_equal(kernel_pairs, twin_pairs)


@needs_kernel
@given(masks(2), st.integers(1, 3), st.integers(0, 4))
def test_kernel_masks_are_those_of_the_reference(pair: list[BoolArray], rank: int, times: int) -> None:
    kernel, twin = both("dilate", lambda module: packed(module, pair[0]), rank=rank, iterations=times)
    assert np.array_equal(kernel.unpack(), twin.unpack())
    assert kernel.count() == twin.count()  # no bit survives past the end of a row
    kernel, twin = both("restrict_components", labelled(pair[0], rank), lambda module: packed(module, pair[1]))
    assert len(kernel) == len(twin)
    assert np.array_equal(_kernel.component_labels(kernel), reference.component_labels(twin))
    for kernel_array, twin_array in zip(
        *both("component_table", lambda m: kernel if m is _kernel else twin), strict=True
    ):
        assert np.array_equal(kernel_array, twin_array)


@needs_kernel
@given(masks(), st.data())
def test_kernel_selects_as_the_reference(mask: list[BoolArray], data: st.DataObject) -> None:
    make = labelled(mask[0], 1)
    number = len(make(reference))
    chosen = data.draw(st.lists(st.integers(0, max(number - 1, 0)), max_size=5))
    start = [data.draw(st.integers(0, n - 1)) for n in mask[0].shape]
    stop = [data.draw(st.integers(first + 1, n)) for first, n in zip(start, mask[0].shape, strict=True)]
    kernel, twin = both("select_components", make, chosen=chosen, start=start, stop=stop)
    assert np.array_equal(kernel.unpack(), twin.unpack())
    assert kernel.count() == twin.count()


# Invariance.


@given(masks(2), st.integers(1, 3))
def test_flips_and_permutations_change_no_component(pair: list[BoolArray], rank: int) -> None:
    def facts(pred: BoolArray, gt: BoolArray) -> tuple[object, ...]:
        one, other = (label_components(pack_mask(mask), rank) for mask in (pred, gt))
        shared = shared_voxels(one, other)
        sizes = component_table(one).voxels, component_table(other).voxels
        overlaps = sorted(zip(sizes[0][shared.pairs[:, 0]], sizes[1][shared.pairs[:, 1]], shared.voxels, strict=True))
        return sorted(sizes[0]), sorted(sizes[1]), overlaps, len(centroid_pairs(one, other))

    turned = [np.flip(mask.transpose(*range(1, mask.ndim), 0), axis=0) for mask in pair]
    assert facts(*pair) == facts(*turned)


@given(masks(), st.integers(0, 3))
def test_dilated_components_are_the_dilations_of_what_they_hold(mask: list[BoolArray], times: int) -> None:
    # What the lesion-wise rules rest on: a component of the dilated mask is the dilation of the voxels in it, so
    # no lesion needs a dilation of its own.
    bits = pack_mask(mask[0])
    zones = label_components(dilate(bits, 2, times), 3)
    held = restrict_components(zones, bits)
    for number in itertools.islice(range(len(zones)), 4):
        alone = dilate(select_components(held, [number]), 2, times)
        assert np.array_equal(alone.unpack(), select_components(zones, [number]).unpack())


@given(masks(), st.integers(0, 3))
def test_cropping_to_the_mask_changes_no_dilated_component(mask: list[BoolArray], times: int) -> None:
    # Also what the lesion-wise rules rest on: they may be applied to masks that are cut to their box.
    roomy = np.pad(mask[0], 4)
    apart = label_components(dilate(pack_mask(roomy), 2, times), 3)
    tight = label_components(dilate(pack_mask(mask[0]), 2, times), 3)
    assert len(apart) == len(tight)
    inner = restrict_components(apart, pack_mask(roomy))
    middle = tuple(slice(4, -4) for _ in mask[0].shape)
    pairs = np.stack([component_labels(inner)[middle], component_labels(tight)], axis=-1)[mask[0]]
    assert len(np.unique(pairs, axis=0)) == len(tight)


# Words for what cannot be done.


@pytest.mark.parametrize(
    ("connectivity", "ndim", "rank"),
    [
        *((None, 3, 1), (6, 3, 1), (18, 3, 2), (26, 3, 3), (1, 3, 1), (2, 3, 2), (3, 3, 3)),
        *((None, 2, 1), (4, 2, 1), (8, 2, 2), (1, 2, 1), (2, 2, 2), (3, 2, 2)),
        *((4, 4, 4), (1, 1, 1)),
    ],
)
def test_connectivity_by_neighbours_or_by_rank(connectivity: int | None, ndim: int, rank: int) -> None:
    assert connectivity_rank(connectivity, ndim) == rank


@pytest.mark.parametrize(("connectivity", "ndim"), [(0, 3), (-1, 3), (8, 3), (4, 3), (26, 2), (7, 3), (1.5, 3)])
def test_unknown_connectivity_says_what_there_is(connectivity: int, ndim: int) -> None:
    with pytest.raises(InvalidInput, match=r"connectivity: expected .*rank from 1"):
        connectivity_rank(connectivity, ndim)


def test_probabilities_are_refused() -> None:
    with pytest.raises(InvalidInput, match="Threshold"):
        pack_mask(np.array([[0.2, 0.9]]))


def test_negative_dilation_is_refused() -> None:
    with pytest.raises(InvalidInput, match="iterations"):
        dilate(pack_mask(np.ones((2, 2), dtype=bool)), 8, -1)


def test_masks_of_other_dimensions_run_on_the_reference() -> None:
    line = np.array([1, 1, 0, 1, 0, 0, 1, 1, 1], dtype=bool)
    assert component_table(label_components(pack_mask(line))).voxels.tolist() == [2, 1, 3]
    four = np.zeros((3, 3, 3, 3), dtype=bool)
    four[0, 0, 0, 0] = four[1, 1, 1, 1] = True
    assert [len(label_components(pack_mask(four), rank)) for rank in (1, 3, 4)] == [2, 2, 1]
    assert len(label_components(pack_mask(np.zeros((0, 4), dtype=bool)))) == 0


@needs_kernel
def test_every_twin_exists_in_both_engines() -> None:
    for name in reference.__all__:
        if not name.startswith("Reference"):
            assert callable(getattr(_kernel, name))
    assert skin.__doc__
