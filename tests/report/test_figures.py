"""Figures show exactly the values they are given; they stay valid and harmless whatever the names are."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("altair", reason="figures need segauge[report]")
pytest.importorskip("vl_convert", reason="figures need segauge[report]")

from segauge.errors import InvalidInput
from segauge.report import figures
from segauge.report.figures import themes
from segauge.report.figures.charting import fitted, shortened, unique_labels
from segauge.report.figures.distributions import MOST_POINTS, density, thinned
from segauge.report.figures.lettering import text_width

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd()|' /C calc'!A0",
    "x" * 300,
    "🫀 heart",
    "‮gnirts desrever",
    "$ink",
    "#0072b2",
    "a\nb\tc",
    "]]>&amp;<!--",
    "datum.value",
    "\x00\x1b[31m\x7f",
    "\ud800 half a letter",
    "",
)


def rows_of(chart, holding):
    """Return the data rows of a chart that have the field."""
    found = []

    def walk(node):
        if isinstance(node, dict):
            for row in node.get("data", {}).get("values", []) if isinstance(node.get("data"), dict) else []:
                if holding in row:
                    found.append(row)
            for rows in node.get("datasets", {}).values():
                found.extend(row for row in rows if holding in row)
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(chart.to_dict())
    return found


def example(kind, names=("liver", "pancreas", "kidney")):
    rng = np.random.default_rng(3)
    points = [
        figures.Point(name, float(value), f"case {i} of {name}", series=str(i % 2))
        for name in names
        for i, value in enumerate(rng.beta(8, 2, 12))
    ]
    if kind == "raincloud":
        return figures.raincloud(points, axis="Dice", bounds=(0, 1))
    if kind == "boxes":
        return figures.boxes(points, axis="Dice", bounds=(0, 1))
    if kind == "forest":
        rows = [figures.Interval(name, 0.5 + i / 50, 0.4, 0.9, f"n = {i}") for i, name in enumerate(names)]
        return figures.forest(rows, axis="Dice", reference=0.6, bounds=(0, 1))
    if kind == "recall_by_size":
        return figures.recall_by_size([figures.Recall(name, i, 12, 0.1, 0.9) for i, name in enumerate(names)])
    if kind in ("curves", "stability"):
        given = {name: figures.Curve([1, 2, 3], [0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.6, 0.7, 0.8]) for name in names}
        if kind == "stability":
            return figures.stability(given, y_axis="Dice")
        return figures.curves(given, x_axis="tolerance in mm", y_axis="NSD", marked=1.0)
    if kind == "bland_altman":
        gt = np.linspace(10, 90, len(names))
        return figures.bland_altman(gt + 2, gt, names)
    if kind == "significance_map":
        cells = [figures.PairCell(a, b, "better", 0.01, 0.4) for a in names for b in names if a != b]
        return figures.significance_map(names, cells)
    if kind == "rank_blobs":
        given = {name: {1: 0.25, 2: 0.75} for name in names}
        return figures.rank_blobs(given, intervals=dict.fromkeys(names, (1, 2)))
    if kind == "podium":
        scores = {name: {f"case {i}": float(x) for i, x in enumerate(rng.random(9))} for name in names}
        return figures.podium(scores, axis="Dice")
    return figures.critical_difference({name: 1.0 + i for i, name in enumerate(names)}, [names[:2]])


KINDS = (
    "raincloud",
    "boxes",
    "forest",
    "recall_by_size",
    "curves",
    "stability",
    "bland_altman",
    "significance_map",
    "rank_blobs",
    "podium",
    "critical_difference",
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_is_valid_and_can_stand_in_a_page(kind):
    chart = example(kind)
    chart.to_dict()  # validated against the schema of Vega-Lite
    text = figures.inline_svg(chart, label="what is shown")
    root = ElementTree.fromstring(text)  # noqa: S314 - our own text
    assert root.get("aria-label") == "what is shown"
    assert "var(--figure-" in text
    labelled = [element for element in root.iter() if element.get("role") == "img"]
    assert labelled, "nothing in the figure answers to a pointer or a screen reader"


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_answer_in_words_and_text_is_read_as_it_is(kind):
    chart = example(kind)
    root = ElementTree.fromstring(figures.inline_svg(chart, label="what is shown"))  # noqa: S314 - our own text
    labels = {element.get("aria-label") for element in root.iter() if element.get("role") == "img"}
    assert labels <= {row["label"] for row in rows_of(chart, "label")}
    hidden = [element for element in root.iter() if element.get("aria-hidden")]
    assert not [text for element in hidden for text in element.iter() if text.tag.endswith("text")]


@pytest.mark.parametrize("kind", KINDS)
def test_no_name_becomes_markup(kind):
    text = figures.inline_svg(example(kind, HOSTILE), label=HOSTILE[1])
    root = ElementTree.fromstring(text)  # noqa: S314 - our own text
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not names & {"script", "img", "foreignObject", "a", "image", "style", "iframe"}
    assert not any(key.lower().startswith("on") for element in root.iter() for key in element.attrib)
    assert root.get("aria-label") == HOSTILE[1]


def laid_out(text, weight):
    """Return the width that the layout of a figure gives a text of 100 pixels' height."""
    import altair

    chart = altair.Chart({"values": [{"text": text}]}).mark_text(align="left", fontSize=100, fontWeight=weight)
    placed = chart.encode(x=altair.XValue(0), y=altair.YValue(0), text="text:N").properties(width=1, height=1)
    root = ElementTree.fromstring(figures.svg(placed))  # noqa: S314 - our own text
    return float(root.get("viewBox").split()[2]) - 2 * themes.config()["padding"]


@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_widths_of_text_are_those_of_the_layout(weight):
    letters = "".join(map(chr, range(32, 127))) + "\u2212\u00b1\u2026\u2265\u2264\u00e9"
    for text in (letters[1:50], letters[50:], "p = 0.001", "0.904 [0.861, 0.936]"):
        # Pairs of letters that stand closer (AV, 11) make the layout a little narrower than the sum of its letters.
        assert text_width(text, 100, bold=weight == "bold") == pytest.approx(laid_out(text, weight), rel=0.02)
    assert text_width("\u03a9mega", 11) is None


def test_every_text_says_how_wide_it_is():
    for text in (figures.svg(example("forest")), figures.inline_svg(example("forest"), label="")):
        found = [one for one in ElementTree.fromstring(text).iter() if one.tag.endswith("text")]  # noqa: S314
        assert {one.get("textLength") for one in found if one.text == "pancreas"} == {"49.4"}
        assert all(one.get("lengthAdjust") == "spacingAndGlyphs" for one in found)


def test_the_guard_refuses_what_is_not_a_plain_figure():
    from segauge.report.figures.rendering import checked_svg

    for bad in (
        "<svg><script>1</script></svg>",
        '<svg><path onclick="x()"/></svg>',
        '<svg xmlns:xlink="http://www.w3.org/1999/xlink"><path xlink:href="x"/></svg>',
        '<!DOCTYPE svg [<!ENTITY a "b">]><svg/>',
    ):
        with pytest.raises(InvalidInput, match="which no figure of ours has"):
            checked_svg(bad)


@pytest.mark.parametrize("ending", figures.FILE_FORMATS)
def test_figures_are_saved_in_the_formats_of_papers(tmp_path, ending):
    path = figures.save(example("forest"), tmp_path / f"figure{ending}", theme="dark")
    head = path.read_bytes()[:5]
    assert head.startswith({".svg": b"<svg", ".pdf": b"%PDF-", ".png": b"\x89PNG"}[ending])


def test_an_unknown_format_is_refused_by_name(tmp_path):
    with pytest.raises(InvalidInput, match=r"\.svg, \.pdf, \.png"):
        figures.save(example("forest"), tmp_path / "figure.bmp")


def test_raincloud_draws_every_case_and_the_quartiles():
    values = [0.1, 0.2, 0.3, 0.4, 0.9]
    chart = figures.raincloud(
        [figures.Point("liver", value, f"c{i}") for i, value in enumerate(values)]
        + [figures.Point("x", math.nan, "n")],
        axis="Dice",
    )
    points = rows_of(chart, "failed")
    assert sorted(row["value"] for row in points) == values
    assert {row["label"] for row in points} >= {"c0: 0.100", "c4: 0.900"}
    (box,) = rows_of(chart, "median")
    # Quartiles of five values are the values themselves; 0.9 lies beyond 0.4 + 1.5 x 0.2, so the whisker ends at 0.4.
    assert (box["first"], box["median"], box["third"]) == (0.2, 0.3, 0.4)
    assert (box["low"], box["high"]) == (0.1, 0.4)


def test_no_density_is_drawn_beyond_the_axis():
    chart = figures.raincloud([figures.Point("g", x, str(x)) for x in (1.0, 2.0, 2.5, 3.0, 9.0)], axis="HD95 in mm")
    low, high = fitted([1.0, 9.0])
    assert all(low <= row["value"] <= high for row in rows_of(chart, "top"))
    assert rows_of(chart, "top")


def test_the_density_keeps_its_mass_within_the_bounds():
    values = np.random.default_rng(0).beta(9, 1, 400)
    places, heights = density(values, (0.0, 1.0))
    assert places.max() <= 1.0
    # Reflection at the bound keeps the density up to the end of the scale, where most of the values are.
    assert heights[-1] > 0.8
    assert density(np.array([0.5, 0.5, 0.5, 0.5]))[0].size == 0
    assert density(np.array([0.5, 0.6]))[0].size == 0


def test_of_too_many_points_the_outermost_stay():
    points = [figures.Point("g", i / 5000, f"c{i}") for i in range(5000)]
    kept = thinned(points, MOST_POINTS)
    assert len(kept) == MOST_POINTS
    assert {"c0", "c4999"} <= {point.name for point in kept}


def test_a_significance_map_says_the_verdict_in_colour_sign_and_words():
    cells = [
        figures.PairCell("A", "B", "better", 0.0004, 0.61, "n = 9"),
        figures.PairCell("B", "A", "worse", 0.0004, -0.61),
    ]
    rows = rows_of(figures.significance_map(["A", "B"], cells), "verdict")
    assert rows[0]["label"] == "A against B: better, effect size +0.61, p < 0.001, n = 9"
    assert rows[0]["effect"] == "+ 0.61"
    assert rows[1]["effect"] == "\N{MINUS SIGN} 0.61"


def test_the_podium_counts_places():
    scores = {"A": {"1": 0.9, "2": 0.8, "3": 0.7}, "B": {"1": 0.8, "2": 0.9, "3": 0.1}}
    bars = rows_of(figures.podium(scores, axis="Dice"), "share")
    assert {row["label"] for row in bars} == {
        "A is number 1 in 2 of 3 cases",
        "B is number 1 in 1 of 3 cases",
        "A is number 2 in 1 of 3 cases",
        "B is number 2 in 2 of 3 cases",
    }
    turned = rows_of(figures.podium(scores, axis="HD95", higher_is_better=False), "share")
    assert "B is number 1 in 2 of 3 cases" in {row["label"] for row in turned}


def test_cliques_are_the_longest_runs_not_told_apart():
    order = ["a", "b", "c", "d"]
    assert figures.cliques(order, []) == [("a", "b", "c", "d")]
    assert figures.cliques(order, [("d", "a"), ("a", "c"), ("b", "d")]) == [("a", "b"), ("b", "c"), ("c", "d")]
    everyone = [(x, y) for x in order for y in order if x < y]
    assert figures.cliques(order, everyone) == []


def test_limits_of_agreement_by_hand():
    # Differences 1, 2, 3: bias 2, SD 1, so the limits are 2 -+ 1.96; t(2, 0.975) = 4.302653 from tables.
    limits = figures.agreement_limits([1.0, 2.0, 3.0])
    assert limits.bias == 2.0
    assert limits.low == pytest.approx(2 - 1.959964, abs=1e-6)
    assert limits.bias_margin == pytest.approx(4.302653 / math.sqrt(3), abs=1e-6)
    assert limits.limit_margin == pytest.approx(4.302653 * math.sqrt(1 / 3 + 1.959964**2 / 4), abs=1e-5)
    assert figures.agreement_limits([1.0, math.nan, 2.0]) is None


def test_equal_volumes_lie_on_an_axis_with_their_number():
    chart = figures.bland_altman([5.2] * 4, [5.2] * 4, list("abcd")).to_dict()
    across = chart["layer"][-1]["encoding"]["x"]["scale"]
    low, high = across["domain"]
    assert low < 5.2 < high


def test_labels_stay_apart_when_cut():
    names = ["x" * 40 + str(i) + "y" * 40 for i in range(5)]
    assert len(set(unique_labels(names))) == 5
    assert shortened("") == "(empty)"
    assert len(shortened("z" * 300)) == 34


def test_axes_hold_the_data_and_not_more_than_the_scale():
    low, high = fitted([0.2, 1.0], (0.0, 1.0))
    assert 0.0 <= low < 0.2
    assert 1.0 <= high < 1.01
    assert fitted([None, math.nan]) is None


def test_dark_and_light_name_the_same_colours_and_no_two_share_one():
    light, dark = themes.COLOURS["light"], themes.COLOURS["dark"]
    assert list(light) == list(dark)
    # Colours are found again in a rendered figure by their value, so no two names may have the same one.
    assert len(set(light.values())) == len(light)
    assert len(set(dark.values())) == len(dark)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_stand_out_from_the_ground(theme):
    ground = _luminance(themes.colour("ground", theme))
    for name in (*themes.SERIES, "better", "worse", "ink", "quiet"):
        lighter, darker = sorted((_luminance(themes.colour(name, theme)), ground), reverse=True)
        contrast = (lighter + 0.05) / (darker + 0.05)
        # WCAG 2.2: 3 for graphical objects, 4.5 for text.
        assert contrast >= (4.5 if name in ("ink", "quiet") else 3.0), (name, contrast)


def _luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_dark_figures_change_colours_but_not_data():
    chart = figures.raincloud([figures.Point("#0072b2", 0.5, "#ffffff"), figures.Point("b", 0.6, "x")], axis="#1d2329")
    text = figures.svg(chart, "dark")
    assert themes.colour("ground", "dark") in text
    assert ">#0072b2<" in text
    assert ">#1d2329<" in text


def test_one_name_below_two_headings_is_the_same_label_both_times():
    rows = [figures.Interval(name, value) for name, value in (("A", None), ("F", 0.8), ("B", None), ("F", 0.9))]
    texts = [element.text for element in ElementTree.fromstring(figures.svg(figures.forest(rows, axis="Dice"))).iter()]  # noqa: S314 - ours
    assert texts.count("F") == 2


def test_figures_are_joined_on_a_grid_without_being_drawn_again():
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}"><rect width="{w}" height="{h}"/></svg>'
        for w, h in ((100, 50), (80, 60), (90, 40))
    ]
    root = ElementTree.fromstring(figures.joined_svg(parts, columns=2, spacing=10))  # noqa: S314 - our own text
    # Two columns of the widest, two rows of the highest, a gap between.
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("210", "130", "0 0 210 130")
    places = [element.get("transform") for element in root if element.tag.endswith("}g")]
    assert places == ["translate(0,0)", "translate(110,0)", "translate(0,70)"]
    with pytest.raises(InvalidInput, match="which no figure of ours has"):
        figures.joined_svg(['<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'])
    with pytest.raises(InvalidInput, match="at least one"):
        figures.joined_svg([])


def test_more_series_than_colours_are_told_apart_by_name_and_dash():
    """Eight colours repeat from the ninth series on: boxes then have their names beside them, lines a dash."""
    names = [f"model {i}" for i in range(len(themes.SERIES) + 1)]
    points = [figures.Point("liver", 0.1 * k, f"case {k}", name) for name in names for k in range(4)]
    many = figures.boxes(points, axis="Dice")
    few = figures.boxes([point for point in points if point.series != names[-1]], axis="Dice")
    assert [row["text"] for row in rows_of(many, "text") if row["text"] in names] == names
    assert not [row for row in rows_of(few, "text") if row["text"] in names]
    lines = {name: figures.Curve([0, 1], [0.5, 0.6]) for name in names}
    (dashes,) = [
        layer["encoding"]["strokeDash"]["scale"]["range"]
        for layer in figures.curves(lines, x_axis="mm", y_axis="NSD").to_dict()["layer"]
        if "strokeDash" in layer["encoding"]
    ]
    looks = list(zip(themes.series_colours(len(names)), map(tuple, dashes), strict=True))
    assert len(set(looks)) == len(names)
