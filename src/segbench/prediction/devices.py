"""Which devices there are, without importing any framework."""

from __future__ import annotations

import shutil
import subprocess

from segauge.errors import InvalidInput


def count_gpus() -> int:
    """Return how many NVIDIA GPUs this machine has, by asking its driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return 0
    try:
        found = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("GPU ") for line in found.stdout.splitlines()) if found.returncode == 0 else 0


def chosen_device(asked: str, gpus: int) -> str:
    """Return the device to run on: "auto" is the GPU where there is one."""
    if asked == "auto":
        return "cuda" if gpus else "cpu"
    kind, _, number = asked.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdigit()) or (kind == "cpu" and number):
        raise InvalidInput(f'device: expected "auto", "cpu", "cuda" or "cuda:0", got {asked!r}.')
    return asked
