"""Words below figures: those for papers speak of what is drawn, those of pages also of what a pointer finds."""

import pytest

pytest.importorskip("altair", reason="figures need segauge[report]")
pytest.importorskip("jinja2", reason="pages need segauge[report]")
pytest.importorskip("vl_convert", reason="figures need segauge[report]")

import numpy as np

from segauge.evaluation import Case, evaluate
from segauge.report.exports import write_figures
from segauge.report.html import Picture
from segauge.report.illustrations import illustrations
from segauge.report.summary import Summary

from .examples import balls, synthetic


def test_captions_of_papers_do_not_speak_of_pointing(tmp_path):
    found = [one for one in illustrations(Summary(synthetic(12))) if one.section == "distribution"]
    write_figures(found, tmp_path, formats=[".svg"])
    captions = (tmp_path / "captions.md").read_text()
    assert "Every dot is a case" in captions
    assert "Point" not in captions
    assert Picture.of(found[0]).caption.endswith("Point at a dot to see the case.")


def test_figures_without_a_dot_do_not_speak_of_dots():
    gt = balls()
    cases = [Case(f"case {i}", gt if i < 4 else np.zeros_like(gt), gt) for i in range(5)]
    several = Summary(evaluate(cases, structures={"organ": 1}, metrics=["hd95"]))
    one = next(figure for figure in illustrations(several) if figure.section == "distribution")
    assert "Not drawn: 1 undefined value." in one.caption
    none = Summary(evaluate(cases[4:], structures={"organ": 1}, metrics=["hd95"]))
    one = next(figure for figure in illustrations(none) if figure.section == "distribution")
    assert (one.caption, one.hint) == ("No case has a value.", "")
