"""Without a C++ compiler the package installs all the same, computes the same numbers and says that it is slow."""

import os
import shutil
import subprocess
import sys

import pytest

from segauge.geometry.engine import _kernel as kernel
from tests.conftest import PROJECT

CHECK = """
import sys, warnings
# an editable install of the project would offer its own kernel
sys.meta_path = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import numpy, segauge
    mask = numpy.zeros((9, 9, 9), dtype=bool)
    mask[3:6, 3:6, 3:6] = True
    answers = [segauge.surface_metrics(numpy.roll(mask, 1, 0), mask, 2.0)["hd"] for _ in range(2)]
assert answers == [2.0, 2.0], answers
slow = [str(warning.message) for warning in said if issubclass(warning.category, segauge.SlowEngineWarning)]
assert len(slow) == 1, slow
print(segauge.__file__)
"""


def test_this_environment_has_the_kernel():
    """A build that fails falls back in silence; the tests are to notice."""
    assert kernel is not None


@pytest.mark.slow
def test_a_failing_compiler_leaves_a_working_package(tmp_path):
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns(".git", ".venv*", "build", "tests", "benchmarks", "docs", "*.so")
    shutil.copytree(PROJECT, source, ignore=ignored)
    environment = {**os.environ, "CXX": shutil.which("false"), "CC": shutil.which("false")}
    wheels = tmp_path / "wheels"
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(source)]
    built = subprocess.run(pip, env=environment, capture_output=True, text=True, check=False)
    if built.returncode and "Could not find a version" in built.stderr:
        pytest.skip("the build requirements cannot be had from the package index")
    assert built.returncode == 0, built.stderr
    (wheel,) = wheels.glob("segauge-*.whl")
    installed = tmp_path / "installed"
    shutil.unpack_archive(wheel, installed, "zip")
    assert not list(installed.rglob("_kernel*.so"))
    run = subprocess.run(
        [sys.executable, "-c", CHECK],
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert str(installed) in run.stdout
