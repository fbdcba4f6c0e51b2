"""The wording of statuses and missing values: one sentence for one state, wherever it is printed.

What is decided is decided from the data (`segauge.scores.Missing`); nothing reads these sentences back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: Why a metric has no value although the structure is in both masks.
BETWEEN_VOXELS = "on some grid an object falls between the voxels"
NO_LARGE_LESION = "no lesion is large enough to count"
NO_VOLUME = "a slice has no volume"
NO_REST = "no voxel lies outside of the ground truth"
NO_BAND = "no voxel centre of either mask is that near to its surface"
NO_CENTERLINE = "there is no centerline"
NO_SURFACE = "there is no surface outside the ignored voxels"
OBLIQUE_AXES = "the axes of the grid are not at right angles"
IGNORED_CUT = "ignored voxels cut the objects"
UNDEFINED = "it is not defined for these masks"
#: Why a cell of a table that was read has no value and no status.
NOT_IN_FILE = "the file does not have it"


def not_in_tool(tool: str) -> str:
    """Return why a metric has no value in another tool's convention."""
    return f"{tool} does not define it"


def without_value(metrics: Iterable[str], because: str) -> str:
    """Return why some metrics of a structure have no value: "no hd95, assd: there is no surface ..."."""
    return f"no {', '.join(metrics)}: {because}"


def lacking(status: str, because: str) -> str:
    """Return why a structure that the ground truth does not have is absent in a case that could not be measured."""
    return f"{status}: {because}; the ground truth lacks the structure, so it counts neither way"


def of_structure(whole: str, by_metric: Mapping[str, str]) -> str:
    """Return one sentence for a structure of a case: what concerns all its metrics, then single ones by their cause."""
    causes: dict[str, list[str]] = {}
    for metric, because in by_metric.items():
        causes.setdefault(because, []).append(metric)
    sentences = [without_value(metrics, because) for because, metrics in causes.items()]
    return "; ".join([whole, *sentences] if whole else sentences)
