"""Words for the terminal: a message that speaks of parameters, said with the flags of the command line."""

from __future__ import annotations

import re

#: Parameters that are flags of the commands; others stay as they are.
_FLAGS = (
    "any_frame_of_reference", "frame", "label", "max_voxels", "metrics", "nan", "reference", "resample",
    "segment_number", "spacing", "threshold", "trust_array",
)  # fmt: skip
_PARAMETER = re.compile(rf"\b({'|'.join(_FLAGS)})=(True|'[\w.]+'|\"[\w.]+\"|[\d.]*\d)?")


def as_flags(message: str) -> str:
    """Return a message of the library as the command line says it: "threshold=0.5" becomes "--threshold 0.5"."""

    def flag(match: re.Match[str]) -> str:
        name, value = f"--{match[1].replace('_', '-')}", (match[2] or "").strip("'\"")
        return f"{name} {value}" if value and value != "True" else name

    return _PARAMETER.sub(flag, message)
