"""A real browser with the network off; tests skip where there is none."""

import io
import os
import shutil

import numpy as np
import pytest

#: How long anything may take to appear: a busy machine is no failure.
PATIENCE_MS = 120_000


def _executable():
    names = (os.environ.get("SEGAUGE_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
    for module in ("altair", "jinja2", "vl_convert"):
        pytest.importorskip(module, reason="the report needs segauge[report]")
    path = _executable()
    if path is None:
        pytest.skip("browser tests need chromium (or the program that SEGAUGE_CHROMIUM names)")
    playwright.expect.set_options(timeout=PATIENCE_MS)
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


class Visit:
    """A page that is open, and what it complained about or asked for."""

    def __init__(self, page):
        self.page, self.complaints, self.requests = page, [], []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))


@pytest.fixture
def visit(browser):
    contexts = []

    def open_file(path, **options):
        context = browser.new_context(offline=True, **options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        visited = Visit(context.new_page())
        visited.page.goto(path.as_uri())
        return visited

    yield open_file
    for context in contexts:
        context.close()


def becomes_true(page, condition):
    """Wait for what a page shows, by looking: its policy forbids to wait for a script."""
    for _ in range(PATIENCE_MS // 50):
        if condition():
            return True
        page.wait_for_timeout(50)
    return False


def share_in_colour(canvas):
    """Return the share of a picture that has a colour: masks and surface do, the ground and the image do not."""
    pillow = pytest.importorskip("PIL.Image", reason="needs Pillow")
    shown = np.asarray(pillow.open(io.BytesIO(canvas.screenshot())).convert("RGB")).astype(int)
    return float(np.mean(np.ptp(shown, axis=2) > 40))
