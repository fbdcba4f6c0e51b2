"""Makes the pictures of README and docs: a report and a board, by the tool itself, photographed by chromium.

    python docs/images/make_images.py [report] [board]

Needs the extra `dev` (playwright, Pillow) and chromium, or the browser that SEGAUGE_CHROMIUM names. No network.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import segbench.cli
from segauge import Case, Grid, evaluate
from segauge.phantoms import perturbed, scene

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
#: Largest size of a picture in the repository.
MOST_BYTES = 150_000
#: Width of a picture in pixels: sharp enough on a page, and small enough for a repository.
WIDTH = 1200


def write_report(folder: Path) -> Path:
    """Write the report of twelve phantom abdomens: off by 0.5 to 2.5 mm, with a missed spleen and wrong lesions."""
    grid = Grid.from_spacing((100, 100, 80), (2.0, 2.0, 2.5))
    cases = []
    for number in range(12):
        truth = scene(grid, seed=number)
        wrong = {"without": ("spleen",)} if number == 4 else {"missed": 1, "spurious": 1} if number == 7 else {}
        prediction = perturbed(truth, shift_mm=0.5 + 2.0 * number / 11, seed=number, **wrong)
        cases.append(Case(f"patient {number + 1}", prediction.label_map, truth.label_map))
    result = evaluate(cases, structures=truth.labeling, nsd_tolerance=2.0)
    return result.to_html(folder / "report.html", cases=cases, title="Phantom abdomens: one model in detail")


def write_board(folder: Path) -> Path:
    """Run the phantom benchmark of `make demo` and return its first page."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        segbench.cli.main(["run", "--config", str(PROJECT / "configs" / "phantom.yaml"), "--render", "site"])
    finally:
        os.chdir(before)
    return folder / "site" / "index.html"


def report_end(page: Page) -> float:
    """Return where the first figure of the results ends."""
    box = page.locator("#results figure").first.bounding_box()
    if box is None:
        raise SystemExit("The report has no figure in its results.")
    return box["y"] + box["height"]


def board_end(page: Page) -> float:
    """Return where the table of the first board ends."""
    box = page.locator("main table").first.bounding_box()
    if box is None:
        raise SystemExit("The page has no board.")
    return box["y"] + box["height"]


PICTURES: Mapping[str, tuple[Callable[[Path], Path], Callable[[Page], float], int]] = {
    "report": (write_report, report_end, 1040),
    "board": (write_board, board_end, 1240),
}


def photograph(html: Path, end: Callable[[Page], float], width: int) -> tuple[Image.Image, str]:
    """Return a page from its top to the given height, as a browser without a network shows it, and its first table."""
    browser = os.environ.get("SEGAUGE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as running:
        started = running.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = started.new_context(
            offline=True, viewport={"width": width, "height": 900}, device_scale_factor=2
        ).new_page()
        page.goto(html.as_uri())
        page.wait_for_timeout(500)
        clip = {"x": 0, "y": 0, "width": width, "height": end(page) + 8}
        taken = page.screenshot(full_page=True, clip=clip)
        tables = page.locator("main table")
        table = tables.first.inner_text() if tables.count() else ""
        started.close()
    return Image.open(io.BytesIO(taken)).convert("RGB"), table


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture of the width of a page, in as many colours as its size allows."""
    height = round(picture.height * WIDTH / picture.width)
    small = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
    for colours in (256, 128, 64, 32):
        small.quantize(colours, kmeans=2, dither=Image.Dither.NONE).save(path, optimize=True)
        if path.stat().st_size <= MOST_BYTES:
            return
    raise SystemExit(f"{path.name}: {path.stat().st_size} bytes are too many.")


def main(names: Sequence[str]) -> None:
    """Make the pictures that are named, or all."""
    for name in names or PICTURES:
        write, end, width = PICTURES[name]
        with tempfile.TemporaryDirectory() as folder:
            html = write(Path(folder))
            picture, table = photograph(html, end, width)
            save(picture, HERE / f"{name}.png")
            if name == "board":  # the alternative text of the picture is tested against it
                (HERE / "board.txt").write_text(f"{table.strip()}\n", encoding="utf-8")
        print("written:", HERE / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
