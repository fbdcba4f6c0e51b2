"""Pictures of the worst cases: which, through what, over what; and never over an image that its licence forbids."""

import json
from dataclasses import replace

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.report.html import Picture
from segauge.report.pairs import Part
from segauge.report.viewer import niivue
from segbench.cli import main
from segbench.site import render
from segbench.site.cases import hard_cases
from segbench.site.chapters import chapters_of
from segbench.site.outlines import Drawn, outlines
from segbench.site.pictures import MOST_CASES, MOST_MODELS, Choice, pictures_of, shown_models, why_no_images
from tests.segbench.conftest import tiny_config
from tests.segbench.site.examples import run_with_files

for _module in ("altair", "jinja2", "vl_convert"):
    pytest.importorskip(_module, reason="the site needs segauge[report]")


@pytest.fixture
def undrawn(monkeypatch):
    monkeypatch.setattr(Picture, "of", lambda one: Picture(one.key, one.title, one.caption, "<svg></svg>"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return run_with_files(tmp_path_factory.mktemp("run"), metrics=("dice",))


def with_card(run, **changes):
    made, files = run
    card = replace(made.dataset, **changes)
    return replace(made, dataset=card), replace(files, card=card)


def shown(made, files):
    return pictures_of(chapters_of([made])[0], files)


def test_the_worst_cases_come_first_and_through_the_largest_error(run):
    found = shown(*run).by_board["organ", "dice"]
    # The failed case counts 0; then the two with the lowest mean.
    assert [one.case for one in found] == ["case_003", "case_001", "case_002"]
    assert len(found) == MOST_CASES
    # The error of `cut` fills the slices 14 to 17 (from 0), so its middle is slice 15 or 16, counted from 1: 16 or 17.
    assert found[1].place in ("axial, slice 16 of 24", "axial, slice 17 of 24")
    good, cut = found[1].panels
    assert (good.model, cut.model) == ("good", "cut")
    assert cut.plane.pred_path == ""  # nothing is predicted in that slice
    assert good.plane.pred_path == good.plane.gt_path == cut.plane.gt_path
    assert "4 slices at its upper end" in cut.words


def test_a_picture_is_as_wide_as_its_slice_shows_however_long_the_structure_is():
    shape = (80, 80, 200)
    tube = np.zeros(shape, dtype=bool)
    tube[38:42, 38:42, :] = True
    wrong = tube.copy()
    wrong[42:46, 38:42, 90:110] = True
    drawn = {"one": Drawn(Part.of(wrong), Part.of(tube), None), "other": Drawn(Part.of(tube), Part.of(tube), None)}
    image = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    found = outlines(drawn, (1.0, 1.0, 1.0), image)
    plane = found.planes["one"]
    # The slice shows 8 x 4 mm, which is less than the smallest window of 36 mm.
    assert (plane.width_mm, plane.height_mm) == (36.0, 36.0)
    assert found.place in ("axial, slice 100 of 200", "axial, slice 101 of 200")
    assert found.image.startswith(b"\x89PNG")
    assert found.planes["other"].pred_path == found.planes["other"].gt_path != plane.pred_path


def test_a_model_without_a_prediction_says_why(run):
    failed = shown(*run).by_board["organ", "dice"][0].panels[1]
    assert (failed.model, failed.plane, failed.words) == ("cut", None, "ran out of memory")


def test_images_are_drawn_where_the_card_lets_them_be(run):
    found = shown(*run)
    assert found.shows_images
    assert len(found.images) == MOST_CASES
    assert all(data.startswith(b"\x89PNG") and len(data) < 60_000 for data in found.images.values())


@pytest.mark.parametrize(
    "changes",
    [
        {"show_images": False},
        {"licence": ""},
        {"licence": " Unknown "},
        {"licence": "n/a"},
        {"licence": "CC BY 3.0, not verified"},
        {"licence": "CC BY-NC-SA 4.0, gated, no redistribution"},
    ],
)
@pytest.mark.parametrize("whose", ["both", "record", "dataset"])
def test_an_image_that_is_not_surely_allowed_is_never_shown(run, tmp_path, undrawn, changes, whose):
    (made, files), (other_made, other_files) = run, with_card(run, **changes)
    made = other_made if whose != "dataset" else made
    files = other_files if whose != "record" else files
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "left-by-an-earlier-site.png").write_bytes(b"\x89PNG")
    (tmp_path / "volumes" / "made-up").mkdir(parents=True)
    (tmp_path / "volumes" / "made-up" / "left-by-an-earlier-site.js").write_text('{"image":"H4sI"}')
    render([made], tmp_path, files=[files])
    assert not list(tmp_path.rglob("*.png"))
    volumes = [path.read_text() for path in (tmp_path / "volumes").rglob("*.js")]
    assert all('"image":null' in volume and '"gt":"' in volume for volume in volumes)
    assert len(volumes) == (0 if niivue() is None else MOST_CASES)
    text = (tmp_path / "made-up" / "organ" / "dice.html").read_text()
    assert "<image" not in text
    assert "data:image" not in text
    assert 'class="outline-gt"' in text  # the masks are
    assert "Images are not shown" in text
    assert why_no_images(replace(run[0].dataset, **changes))


def test_pages_with_pictures_have_the_same_bytes_and_no_path_of_this_machine(run, tmp_path, undrawn):
    made, files = run
    pages = []
    for name in ("one", "other"):
        render([made], tmp_path / name, files=[files])
        pages.append({p.relative_to(tmp_path / name): p.read_bytes() for p in (tmp_path / name).rglob("*.*")})
    assert pages[0] == pages[1]
    assert len(list((tmp_path / "one" / "pictures").glob("*.png"))) == MOST_CASES
    where = str(next(iter(files.cases.values())).gt.parent).encode()
    assert not [path for path, data in pages[0].items() if where in data]


def test_a_broken_prediction_is_said_without_its_path(run, tmp_path):
    made, files = run
    broken = tmp_path / "broken.nii.gz"
    broken.write_bytes(b"nothing")
    found = shown(made, replace(files, predictions={**files.predictions, ("cut", "case_001"): broken}))
    panel = found.by_board["organ", "dice"][1].panels[1]
    assert panel.plane is None
    assert "the prediction: " in panel.words
    assert str(tmp_path) not in panel.words


def test_without_files_there_are_no_pictures_and_the_page_says_so(run, tmp_path, undrawn):
    render([run[0]], tmp_path)
    text = (tmp_path / "made-up" / "organ" / "dice.html").read_text()
    assert "without the prediction files" in text
    with pytest.raises(InvalidInput, match="files of each of 1 records"):
        render([run[0]], tmp_path, files=[None, None])


def test_the_model_that_is_worst_on_a_case_is_in_its_picture():
    names = [f"model {i:02}" for i in range(20)]
    values = np.full((1, 20), 0.9)
    values[0, 15] = 0.1

    class Scores:
        models = tuple(names)

        def of(self, case):
            return hard_cases([case], names, values, values < 0, higher_is_better=True)[0]

    chosen = shown_models(Choice(None, "a", Scores()))
    assert len(chosen) == MOST_MODELS
    assert chosen == [*names[: MOST_MODELS - 1], "model 15"]


def test_failures_without_a_number_make_the_hardest_cases():
    nan = np.nan
    values = np.array([[3.0, 5.0], [nan, 4.0], [nan, nan], [nan, 1.0]])
    failed = np.array([[False, False], [True, False], [True, True], [False, False]])
    found = hard_cases(["a", "b", "c", "absent"], ["x", "y"], values, failed, higher_is_better=False)
    assert [one.case for one in found] == ["c", "b", "a", "absent"]
    assert (found[0].mean, found[0].failed, found[0].words) == (None, 2, "no model has a number, 2 failed")
    assert (found[1].worst, found[1].worst_value, found[1].best_value) == ("x", None, 4.0)
    assert (found[2].best, found[2].worst) == ("x", "y")
    # A model that does not have the case is neither best nor worst on it.
    assert (found[3].best, found[3].worst) == ("y", "y")
    assert found[1].spread == np.inf


def test_a_model_that_rightly_found_nothing_is_the_best_of_its_case():
    values = np.array([[0.9, 0.8], [np.nan, 0.0], [np.nan, np.nan]])
    failed, quiet = values == 0.0, np.isnan(values)
    found = {one.case: one for one in hard_cases("abc", ["x", "y"], values, failed, quiet, higher_is_better=True)}
    assert (found["b"].best, found["b"].best_found_nothing, found["b"].worst) == ("x", True, "y")
    assert found["b"].spread == np.inf
    assert not found["a"].best_found_nothing
    # Where both find nothing, nobody is ahead.
    assert not found["c"].best_found_nothing


@pytest.mark.slow
def test_the_command_line_finds_the_files_by_their_hashes(finished, tmp_path, capsys, undrawn):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(tiny_config(tmp_path)))
    arguments = ["render", "--results", str(tmp_path / "results" / "run.json"), "--out", str(tmp_path / "site")]
    assert main([*arguments, "--predictions", str(tmp_path / "cache"), "--config", str(config)]) == 0
    assert "8 of 8 prediction files found" in capsys.readouterr().err
    pages = [page.read_text() for page in (tmp_path / "site").rglob("dice.html")]
    assert any('class="outline-pred"' in text for text in pages)
    assert main([*arguments, "--predictions", str(tmp_path / "cache")]) == 1
    assert "--predictions needs --config FILE of the run" in capsys.readouterr().err


def test_the_viewer_has_the_cases_with_pictures_and_nothing_without_its_library(run, tmp_path, monkeypatch, undrawn):
    pytest.importorskip("nilearn", reason="the viewer's library comes with nilearn")
    render([run[0]], tmp_path / "with", files=[run[1]])
    volumes = [path.read_text() for path in (tmp_path / "with" / "volumes").rglob("*.js")]
    assert len(volumes) == MOST_CASES
    assert all('"image":"' in volume and '"good":"' in volume for volume in volumes)
    assert all(str(path.parent) not in volume for volume in volumes for path in run[1].predictions.values())
    assert "data-viewer" in (tmp_path / "with" / "case.html").read_text()
    for module in ("pictures", "rendering"):
        monkeypatch.setattr(f"segbench.site.{module}.niivue", lambda: None)
    render([run[0]], tmp_path / "without", files=[run[1]])
    assert not list((tmp_path / "without" / "volumes").rglob("*.js"))
    assert not (tmp_path / "without" / "assets" / "niivue.js").exists()
    assert "data-viewer" not in (tmp_path / "without" / "case.html").read_text()
    assert 'class="outline-gt"' in (tmp_path / "without" / "made-up" / "organ" / "dice.html").read_text()
