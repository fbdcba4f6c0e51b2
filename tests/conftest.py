"""What all tests share: where the reference data is, how to skip without it, and how many examples are tried."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

PROJECT = Path(__file__).resolve().parent.parent

# Every run of `make test` tries the same examples, and a busy machine is no failure; `make long` tries many others.
_patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", _patient, max_examples=50, derandomize=True, database=None)
settings.register_profile("others", _patient, max_examples=500)
settings.load_profile("same")


def shared_folder() -> Path | None:
    """Return the reference data next to the project, or None."""
    folder = Path(os.environ.get("SEGAUGE_SHARED", PROJECT.parent / "shared"))
    return folder if (folder / "data").is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = shared_folder()
    if folder is None:
        pytest.skip("needs the reference data in ../shared (or the folder that SEGAUGE_SHARED names)")
    return folder
