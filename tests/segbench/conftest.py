"""What the tests of segbench share: a package of somebody else on the path, and a config that uses it."""

import shutil
from pathlib import Path

import pytest

from segbench.config import RunConfig
from segbench.pipeline import run

THIRD_PARTY = Path(__file__).parent / "thirdparty"


@pytest.fixture(autouse=True)
def no_notes_in_the_home_folder(monkeypatch, tmp_path_factory):
    """Keep what is noted of files that commands name with the tests."""
    monkeypatch.setenv("SEGBENCH_HASHES", str(tmp_path_factory.getbasetemp() / "hashes"))


@pytest.fixture
def third_party(monkeypatch):
    monkeypatch.syspath_prepend(str(THIRD_PARTY))
    monkeypatch.setenv("PYTHONPATH", str(THIRD_PARTY))
    return THIRD_PARTY


def tiny_config(folder, **changes):
    """Return the text of a config in JSON (which is YAML): three models on four tiny cases."""
    config = {
        "dataset": {"name": "tiny", "root": str(folder / "data"), "count": 4},
        "models": [
            {"type": "tiny-threshold", "name": "exact"},
            {"type": "tiny-threshold", "name": "shifted", "shift": 1},
        ],
        "organs": ["organ", "lesion", "left"],
        "metrics": ["dice", "hd95"],
        "n_resamples": 200,
        "cache_dir": str(folder / "cache"),
        "results_path": str(folder / "results" / "run.json"),
    }
    return {**config, **changes}


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory):
    """Run the tiny benchmark once for all tests."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(THIRD_PARTY))
        run(RunConfig.from_dict(tiny_config(folder)))
    return folder


@pytest.fixture
def finished(finished_once, third_party, tmp_path):
    """Return the config of a finished run in a folder of the test's own."""
    shutil.copytree(finished_once, tmp_path, dirs_exist_ok=True)
    return RunConfig.from_dict(tiny_config(tmp_path))
