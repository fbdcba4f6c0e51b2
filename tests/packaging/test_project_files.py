"""The files around the code: each can be read by the program that reads it, and they agree with each other."""

import ast
import re
import sys
import tomllib

import pytest

import segauge
from tests.conftest import PROJECT

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed here")

PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
SOURCES = sorted((PROJECT / "src").rglob("*.py"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="an unpacked sdist has no workflows")


def test_there_are_workflows_for_every_change_and_for_a_release():
    assert [path.stem for path in WORKFLOWS] == ["ci", "release"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_sound(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "runs-on" in job, name
        assert set(job.get("needs", ())) <= set(workflow["jobs"])
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert "@" in step.get("uses", "@")
            assert "${{" not in step.get("run", ""), "what comes from outside reaches a script by its environment only"


def test_every_pinned_package_has_the_hashes_of_its_files():
    text = (PROJECT / "constraints.txt").read_text(encoding="utf-8")
    pinned = re.findall(r"^([A-Za-z][\w.-]*)==\S+((?: *\\\n +--hash=sha256:[0-9a-f]{64})*)", text, flags=re.MULTILINE)
    assert len(pinned) > 100
    assert [name for name, hashes in pinned if not hashes] == []
    assert "://" not in text
    known = {re.sub(r"[-_.]+", "-", name).lower() for name, _ in pinned}
    wanted = [re.match(r"[\w.-]+", entry)[0] for entry in EXTRAS["dev"] + PYPROJECT["project"]["dependencies"]]
    assert [name for name in wanted if re.sub(r"[-_.]+", "-", name).lower() not in known] == []


def test_ci_runs_what_everybody_runs():
    jobs = yaml.safe_load((PROJECT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert {"run": "make test"} in jobs["test"]["steps"]
    named = re.findall(r"tests/[\w/]+(?:\.py)?", str(jobs))
    assert named
    assert all((PROJECT / name).exists() for name in named)


def test_only_the_last_job_of_a_release_may_publish_and_it_waits_for_the_others():
    jobs = yaml.safe_load((PROJECT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})] == ["publish"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    assert "password" not in str(jobs["publish"])


def test_wheels_are_built_for_every_python_that_is_promised():
    config = PYPROJECT["tool"]["cibuildwheel"]
    promised = {
        "cp" + found[1].replace(".", "")
        for entry in PYPROJECT["project"]["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", entry))
    }
    assert {entry.split("-")[0] for entry in config["build"]} == promised
    assert "_kernel" in config["test-command"][0]
    for name in re.findall(r"\{project\}/(\S+)", " ".join(config["test-command"])):
        assert (PROJECT / name).exists()


def test_one_version_everywhere():
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "title", "message", "authors", "license", "version"} <= set(cited)
    assert PYPROJECT["project"]["version"] == segauge.__version__ == cited["version"]


def test_types_are_shipped_for_both_packages():
    assert (PROJECT / "src/segauge/py.typed").is_file()
    assert (PROJECT / "src/segbench/py.typed").is_file()
    assert "Typing :: Typed" in PYPROJECT["project"]["classifiers"]


def test_security_says_how_to_report():
    assert "Report a vulnerability" in (PROJECT / "SECURITY.md").read_text(encoding="utf-8")


def raised_messages():
    """Yield the file and the text of every MissingExtra that the sources raise."""
    sources = ((path, path.read_text(encoding="utf-8")) for path in SOURCES)
    for path, text in sources:
        for node in ast.walk(ast.parse(text if "MissingExtra(" in text else "")):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "MissingExtra":
                yield path, ast.unparse(node)


def test_every_message_about_a_missing_package_names_an_extra_that_exists():
    messages = list(raised_messages())
    assert len(messages) >= 10
    for path, text in messages:
        named = re.findall(r"segauge\[(\w+)\]", text)
        assert named, f"{path.name}: {text}"
        assert set(named) <= set(EXTRAS), f"{path.name}: {text}"


#: What else the sources import, and which extra brings it; "" for what a plain installation has.
HOMES = {
    "numpy": "", "scipy": "", "rich": "",
    "PIL": "dicom", "altair": "report", "distributed": "dask", "isal": "fast", "jinja2": "report",
    "markupsafe": "report", "modal": "modal", "monai": "monai", "pandas": "pandas", "polars": "polars",
    "pydantic": "bench", "pydantic_core": "bench", "pyarrow": "bench",
    "pydicom": "dicom", "torch": "monai", "vl_convert": "report", "yaml": "bench",
}  # fmt: skip


def imported(path):
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    parts = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in plain | parts}


def test_every_import_is_of_a_dependency_that_is_declared():
    ours = {"segauge", "segbench"}
    # Adapters of models run in environments of their own, with what these bring.
    sources = [path for path in SOURCES if "segbench/models" not in path.as_posix()]
    foreign = {name for path in sources for name in imported(path)} - set(sys.stdlib_module_names) - ours
    assert foreign <= set(HOMES), foreign - set(HOMES)
    assert {extra for extra in HOMES.values() if extra} <= set(EXTRAS)
