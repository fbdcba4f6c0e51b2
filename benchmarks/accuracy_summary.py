"""The accuracy run in small tables: all metrics, HD95 by shape and by spacing, and the comparison of the README."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.accuracy.promises import FORMER, judge
from benchmarks.accuracy.surfaces import COLUMNS, OURS, SUBVOXEL, Answer
from benchmarks.tables import MISSING, markdown_table, three_digits

_HD95 = "HD95, mm"
_HERE = Path(__file__).resolve().parent

#: The packages of the README's table, by the name of the tool that called them.
_PACKAGES: Mapping[str, str] = {
    "segauge": "segauge",
    "segauge-subvoxel": "segauge-subvoxel",
    "surface-distance": "surface-distance",
    "monai": "MONAI",
    "medpy": "MedPy",
    "panoptica": "panoptica",
    "seg-metrics": "seg-metrics",
}
_TO_ROUNDING = "to rounding (`tests/metrics/test_conventions.py::test_answers_of_the_tools_themselves`)"
_MESHMETRICS = (
    "within 3 % or a tenth of a voxel (`tests/shared/test_oracles.py::test_voxel_faces_agree_with_meshmetrics`)"
)
#: What shows that `--convention` gives a package's numbers.
_CONVENTIONS = {"surface-distance": _TO_ROUNDING, "monai": _TO_ROUNDING, "medpy": _TO_ROUNDING}


def summarise(answers: Sequence[Answer]) -> str:
    """Return the tables as Markdown."""
    pairs = len({(answer.shape, answer.spacing, tuple(answer.truth.items())) for answer in answers})
    parts = [
        f"Mean absolute error over {pairs} pairs of masks; in brackets its ratio to that of `{OURS[0]}` (above 1: "
        "further from the truth than we). Each tool is held against the definition it implements: a pooled HD95 "
        "against the pooled truth, a MASD against MASD. The truth is that of the solids, so what voxels cannot show is "
        "part of everybody's error.",
        _by_metric(answers),
        f"{_HD95} by shape:",
        _by(answers, lambda answer: answer.shape),
        f"{_HD95} by voxel edges in mm:",
        _by(answers, lambda answer: _edges(answer.spacing)),
    ]
    if SUBVOXEL in _tools(answers):
        parts += [
            f"`{SUBVOXEL}` by shape and voxel edges: its error and, in brackets, the ratio to that of `{OURS[0]}` and "
            "to that of the package that is nearest to the truth.",
            subvoxel_by_shape(answers),
        ]
    failures = dict.fromkeys(f"- {answer.tool}: {answer.error}" for answer in answers if answer.error)
    return "\n\n".join([*parts, *(["Failed:\n\n" + "\n".join(failures)] if failures else [])])


def subvoxel_by_shape(answers: Sequence[Answer]) -> str:
    """Return the errors of the sub-voxel surface beside those of marching cubes and of the best of the others."""
    columns = [column for column in COLUMNS if column != "MASD, mm"]
    rows = []
    for shape, spacing in dict.fromkeys((answer.shape, answer.spacing) for answer in answers):
        chosen = [answer for answer in answers if (answer.shape, answer.spacing) == (shape, spacing)]
        cells = [_subvoxel_cell(chosen, column) for column in columns]
        pairs = sum(answer.tool == SUBVOXEL for answer in chosen)
        rows.append([f"{shape}, {_edges(spacing)}", str(pairs), *cells])
    return markdown_table(["shape, edges in mm", "pairs", *columns], rows)


def promises(answers: Sequence[Answer]) -> str:
    """Return the promises of the sub-voxel surface with PASS or FAIL, and its errors by shape and spacing."""
    return "\n\n".join(
        [
            "\n".join(f"- {verdict}" for verdict in judge(answers)),
            f"Over all pairs, also those that are not judged: mean absolute error of `{SUBVOXEL}` and, in brackets, "
            f"its ratio to that of `{OURS[0]}` and to that of the package that is nearest to the truth.",
            subvoxel_by_shape(answers),
        ]
    )


def _subvoxel_cell(answers: Sequence[Answer], column: str) -> str:
    errors = {tool: _error([answer for answer in answers if answer.tool == tool], column) for tool in _tools(answers)}
    own = errors[SUBVOXEL]
    if own is None:
        return MISSING
    peers = [error for tool, error in errors.items() if tool not in (*OURS, FORMER) and error is not None]
    others = [errors[OURS[0]], *([min(peers)] if peers else [])]
    return f"{own:.3f} ({', '.join(three_digits(own / other) if other else MISSING for other in others)})"


def _edges(spacing: Sequence[float]) -> str:
    return " x ".join(f"{edge:g}" for edge in spacing)


def compare(answers: Sequence[Answer]) -> str:
    """Return the comparison: the error of each package over all pairs, and what backs its convention."""
    header = ["package", *COLUMNS, "its numbers by `--convention`"]
    rows = []
    for tool, package in _PACKAGES.items():
        own = [answer for answer in answers if answer.tool == tool]
        errors = [_error(own, column) for column in COLUMNS]
        cells = [MISSING if error is None else f"{error:.3f}" for error in errors]
        rows.append([f"{package} {_pin(tool)}".strip(), *cells, _CONVENTIONS.get(tool, "")])
    rows.append(["MeshMetrics 0.2.1", *("" for _ in COLUMNS), _MESHMETRICS])
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _pin(tool: str) -> str:
    """Return the version of a package that the benchmark installs; none for our own."""
    pins = "\n".join(path.read_text(encoding="utf-8") for path in sorted(_HERE.glob("requirements-*.txt")))
    found = re.search(rf"^{re.escape(tool)}==(\S+)", pins, flags=re.MULTILINE | re.IGNORECASE)
    return found[1] if found and tool not in OURS else ""


def _tools(answers: Sequence[Answer]) -> list[str]:
    return list(dict.fromkeys(answer.tool for answer in answers))


def _error(answers: Sequence[Answer], column: str) -> float | None:
    errors = [error for answer in answers for error in answer.errors(column)]
    return statistics.fmean(errors) if errors else None


def _cell(error: float | None, ours: float | None) -> str:
    if error is None:
        return MISSING
    return f"{error:.3f}" if not ours else f"{error:.3f} ({three_digits(error / ours)})"


def _by_metric(answers: Sequence[Answer]) -> str:
    of = {tool: [answer for answer in answers if answer.tool == tool] for tool in _tools(answers)}
    rows = [
        [tool, *(_cell(_error(own, column), _error(of.get(OURS[0], []), column)) for column in COLUMNS)]
        for tool, own in of.items()
    ]
    return markdown_table(["tool", *COLUMNS], rows)


def _by(answers: Sequence[Answer], group: Callable[[Answer], str]) -> str:
    groups = list(dict.fromkeys(map(group, answers)))
    rows = []
    for tool in _tools(answers):
        own = [answer for answer in answers if answer.tool == tool]
        errors = [_error([answer for answer in own if group(answer) == name], _HD95) for name in groups]
        rows.append([tool, *(MISSING if error is None else f"{error:.3f}" for error in errors)])
    return markdown_table(["tool", *groups], rows)
