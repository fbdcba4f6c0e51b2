"""With no extra installed the core works, and whatever needs one says which."""

import os
import subprocess
import sys

import pytest

EXTRA_PACKAGES = (
    "PIL", "altair", "dask", "distributed", "isal", "jinja2", "markupsafe", "modal", "monai", "nibabel", "pandas",
    "polars", "pyarrow", "pydantic", "pydicom", "torch", "vl_convert", "yaml",
)  # fmt: skip

BLOCK = f"""
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {EXTRA_PACKAGES!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nothing())
for name in {EXTRA_PACKAGES!r}:
    sys.modules.pop(name, None)
"""

CORE = (
    BLOCK
    + """
import json, pathlib
import numpy as np
import segauge
from segauge.cli import main
from segauge.io.images import write_nifti

gt = np.zeros((12, 12, 10), dtype=np.uint8)
gt[3:8, 3:8, 2:7] = 1
grid = segauge.Grid.from_spacing(gt.shape, (1, 1, 2))
for side, shift in (("gt", 0), ("a", 1), ("b", 2)):
    pathlib.Path(side).mkdir()
    for number in range(3):
        write_nifti(f"{side}/c{number}.nii.gz", np.roll(gt, shift, axis=number).copy(), grid)
assert segauge.dice(gt, gt) == 1.0
for model in "ab":
    assert main(["eval", "--pred", model, "--gt", "gt", "--json", f"{model}.json", "--csv", f"{model}.csv",
                 "--executor", "serial", "--structures", "organ=1"]) == 0
assert main(["diff", "b.json", "a.json"]) == 0
assert main(["rank", "A=a.json", "B=b.json", "--metric", "dice"]) == 0
assert main(["doctor", "--pred", "a", "--gt", "gt"]) == 0
assert main(["explain", "hd95"]) == 0
assert main(["verify", "a.json"]) == 0
assert main(["info", "gt/c0.nii.gz"]) == 0
assert main(["grand-challenge", "init", "container"]) == 0
result = segauge.read_result("a.json")
assert result.to_latex() and result.to_markdown() and result._repr_html_()
import segauge.integrations.nnunet
import segbench
from segbench.cli import main as bench
try:
    bench(["--help"])
except SystemExit as stop:
    assert stop.code == 0
print("the core works")
"""
)

FEATURES = (
    BLOCK
    + """
import importlib, pathlib
import numpy as np
import segauge
from segauge.errors import MissingExtra

gt = np.zeros((8, 8, 8), dtype=np.uint8)
gt[2:5, 2:5, 2:5] = 1
case = segauge.Case("c", gt, gt)
result = segauge.evaluate([case], metrics=["dice"])
pathlib.Path("x.dcm").write_bytes(bytes(128) + b"DICM" + bytes(64))
pathlib.Path("x.parquet").write_bytes(b"PAR1")
pathlib.Path("x.yaml").write_text("liver: 1")

def parquet():
    from segbench.records.tables import write_scores
    write_scores({"m": result.table}, pathlib.Path("y.parquet"))

def config():
    from segbench.config import read_config
    read_config("x.yaml")

def cloud():
    from segbench.prediction import modal_cloud
    modal_cloud._imported()

def figure():
    from segauge.report.figures.charting import chart_of
    chart_of([{"x": 1}])

FEATURES = {
    "DICOM": ("dicom", lambda: segauge.read_labels("x.dcm")),
    "report": ("report", lambda: result.to_html("x.html")),
    "figure": ("report", figure),
    "dask": ("dask", lambda: segauge.evaluate([case], executor="dask")),
    "pandas": ("pandas", result.to_pandas),
    "polars": ("polars", result.to_polars),
    "Parquet of scores": ("bench", lambda: segauge.read_scores("x.parquet")),
    "structures in YAML": ("bench", lambda: segauge.evaluate([case], structures="x.yaml")),
    "Parquet of a run": ("bench", parquet),
    "config": ("bench", config),
    "Modal": ("modal", cloud),
    "MONAI": ("monai", lambda: importlib.import_module("segauge.integrations.monai")),
}
for name, (extra, use) in FEATURES.items():
    try:
        use()
    except MissingExtra as error:
        assert isinstance(error, ImportError)
        assert f"segauge[{extra}]" in str(error), (name, str(error))
    else:
        raise AssertionError(f"{name}: worked without its extra")
print(len(FEATURES), "features name their extra")
"""
)


def run(code, folder):
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_core_works_without_any_extra(tmp_path):
    done = run(CORE, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the core works" in done.stdout


@pytest.mark.slow
def test_whatever_needs_an_extra_names_it(tmp_path):
    done = run(FEATURES, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "12 features" in done.stdout


def test_the_packages_are_really_blocked(tmp_path):
    done = run(BLOCK + "import yaml", tmp_path)
    assert "No module named 'yaml'" in done.stderr
