"""How much a file may ask for, checked in Python integers before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from segauge.errors import FileTooLarge, UnreadableFile, option

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
