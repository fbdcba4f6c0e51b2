"""Words for the terminal: messages that speak of flags instead of parameters, and policies in words."""

from __future__ import annotations

import re

#: Parameters that are flags of the commands; others stay as they are.
_FLAGS = (
    "absent", "allow_nonuniform", "any_frame_of_reference", "cases", "columns", "duplicates", "empty", "failed",
    "format", "frame", "jobs", "key", "label", "layout", "max_voxels", "metric", "metrics", "n_resamples", "nan",
    "noise_floor", "nsd_tolerance", "out_of_range", "penalty", "pred_structures", "resample", "segment_number",
    "spacing", "threshold", "timeout", "trust_array",
)  # fmt: skip
_PARAMETER = re.compile(rf"\b({'|'.join(_FLAGS)})=(True|'[\w.]+'|\"[\w.]+\"|[\d.]*\d)?")
#: The same where a message begins with the parameter, or says to pass it or what was expected of it.
_NAMED = re.compile(
    rf"^({'|'.join(_FLAGS)})(?=: expected| has no entry)|(?<=\bpass )(trust_array)\b|(?<=^Expected )(n_resamples)\b"
)
_ALL = ('structures="all"', "--structures all")
_STRUCTURES = re.compile(r"\b(pred_)?structures=\{'([^']+)': (\d+)(, \.\.\.)?\}")


#: Ways out that no command has, and the one that `segauge info` has.
_PYTHON_ONLY = re.compile(r", or pass array_key=[^.]*")
_REFERENCE = re.compile(r", or pass reference=[^.]*")


def as_flags(message: str, *, has_reference: bool = False) -> str:
    """Return a message of the library as the command line says it: "threshold=0.5" becomes "--threshold 0.5".

    Advice that needs an option which the command does not have is left out.
    """
    message = _PYTHON_ONLY.sub("", message)
    message = message.replace("reference=", "--reference") if has_reference else _REFERENCE.sub("", message)

    def flag(match: re.Match[str]) -> str:
        name, value = f"--{match[1].replace('_', '-')}", (match[2] or "").strip("'\"")
        return f"{name} {value}" if value and value != "True" else name

    def structures(match: re.Match[str]) -> str:
        return f"--{'pred-' if match[1] else ''}structures {match[2]}={match[3]}{match[4] or ''}"

    def name(match: re.Match[str]) -> str:
        return f"--{match[0].replace('_', '-')}"

    return _PARAMETER.sub(flag, _NAMED.sub(name, _STRUCTURES.sub(structures, message).replace(*_ALL)))


def system_words(error: OSError) -> str:
    """Return what the system refused, and where: "results: Permission denied."."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or str(error) or type(error).__name__}."


_POLICY = re.compile(r"^failed=(\w+), absent=(\w+)(?:, missing=(\w+))?$")
_FAILED = {
    "worst": "a failed case counts as the worst value",
    "penalty": "a failed case counts as the penalty",
    "last": "a failed case has no value, and ranks behind all others",
    "exclude": "failed cases are left out",
}
_ABSENT = {"exclude": "are left out where they have no value", "perfect": "count as perfect"}


def policy_in_words(note: str) -> str:
    """Return the note "failed=worst, absent=exclude" in words; any other note as it is."""
    found = _POLICY.match(note)
    if found is None or found[1] not in _FAILED or found[2] not in _ABSENT:
        return note
    missing = "; cases without a prediction are left out" if found[3] == "exclude" else ""
    words = f"{_FAILED[found[1]]}; cases without the structure {_ABSENT[found[2]]}{missing} (--failed, --absent)"
    return f"{words[0].upper()}{words[1:]}"
