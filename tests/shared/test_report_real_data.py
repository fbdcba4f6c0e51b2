"""The report on real files: readers of CT, organs drawn twice, DICOM; what it says is what was measured."""

import pytest

pytest.importorskip("altair", reason="the report needs segauge[report]")
pytest.importorskip("jinja2", reason="the report needs segauge[report]")

from segauge.evaluation import Case, evaluate
from segauge.report.comparison import ModelComparison
from segauge.report.comparison_page import comparison_text
from segauge.report.failures import FailureKind, diagnose
from segauge.report.pairs import read_pair
from segauge.report.viewer import niivue

pytestmark = [pytest.mark.shared, pytest.mark.long]


def test_two_readers_of_organs_at_risk(shared, tmp_path):
    folder = shared / "data" / "tcia_oars"
    cases = [Case("0522c0161", folder / "radiographer" / "0522c0161", folder / "oncologist" / "0522c0161")]
    result = evaluate(cases, structures=["Cochlea-Rt", "Lens-Lt"], metrics=["dice", "hd95"], n_resamples=100)
    text = result.to_html(tmp_path / "report.html", cases=cases, worst=2).read_text()
    # The two cochleas are disjoint (README of the data): Dice 0 although both are drawn.
    assert result.table["0522c0161", "Cochlea-Rt", "dice"].value == 0.0
    assert "no voxel in common" in text
    assert text.count("<article") == 1  # of each case the worst structure


def test_three_readers_of_kidneys(shared, tmp_path):
    folder = shared / "data" / "kits23_readers"
    names = sorted(path.name for path in (folder / "reference").iterdir())[:2]
    results = {
        reader: evaluate(
            [Case(name, folder / reader / name, folder / "reference" / name) for name in names],
            structures={"kidney": 1, "tumor": 2},
            metrics=["dice"],
            n_resamples=100,
        )
        for reader in ("reader1", "reader2", "reader3")
    }
    text = comparison_text(ModelComparison(results, n_resamples=1000))
    assert "3 models on the same 2 cases" in text
    assert "2 cases are too few for a verdict (at least 10)" in text


def test_dicom_segmentation_against_its_voxels(shared, tmp_path):
    folder = shared / "data" / "dicom" / "seg_dcmqi_liver"
    case = Case("liver", folder / "liver.dcm", folder / "liver__expected_segment-1.nii.gz")
    result = evaluate([case], metrics=["dice"], n_resamples=100)
    pair = read_pair(case, result.protocol["options"])
    assert diagnose(pair, "foreground").kind is FailureKind.NONE
    written = result.to_html(tmp_path / "report.html", cases=[case]).read_text()
    assert len(written) - len(niivue() or "") < 1_000_000
