"""No text of a figure is cut, also where the fonts that it was laid out with are not there."""

import pytest

from tests.report.examples import synthetic
from tests.report.test_comparison import model

pytestmark = pytest.mark.slow

#: Much wider than Arial; the first is what most Linux machines have.
WIDE = "svg.figure text, svg.figure tspan { font-family: 'DejaVu Sans', Verdana !important; }"
#: A text is as high as its font, whatever is drawn of it: two empty pixels above or below may lie outside.
OUTSIDE = """() => Array.from(document.querySelectorAll("svg.figure text")).flatMap((text) => {
    const svg = text.closest("svg").getBoundingClientRect(), box = text.getBoundingClientRect();
    const cut = box.left < svg.left || box.right > svg.right || box.top < svg.top - 2 || box.bottom > svg.bottom + 2;
    return cut ? [[text.textContent, box.left - svg.left, svg.right - box.right]] : [];
})"""
#: Numbers of one axis whose boxes overlap; those that the layout left out are there, but cannot be seen.
TOUCHING = """() => Array.from(document.querySelectorAll("svg.figure g")).flatMap((group) => {
    const texts = Array.from(group.children).filter((one) => one.tagName === "text");
    const seen = texts.filter((one) => one.getAttribute("opacity") !== "0");
    const numbers = seen.filter((one) => /^[-\u2212+0-9.,%]+$/.test(one.textContent));
    const boxes = numbers.map((one) => one.getBoundingClientRect());
    const apart = (a, b) => a.left >= b.right || a.right <= b.left || a.top >= b.bottom || a.bottom <= b.top;
    return numbers.slice(1).filter((_, i) => !apart(boxes[i], boxes[i + 1])).map((one) => one.outerHTML);
})"""


def report(folder):
    found = synthetic(20, ("left atrial appendage of the heart", "maximum wide mammogram WWWWWW", "liver"))
    return found.to_html(folder / "report.html")


def comparison(folder):
    from segauge.report.comparison import ModelComparison
    from segauge.report.comparison_page import write_comparison

    names = ("a model whose name is rather long WWW", "bold", "careful")
    models = {name: model(0.03 * i, seed=i) for i, name in enumerate(names)}
    return write_comparison(ModelComparison(models, metric="dice", n_resamples=200), folder / "comparison.html")


@pytest.mark.parametrize("written", [report, comparison])
def test_all_text_lies_inside_its_figure_with_a_wide_font(written, tmp_path, visit):
    page = visit(written(tmp_path), bypass_csp=True, viewport={"width": 1200, "height": 900}).page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.add_style_tag(content=WIDE)
    assert page.locator("svg.figure text").count() > 100
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(TOUCHING) == []
