"""The other end of a worker process: reads items from standard input, writes results to standard output.

Frames are a length and a pickle; they come from the process that started this one, and from nowhere else.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
from importlib import import_module
from typing import IO, Any

from segauge.executors.outcomes import crash_of

_LENGTH = struct.Struct("<Q")


def write_frame(stream: IO[bytes] | None, value: Any) -> None:
    """Write one value and flush it."""
    if stream is None:
        raise EOFError
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes] | None) -> Any:
    """Return the next value; EOFError where the other side has gone."""
    if stream is None:
        raise EOFError
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(head)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)  # noqa: S301 - from our own parent or child process only


def serve(module: str, name: str) -> None:
    """Answer each item with the result of the function, until the parent has gone."""
    try:
        _serve(module, name)
    except BrokenPipeError:
        # The parent was killed while an item was in work, and nobody is left to be told. An orderly exit would try to
        # write the rest of the answer once more, and print that it cannot.
        os._exit(1)


def _serve(module: str, name: str) -> None:
    # Ctrl-C reaches the whole group of processes; the parent decides, and ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever a library prints must not stand between the answers.
    os.dup2(2, 1)
    items = sys.stdin.buffer
    while True:
        try:
            item = read_frame(items)
        except EOFError:
            return
        except Exception as error:  # an item that cannot be unpickled is that item's crash
            write_frame(answers, crash_of(error))
            continue
        try:
            result = getattr(import_module(module), name)(item)
        except Exception as error:  # around one case: whatever happens in it becomes its outcome
            result = crash_of(error)
        write_frame(answers, result)
