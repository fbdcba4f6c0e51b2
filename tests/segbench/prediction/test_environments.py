"""Environments of models: made once from pinned requirements, from a package index that is a folder here."""

import hashlib
import platform
import re
import subprocess
import sys
import threading
import zipfile

import pytest

from segauge.errors import InvalidInput
from segbench import registry
from segbench.models.nnunet import REQUIREMENTS
from segbench.prediction import EnvironmentFailed, PredictionSettings, make_environment, predict
from segbench.prediction.environments import environment_key, lock_for, lock_header, not_as_asked
from tests.segbench.prediction.toys import COPY, cases, toy


def wheel(folder, name="toynet", version="1.0", requires=""):
    """Write a wheel with one module and one program."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        program = f"import shutil, sys\nVERSION = '{version}'\ndef main():\n    shutil.copyfile(*sys.argv[1:3])\n"
        archive.writestr(f"{name}.py", program)
        needs = f"Requires-Dist: {requires}\n" if requires else ""
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/entry_points.txt", f"[console_scripts]\n{name} = {name}:main\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes packages from, and nowhere else."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    wheel(tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of an environment with toynet, made where another one was begun and not finished."""
    root = tmp_path_factory.mktemp("finished")
    folder = root / "environments" / environment_key(["toynet==1.0"])
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "rubbish").write_text("")
    wheel(root / "index")
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(root / "index"))
        make_environment(["toynet==1.0"], root / "environments", say=said.append)
    assert said == ["making an environment with toynet==1.0"]
    return root / "environments"


def test_an_environment_is_made_once_and_described(finished):
    said = []
    made = make_environment(["toynet==1.0"], finished, say=said.append)
    assert said == []
    assert made.packages == ("toynet==1.0",)
    found = subprocess.run([made.python, "-c", "import toynet; print(toynet.VERSION)"], capture_output=True, text=True)
    assert found.stdout == "1.0\n"


def test_an_environment_that_was_not_finished_is_made_again(finished):
    folder = finished / environment_key(["toynet==1.0"])
    assert make_environment(["toynet==1.0"], finished).python.is_relative_to(folder)
    assert not (folder / "bin" / "rubbish").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_two_at_once_make_it_once_and_as_it_is_elsewhere(tmp_path, finished):
    said, made = [], []
    threads = [
        threading.Thread(
            target=lambda: made.append(make_environment(["toynet==1.0"], tmp_path / "environments", say=said.append))
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made[0] == made[1]
    assert len(said) == 1
    assert made[0].packages_hash == make_environment(["toynet==1.0"], finished).packages_hash


@pytest.mark.slow
def test_all_requirements_are_resolved_in_one_step(tmp_path, index):
    """No later requirement replaces a version that was asked for.

    One step per item gave toynet 2.0 here: the second call of pip replaced what the first had installed. That is how
    nnU-Net, TotalSegmentator and MOOSE asked for torch 2.13.0 and got 2.15.0.
    """
    wheel(index, "toynet", "2.0")
    wheel(index, "user", "1.0", requires="toynet!=1.0")
    with pytest.raises(EnvironmentFailed, match=r"(?i)conflict|cannot install"):
        make_environment(["toynet==1.0", "user==1.0"], tmp_path / "environments")
    wheel(index, "fits", "1.0", requires="toynet")
    made = make_environment(["toynet==1.0", "fits==1.0"], tmp_path / "environments")
    assert made.packages == ("fits==1.0", "toynet==1.0")


def test_an_environment_that_holds_another_version_is_refused():
    asked = ["torch==2.13.0 nnunetv2==2.8.1", "--no-deps deepbet==1.0.2"]
    assert not_as_asked(asked, ["torch==2.13.0+cpu", "nnunetv2==2.8.1", "deepbet==1.0.2", "numpy==2.4.6"]) == ""
    wrong = not_as_asked(asked, ["torch==2.15.0", "nnunetv2==2.8.1"])
    assert wrong == "torch 2.13.0 (installed: 2.15.0), deepbet 1.0.2 (installed: none)"


@pytest.fixture
def locked(tmp_path, index, monkeypatch):
    """A folder of locks with one of toynet, as the index has it."""
    digest = hashlib.sha256((index / "toynet-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    locks = tmp_path / "locks"
    locks.mkdir()
    python = ".".join(map(str, sys.version_info[:2]))
    head = lock_header(["toynet==1.0"], [python], platform.system(), platform.machine())
    (locks / "toy.txt").write_text(f"{head}\ntoynet==1.0 --hash=sha256:{digest}\n")
    monkeypatch.setattr("segbench.prediction.environments.LOCKS", locks)
    return locks / "toy.txt"


@pytest.mark.slow
def test_a_lock_lets_only_its_files_in(tmp_path, index, locked):
    made = make_environment(["toynet==1.0"], tmp_path / "environments")
    assert made.lock == hashlib.sha256(locked.read_bytes()).hexdigest()
    with zipfile.ZipFile(index / "toynet-1.0-py3-none-any.whl", "a") as archive:
        archive.writestr("more.py", "")
    with pytest.raises(EnvironmentFailed, match=r"(?i)hash"):
        make_environment(["toynet==1.0"], tmp_path / "others")


def test_a_lock_counts_in_the_key_and_can_be_left_unused(locked, monkeypatch):
    key = environment_key(["toynet==1.0"])
    assert lock_for(["toynet==1.0"]) == locked
    assert lock_for(["toynet==1.0", "other==1"]) is None
    locked.write_text(locked.read_text() + "other==1.0 --hash=sha256:00\n")
    assert environment_key(["toynet==1.0"]) != key
    monkeypatch.setenv("SEGBENCH_LOCKS", "off")
    assert lock_for(["toynet==1.0"]) is None


@pytest.mark.parametrize("name", ["totalsegmentator", "moose", "ctfm", "monai", "deepbet", "brainextractor", "nnunet"])
@pytest.mark.parametrize("python", ["3.11", "3.12"])  # 3.13: all but TotalSegmentator
def test_each_built_in_model_has_a_lock_of_all_it_asks_for(name, python, monkeypatch):
    monkeypatch.setattr("segbench.prediction.environments._here", lambda: (python, "Linux", "x86_64"))
    requirements = REQUIREMENTS if name == "nnunet" else registry.model(name).requirements
    path = lock_for(requirements)
    assert path is not None
    assert path.name == f"{name}.txt"
    lines = path.read_text().replace("\\\n", "").splitlines()[1:]
    assert all(re.fullmatch(r"[a-z0-9-]+==[^ ]+( +--hash=sha256:[0-9a-f]{64})+", line) for line in lines)
    assert not_as_asked(requirements, [line.split()[0] for line in lines]) == ""


def test_two_sets_of_packages_are_two_entries_of_the_cache(tmp_path, monkeypatch, finished):
    """A prediction belongs to the packages that made it: it was found again under another torch."""
    monkeypatch.setenv("SEGBENCH_ENVIRONMENTS", str(finished))
    model = toy(COPY, tmp_path / "count", requirements=["toynet==1.0"])
    settings = PredictionSettings(tmp_path / "cache", device="cpu")
    found = cases(tmp_path / "data", 1)
    predict([model], found, settings)
    predict([model], found, settings)
    assert (tmp_path / "count").read_text() == "x"
    mark = finished / environment_key(["toynet==1.0"]) / "complete.json"
    before = mark.read_text()
    mark.write_text(before.replace("toynet==1.0", "toynet==1.0+other"))
    predict([model], found, settings)
    assert (tmp_path / "count").read_text() == "xx"
    mark.write_text(before)


@pytest.mark.slow
def test_wishes_of_a_package_may_go_unheard(tmp_path, index):
    wheel(index, "gui", "2.0", requires="no-such-thing==1")
    with pytest.raises(EnvironmentFailed, match="no-such-thing"):
        make_environment(["gui==2.0"], tmp_path / "environments")
    made = make_environment(["toynet==1.0", "--no-deps gui==2.0"], tmp_path / "environments")
    assert made.packages == ("gui==2.0", "toynet==1.0")


@pytest.mark.parametrize(
    "line", ["numpy", "numpy>=1", "--index-url http://x numpy==1", "./local", "--no-deps", "git+https://x"]
)
def test_only_pinned_packages_are_installed(tmp_path, line):
    with pytest.raises(InvalidInput, match="requirements: "):
        make_environment([line], tmp_path / "environments")
    assert not (tmp_path / "environments").exists()


def test_requirements_and_python_decide_the_place():
    assert environment_key(["a==1"]) == environment_key(("a==1",))
    assert len({environment_key(["a==1"]), environment_key(["a==2"]), environment_key(["a==1", "b==1"])}) == 3


def test_a_model_runs_in_its_environment_which_benchmarks_can_share(tmp_path, monkeypatch, finished):
    monkeypatch.setenv("SEGBENCH_ENVIRONMENTS", str(finished))
    program = "import toynet, shutil, sys; shutil.copyfile(*sys.argv[1:3])"
    model = toy(program, requirements=["toynet==1.0"], command=f"{{python}} -c '{program}' {{image}} {{output}}")
    found = predict([model], cases(tmp_path / "data", 1), PredictionSettings(tmp_path / "cache", device="cpu"))
    assert found.predictions[0].failure == ""
    assert found.environments["toy"]["packages"] == ["toynet==1.0"]
    assert not (tmp_path / "cache" / "environments").exists()
    with pytest.raises(ImportError):
        __import__("toynet")


@pytest.mark.usefixtures("index")
def test_an_environment_that_cannot_be_made_fails_its_model_only(tmp_path):
    good = toy("import shutil, sys; shutil.copyfile(*sys.argv[1:3])", name="good")
    bad = toy("pass", name="bad", requirements=["no-such-package==1.0"])
    found = predict([bad, good], cases(tmp_path / "data", 2), PredictionSettings(tmp_path / "cache", device="cpu"))
    assert [bool(one.failure) for one in found.predictions] == [True, True, False, False]
    assert "No matching distribution found for no-such-package" in found.predictions[0].failure
    assert list((tmp_path / "cache" / "environments").glob("*.log"))
    assert str(tmp_path) not in found.predictions[0].failure


def test_the_harness_imports_no_framework():
    program = "import sys, segbench.prediction, segbench.models.ctfm, segbench.models.moose, segbench.models.nnunet\n"
    program += "print([name for name in ('torch', 'monai', 'nibabel', 'modal', 'distributed') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
