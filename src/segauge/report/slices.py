"""Three slices through the largest error, as SVG: the image (or nothing) below, the outlines of both masks above."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.geometry.components import component_labels, component_table, label_components, pack_mask
from segauge.report.pairs import Bools, box_of

#: Pixels of a side; larger slices are thinned.
MOST_PIXELS = 240
#: Room around the masks in mm.
MARGIN_MM = 10.0
#: Shortest side of what is shown in mm: a small lesion needs its surroundings.
SMALLEST_MM = 36.0

#: Per axis the name of the plane, and what is at its left and upper edge: right at the left, as radiologists look.
PLANES = (("sagittal", "A", "S"), ("coronal", "R", "S"), ("axial", "R", "A"))


@dataclass(frozen=True)
class Plane:
    """One slice: its name and place, its size in mm, paths of the masks in pixels, and the image as PNG or "".

    Attributes:
        name: axial, coronal or sagittal.
        place: which slice, in words.
        width_mm, height_mm: of the part shown.
        columns, rows: the same in pixels.
        gt_path, pred_path: outlines as SVG path data.
        gt_fill, pred_fill: areas, likewise.
        image: base64 of a PNG.
        left, top: letters of the patient's sides at these edges, "" where they are not known.

    """

    name: str
    place: str
    width_mm: float
    height_mm: float
    columns: int
    rows: int
    gt_path: str
    pred_path: str
    gt_fill: str
    pred_fill: str
    image: str
    left: str
    top: str


def error_point(pred: Bools, gt: Bools) -> tuple[int, int, int]:
    """Return a voxel in the middle of the largest connected error; of the prediction or ground truth without any."""
    wrong = pred ^ gt
    return middle_of_largest(wrong if wrong.any() else (gt if gt.any() else pred))[0]


def middle_of_largest(mask: Bools) -> tuple[tuple[int, int, int], int]:
    """Return a voxel in the middle of the largest connected part of a mask, and how many voxels that part has."""
    if not mask.any():
        return (mask.shape[0] // 2, mask.shape[1] // 2, mask.shape[2] // 2), 0
    box = box_of(mask)
    parts = label_components(pack_mask(mask[box]))
    table = component_table(parts)
    largest = int(np.argmax(table.voxels))
    voxels = np.argwhere(component_labels(parts) == largest + 1)
    nearest = voxels[np.argmin(((voxels - table.centroids[largest]) ** 2).sum(axis=1))]
    x, y, z = (int(i) + part.start for i, part in zip(nearest, box, strict=True))
    return (x, y, z), int(table.voxels[largest])


def window_around(
    point: tuple[int, int, int], mask: Bools, spacing: tuple[float, float, float]
) -> tuple[slice, slice, slice]:
    """Return the part to show: as long on every side, round the connected part of the mask that holds the point."""
    box = box_of(mask)
    parts = label_components(pack_mask(mask[box]))
    inside = tuple(place - part.start for place, part in zip(point, box, strict=True))
    number = int(component_labels(parts)[inside]) - 1 if all(i >= 0 for i in inside) and mask[point] else 0
    first, last = component_table(parts).boxes[number]
    half = max(float(np.max((last - first) * np.array(spacing))) / 2 + MARGIN_MM, SMALLEST_MM / 2)
    window = []
    for axis in range(3):
        middle = (float(first[axis]) + float(last[axis])) / 2 + box[axis].start
        reach = half / spacing[axis]
        window.append(slice(max(0, round(middle - reach)), min(mask.shape[axis], max(1, round(middle + reach)))))
    return (window[0], window[1], window[2])


def planes(
    pred: Bools,
    gt: Bools,
    spacing: tuple[float, float, float],
    *,
    image: npt.NDArray[Any] | None = None,
    oriented: bool = True,
) -> list[Plane]:
    """Return the slices through the largest error: axial, coronal and sagittal, or the one slice of a 2-D image.

    All arrays are upright (axes right, front, up).
    """
    point = error_point(pred, gt)
    either = pred | gt
    box = window_around(point, either, spacing) if either.any() else box_of(either)
    shown = [2] if gt.shape[2] == 1 else [2, 1, 0]
    grey = None if image is None else grey_values(image[box], either[box])
    if grey is None:
        return [plane_at(axis, point[axis], pred, gt, spacing, box, None, oriented=oriented) for axis in shown]
    placed = np.zeros(gt.shape, dtype=np.uint8)
    placed[box] = grey
    return [plane_at(axis, point[axis], pred, gt, spacing, box, placed, oriented=oriented) for axis in shown]


def grey_values(image: npt.NDArray[Any], inside: Bools) -> npt.NDArray[np.uint8]:
    """Return an image in 256 greys: around the middle value inside the masks, wide enough for what is beside them.

    Half the window is four robust standard deviations of the values inside, but at least 15 % of the spread (first to
    99th percentile) of all that is shown, so that air beside a body does not turn the body white. NaN is black.
    """
    values = np.asarray(image, dtype=np.float32)
    known = np.isfinite(values)
    if not known.any():
        return np.zeros(values.shape, dtype=np.uint8)
    own = values[inside & known] if (inside & known).any() else values[known]
    middle = float(np.median(own))
    spread = float(np.subtract(*np.percentile(values[known], [99.0, 1.0])))
    half = max(4 * 1.4826 * float(np.median(np.abs(own - middle))), 0.15 * spread, 1e-6)
    values = np.where(known, values, middle - half)
    grey: npt.NDArray[np.uint8] = (255 * np.clip((values - middle + half) / (2 * half), 0, 1)).astype(np.uint8)
    return grey


def plane_at(
    axis: int,
    index: int,
    pred: Bools,
    gt: Bools,
    spacing: tuple[float, float, float],
    box: tuple[slice, slice, slice],
    image: npt.NDArray[np.uint8] | None,
    *,
    oriented: bool = True,
    most_pixels: int = MOST_PIXELS,
) -> Plane:
    """Return one slice of upright masks, the part within `box`; `image` holds greys (see `grey_values`)."""
    across, along = (other for other in range(3) if other != axis)
    window: list[Any] = list(box)
    window[axis] = index
    step = [max(1, -(-_length(box[other]) // most_pixels)) for other in (across, along)]

    def cut(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the slice as it is looked at: the first axis from right to left, the second from top to bottom."""
        return np.asarray(array[tuple(window)][:: step[0], :: step[1]][::-1, ::-1].T)

    in_pred, in_gt = cut(pred), cut(gt)
    rows, columns = in_gt.shape
    name, left, top = PLANES[axis]
    gt_count = gt.shape[axis]
    return Plane(
        name=name if oriented else f"axis {axis}",
        place=f"slice {index + 1} of {gt_count}",
        width_mm=columns * step[0] * spacing[across],
        height_mm=rows * step[1] * spacing[along],
        columns=columns,
        rows=rows,
        gt_path=outline(in_gt),
        pred_path=outline(in_pred),
        gt_fill=area(in_gt) if image is None else "",
        pred_fill=area(in_pred) if image is None else "",
        image="" if image is None else grey_png(cut(image)),
        left=left if oriented else "",
        top=top if oriented else "",
    )


def _length(part: slice) -> int:
    return int(part.stop) - int(part.start)


def outline(mask: Bools) -> str:
    """Return the border of a mask along the edges of its pixels as SVG path data: runs of horizontals and verticals."""
    padded = np.pad(mask, 1)
    horizontal = padded[1:, 1:-1] != padded[:-1, 1:-1]
    vertical = padded[1:-1, 1:] != padded[1:-1, :-1]
    parts = [f"M{start} {row}h{length}" for row, start, length in _runs(horizontal)]
    parts += [f"M{column} {start}v{length}" for column, start, length in _runs(vertical.T)]
    return "".join(parts)


def area(mask: Bools) -> str:
    """Return the pixels of a mask as SVG path data, one rectangle per run of a row."""
    return "".join(f"M{start} {row}h{length}v1h-{length}z" for row, start, length in _runs(mask))


def _runs(mask: Bools) -> list[tuple[int, int, int]]:
    """Return row, start and length of every run of true pixels."""
    padded = np.pad(mask.astype(np.int8), ((0, 0), (1, 1)))
    change = np.diff(padded, axis=1)
    rows, starts = np.nonzero(change == 1)
    ends = np.nonzero(change == -1)[1]
    return list(zip(rows.tolist(), starts.tolist(), (ends - starts).tolist(), strict=True))


def grey_png(grey: npt.NDArray[np.uint8]) -> str:
    """Return greys as a PNG in base64."""
    rows, columns = grey.shape
    raw = b"".join(b"\x00" + grey[i].tobytes() for i in range(rows))
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    return base64.b64encode(data).decode()
