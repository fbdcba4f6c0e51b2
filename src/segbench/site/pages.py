"""Pages: templates filled and written below a folder; every page knows the way back to the root."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from segauge.digits import decimals, fixed, p_value, percent, sample_size
from segauge.io.outputs import write_whole
from segauge.report.figures.charting import number_text, shortened
from segauge.report.html import asset, filled, script_json
from segbench.site.chapters import metric_title, structure_title
from segbench.site.rows import EXPOSURE_WORDS


@dataclass(frozen=True)
class Site:
    """What all pages share."""

    title: str
    introduction: str
    count: str
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Pages:
    """The folder of a site, and what its pages share."""

    folder: Path
    site: Site

    def write(self, address: str, content: str | bytes) -> None:
        """Write one file, whole or not at all."""
        target = self.folder / address
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, content)

    def page(self, address: str, template: str, data: Mapping[str, Any] | None = None, **values: Any) -> None:
        """Write one page; `data` are tables that its scripts read."""
        root = "../" * address.count("/")
        tables = {name: script_json(table) for name, table in (data or {}).items()}
        self.write(address, filled_template(template, site=self.site, root=root, here=address, data=tables, **values))


@lru_cache(maxsize=32)
def own_asset(name: str) -> str:
    """Return a template, style sheet or script of the site; templates that it does not have are the report's."""
    place = files("segbench.site") / "templates" / name
    return place.read_text(encoding="utf-8") if place.is_file() else asset(name)


def filled_template(template: str, **values: Any) -> str:
    """Return a template of the site with its values, all of them escaped."""
    return filled(template, own_asset, _FILTERS, **values)


_FILTERS: Mapping[str, Callable[..., Any]] = {
    "exposure_words": lambda level: EXPOSURE_WORDS[level],
    "needed": lambda plan: sample_size(plan.cases_needed),
    "metric_title": metric_title,
    "number": number_text,
    "percent": percent,
    "short": lambda text: shortened(text, 28),
    "signed": lambda value: fixed(value, decimals(value), signed=True),
    "p": p_value,
    "structure_title": structure_title,
}
