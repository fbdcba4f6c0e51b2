"""Reports, figures and tables of results."""

from __future__ import annotations

from importlib.util import find_spec

from segauge.errors import MissingExtra


def check_report_extra() -> None:
    """Refuse a report that could not be written, before anything is measured for it; loads nothing."""
    if any(find_spec(name) is None for name in ("jinja2", "altair", "vl_convert")):
        raise MissingExtra("The HTML report needs jinja2, altair and vl-convert: install `segauge[report]`.")
