"""What several tests of the reference data read."""

import pytest

from segauge.io.tables import Repairs, read_scores


@pytest.fixture(scope="session")
def touchstone_tables(shared):
    """The published scores of every model of Touchstone on TotalSegmentator."""
    folder = shared / "data" / "touchstone" / "totalsegmentator_results"
    return read_scores(folder, repairs=Repairs(cases="keep")).tables
