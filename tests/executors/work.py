"""What workers of the tests do; at the top level of a module, as an executor needs it."""

import os
import signal
import time
from pathlib import Path
from typing import Any


def do(item: Any) -> Any:
    """Return the square of a number, or end as the word says."""
    if isinstance(item, tuple):
        return _in_company(*item)
    if item == "raise":
        raise ValueError("not today")
    if item == "memory":
        raise MemoryError("10 GB")
    if item == "allocate":
        return len(bytearray(1 << 62))
    if item == "exit":
        os._exit(7)
    if item == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if item == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "sleep":
        time.sleep(60)
    if item == "print":
        print("noise", flush=True)  # noqa: T201 - noise is what the test is about
        return "printed"
    if item == "pid":
        return os.getpid()
    return item * item


def _in_company(word: str, folder: Path) -> Any:
    """Stay busy for a while, visibly; or be killed at the first try, and say at the second who else is busy."""
    mine = folder / f"{word} {os.getpid()}"
    if word == "busy":
        mine.touch()
        time.sleep(0.3)
        mine.unlink()
        return word
    if not (folder / word).exists():
        (folder / word).touch()
        if word == "out of memory once":
            raise MemoryError
        if word == "crashed once":
            os.kill(os.getpid(), signal.SIGSEGV)
        if word == "ended once":
            os._exit(7)
        os.kill(os.getpid(), signal.SIGKILL)
    return sorted(path.name for path in folder.glob("busy *"))
