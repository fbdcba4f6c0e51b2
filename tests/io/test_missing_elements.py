"""DICOM objects with one element missing, empty or absurd, each in turn: read, or refused in our words."""

import copy
from collections.abc import Iterator

import pydicom
import pytest
from pydicom.dataset import Dataset
from tests.badinputs.catalog import GRID, box, frame_mask
from tests.badinputs.files import even_positions, rtstruct_dataset, seg_dataset, write_series

from segauge.errors import SegaugeError
from segauge.io import Limits, read_labels
from segauge.io.dicom_series import read_series

LIMITS = Limits(max_voxels=200_000)
ABSURD = {"DS": "1e300", "IS": "-2147483648", "US": 65535, "UI": "not.a.uid", "CS": "NONSENSE", "LO": "\x07", "SH": "",
          "UL": 4294967295, "OB": b"", "OW": b""}  # fmt: skip


def places(dataset: Dataset, way: tuple = ()) -> Iterator[tuple]:
    """Yield the way to every element: tags and sequence item numbers in turn."""
    for element in dataset:
        yield (*way, element.tag)
        if element.VR == "SQ":
            for k, item in enumerate(element.value):
                yield from places(item, (*way, element.tag, k))


def holder(dataset: Dataset, way: tuple) -> Dataset:
    for tag, item in zip(way[:-1:2], way[1::2], strict=False):
        dataset = dataset[tag].value[item]
    return dataset


def spoilt(dataset: Dataset, path) -> Iterator[None]:
    """Write the data set with each of its elements missing, empty and absurd in turn."""
    for way in list(places(dataset)):
        for change in ("missing", "empty", "absurd"):
            copied = copy.deepcopy(dataset)
            owner = holder(copied, way)
            if change == "missing":
                del owner[way[-1]]
            elif change == "empty":
                owner[way[-1]].value = [] if owner[way[-1]].VR == "SQ" else None
            elif owner[way[-1]].VR in ABSURD:
                owner[way[-1]].value = ABSURD[owner[way[-1]].VR]
            else:
                continue
            copied.save_as(path, enforce_file_format=False)
            yield


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("kind", ["seg", "rtstruct", "slice"])
def test_each_element_missing_empty_or_absurd(kind, tmp_path):
    path = tmp_path / "a.dcm"
    if kind == "seg":
        frames = [(k + 1, place, frame_mask(k)) for k, place in enumerate(even_positions(2))]
        dataset = seg_dataset(path, frames)
    elif kind == "rtstruct":
        dataset = rtstruct_dataset(path, [("organ", [("CLOSED_PLANAR", box(2.5, 8.5)), ("POINT", [[3, 3, 2]])])])
    else:
        folder = write_series(tmp_path / "ct", even_positions(3))
        path = folder / "slice02.dcm"
        dataset = pydicom.dcmread(path)
    outcomes = {"read": 0, "refused": 0}
    for _ in spoilt(dataset, path):
        try:
            if kind == "slice":
                read_series(path.parent, limits=LIMITS)
            else:
                read_labels(path, reference=GRID, limits=LIMITS)
            outcomes["read"] += 1
        except SegaugeError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) >= 5, outcomes  # both happen, so that neither branch is vacuous
