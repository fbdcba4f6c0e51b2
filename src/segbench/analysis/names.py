"""Names as people write them: "stu-net b" finds "STU-Net-B"; never by substring, and never one of several."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from segauge.errors import InvalidInput
from segbench.suggestions import unknown


def folded_name(name: str) -> str:
    """Return a name as it is compared: lower case; blanks, hyphens, underscores and "&" are all one separator."""
    return re.sub(r"[\s_\-&]+", "-", name.strip().casefold()).strip("-")


def find_name(given: str, known: Iterable[str], what: str, aliases: Mapping[str, str] | None = None) -> str:
    """Return the known name that is meant: the same, or the same but for case and separators.

    `aliases` are further names of the known ones. A name that fits several, or none, is refused with what there is.
    """
    names = list(known)
    if given in names:
        return given
    further = aliases or {}
    if given in further and further[given] in names:
        return further[given]
    spelled = [(name, name) for name in names] + [(alias, name) for alias, name in further.items() if name in names]
    fitting = list(dict.fromkeys(name for text, name in spelled if folded_name(text) == folded_name(given)))
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InvalidInput(f"The {what} {given!r} could be {' or '.join(map(repr, fitting))}; write it in full.")
    raise InvalidInput(unknown(what, given, dict.fromkeys(text for text, _ in spelled)))


_FRAMEWORKS = ("Vision_Language_", "nnU-Net_", "MONAI_", "_")


def without_framework(folder: str) -> tuple[str, str]:
    """Return model and framework of a Touchstone folder: "nnU-Net_MedNeXt" is MedNeXt of nnU-Net; "" if not said."""
    for prefix in _FRAMEWORKS:
        if folder.startswith(prefix) and len(folder) > len(prefix):
            return folder[len(prefix) :].replace("_", " "), prefix.strip("_").replace("_", " ")
    return folder, ""
