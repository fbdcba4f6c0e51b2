"""Each pair of files that do not fit comes to what the catalog says, and where it is placed it is placed right."""

import re

import numpy as np
import pytest

from segauge.errors import GridMismatch
from segauge.io import read_labels
from segauge.placement import place
from tests.badinputs.files import labels
from tests.badinputs.pairs import PAIRS


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.number}-{pair.name}")
def test_bad_pair(pair, tmp_path):
    pair.make(tmp_path)
    pred, gt = (read_labels(tmp_path / name).labels for name in ("pred.nii", "gt.nii"))
    if pair.refused:
        with pytest.raises(GridMismatch, match=re.compile(pair.refused, re.DOTALL)):
            place(pred, gt, **pair.options)
        return
    placed = place(pred, gt, **pair.options)
    assert np.array_equal(placed.pred.layers[0], labels())
    assert placed.pred.grid == gt.grid
    assert re.search(pair.noted, " ".join(placed.notes)) if pair.noted else placed.notes == ()


def test_the_catalog_covers_the_pairs():
    assert {pair.number for pair in PAIRS} == {16, 17, 18, 19}
