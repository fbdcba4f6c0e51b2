"""Without a C++ compiler the package computes the same numbers and says that it is slow.

That it installs without one is tested from the source distribution, in test_distributions.py.
"""

from segauge.geometry.engine import _kernel as kernel

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
