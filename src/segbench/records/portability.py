"""Nothing about the machine: paths in texts are cut down to their last part before they enter a record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: A path from the root, the home folder or a drive on; not the slash of "prostate/uterus", "+/-" or an address.
_PLACE = re.compile(r"""(?<![\w.:/\\+-])(?:file:/+|~|[A-Za-z]:(?=[/\\]))?[/\\][^\s"'()<>|,;:]*""")

#: Keys whose values say only where things lie.
_PLACES = ("root", "cache_dir", "results_path")


def portable(value: Any) -> Any:
    """Return plain values without the paths of this machine: "/home/me/scan.nii.gz" becomes ".../scan.nii.gz"."""
    if isinstance(value, Mapping):
        return {str(key): portable(part) for key, part in value.items() if key not in _PLACES}
    if isinstance(value, (list, tuple)):
        return [portable(part) for part in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return _PLACE.sub(_last_part, str(value))


def _last_part(found: re.Match[str]) -> str:
    text = found.group()
    name = re.split(r"[/\\]", text.rstrip("/\\"))[-1]
    return f".../{name}" if len(text) > 1 else text
