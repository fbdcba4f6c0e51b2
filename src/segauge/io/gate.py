"""The gate: what comes from strangers is checked here before anything reads it.

Predictions are files of the folder that was named, and of no other place; text and tables have a largest size; JSON
has a largest number of values, depth and digits. `docs/reference/file-limits.md` lists the limits. How much memory an
image may ask for is checked in Python integers before anything is allocated.
"""

from __future__ import annotations

import json
import lzma
import math
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segauge.errors import FileTooLarge, InvalidInput, SegaugeError, UnreadableFile, option

#: Deflate cannot shrink data by more than this factor (258 bytes from two bits): a compressed file of n bytes can
#: never hold more than n times this. A header that asks for more lies, and is told so before any allocation.
MAX_DEFLATE_RATIO = 1032

#: bzip2 writes a block of 900 kB in no less than some 40 bytes.
MAX_BZIP2_RATIO = 50_000


@dataclass(frozen=True)
class Limits:
    """What one file may ask for.

    `max_voxels`: voxels of one image, all channels counted (default 2^31, a cube of 1290 voxels a side).
    `max_surplus_bytes`: bytes that may follow the voxels in a compressed file before it counts as a bomb.
    `max_header_bytes`: length of a text header, a sidecar or a label table.
    """

    max_voxels: int = 2**31
    max_surplus_bytes: int = 2**20
    max_header_bytes: int = 2**22


DEFAULT_LIMITS = Limits()
#: For predictions of strangers: a cube of 812 voxels a side, and headers that no label map in use comes near.
UNTRUSTED_LIMITS = Limits(max_voxels=2**29, max_surplus_bytes=2**16, max_header_bytes=2**18)


def check_dimensions(shape: Sequence[int], source: str, limits: Limits) -> int:
    """Return the number of voxels of a shape from a header, refusing what is not positive or too large."""
    size = " x ".join(str(n) for n in shape)
    if not shape or any(n < 1 for n in shape):
        raise UnreadableFile(
            f"{source}: the header gives the size {size or '(none)'}; each axis needs at least one voxel. "
            "The file is damaged, or was written by a broken tool: write it again."
        )
    voxels = math.prod(int(n) for n in shape)
    if voxels > limits.max_voxels:
        raise FileTooLarge(
            f"{source}: the header asks for {size} = {voxels} voxels, more than the limit of {limits.max_voxels}. "
            f"If the file is right, raise the limit with {option('max_voxels', ...)}."
        )
    return voxels


def check_stored_bytes(needed: int, stored: int, source: str, *, ratio: int = 1) -> None:
    """Refuse a file whose stored bytes, compressed by at most `ratio`, cannot hold what its header asks for."""
    if ratio == 1 and needed > stored:
        raise UnreadableFile(
            f"{source}: {needed} bytes of voxels expected by the header, {max(stored, 0)} found. "
            "The file is truncated: copy or write it again."
        )
    if needed > (stored + 64) * ratio:
        raise UnreadableFile(
            f"{source}: {needed} bytes of voxels expected by the header, but {stored} compressed bytes cannot hold "
            "that many. The file is truncated, or its header is wrong: write it again."
        )


#: Larger result files are refused: they are not tables of scores, and would fill the memory.
MAX_BYTES = 512 * 1024 * 1024
#: Values of a JSON file: lists and objects, and what they hold. Python needs some 80 bytes for each.
MAX_VALUES = 20_000_000
MAX_CONTAINERS = 3_000_000
#: Levels of lists and objects within each other: no file of ours or of the tools we read has a tenth of it, and what
#: walks through a deeper one would run out of stack.
MAX_DEPTH = 100
#: Digits of a whole number: counts, seeds and labels have fewer, and no float holds more than 308.
MAX_DIGITS = 300

#: What foreign readers raise on damaged files. They promise no list, so it names the general classes.
FOREIGN_FAILURES = (
    ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, LookupError, MemoryError, OSError,
    RuntimeError, TypeError, ValueError, lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip

_PIECE = 1 << 20


@contextmanager
def foreign_failures(words: str) -> Iterator[None]:
    """Turn whatever a foreign reader raises into UnreadableFile: the words, what went wrong, and what to do."""
    try:
        yield
    except SegaugeError:
        raise
    except FOREIGN_FAILURES as error:
        said = " ".join(str(error).split())[:200].rstrip(".") or "no details"
        raise UnreadableFile(f"{words} ({type(error).__name__}: {said}). Write it again.") from error


def check_links(root: Path, paths: Iterable[Path]) -> None:
    """Refuse files that are links out of the folder `root`, or no regular files; folders are looked through.

    A prediction that is a link to its ground truth would be perfect. `root` itself may be a link: it was named.
    """
    folder = root if root.is_dir() else root.parent
    home = folder.resolve()
    for path in paths:
        for entry in _entries(path):
            if entry == root and not root.is_dir():
                continue
            try:
                target = entry.resolve()
            except (OSError, RuntimeError) as error:
                raise InvalidInput(f"{entry}: is a link to itself. Put the file in its place.") from error
            if not target.is_relative_to(home):
                raise InvalidInput(
                    f"{entry}: is a link that leads out of {folder}, or lies behind one. Copy the file there, or pass "
                    f"{option('follow_links')} if you trust it."
                )
            mode = entry.stat().st_mode if entry.exists() else stat.S_IFREG
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise InvalidInput(f"{entry}: is a pipe, socket or device, expected a file.")


def refuse_links(path: Path, more: Iterable[Path] = ()) -> None:
    """Refuse a file, or a folder, that is a link or holds one, wherever it leads."""
    for place in (path, *more):
        link = next((entry for entry in _entries(place) if entry.is_symlink()), None)
        if link is not None:
            raise UnreadableFile(f"{link}: is a link, and untrusted predictions must be files.")
        check_links(place, (place,))


def _entries(path: Path) -> Iterator[Path]:
    """Yield a file, or a folder with all that it holds; links to folders are yielded and not entered."""
    yield path
    if path.is_dir():
        for folder, folders, files in os.walk(path):
            yield from (Path(folder, name) for name in (*folders, *files))


def are_identical(one: Path, other: Path) -> bool:
    """Say whether two files, or the files of two folders, are the same byte for byte; read no more than needed."""
    if one.is_dir() and other.is_dir():
        names = sorted(entry.name for entry in one.iterdir())
        same = bool(names) and names == sorted(entry.name for entry in other.iterdir())
        return same and all(are_identical(one / name, other / name) for name in names)
    if not (one.is_file() and other.is_file()) or one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as left, other.open("rb") as right:
        while piece := left.read(_PIECE):
            if piece != right.read(_PIECE):
                return False
    return True


def read_bytes(path: Path, what: str = "a table of scores", *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return a file's bytes; refuse what is not a regular file, too large, or cannot be read."""
    try:
        if not path.is_file():
            raise InvalidInput(f"{path}: expected a file, there is none.")
        size = path.stat().st_size
        if size > max_bytes:
            raise InvalidInput(f"{path.name}: {size} bytes are too many for {what} (at most {max_bytes}).")
        with path.open("rb") as file:
            # By its size, since `read` reserves what it is asked for; a file may grow, and those of /proc say 0 bytes.
            data = file.read(size + 1)
            while len(data) <= max_bytes and (piece := file.read(_PIECE)):
                data += piece
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"{path}: cannot be read ({reason}).") from error
    if len(data) > max_bytes:
        raise InvalidInput(f"{path.name}: is too large for {what} (at most {max_bytes} bytes).")
    return data


def load_json(path: Path, *, unique_keys: bool = False) -> Any:
    """Return the content of a JSON file; refuse what is none, with the place."""
    return parse_json(read_bytes(path), path.name, unique_keys=unique_keys)


def parse_json(data: bytes, name: str, *, unique_keys: bool = False) -> Any:
    """Return the content of JSON text; with `unique_keys`, a key that appears twice in one object is refused.

    NaN and Infinity are read, as tools write them.

    Raises:
        InvalidInput: if it is no JSON, has too many values, is nested too deeply, or holds a number of too many digits.

    """
    containers = data.count(b"{") + data.count(b"[")
    if containers > MAX_CONTAINERS or containers + data.count(b",") > MAX_VALUES:
        raise InvalidInput(
            f"{name}: holds more values than any result (at most {MAX_VALUES}, {MAX_CONTAINERS} of them lists and "
            "objects). Split the file, or write it as CSV or Parquet."
        )
    try:
        hook = _unique if unique_keys else None
        content = json.loads(data.decode("utf-8-sig"), object_pairs_hook=hook, parse_int=_whole_number)
        _check_depth(content)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{name}: is not JSON (line {error.lineno}: {error.msg}).") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name}: is not UTF-8 text, so not JSON.") from error
    except RecursionError as error:
        raise InvalidInput(f"{name}: is nested too deeply (more than {MAX_DEPTH} levels).") from error
    except ValueError as error:  # a key that appears twice, a number of hundreds of digits
        raise InvalidInput(f"{name}: {str(error).rstrip('.')}.") from error
    return content


def _whole_number(digits: str) -> int:
    """Return a whole number that a float can hold: a longer one would end whatever computes with it."""
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"holds a whole number of {len(digits)} digits, more than the {MAX_DIGITS} that are read")
    return int(digits)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInput(f"the key {key!r} appears twice in one object")
        found[key] = value
    return found


def _check_depth(content: Any) -> None:
    """Raise RecursionError where lists and objects are nested too deeply, level by level and without recursion."""
    level = [content]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            if isinstance(parent, (dict, list))
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise RecursionError
