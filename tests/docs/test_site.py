"""The documentation site builds without a warning, its links lead somewhere, and nothing on it comes from elsewhere."""

from __future__ import annotations

import html.parser
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import segauge
import segauge.cli
import segauge.phantoms
import segauge.report.figures
import segauge.stats
import segbench
import segbench.cli
from segauge.metrics.catalog import CATALOG
from segbench.config import RunConfig
from tests.conftest import PROJECT

pytestmark = pytest.mark.slow
for package in ("furo", "myst_parser", "sphinx"):
    pytest.importorskip(package, reason="the site needs segauge[docs]")


class Links(html.parser.HTMLParser):
    """Collects what a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.places.update(value for key, value in attributes if key in ("id", "name") and value)
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag in ("link", "script", "img", "iframe", "source"):
            self.loaded.extend(value for key, value in attributes if key in ("href", "src") and value)


def build(folder: Path) -> Path:
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--fail-on-warning", "--quiet"]
    folders = ["--doctree-dir", str(folder / "doctrees"), str(PROJECT / "docs"), str(folder / "html")]
    ended = subprocess.run([*command, *folders], check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return folder / "html"


def test_the_site(tmp_path):
    """One test, since the site is built once: a worker for each check would build it again."""
    site = build(tmp_path)
    check_links(site)
    check_public_names(site)
    check_metrics_commands_and_keys(site)


def pages_of(site: Path) -> dict[Path, Links]:
    return {path.resolve(): Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def check_links(site: Path) -> None:
    pages = pages_of(site)
    checked = 0
    for path, page in pages.items():
        assert not [link for link in page.loaded if urlsplit(link).netloc], path.name
        for link in (*page.links, *page.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages and path.name not in ("genindex.html", "search.html"):
                assert unquote(parts.fragment) in pages[target].places, f"{path.name}: {link}"
            checked += 1
    assert checked > 500


def words_of(site: Path, page: str) -> str:
    text = re.sub(r"<[^>]+>", "", (site / page).read_text(encoding="utf-8"))
    return html.unescape(text)


MODULES = {
    "segauge": segauge,
    "phantoms": segauge.phantoms,
    "stats": segauge.stats,
    "figures": segauge.report.figures,
    "segbench": segbench,
}


def check_public_names(site: Path) -> None:
    for page, module in MODULES.items():
        words = set(re.findall(r"\w+", words_of(site, f"reference/api/{page}.html")))
        assert not set(module.__all__) - words, page


def check_metrics_commands_and_keys(site: Path) -> None:
    metrics = words_of(site, "reference/metrics.html").split()
    assert not {key for key in CATALOG if not {key, f"{key}\N{PILCROW SIGN}", f"{key}#"} & set(metrics)}
    commands = words_of(site, "reference/cli-segauge.html")
    assert all(f"usage: segauge {name}" in commands for name in segauge.cli.COMMANDS)
    assert "--noise-floor" in commands  # not the first screen of help alone
    benchmark = words_of(site, "reference/cli-segbench.html")
    assert all(f"usage: segbench {name}" in benchmark for name in segbench.cli.PROGRAM.commands)
    keys = set(re.findall(r"\w+", words_of(site, "reference/config.html")))
    names = {name for name in RunConfig.__dataclass_fields__ if not name.startswith("_")}
    assert names - {"written"} <= keys
