"""What all tests share: where the reference data is, and how to skip without it."""

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


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
