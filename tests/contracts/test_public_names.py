"""What `import segauge` gives, and what it costs."""

import subprocess
import sys

import segauge

HEAVY = ("scipy", "nibabel", "pydicom", "pandas", "jinja2", "altair", "rich", "yaml", "pydantic")

#: Names that users' code imports today.
PROMISED = {
    "assd",
    "bootstrap_ci",
    "compute_surface_distances",
    "confusion",
    "detection_scores",
    "dice",
    "hausdorff",
    "hausdorff95",
    "iou",
    "load_mask",
    "load_rtstruct",
    "masd",
    "nsd",
    "paired_significance",
    "ranking_stability",
    "surface_metrics",
}


def constants_then_classes_then_functions(name):
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_public_names_are_sorted_and_there():
    assert segauge.__all__ == sorted(segauge.__all__, key=constants_then_classes_then_functions)
    assert set(segauge.__all__) <= set(dir(segauge))
    assert all(hasattr(segauge, name) for name in segauge.__all__)
    assert set(segauge.__all__) >= PROMISED


def test_every_public_name_says_what_it_is():
    silent = [
        name for name in segauge.__all__ if callable(getattr(segauge, name)) and not getattr(segauge, name).__doc__
    ]
    assert not silent


def test_import_loads_numpy_and_nothing_heavier():
    code = "import sys, segauge; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded
    assert not set(loaded) & set(HEAVY)


def test_import_adds_little_to_that_of_numpy():
    """Both in one process and as a ratio: machines are shared. NumPy alone takes some 0.1 s."""
    code = (
        "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); import segauge; "
        "c = time.perf_counter(); print((c - b) / (b - a))"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    assert min(float(run.stdout) for run in runs) < 0.6
