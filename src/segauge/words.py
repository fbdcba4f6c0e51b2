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
NO_GROUND_TRUTH = "it is not defined without the structure in the ground truth"
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


def region_not_found(name: str, known: Iterable[str]) -> str:
    """Return why a structure that was predicted has no value where the ground truth has other regions only."""
    return f"this patient has no region called {name!r}; it has {', '.join(sorted(known))}"


_ASSIGNMENTS = {
    "greedy": "one to one, the highest IoU first",
    "optimal": "one to one with the greatest sum of IoUs",
    "many-to-one": "several predicted lesions to one where that raises the IoU",
}
_NEIGHBOURS = {None: "a face", 1: "a face", 6: "a face", 2: "a face or an edge", 18: "a face or an edge"}


def lesion_rules(
    match: str, assign: str, iou_threshold: float, connectivity: int | None, min_volume_ml: float | None
) -> str:
    """Return what a lesion is and when it is found, in two sentences that can be published."""
    passing = {
        "iou": f"from an IoU of {iou_threshold:g}",
        "overlap": "if they share a voxel",
        "centroid": "if the centroid of the predicted lesion lies in the ground-truth lesion",
    }[match]
    neighbours = _NEIGHBOURS.get(connectivity, "a face, an edge or a corner")
    least = f" Ground-truth lesions below {min_volume_ml:g} ml were left out." if min_volume_ml else ""
    return (
        f"Lesions are connected components of voxels that share {neighbours}; predicted and ground-truth lesions match "
        f"{passing}, {_ASSIGNMENTS[assign]}.{least}"
    )


def of_structure(whole: str, by_metric: Mapping[str, str]) -> str:
    """Return one sentence for a structure of a case: what concerns all its metrics, then single ones by their cause."""
    causes: dict[str, list[str]] = {}
    for metric, because in by_metric.items():
        causes.setdefault(because, []).append(metric)
    sentences = [without_value(metrics, because) for because, metrics in causes.items()]
    return "; ".join([whole, *sentences] if whole else sentences)
