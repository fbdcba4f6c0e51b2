"""Counting and packing: kernel and reference agree exactly, whatever the type, order and strides of the arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import segauge
from segauge.errors import InvalidInput, ShapeMismatch
from segauge.geometry import reference
from segauge.geometry.engine import _kernel as kernel
from segauge.geometry.engine import engine, thread_count
from segauge.geometry.masks import pack, tabulate

DTYPES = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64)

needs_kernel = pytest.mark.skipif(kernel is None, reason="segauge was installed without its compiled kernel")


@st.composite
def label_arrays(draw):
    ndim = draw(st.sampled_from((2, 3)))
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=ndim, max_size=ndim)))
    if draw(st.booleans()):
        shape = (*shape[:-1], draw(st.integers(60, 140)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(DTYPES))
    low = -3 if np.issubdtype(dtype, np.signedinteger) else 0
    array = rng.integers(low, 5, shape).astype(dtype)
    if draw(st.booleans()):
        array = np.repeat(array, 2, axis=-1)[..., : shape[-1]]  # runs
    order = draw(st.sampled_from("CFKS"))
    if order == "S":  # every other item of a larger array, backwards
        spread = np.zeros([2 * n for n in shape], dtype)
        view = spread[tuple(slice(None, None, -2) for _ in shape)]
        view[...] = array
        return view
    if order == "K":
        return array.transpose(draw(st.permutations(range(ndim))))
    return np.asarray(array, order=order)


@needs_kernel
@settings(max_examples=80)
@given(label_arrays(), st.integers(0, 2**32), st.sampled_from(DTYPES), st.integers(1, 3))
def test_pair_tables_agree(pred, seed, dtype, threads):
    gt = np.random.default_rng(seed).integers(0, 4, pred.shape).astype(dtype)
    for ours, theirs in zip(kernel.pair_table(pred, gt, threads), reference.pair_table(pred, gt, 1), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("unsigned", ["pred", "gt"])
def test_large_labels_of_signed_and_unsigned_integers_stay_apart(unsigned):
    """As floats, which NumPy makes of both together, the two largest were one."""
    large = [2**62, 2**62 + 1]
    types = (np.uint64, np.int64) if unsigned == "pred" else (np.int64, np.uint64)
    pred, gt = (np.array([large], dtype=dtype) for dtype in types)
    for counted in filter(None, (kernel, reference)):
        labels, counts, *_ = counted.pair_table(pred, gt, 1)
        assert labels.tolist() == [[label, label] for label in large]
        assert counts.tolist() == [1, 1]


def test_a_large_label_is_not_taken_for_its_neighbour():
    labels, wanted = np.full((5, 6), 2**53 + 1, np.uint64), [*range(1, 30), 2**53]
    assert not segauge.LabelMap.from_array(labels).mask(wanted).array.any()
    for packing in filter(None, (kernel, reference)):
        assert packing.pack(labels, wanted, [0, 0], [5, 6], 1).count() == 0


@needs_kernel
@settings(max_examples=80)
@given(
    label_arrays(), st.lists(st.integers(-3, 5), min_size=1, max_size=12, unique=True), st.randoms(), st.integers(1, 2)
)
def test_packed_masks_agree(labels, values, random, threads):
    start = [random.randrange(n) for n in labels.shape]
    stop = [random.randrange(first + 1, n + 1) for first, n in zip(start, labels.shape, strict=True)]
    packed = kernel.pack(labels, values, start, stop, threads)
    expected = reference.pack(labels, values, start, stop, 1)
    assert packed.shape == expected.shape
    assert packed.count() == expected.count()
    assert np.array_equal(packed.unpack(), expected.unpack())


@needs_kernel
@settings(max_examples=80)
@given(label_arrays(), st.randoms())
def test_masks_with_their_axes_in_another_order_agree(labels, random):
    order = random.sample(range(labels.ndim), labels.ndim)
    whole = [0] * labels.ndim, list(labels.shape)
    for packed in (kernel.pack(labels, [1, 2], *whole, 1), reference.pack(labels, [1, 2], *whole, 1)):
        turned = packed.transposed(order)
        assert turned.shape == tuple(labels.shape[axis] for axis in order)
        assert np.array_equal(turned.unpack(), np.isin(labels, [1, 2]).transpose(order))


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 2, 2]])
def test_an_order_of_axes_must_name_each_once(order):
    mask = engine().pack(np.ones((2, 3, 4), np.uint8), [1], [0, 0, 0], [2, 3, 4], 1)
    with pytest.raises(ValueError, match="ax"):
        mask.transposed(order)


def test_a_field_of_a_record_array_is_read_right():
    records = np.zeros((4, 5, 6), dtype=[("flag", np.uint8), ("label", np.int32)])
    records["label"][1:3, 2:4, 1:5] = 7
    table = tabulate(records["label"], records["label"])
    assert table.gt_labels == (7,)
    assert pack(records["label"], [7], ((0, 0, 0), (4, 5, 6))).count() == 16


def test_counts_boxes_and_ignored_voxels():
    pred, gt = np.zeros((2, 6, 7, 8), np.uint8)
    pred[1:4, 1:4, 1:4] = 1
    gt[2:5, 1:4, 1:4] = 2
    gt[4, 1, 1] = 9
    overlap = tabulate(pred, gt).overlap([1], [2], ignore=9)
    assert (overlap.tp, overlap.fp, overlap.fn, overlap.tn) == (18, 9, 8, 6 * 7 * 8 - 1 - 35)
    assert overlap.box == ((1, 1, 1), (5, 4, 4))
    assert np.array(overlap.pred_index_sum) / 27 == pytest.approx([2, 2, 2])
    assert tabulate(pred, gt).overlap([5], [6]).box is None


def test_refuses_different_shapes_and_endless_labels():
    with pytest.raises(ShapeMismatch, match=r"\(2, 3\) and \(3, 2\)"):
        tabulate(np.zeros((2, 3), np.uint8), np.zeros((3, 2), np.uint8))
    with pytest.raises(InvalidInput, match="SEGAUGE_NUM_THREADS"):
        _threads_from_environment("two")


def _threads_from_environment(value):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEGAUGE_NUM_THREADS", value)
        return thread_count()


def test_threads_come_from_the_argument_the_environment_or_the_machine():
    assert thread_count(3) == 3
    assert _threads_from_environment("5") == 5
    assert _threads_from_environment("") >= 1
    assert thread_count(np.int64(2)) == 2


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_threads_are_a_whole_number(threads):
    with pytest.raises(InvalidInput, match=f"threads: expected a whole number of at least 1, got {threads!r}"):
        thread_count(threads)


@pytest.mark.long
@needs_kernel
def test_an_image_instead_of_labels_is_refused_before_memory_runs_out():
    image = np.arange(5_000_000).reshape(50, 100, 1000)
    with pytest.raises(InvalidInput, match="four million different pairs"):
        tabulate(image, image)


class TestEngine:
    def test_the_environment_chooses(self, monkeypatch):
        monkeypatch.setenv("SEGAUGE_ENGINE", "reference")
        assert engine() is reference
        monkeypatch.setenv("SEGAUGE_ENGINE", "fast")
        with pytest.raises(InvalidInput, match="'kernel' or 'reference'"):
            engine()

    def test_without_the_kernel_it_works_and_says_once_that_it_is_slow(self, monkeypatch):
        import segauge.geometry.engine as chosen

        monkeypatch.delenv("SEGAUGE_ENGINE", raising=False)
        monkeypatch.setattr(chosen, "_kernel", None)
        chosen._say_once_that_it_is_slow.cache_clear()
        with pytest.warns(chosen.SlowEngineWarning, match="hundred times slower"):
            assert engine() is reference
        assert engine() is reference  # a second warning would be an error here
        monkeypatch.setenv("SEGAUGE_ENGINE", "kernel")
        with pytest.raises(InvalidInput, match="without its compiled kernel"):
            engine()

    @needs_kernel
    def test_every_function_of_the_reference_has_its_twin(self):
        names = {name for name in reference.__all__ if not name.startswith("Reference")}
        assert names <= set(dir(kernel))
