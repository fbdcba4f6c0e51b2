"""The doctor on real structures: what two readers drew differently is no wrong header."""

import pytest

from segauge.doctor import examine
from segauge.io.layouts import find_pairs

pytestmark = pytest.mark.shared


@pytest.mark.parametrize("case", ["TCGA-CV-5977", "TCGA-CV-7236"])
@pytest.mark.parametrize("organ", ["Cochlea-Lt", "Cochlea-Rt"])
def test_two_readers_of_a_small_organ_are_not_told_to_ignore_the_header(shared, case, organ):
    """TCGA-CV-7236, left cochlea: "the voxels agree as they lie in the array (Dice 1.00 instead of 0.79)"."""
    readers = (
        shared / "data" / "tcia_oars" / reader / case / f"{organ}.nrrd" for reader in ("radiographer", "oncologist")
    )
    assert [finding for finding in examine(find_pairs(*readers)).findings if finding.topic == "orientation"] == []
