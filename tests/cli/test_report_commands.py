"""eval --report, compare and figures: every flag does one library call, and the files are there."""

import json

import numpy as np
import pytest

pytest.importorskip("altair", reason="the report needs segauge[report]")
pytest.importorskip("jinja2", reason="the report needs segauge[report]")

from tests.badinputs.files import even_positions, write_series

from segauge.cli import main
from segauge.cli.eval import images_of

nibabel = pytest.importorskip("nibabel", reason="writes the files of these tests")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two models, ground truth and images of twelve cases, in files."""
    root = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    grid = np.indices((24, 24, 16))
    for case in range(12):
        centre = rng.uniform(9, 13, 3)
        radius = np.sqrt(sum((axis - middle) ** 2 for axis, middle in zip(grid, centre, strict=True)))
        pictures = {"gt": radius < 6, "A": radius < 6.5, "B": radius < 7.5, "images": 1000 - 40 * radius}
        for name, array in pictures.items():
            (root / name).mkdir(exist_ok=True)
            kind = np.int16 if name == "images" else np.uint8
            ending = "_0000" if name == "images" else ""
            nibabel.save(
                nibabel.Nifti1Image(array.astype(kind), np.diag([1, 1, 2.5, 1])),
                root / name / f"case_{case:02d}{ending}.nii.gz",
            )
    return root


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_eval_writes_a_report_with_images_and_a_curve(folders, tmp_path, capsys):
    report = tmp_path / "report.html"
    code = run(
        "eval", "--pred", folders / "A", "--gt", folders / "gt", "--report", report, "--images", folders / "images",
        "--title", "Twelve balls", "--executor", "serial", "--resamples", 200,
    )  # fmt: skip
    assert code == 0
    text = report.read_text()
    assert "<title>Twelve balls</title>" in text
    assert "data:image/png;base64," in text
    assert 'id="tolerance-curve"' in text
    assert "nsd@7.5" in text


def test_images_of_reals_lie_below_the_outlines(folders, tmp_path, capsys):
    """MR-like values as float32, another grid, NaN beside the body: the same slices as with whole numbers."""
    images = tmp_path / "images"
    images.mkdir()
    for path in (folders / "images").glob("*.nii.gz"):
        array = nibabel.load(path).get_fdata().astype(np.float32) * 1.7e-3 + 0.31
        array[:2] = np.nan
        nibabel.save(nibabel.Nifti1Image(array[::-1], np.diag([-1, 1, 2.5, 1]) + SHIFTED), images / path.name)
    report = tmp_path / "report.html"
    code = run(
        "eval", "--pred", folders / "A", "--gt", folders / "gt", "--report", report, "--images", images,
        "--metrics", "dice", "--executor", "serial", "--resamples", 200,
    )  # fmt: skip
    assert code == 0
    text = report.read_text()
    # Three slices of each of the six cases; the library of the viewer holds a picture of its own.
    assert text.count('href="data:image/png;base64,') == 3 * 6
    assert "is not drawn" not in text


#: Mirrored along the first of 24 voxels, so that every voxel stays where it was.
SHIFTED = np.array([[0, 0, 0, 23], [0] * 4, [0] * 4, [0] * 4])


def test_images_are_files_or_folders_of_dicom(tmp_path):
    pytest.importorskip("pydicom", reason="writes DICOM")
    write_series(tmp_path / "case_a", even_positions(3))
    (tmp_path / "case_b_0000.nii.gz").write_bytes(b"")
    (tmp_path / "notes").mkdir()
    found = images_of(tmp_path)
    assert set(found) == {"case_a", "case_b", "case_b_0000"}
    assert found["case_a"] == tmp_path / "case_a"


def test_eval_of_chosen_metrics_reports_only_those(folders, tmp_path):
    report = tmp_path / "report.html"
    run(
        "eval", "--pred", folders / "A", "--gt", folders / "gt", "--report", report, "--metrics", "dice",
        "--executor", "serial", "--resamples", 200,
    )  # fmt: skip
    assert 'id="tolerance-curve"' not in report.read_text()


def test_compare_ranks_writes_and_prints(folders, tmp_path, capsys):
    report, table = tmp_path / "compare.html", tmp_path / "compare.json"
    code = run(
        "compare", "--gt", folders / "gt", "--pred", f"A={folders / 'A'}", "--pred", f"B={folders / 'B'}",
        "--metrics", "dice,nsd", "--report", report, "--json", table, "--executor", "serial", "--resamples", 1000,
    )  # fmt: skip
    assert code == 0
    assert "Dice coefficient, 12 cases" in capsys.readouterr().out
    ranking = json.loads(table.read_text())["dice"]
    assert [row["model"] for row in ranking["rows"]] == ["A", "B"]
    assert "significantly better than the other model" in report.read_text()


@pytest.mark.slow
def test_compare_and_diff_know_the_noise_floor(folders, tmp_path, capsys):
    table = tmp_path / "compare.json"
    how = ["--noise-floor", "--metrics", "dice,hd95", "--executor", "serial", "--resamples", 200]
    gt = ["--gt", folders / "gt"]
    run("compare", *gt, "--pred", f"A={folders / 'A'}", "--pred", f"again={folders / 'A'}", *how, "--json", table)
    assert "A and again (0 mm, floor " in capsys.readouterr().out
    (floor,) = json.loads(table.read_text())["hd95"]["noise_floors"]
    assert floor["is_below"]
    for name in "AB":
        run("eval", *gt, "--pred", folders / name, *how, "--json", tmp_path / f"{name}.json")
    capsys.readouterr()
    assert run("diff", tmp_path / "A.json", tmp_path / "B.json", "--metric", "hd95") == 6
    shown = capsys.readouterr().out
    assert "noise floor" in shown
    assert "below the noise floor" not in shown
    assert run("diff", tmp_path / "A.json", tmp_path / "A.json", "--metric", "hd95") == 0
    assert "below the noise floor (moving the voxel grid alone can make such a change): foreground hd95" in " ".join(
        capsys.readouterr().out.split()
    )


def test_compare_says_what_it_needs(folders, capsys):
    assert run("compare", "--gt", folders / "gt", "--pred", "A=") == 1
    assert "Expected --pred NAME=PATH" in capsys.readouterr().err
    assert run("compare", "--gt", folders / "gt", "--pred", f"A={folders / 'A'}") == 1
    assert "two models or more" in capsys.readouterr().err
    assert run("compare", "--gt", folders / "gt", "--pred", f"A={folders / 'A'}", "--pred", "A=elsewhere") == 1
    assert "Two models are called 'A'" in capsys.readouterr().err


def test_figures_writes_every_figure_and_table(folders, tmp_path, capsys):
    result = tmp_path / "result.json"
    run(
        "eval", "--pred", folders / "A", "--gt", folders / "gt", "--json", result, "--executor", "serial",
        "--metrics", "dice,pred_volume,gt_volume", "--resamples", 200,
    )  # fmt: skip
    out = tmp_path / "paper"
    report = tmp_path / "again.html"
    assert run("figures", result, out, "--formats", "svg,pdf,png", "--report", report) == 0
    names = {path.name for path in out.iterdir()}
    for stem in ("distribution-dice", "agreement-foreground"):
        assert {f"{stem}.svg", f"{stem}.pdf", f"{stem}.png"} <= names
    assert {"results.tex", "results.md", "results.csv", "estimates.csv", "captions.md"} <= names
    assert "\\toprule" in (out / "results.tex").read_text()
    assert report.exists()
    assert run("figures", result, out, "--formats", "bmp") == 1
    assert "expected some of svg, pdf, png" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_refused_before_measuring(folders, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("segauge.report.find_spec", lambda _: None)
    pair = ["--pred", str(folders / "A"), "--gt", str(folders / "gt")]
    code = main(["eval", *pair, "--report", str(tmp_path / "r.html")])
    told = capsys.readouterr()
    assert code == 1
    assert "install `segauge[report]`" in told.err
    assert "mean [" not in told.out
