"""What is published: the source distribution holds what a build needs and nothing else; wheels stay small."""

import os
import shutil
import subprocess
import sys
import tarfile

import pytest

from segauge.geometry.engine import _kernel as kernel
from tests.conftest import PROJECT
from tests.packaging.test_without_compiler import CHECK

#: Bytes. Today some 0.9 MB of source with the tests, 0.6 MB of wheel without the kernel and 0.7 MB of kernel.
MOST_SDIST = 2_000_000
MOST_PURE_WHEEL = 1_500_000
MOST_KERNEL = 2_000_000


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """Build the source distribution from a copy, so that a running test leaves nothing in the project."""
    pytest.importorskip("scikit_build_core", reason="the build backend is not installed here")
    folder = tmp_path_factory.mktemp("sdist")
    source = folder / "source"
    shutil.copytree(PROJECT, source, ignore=_not_ours)
    code = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(folder)], cwd=source, check=True, capture_output=True)
    (made,) = folder.glob("segauge-*.tar.gz")
    return made


def _not_ours(folder, names):
    """Return what tools and runs leave beside the project's own files."""
    left = {".git", ".hypothesis", "build", "data", "demo", "dist", "predictions", "results", "site"}
    at_root = left & set(names) if folder == str(PROJECT) else set()
    return at_root | {name for name in names if name.startswith(".venv") or name.endswith(("_cache", "__", ".so"))}


def wheel_from(sdist, folder, **environment):
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(sdist)]
    built = subprocess.run(pip, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if built.returncode and "Could not find a version" in built.stderr:
        pytest.skip("the build requirements cannot be had from the package index")
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("segauge-*.whl")
    return wheel


@pytest.mark.slow
def test_the_source_has_what_a_build_needs_and_no_more(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    needed = {str(path.relative_to(PROJECT)) for path in (PROJECT / "native").rglob("*") if path.is_file()}
    needed |= {str(path.relative_to(PROJECT)) for path in (PROJECT / "src").rglob("*") if path.is_file()}
    needed = {name for name in needed if "__pycache__" not in name and not name.endswith(".so")}
    assert not needed - names
    assert {"CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "PKG-INFO"} <= names
    unwanted = {name for name in names if name.startswith(("benchmarks/", "docs/", ".ci/", ".github/", "site/"))}
    assert not unwanted
    assert not {name for name in names if name.endswith((".nii.gz", ".dcm", ".npz", ".so", ".pyc"))}
    assert sdist.stat().st_size < MOST_SDIST


@pytest.mark.slow
def test_without_a_compiler_the_source_still_makes_a_working_package(sdist, tmp_path):
    wheel = wheel_from(sdist, tmp_path, CXX=shutil.which("false"), CC=shutil.which("false"))
    assert wheel.stat().st_size < MOST_PURE_WHEEL
    installed = tmp_path / "installed"
    shutil.unpack_archive(wheel, installed, "zip")
    assert not list(installed.rglob("_kernel*.so"))
    assert (installed / "segauge/py.typed").is_file()
    assert (installed / "segauge/integrations/templates/grand_challenge/evaluate.py.tmpl").is_file()
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    run = subprocess.run([sys.executable, "-c", CHECK], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert str(installed) in run.stdout


@pytest.mark.long
def test_the_source_builds_a_wheel_with_the_kernel(sdist, tmp_path):
    wheel = wheel_from(sdist, tmp_path)
    assert wheel.stat().st_size < MOST_PURE_WHEEL + MOST_KERNEL
    shutil.unpack_archive(wheel, tmp_path / "installed", "zip")
    assert len(list((tmp_path / "installed").rglob("_kernel*"))) == 2  # the module and its types


def test_the_kernel_is_small():
    assert kernel is not None
    assert os.stat(kernel.__file__).st_size < MOST_KERNEL  # noqa: PTH116 - of a module's own path
