"""Nothing about the machine: paths in texts are cut down to their last part before they enter a record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: A path from the root, the home folder or a drive on; not the slash of "prostate/uterus", "+/-" or an address.
_PLACE = re.compile(r"""(?<![\w.:/\\+-])(?:file:/+|~|[A-Za-z]:(?=[/\\]))?[/\\][^\s"'()<>|,;:]*""")

#: Keys whose values say only where things lie.
_PLACES = ("root", "cache_dir", "results_path")

#: Keys whose values somebody wrote for the readers of a page.
_WORDS = ("title", "preview_label")


def portable(value: Any) -> Any:
    """Return plain values without the paths of this machine: "/home/me/scan.nii.gz" becomes ".../scan.nii.gz"."""
    if isinstance(value, Mapping):
        return {
            str(key): part if key in _WORDS and isinstance(part, str) else portable(part)
            for key, part in value.items()
            if key not in _PLACES
        }
    if isinstance(value, (list, tuple)):
        return [portable(part) for part in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return _PLACE.sub(_last_part, str(value))


def _last_part(found: re.Match[str]) -> str:
    """Return a place without its folders; a slash before a single word ("kidney /tumor", "</b>") makes no place."""
    text = found.group()
    parts = [part for part in re.split(r"[/\\]+", text) if part]
    return f".../{parts[-1]}" if len(parts) > 1 else text
