"""What a command says, in a file of limited size: all of it, or its beginning and its end."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType
from typing import BinaryIO, Self

#: So many bytes of the beginning are kept, and so many of the end.
HALF = 4 << 20

_PIECE = 1 << 16

#: Seconds for the rest of what was said, after everybody who could say something was ended.
_REST_S = 2.0


class Listening:
    """Copies what comes through a pipe to a file, in a thread, and keeps the file below its limit."""

    def __init__(self, source: BinaryIO, log: BinaryIO) -> None:
        self._source, self._log = source, log
        self._room, self._last, self._held, self._left_out = HALF, deque[bytes](), 0, 0
        self._lock = threading.Lock()
        self._is_over = False
        self._thread = threading.Thread(target=self._copy, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the end; somebody who could not be ended, and still holds the pipe, is not waited for."""
        self._thread.join(_REST_S)
        with self._lock:
            self._is_over = True
            if self._left_out:
                self._log.write(f"\n[{self._left_out} bytes are left out here]\n".encode())
            self._log.writelines(self._last)

    def _copy(self) -> None:
        while piece := self._source.read1(_PIECE):  # type: ignore[attr-defined]
            with self._lock:
                if self._is_over:
                    return
                self._take(piece)
        self._source.close()

    def _take(self, piece: bytes) -> None:
        if self._room:
            self._log.write(piece[: self._room])
            self._log.flush()
        rest = piece[self._room :]
        self._room -= len(piece) - len(rest)
        if rest:
            self._last.append(rest)
            self._held += len(rest)
        while self._held - (len(self._last[0]) if self._last else 0) >= HALF:
            gone = len(self._last.popleft())
            self._held -= gone
            self._left_out += gone
