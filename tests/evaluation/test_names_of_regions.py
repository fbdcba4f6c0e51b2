"""Patients whose regions have other names: aliases in a mapping file, and no Dice 0 for a name that is not there."""

import csv

import numpy as np
import pytest

from segauge import Case, Status, evaluate
from segauge.cli import main
from segauge.io.layouts.structure_files import read_aliases
from tests.badinputs.catalog import frame_mask
from tests.badinputs.files import even_positions, save, seg_dataset


@pytest.fixture
def files(tmp_path):
    """Return one patient with the region as it is called everywhere, and one who has it under another name."""

    def segmentation(name, label):
        frames = [(1, place, frame_mask(k)) for k, place in enumerate(even_positions(2))]
        dataset = seg_dataset(tmp_path / name, frames)
        dataset.SegmentSequence[0].SegmentLabel = label
        return save(dataset, tmp_path / name)

    usual, other = segmentation("usual.dcm", "prostate"), segmentation("other.dcm", "Prostata")
    return [Case("usual", usual, usual), Case("other", usual, other)]


def test_a_region_that_a_patient_does_not_have_is_no_false_positive(files):
    # It was "spurious" with a Dice of 0, and then "ground truth unreadable", which failed the whole case.
    result = evaluate(files, structures=["prostate"], metrics=["dice"])
    assert [row["status"] for row in result.rows] == [Status.PRESENT.value, Status.REGION_NOT_FOUND.value]
    assert "has no region called 'prostate'; it has Prostata" in result.rows[1]["reason"]
    assert result.summary()["dice"].n == 1
    assert result.summary()["dice"].excluded == {"region not found": 1}
    assert result.failures == {}
    missing = result.table["other", "prostate", "dice"].missing
    assert (missing.status, missing.counts_as) == (Status.REGION_NOT_FOUND, "nothing")
    assert missing.because == result.rows[1]["reason"]
    assert any("1 ground truth has no region called 'prostate'" in line for line in result.warnings)


def test_aliases_in_a_file_name_it(files, tmp_path):
    (tmp_path / "names.yaml").write_text("prostate: [prostate, Prostata]\n")
    assert read_aliases(tmp_path / "names.yaml") == {"prostate": ("prostate", "Prostata")}
    result = evaluate(files, structures=tmp_path / "names.yaml", metrics=["dice"])
    assert [row["dice"] for row in result.rows] == [1.0, 1.0]
    assert not np.isnan(result.table.values).any()


def test_a_file_of_numbers_has_no_aliases(tmp_path):
    (tmp_path / "numbers.yaml").write_text("prostate: 1\n")
    assert read_aliases(tmp_path / "numbers.yaml") == {}


def test_a_table_of_pairs_names_the_structures_of_each_case(files, tmp_path, capsys):
    rows = [
        f"{case.case_id},{case.pred},{case.gt},prostate={name}"
        for case, name in zip(files, ("prostate", "Prostata"), strict=True)
    ]
    table = tmp_path / "pairs.csv"
    table.write_text("\n".join(["case,pred,gt,structures", *rows]))
    given = ["eval", "--pairs", str(table), "--metrics", "dice", "--executor", "serial"]
    assert main([*given, "--csv", "-"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [(row["structure"], row["dice"]) for row in rows] == [("prostate", "1.0"), ("prostate", "1.0")]
    table.write_text(table.read_text().replace("=Prostata", "=1"))
    assert main(given) == 1
    assert "the labels of 'prostate' differ between cases (prostate and 1)" in capsys.readouterr().err
