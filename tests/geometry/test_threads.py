"""What becomes of work on several threads where the system allows fewer."""

import os
import subprocess
import sys

import pytest

from segauge.geometry.engine import _kernel as kernel

#: Counts labels on one thread, then on eight with so little address space left that not all of them can start.
_SHORT_OF_THREADS = """
import re, resource, sys
import numpy as np
from segauge.geometry.masks import tabulate
rng = np.random.default_rng(0)
pred, gt = (rng.integers(0, 4, (64, 64, 64), dtype=np.uint8) for _ in range(2))
alone = tabulate(pred, gt, threads=1).overlap((1, 2), (2,))
with open("/proc/self/status") as status:
    taken = 1024 * int(re.search(r"VmSize:\\s+(\\d+)", status.read())[1])
resource.setrlimit(resource.RLIMIT_AS, (taken + (int(sys.argv[1]) << 20), resource.RLIM_INFINITY))
print(tabulate(pred, gt, threads=8).overlap((1, 2), (2,)) == alone)
"""


@pytest.mark.skipif(kernel is None, reason="segauge was installed without its compiled kernel")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="what checks memory needs all address space")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads its size from /proc")
@pytest.mark.parametrize("room_mb", [4, 13, 30])  # a thread asks for 8 MB: none, one and three more of them can start
def test_fewer_threads_than_were_asked_for_do_all_of_the_work(room_mb):
    """A process in a small share of a cluster's machine was ended where the second of several threads did not start."""
    command = [sys.executable, "-c", _SHORT_OF_THREADS, str(room_mb)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (found.returncode, found.stdout) == (0, "True\n"), found.stderr
