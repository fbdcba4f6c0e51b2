"""Figures of places with more models than colours: nobody shares a colour with a leader, every name can be read."""

import numpy as np
import pytest

pytest.importorskip("altair", reason="figures need segauge[report]")
pytest.importorskip("vl_convert", reason="figures need segauge[report]")

from segauge.report import figures
from segauge.report.figures import themes
from tests.report.test_figures import _luminance, rows_of


def scores(count, cases=6):
    rng = np.random.default_rng(1)
    names = [f"model {i}" for i in range(count)]
    return {name: {f"c{i}": float(value) for i, value in enumerate(rng.uniform(size=cases))} for name in names}


def ranks(count):
    return {f"model {i}": {float(i + 1): 0.9, float(max(i, 1)): 0.1} for i in range(count)}


def colour_scale(chart):
    """Return the names and colours of a chart's first colour scale."""
    found = []

    def walk(node):
        if isinstance(node, dict):
            if isinstance(node.get("color"), dict) and "scale" in node["color"]:
                found.append(node["color"]["scale"])
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(chart.to_dict())
    return dict(zip(found[0]["domain"], found[0]["range"], strict=True))


@pytest.mark.parametrize("count", [2, 8])
def test_few_models_have_a_colour_each(count):
    for chart in (figures.podium(scores(count), axis="Dice"), figures.rank_blobs(ranks(count))):
        found = colour_scale(chart)
        assert list(found) == [f"model {i}" for i in range(count)]
        assert len(set(found.values())) == count


@pytest.mark.parametrize("count", [9, 12, 19, 60])
def test_no_colour_stands_for_two_leaders(count):
    rest = themes.colour("rest")
    podium = colour_scale(figures.podium(scores(count), axis="Dice"))
    assert list(podium)[:7] == [f"model {i}" for i in range(7)]
    assert podium[f"the other {count - 7} models"] == rest
    assert len(podium) == len(set(podium.values())) == 8
    blobs = colour_scale(figures.rank_blobs(ranks(count)))
    assert {blobs[f"model {i}"] for i in range(7, count)} == {rest}
    # The same model has the same colour in both figures.
    assert all(blobs[name] == podium[name] for name in list(podium)[:7])


def test_every_dot_still_says_whose_it_is():
    given = scores(30)
    dots = [row for row in rows_of(figures.podium(given, axis="Dice"), "case") if "label" in row]
    best = max(given, key=lambda name: given[name]["c0"])
    assert any(row["label"].startswith(f"c0: {best} is number 1 with ") for row in dots)
    places = {int(row["label"].split("number ")[1].split(" ")[0]) for row in dots}
    assert places == set(range(1, 21))
    bars = rows_of(figures.podium(given, axis="Dice"), "share")
    assert {row["model"] for row in bars} <= {f"model {i}" for i in range(7)}
    assert "the first 20 of 30" in figures.svg(figures.podium(given, axis="Dice"))


def test_a_model_may_be_called_as_the_rest_is():
    given = {"the other 2 models": {"c": 0.9}, **scores(8, 1)}
    given = {name: {"c0": next(iter(values.values()))} for name, values in given.items()}
    found = colour_scale(figures.podium(given, axis="Dice"))
    assert len(found) == 8


def test_names_of_many_models_stand_in_rows():
    few, many = (figures.rank_blobs(ranks(n), intervals={"model 0": (1, 2)}).to_dict() for n in (20, 21))
    assert few["layer"][0]["encoding"]["x"]["field"] == "model"
    assert many["layer"][0]["encoding"]["y"]["field"] == "model"
    text = figures.svg(figures.rank_blobs(ranks(60)))
    assert all(f">model {i}<" in text for i in range(60))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_grey_of_the_rest_can_be_seen(theme):
    shades = sorted((_luminance(themes.colour(name, theme)) for name in ("rest", "ground")), reverse=True)
    # WCAG 2.2: 3 for graphical objects.
    assert (shades[0] + 0.05) / (shades[1] + 0.05) >= 3.0
