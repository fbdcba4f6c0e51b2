"""Grand Challenge: predictions.json lists the jobs of an algorithm; metrics.json is what an evaluation leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.formats import image_stem
from segauge.io.gate import load_json
from segauge.io.layouts.pairs import Pairing, image_files, once_each, paired
from segauge.io.outputs import write_whole
from segauge.io.streams import list_folder
from segauge.scores import CASE_FAILURES


def recognises(pred: Path, gt: Path) -> bool:
    """Return True where predictions.json lies in the folder of predictions."""
    return gt.is_dir() and _list_file(pred).is_file()


def find(pred: Path, gt: Path, *, socket: str | None = None) -> Pairing:
    """Pair each job's output image with the ground truth that is called like its input image.

    `socket` is the slug of the output that counts, where jobs have several output images.
    """
    listed = _list_file(pred)
    jobs = load_json(listed)
    if not isinstance(jobs, list):
        raise InvalidInput(f"{listed}: expected a list of jobs.")
    preds: list[tuple[str, Path]] = []
    warnings: list[str] = []
    gts = image_files(gt)
    for number, job in enumerate(jobs):
        try:
            case = _case(job, gts)
            path = _output(job, listed.parent, socket)
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(
                f"{listed}: job {number} is not built as Grand Challenge builds it: {error!r}."
            ) from error
        if str(job.get("status", "Succeeded")).lower() != "succeeded":
            warnings.append(f"the job for {case!r} has the status {job['status']!r}")
        if path is None:
            warnings.append(f"the job for {case!r} left no segmentation")
        else:
            preds.append((case, path))
    return paired("grand-challenge", once_each(preds), gts, warnings=warnings)


def _list_file(pred: Path) -> Path:
    return pred / "predictions.json" if pred.is_dir() else pred if pred.name == "predictions.json" else pred / "none"


def _case(job: Mapping[str, Any], gts: Mapping[str, Path]) -> str:
    """Return the case of a job: the name of an input image, preferably one that a ground truth has."""
    names = [str(entry["image"]["name"]) for entry in job["inputs"] if entry.get("image")]
    stems = [image_stem(name) or name for name in names]
    if not stems:
        raise KeyError("a job has no input image")
    return next((stem for stem in stems if stem in gts), stems[0])


def _output(job: Mapping[str, Any], root: Path, socket: str | None) -> Path | None:
    """Return the one segmentation that a job wrote, None if it wrote none."""
    # Of old, sockets were called interfaces; Grand Challenge writes both.
    sockets = [entry["socket"] if "socket" in entry else entry["interface"] for entry in job["outputs"]]
    if socket is not None:
        chosen = [face for face in sockets if face["slug"] == socket]
    else:
        images = [face for face in sockets if face.get("super_kind") == "Image"]
        chosen = [face for face in images if face.get("kind") == "Segmentation"] or images
    if len(chosen) > 1:
        slugs = ", ".join(str(face["slug"]) for face in chosen)
        raise InvalidInput(
            f"A job has several output images ({slugs}): name the one that counts (output_socket), "
            "or leave only that in predictions.json."
        )
    if not chosen:
        return None
    folder = (root / str(job["pk"]) / "output" / str(chosen[0]["relative_path"])).resolve()
    if not folder.is_relative_to(root.resolve()):
        raise InvalidInput(f"{folder}: a job's output must lie in the folder of predictions.json.")
    files = [path for path in list_folder(folder) if image_stem(path.name)] if folder.is_dir() else []
    if len(files) > 1:
        raise InvalidInput(f"{folder}: holds {len(files)} images, expected one. Which one counts?")
    return files[0] if files else None


def write_metrics(path: str | os.PathLike[str], result: Mapping[str, Any]) -> Path:
    """Write metrics.json from a result's plain values: per case under "results", estimates under "aggregates"."""
    cases: dict[str, dict[str, Any]] = {}
    for row in result["per_case"]:
        scores = {key: value for key, value in row.items() if key not in ("case_id", "structure")}
        cases.setdefault(row["case_id"], {})[row["structure"]] = scores
    content = {
        "results": [{"case": case, "structures": structures} for case, structures in cases.items()],
        "aggregates": {
            **_values(result["summary"]),
            "cases": result["n_cases"],
            "failed_cases": sum(_is_failed(structures) for structures in cases.values()),
            "structures": result["structures"],
        },
        "protocol": result["protocol"],
    }
    return write_whole(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def _is_failed(structures: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a case was not measured at all: nothing to read, to compare, or in time."""
    cells = structures.values()
    causes = (cell["missing"][""]["status"] for cell in cells if "" in cell.get("missing", {}))
    return any(status in CASE_FAILURES for status in (*(cell["status"] for cell in cells), *causes))


def _values(summary: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return each metric's mean as a plain number, as leaderboards read it: by a path in which points part the keys."""
    return {key.replace(".", "_"): estimate["value"] for key, estimate in summary.items()}
