"""The GitHub Action: its steps, run here with bash as a runner would run them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import segauge
from segauge.cli.diff import REGRESSION
from segauge.io.images import write_nifti
from tests.conftest import PROJECT

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed here")

ACTION = yaml.safe_load((PROJECT / "action.yml").read_text(encoding="utf-8"))
STEPS = [step for step in ACTION["runs"]["steps"] if "run" in step]


def test_inputs_never_become_text_of_a_script():
    assert [step["id"] for step in STEPS] == ["install", "evaluate", "compare", "judge"]
    assert not any("${{" in step["run"] for step in STEPS)
    assert all(step["shell"] == "bash" for step in STEPS)


def test_every_expression_names_something_that_is_there():
    text = (PROJECT / "action.yml").read_text(encoding="utf-8")
    written = set(re.findall(r'echo "(\w+)=', text))
    ids = {step["id"] for step in STEPS}
    for name in re.findall(r"inputs\.([\w-]+)", text):
        assert name in ACTION["inputs"]
    for step, output in re.findall(r"steps\.(\w+)\.outputs\.(\w+)", text):
        assert step in ids
        assert output in written


def test_every_action_is_pinned_by_commit():
    # All sixteen were pinned by a tag or a branch, which whoever owns the action can move.
    files = [PROJECT / "action.yml", *sorted((PROJECT / ".github/workflows").glob("*.yml"))]
    used = [line for path in files for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert used
    assert [line for line in used if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)] == []


class Runner:
    """As much of a runner as the action needs: expressions, environment, outputs, conditions."""

    def __init__(self, folder, **inputs):
        self.folder, self.outputs, self.checkout = folder, {}, PROJECT
        self.inputs = {name: facts.get("default", "") for name, facts in ACTION["inputs"].items()} | inputs
        self.summary = folder / "summary.md"

    def value(self, text):
        def found(match):
            kind, *path = match[1].strip().split(".")
            if kind == "github":
                return str(self.checkout)
            return self.inputs[path[0]] if kind == "inputs" else self.outputs.get((path[0], path[2]), "")

        return re.sub(r"\$\{\{(.*?)\}\}", found, str(text))

    def run(self, *ids):
        """Run steps and return the first exit code that is not 0."""
        for step in STEPS:
            if step["id"] not in ids or (step["id"] == "compare" and not self.inputs["baseline"]):
                continue
            written = self.folder / f"{step['id']}.out"
            written.write_text("")
            environment = {
                **os.environ, **{key: self.value(text) for key, text in step["env"].items()},
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "GITHUB_OUTPUT": str(written), "GITHUB_STEP_SUMMARY": str(self.summary),
            }  # fmt: skip
            # As GitHub starts a step whose shell is bash.
            bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            done = subprocess.run(bash, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
            self.said = done.stdout + done.stderr
            for line in written.read_text().splitlines():
                key, _, value = line.partition("=")
                self.outputs[step["id"], key] = value
            if done.returncode:
                return done.returncode
        return 0


def mask(number, shift=0):
    gt = np.zeros((20, 16, 12), dtype=np.uint8)
    gt[4 : 10 + number % 4, 4:13, 3:9] = 1
    return np.roll(gt, shift, axis=0)


def written_result(path, shift, count=12):
    """Write what the step `evaluate` leaves for a model that is wrong by that many voxels."""
    cases = [segauge.Case(f"c{number}", mask(number, shift), mask(number)) for number in range(count)]
    path.parent.mkdir(exist_ok=True)
    return segauge.evaluate(cases, metrics=["dice"]).to_json(path).name


def test_condition_of_the_comparison_is_the_one_that_the_runner_here_knows():
    assert {step["id"]: step.get("if") for step in STEPS if "if" in step} == {"compare": "inputs.baseline != ''"}


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@needs_bash
@pytest.mark.slow
def test_a_regression_fails_the_job_and_what_does_not_matter_does_not(tmp_path):
    before, after = (written_result(tmp_path / name, shift) for name, shift in (("before.json", 1), ("after.json", 3)))
    (tmp_path / "segauge-results").mkdir()

    def judged(results, **inputs):
        runner = Runner(tmp_path, **inputs)
        runner.outputs = {("evaluate", "results"): results, ("evaluate", "code"): "0"}
        return runner, runner.run("compare", "judge")

    worse, code = judged(after, baseline=before)
    assert code == REGRESSION
    assert "worse than the baseline" in worse.said
    assert worse.outputs["compare", "regression"] == "true"
    assert "dice" in worse.summary.read_text()
    assert json.loads((tmp_path / "segauge-results" / "diff.json").read_text())
    fine, code = judged(after, baseline=before, margin="dice=0.9")
    assert (code, fine.outputs["compare", "regression"]) == (0, "false")


@needs_bash
def test_failed_cases_fail_the_job_where_that_is_asked_for(tmp_path):
    def judged(code, choice, regression="false"):
        runner = Runner(tmp_path, **{"fail-on": choice})
        runner.outputs = {("evaluate", "code"): code, ("compare", "regression"): regression}
        return runner.run("judge")

    found = {(code, choice): judged(code, choice) for code in "034" for choice in ("regression", "failure", "nothing")}
    assert {case: code for case, code in found.items() if code} == {("3", "failure"): 3, ("4", "failure"): 4}
    assert judged("3", "nothing", "true") == 0
    assert judged("0", "failure", "true") == REGRESSION


@needs_bash
@pytest.mark.slow
def test_the_evaluation_leaves_report_results_and_a_summary(tmp_path):
    grid = segauge.Grid.from_spacing((20, 16, 12), (1.0, 1.0, 2.0))
    for side, shift in (("gt", 0), ("my pred", 1)):
        (tmp_path / side).mkdir()
        for number in range(2):
            write_nifti(tmp_path / side / f"case_{number}.nii.gz", mask(number, shift).copy(), grid)
    (tmp_path / "my pred" / "case_0.nii.gz").unlink()
    measured = {"pred": "my pred", "gt": "gt", "metrics": "dice", "structures": "organ=1", "output": "a b"}
    runner = Runner(tmp_path, **measured)
    assert runner.run("evaluate") == 0, runner.said
    assert runner.outputs == {
        ("evaluate", "report"): "a b/report.html",
        ("evaluate", "results"): "a b/results.json",
        ("evaluate", "code"): "3",
    }
    assert (tmp_path / "a b" / "report.html").stat().st_size > 10_000
    assert "| organ |" in runner.summary.read_text()
    refused = Runner(tmp_path, **measured, **{"fail-on": "always"})
    assert refused.run("evaluate") == 2
    assert "expected regression, failure or nothing" in refused.said
    assert Runner(tmp_path, **{**measured, "pred": "nowhere"}).run("evaluate") == 1


@needs_bash
def test_modules_of_the_workspace_are_not_imported(tmp_path):
    # `python -m pip` and `python -c "import segauge"` put the workspace first on the path: a pull request could bring
    # a pip.py of its own, which then ran with the rights of the job.
    for name in ("pip", "numpy", "segauge", "secrets"):
        (tmp_path / f"{name}.py").write_text("open('taken over', 'w').close()")
    Runner(tmp_path, install="--version").run("install")
    runner = Runner(tmp_path, pred="nowhere", gt="nowhere either")
    assert runner.run("evaluate") == 1
    assert "nowhere" in runner.said
    assert not (tmp_path / "taken over").exists()


@needs_bash
def test_the_action_installs_its_own_checkout(tmp_path):
    # It installed whatever the index called segauge on that day.
    runner = Runner(tmp_path)
    runner.checkout = tmp_path / "no such checkout"
    assert runner.run("install") != 0
    assert "no such checkout[report]" in runner.said
