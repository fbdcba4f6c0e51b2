"""The machine that a benchmark ran on, in one line: enough to judge a ratio, and nothing that names an owner."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import segauge


def describe_machine(load_before: float) -> str:
    """Return processor, cores, memory, system, versions, date, and the load before and after."""
    date = datetime.now(UTC).date().isoformat()
    after = os.getloadavg()[0]
    return (
        f"segauge {segauge.__version__} on {date}: {_processor()}, {os.cpu_count()} cores, {_memory_gb():.0f} GB, "
        f"{platform.system()}, Python {platform.python_version()}; load {load_before:.1f} before, {after:.1f} after."
    )


def _processor() -> str:
    """Return the model of the processor where the system says it, else its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
