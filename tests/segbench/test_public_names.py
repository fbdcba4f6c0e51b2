"""What `import segbench` gives, and what it costs."""

import doctest
import subprocess
import sys

import segbench


def test_public_names_are_sorted_and_there():
    assert segbench.__all__ == sorted(segbench.__all__, key=lambda name: (not name[0].isupper(), name))
    assert all(getattr(segbench, name).__doc__ for name in segbench.__all__)
    assert sorted(segbench.__all__) == sorted(name for names in segbench._ROOMS.values() for name in names)


def test_the_example_of_the_package_is_true():
    assert doctest.testmod(segbench).failed == 0


def test_the_help_loads_no_torch_and_nothing_heavy():
    code = "import sys; from segbench.cli import main\ntry: main(['--help'])\nexcept SystemExit: print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "pandas", "pyarrow", "yaml", "rich", "scipy.stats", "nibabel", "altair"} & set(said)
