"""Grand Challenge: score a submission as its evaluation container has to, and make such a container.

Grand Challenge runs an algorithm once per case, then the evaluation once per submission. That finds the jobs in
/input/predictions.json and their outputs beside it, the ground truth in /opt/ml/input/data/ground_truth, and writes
/output/metrics.json, from which the leaderboard is made.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from segauge.errors import InvalidInput
from segauge.evaluation.cases import Case
from segauge.evaluation.dataset import evaluate
from segauge.evaluation.result import EvaluationResult
from segauge.grid import Grid
from segauge.io import read_labels
from segauge.io.contents import companions
from segauge.io.gate import check_links
from segauge.io.images import write_nifti
from segauge.io.layouts import grand_challenge as layout
from segauge.io.layouts.pairs import Pair, image_files
from segauge.metrics.catalog import resolve_metrics
from segauge.options import StructureChoice
from segauge.scores import MetricInfo
from segauge.stats.missing import AbsentPolicy, MissingPolicy

StrPath = str | os.PathLike[str]

#: What a challenge ranks by, unless it says otherwise.
USUAL_METRICS = ("dice", "nsd", "hd95")
#: The files of a container, by the name of their template.
_FILES = {
    "Dockerfile": "Dockerfile",
    "README.md": "README.md",
    "dockerignore": ".dockerignore",
    "evaluate.py": "evaluate.py",
    "ground_truth_readme.md": "ground_truth/README.md",
    "requirements.txt": "requirements.txt",
    "save.sh": "save.sh",
    "try_it.py": "try_it.py",
}


def evaluate_submission(
    input_folder: StrPath,
    ground_truth: StrPath,
    *,
    structures: StructureChoice | None = None,
    metrics: str | Iterable[str] = USUAL_METRICS,
    output_socket: str | None = None,
    penalty_mm: float | Literal["diagonal"] = "diagonal",
    absent: AbsentPolicy = "exclude",
    jobs: int | None = None,
    timeout: float | None = None,
    **options: Any,
) -> EvaluationResult:
    """Score one submission: every ground truth is a case, and one without a usable prediction gets the worst score.

    It does so for every structure that its ground truth has; of others nothing is known, and they are absent.

    Args:
        input_folder: /input of the container, with predictions.json.
        ground_truth: folder of ground truths, each called like the input image of its case.
        structures: as in `segauge.evaluate`; one structure of all that is not 0 if not given.
        metrics: keys of the catalog, each with a worst value or in mm.
        output_socket: slug of the socket that holds the segmentation, where an algorithm has several output images.
        penalty_mm: what a distance counts as where there is none: in mm, or "diagonal", that of the case's image.
        absent: what a structure counts as that is in neither mask: "exclude" or "perfect".
        jobs: worker processes; one per core if not given.
        timeout: seconds for one case; a case that takes longer has failed.
        **options: further arguments of `segauge.evaluate`.

    Raises:
        InvalidInput: if predictions.json is not what Grand Challenge writes, or a ground truth cannot be read.

    """
    infos = _rankable(resolve_metrics(metrics))
    if penalty_mm != "diagonal" and not (isinstance(penalty_mm, (int, float)) and 0 < penalty_mm < math.inf):
        raise InvalidInput(f'penalty_mm: expected a distance in mm above 0, or "diagonal", got {penalty_mm!r}.')
    pairing = layout.find(Path(input_folder), Path(ground_truth), socket=output_socket)
    for pair in pairing.pairs:
        if pair.pred is not None:
            check_links(Path(input_folder), (pair.pred, *companions(pair.pred)))
    penalty = _diagonals(pairing.pairs) if penalty_mm == "diagonal" else penalty_mm
    return evaluate(
        [Case(pair.case_id, pair.pred, pair.gt) for pair in pairing.pairs],
        structures=structures,
        metrics=[info.key for info in infos],
        policy=MissingPolicy("penalty", absent, penalty),
        jobs=jobs or min(os.cpu_count() or 1, len(pairing.pairs)),
        executor="processes",
        timeout=timeout,
        **options,
    )


def write_metrics(path: StrPath, result: EvaluationResult) -> Path:
    """Write metrics.json: scores per case under "results", what a leaderboard shows under "aggregates".

    The protocol is in it, but for the names and hashes of the files: participants may read metrics.json.
    """
    content = result.to_dict()
    content["protocol"] = {key: value for key, value in content["protocol"].items() if key != "files"}
    return layout.write_metrics(path, content)


def create_container(
    folder: StrPath,
    *,
    name: str = "my challenge",
    structures: Mapping[str, int | Sequence[int]] | None = None,
    metrics: Sequence[str] = USUAL_METRICS,
) -> list[Path]:
    """Write the files of an evaluation container into a folder, and return their paths. Nothing is overwritten.

    Args:
        folder: made where it is not there.
        name: of the challenge.
        structures: names and labels, written into evaluate.py; everything that is not 0 is one structure without.
        metrics: keys of the catalog, written into evaluate.py.

    Raises:
        InvalidInput: if one of the files exists already, or a metric has no worst value.

    """
    root = Path(folder)
    _rankable(resolve_metrics(metrics))
    if not re.fullmatch(r"[\w .,:+&/()'-]{1,80}", name):
        raise InvalidInput(f"name: expected up to 80 letters, digits and blanks, got {name!r}.")
    present = [root / file for file in _FILES.values() if (root / file).exists()]
    if present:
        raise InvalidInput(f"{present[0]}: exists already, and nothing is overwritten. Choose an empty folder.")
    if root.exists() and not root.is_dir():
        raise InvalidInput(f"{root}: is a file; expected a folder.")
    values = {
        "NAME": name,
        "TAG": re.sub(r"[^a-z0-9]+", "-", f"{name} evaluation".lower()).strip("-"),
        "STRUCTURES": _literal(structures),
        "METRICS": _literal(list(metrics)),
        "VERSION": version("segauge"),
    }
    return [_write(root / file, _filled(template, values)) for template, file in _FILES.items()]


def _filled(template: str, values: Mapping[str, str]) -> str:
    source = resources.files("segauge.integrations") / "templates" / "grand_challenge" / f"{template}.tmpl"
    text = source.read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@@{key}@@", value)
    return text


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    if path.suffix == ".sh":
        path.chmod(0o755)
    return path


def _literal(value: object) -> str:
    """Return a value as Python writes it, with the quotes of the other lines."""
    return "None" if value is None else json.dumps(value, ensure_ascii=False)


def _rankable(infos: Sequence[MetricInfo]) -> Sequence[MetricInfo]:
    """Return metrics of which every failed case has a value; others cannot rank anything."""
    for info in infos:
        if info.direction == "none" or (info.worst is None and info.unit != "mm"):
            raise InvalidInput(
                f"{info.key}: has no worst value that a failed case could get, so that it cannot rank submissions. "
                f"Take others, such as {', '.join(USUAL_METRICS)}."
            )
    return infos


def _diagonals(pairs: Iterable[Pair]) -> dict[str, float]:
    return {pair.case_id: read_labels(pair.gt).labels.grid.diagonal_mm for pair in pairs}


def fake_submission(ground_truth: StrPath, folder: StrPath, *, leave_out: int = 0) -> Path:
    """Write an /input folder in which the ground truth is handed in again, but for the first few cases.

    For trying out an evaluation: the scores of such a submission are known.
    """
    root = Path(folder)
    listed = []
    for number, (case, path) in enumerate(sorted(image_files(Path(ground_truth)).items())[leave_out:]):
        job = f"00000000-0000-4000-8000-{number:012d}"
        socket = {
            "slug": "segmentation",
            "kind": "Segmentation",
            "super_kind": "Image",
            "relative_path": "images/segmentation",
        }
        place = root / job / "output" / socket["relative_path"]
        place.mkdir(parents=True)
        shutil.copy(path, place / f"output{path.name.removeprefix(case)}")
        image = {"socket": {"slug": "image", "super_kind": "Image"}, "image": {"name": path.name}}
        listed.append({"pk": job, "status": "Succeeded", "inputs": [image], "outputs": [{"socket": socket}]})
    root.mkdir(parents=True, exist_ok=True)
    (root / "predictions.json").write_text(json.dumps(listed, indent=1), encoding="utf-8")
    return root


def write_phantoms(
    folder: StrPath, *, structures: Mapping[str, int | Sequence[int]] | None = None, count: int = 2
) -> Path:
    """Write small ground truths that hold every label of the structures, one block each, and return their folder."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    parts = [labels if isinstance(labels, int) else list(labels) for labels in (structures or {"all": 1}).values()]
    labels = sorted({label for part in parts for label in (part if isinstance(part, list) else [part])})
    grid = Grid.from_spacing((6 * len(labels) + 4, 16, 12), (1.0, 1.0, 2.5))
    for number in range(count):
        array = np.zeros(grid.shape, dtype=np.int32)
        for place, label in enumerate(labels):
            array[6 * place + 3 : 6 * place + 8, 3 : 10 + number, 3:9] = label
        write_nifti(root / f"phantom_{number + 1}.nii.gz", array, grid)
    return root
