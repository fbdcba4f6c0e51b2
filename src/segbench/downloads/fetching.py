"""Fetch one file over HTTP: resumed after a cut, checked against its checksum, put in place at once.

What has arrived lies beside the target as `.name.part`, with `.name.part.json` saying which file of which server it is
the beginning of; nothing is ever appended to the beginning of another file.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from segauge.errors import InvalidInput, SegaugeError
from segauge.io.gate import load_json
from segbench.locks import held
from segbench.registry import Progress

_PIECE = 1 << 20

#: Seconds between two words on how far it is.
_TELL_EVERY_S = 5.0

#: Answers that may be another one in a moment.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


class DownloadFailed(SegaugeError):
    """A file could not be fetched; the message says why, and how to get it by hand."""


@dataclass(frozen=True)
class _Wanted:
    """One file to fetch, and what is known about it beforehand."""

    url: str
    target: Path
    checksum: str = ""
    size: int | None = None
    stall_timeout_s: float = 60.0
    pause_s: float = 1.0
    by_hand: str = ""
    progress: Progress | None = field(default=None, repr=False)

    @property
    def part(self) -> Path:
        return self.target.with_name(f".{self.target.name}.part")

    @property
    def origin(self) -> Path:
        return self.target.with_name(f".{self.target.name}.part.json")

    def failed(self, what: str) -> DownloadFailed:
        """Return the error that says what happened, and what to do."""
        by_hand = self.by_hand or f"Or fetch {self.url} by other means and put it at {self.target}."
        return DownloadFailed(f"{self.url}: {what} {by_hand}")


class _CutOffError(Exception):
    """The connection ended, or stood still, before the file was whole; worth another try from where it was."""


def fetch(
    url: str,
    target: str | os.PathLike[str],
    *,
    checksum: str = "",
    size: int | None = None,
    attempts: int = 5,
    stall_timeout_s: float = 60.0,
    pause_s: float = 1.0,
    by_hand: str = "",
    progress: Progress | None = None,
) -> Path:
    """Fetch a file unless it is there, and return its path. The target is there whole or not at all.

    Args:
        url: http or https.
        target: where the file goes; its folder is made.
        checksum: "sha256:..." or "md5:..." of the whole file, as its makers publish it; "" if they do not.
        size: its length in bytes, where known.
        attempts: how often to try again, from where it was, after a cut, a standstill or a passing error.
        stall_timeout_s: seconds without a single byte after which a connection counts as dead.
        pause_s: seconds before the second attempt; twice as long before each further one.
        by_hand: what to do when the host is out of reach, for the message.
        progress: told how many bytes of how many have arrived.

    Raises:
        DownloadFailed: if the host is out of reach, refuses, or sends something else.

    """
    wanted = _Wanted(url, Path(target), checksum, size, stall_timeout_s, pause_s, by_hand, progress)
    if urlsplit(url).scheme not in ("http", "https"):
        raise InvalidInput(f"{url}: expected an address that begins with http:// or https://.")
    _digest(checksum)
    wanted.target.parent.mkdir(parents=True, exist_ok=True)
    with held(wanted.target.with_name(f".{wanted.target.name}.lock")):
        if wanted.target.is_file():
            return wanted.target
        _fill(wanted, attempts)
        _check(wanted)
        _sync(wanted.part)
        wanted.part.replace(wanted.target)
        wanted.origin.unlink(missing_ok=True)
    return wanted.target


def _fill(wanted: _Wanted, attempts: int) -> None:
    """Bring the part to its full length, trying again where that may help."""
    for attempt in range(1, attempts + 1):
        try:
            _continue(wanted)
            return
        except _CutOffError as error:
            if attempt == attempts:
                raise wanted.failed(
                    f"{error}, {attempts} times; {_size_of(wanted.part)} bytes are kept and the same command goes on "
                    "from there."
                ) from error
        time.sleep(wanted.pause_s * 2 ** (attempt - 1))


def _continue(wanted: _Wanted) -> None:
    """Ask for what is missing and append it to the part; raise _CutOffError if it ended too early."""
    have, origin = _kept(wanted)
    request = urllib.request.Request(  # noqa: S310 - the scheme was checked
        wanted.url, headers={"Accept-Encoding": "identity", "User-Agent": "segbench"}
    )
    if have:
        request.add_header("Range", f"bytes={have}-")
        if origin.get("validator"):
            request.add_header("If-Range", origin["validator"])
    try:
        with _opener().open(request, timeout=wanted.stall_timeout_s) as answer:
            _receive(wanted, answer, have)
    except urllib.error.HTTPError as error:
        _refused(wanted, error, have)
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise _CutOffError(f"nothing came for {wanted.stall_timeout_s:g} s") from error
        raise wanted.failed(
            f"the host is out of reach ({error.reason}). Check the network and the proxy (HTTPS_PROXY)."
        ) from error
    except TimeoutError as error:
        raise _CutOffError(f"nothing came for {wanted.stall_timeout_s:g} s") from error
    except (http.client.HTTPException, ConnectionError) as error:
        raise _CutOffError(f"the connection was cut ({type(error).__name__})") from error


def _refused(wanted: _Wanted, error: urllib.error.HTTPError, have: int) -> None:
    if error.code == 416 and have:
        # What we have is no beginning of what the server has: start again.
        _forget(wanted)
        raise _CutOffError("the server has another file than the one begun") from error
    if error.code in _PASSING:
        raise _CutOffError(f"the server answers {error.code} ({error.reason})") from error
    words = {
        401: "It wants a login: register with its makers.",
        403: "It does not let us in: its terms may have to be accepted first.",
        404: "It is not there any more: its address may have changed.",
    }.get(error.code, "")
    raise wanted.failed(f"the server answers {error.code} ({error.reason}). {words}".rstrip()) from error


def _receive(wanted: _Wanted, answer: Any, have: int) -> None:
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise wanted.failed("the server compresses what it sends although asked not to, so its length is unknown.")
    start, total = _announced(wanted, answer, have)
    if wanted.size is not None and total is not None and total != wanted.size:
        raise wanted.failed(f"{wanted.size} bytes expected, the server announces {total}: this is another file.")
    _require_room(wanted, (total or wanted.size or 0) - start)
    validator = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
    weak = validator.startswith("W/")
    origin = {"url": wanted.url, "validator": "" if weak else validator, "total": total}
    wanted.origin.write_text(json.dumps(origin), encoding="utf-8")
    end = total if total is not None else wanted.size
    with wanted.part.open("r+b" if start else "wb") as file:
        file.seek(start)
        file.truncate()
        position = start
        told = -_TELL_EVERY_S
        while piece := answer.read(_PIECE):
            position += len(piece)
            if end is not None and position > end:
                raise wanted.failed(f"{end} bytes expected, and the server sends more: this is another file.")
            file.write(piece)
            if time.monotonic() >= told + _TELL_EVERY_S or position == end:
                told = _tell(wanted, position, end)
    if end is not None and position < end:
        raise _CutOffError(f"{end} bytes announced, the connection ended after {position}")
    if end is None and not _can_tell_the_end(wanted, answer):
        _forget(wanted)
        raise wanted.failed(
            "the server sends no length, and no checksum is known: an incomplete download would go unnoticed."
        )


def _tell(wanted: _Wanted, position: int, end: int | None) -> float:
    """Tell how far it is, and return when that was."""
    if wanted.progress is not None:
        wanted.progress(wanted.target.name, position, end or 0)
    return time.monotonic()


def _announced(wanted: _Wanted, answer: Any, have: int) -> tuple[int, int | None]:
    """Return where the answer starts, and the length of the whole file as far as the server says it."""
    length = answer.headers.get("Content-Length", "")
    if answer.status != 206:
        return 0, int(length) if length.isdigit() else None
    unit, _, span = answer.headers.get("Content-Range", "").partition(" ")
    first, _, rest = span.partition("-")
    total = rest.partition("/")[2]
    if unit != "bytes" or first != str(have):
        _forget(wanted)
        raise _CutOffError(f"asked to go on at byte {have}, the server answers {span or 'without a range'}")
    return have, int(total) if total.isdigit() else None


def _can_tell_the_end(wanted: _Wanted, answer: Any) -> bool:
    """Return whether a cut would be noticed: chunks have an end mark, and a checksum knows."""
    return bool(wanted.checksum) or answer.headers.get("Transfer-Encoding", "").lower() == "chunked"


def _kept(wanted: _Wanted) -> tuple[int, Mapping[str, Any]]:
    """Return how many bytes are there already, and whose; none if they are of another file or cannot be told."""
    try:
        origin = load_json(wanted.origin)
        have = wanted.part.stat().st_size
        # Without a checksum only the server's own mark can say that the rest belongs to this beginning.
        if origin["url"] == wanted.url and (origin["validator"] or wanted.checksum):
            return have, origin
    except (OSError, ValueError, LookupError, TypeError):
        pass
    _forget(wanted)
    return 0, {}


def _forget(wanted: _Wanted) -> None:
    wanted.part.unlink(missing_ok=True)
    wanted.origin.unlink(missing_ok=True)


def _require_room(wanted: _Wanted, needed: int) -> None:
    free = shutil.disk_usage(wanted.target.parent).free
    if needed > free:
        raise wanted.failed(f"needs {needed} bytes, the disk of {wanted.target.parent} has {free} left. Make room.")


def _check(wanted: _Wanted) -> None:
    """Compare the part with the known length and checksum; throw it away if it is something else."""
    have = wanted.part.stat().st_size
    if wanted.size is not None and have != wanted.size:
        _forget(wanted)
        raise wanted.failed(f"{wanted.size} bytes expected, {have} came: this is another file.")
    algorithm, expected = _digest(wanted.checksum)
    if not algorithm:
        return
    with wanted.part.open("rb") as file:
        found = hashlib.file_digest(file, algorithm).hexdigest()
    if found != expected:
        _forget(wanted)
        raise wanted.failed(
            f"its {algorithm} is {found}, expected {expected}: damaged on the way, or another version. It was deleted."
        )


def _digest(checksum: str) -> tuple[str, str]:
    """Return algorithm and digest of "sha256:...", two empty texts for ""."""
    algorithm, _, expected = checksum.partition(":")
    lengths = {"": 0, "md5": 32, "sha256": 64}
    if len(expected) != lengths.get(algorithm, -1):
        raise InvalidInput(f"checksum: expected 'sha256:' or 'md5:' and its hexadecimal digits, got {checksum!r}.")
    return algorithm, expected.lower()


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class _HttpOnly(urllib.request.HTTPRedirectHandler):
    """Follows redirections, but never away from HTTP: no server may make us read a local file or leave TLS."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        old, new = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if new != "https" and (new != "http" or old == "https"):
            raise urllib.error.URLError(f"it redirects from {old} to {newurl}, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_HttpOnly)
