"""What all tests share: where the reference data is, how to skip without it, and how many examples are tried."""

import os
from pathlib import Path

import pytest

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # what needs it imports it; an installation without any extra is tested without it
    settings = None

PROJECT = Path(__file__).resolve().parent.parent

# Every run of `make test` tries the same examples, and a busy machine is no failure; `make long` tries many others.
if settings is not None:
    _patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("same", _patient, max_examples=50, derandomize=True, database=None)
    settings.register_profile("others", _patient, max_examples=500)
    settings.load_profile("same")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a slow test where only slow ones are asked for: importing all takes longer than some."""
    asked = config.option.markexpr
    only_slow = asked.startswith("slow") and " or " not in asked
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if only_slow and is_test and not _names_slow(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Insist that the mark stands in the file of its test, where it is looked for."""
    hidden = {item.path for item in items if item.get_closest_marker("slow")}
    hidden = {path for path in hidden if not _names_slow(path)}
    if hidden:
        raise pytest.UsageError(f"tests are marked slow, but `mark.slow` does not stand in {sorted(map(str, hidden))}")


def _names_slow(path: Path) -> bool:
    return "mark.slow" in path.read_text(encoding="utf-8")


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
