"""Read DICOM segmentations: BINARY, FRACTIONAL and LABELMAP, every segment at once, frames placed by position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from segauge.errors import UnreadableFile, option
from segauge.grid import Grid
from segauge.io.dicom_files import Frame, decode_frames, parser_failures
from segauge.io.dicom_planes import (
    OFF_PLACE,
    TILT_DEGREES,
    Plane,
    Vector,
    functional_group,
    lattice_distance,
    plane_of,
    position_of,
    tilt_degrees,
)
from segauge.io.gate import check_dimensions
from segauge.io.reading import Reading, ReadOptions, SpacingSource
from segauge.io.voxels import Block, foreground_box, stack_layers
from segauge.labelmap import LabelArray, LabelMap

#: Fractions of at least this share of the maximum are foreground, unless the caller says otherwise.
DEFAULT_THRESHOLD = 0.5


@dataclass(frozen=True, eq=False)
class _Header:
    """What the functional groups say: per frame its segment number (0 in a LABELMAP) and position."""

    kind: str
    plane: Plane
    segments: tuple[int, ...]
    positions: tuple[Vector, ...]
    stated_distance: float | None
    names: dict[int, str]


def read_dicom_seg(path: Path, dataset: Any, options: ReadOptions) -> Reading:
    """Read all segments of a SEG object; labels are segment numbers, names are segment labels.

    The grid spans the stored frames (`partial`): frames that were left out, in between or around, are background.
    """
    source = str(path)
    notes: list[str] = []
    with parser_failures(source):
        header = _header(dataset, source, notes)
        grid, slices = _stack(header, source, options, notes)
        frames = decode_frames(dataset, len(header.segments), source)
        if header.kind == "LABELMAP":
            layers, names = _labelmap_layers(frames, slices, grid, dataset, header, source, notes)
        else:
            cut = _threshold(dataset, header, options, notes)
            layers = _segment_layers(frames, slices, grid, header, cut, source, options)
            twice = len(slices) - len(set(zip(slices, header.segments, strict=True)))
            if twice:
                notes.append(f"{twice} frames lie where another one of their segment does; taken together")
            names = header.names
        frame_of_reference = str(dataset.get("FrameOfReferenceUID", "") or "")
    spacing_source = SpacingSource.HEADER
    if options.spacing is not None:
        grid, spacing_source = grid.with_spacing(options.spacing), SpacingSource.ARGUMENT
    transposed = tuple(layer.transpose(2, 1, 0) for layer in layers)
    labels = LabelMap(transposed, grid, names, source, partial=True, frame_of_reference=frame_of_reference)
    return Reading(labels, "dicom-seg", tuple(notes), spacing_source)


def _header(dataset: Any, source: str, notes: list[str]) -> _Header:
    kind = str(dataset.get("SegmentationType", "BINARY")).upper()
    if kind not in ("BINARY", "FRACTIONAL", "LABELMAP"):
        raise UnreadableFile(f"{source}: has a SegmentationType that is not BINARY, FRACTIONAL or LABELMAP.")
    groups = dataset.get("PerFrameFunctionalGroupsSequence") or []
    shared = (dataset.get("SharedFunctionalGroupsSequence") or [None])[0]
    count = _frame_count(dataset, len(groups), source, notes)
    planes, positions, segments, distances = [], [], [], []
    for k in range(count):
        where = f"{source}: frame {k + 1}"
        measures = functional_group(groups[k], shared, "PixelMeasuresSequence")
        orientation = functional_group(groups[k], shared, "PlaneOrientationSequence")
        position = functional_group(groups[k], shared, "PlanePositionSequence")
        planes.append(
            (tuple(orientation.get("ImageOrientationPatient") or ()), tuple(measures.get("PixelSpacing") or ()))
        )
        positions.append(position_of(position.get("ImagePositionPatient"), where))
        segments.append(0 if kind == "LABELMAP" else _segment_number(groups[k], shared, where))
        distances.append((measures.get("SpacingBetweenSlices"), measures.get("SliceThickness")))
    plane = _common_plane(planes, dataset, source)
    # The thickness is no distance: slices may overlap or leave gaps. It serves where there is a single slice only.
    several = len({round(float(position @ plane.normal), 3) for position in positions}) > 1
    stated = next((float(d) for pair in distances for d in (pair[:1] if several else pair) if d), None)
    return _Header(kind, plane, tuple(segments), tuple(positions), stated, _names(dataset, source))


def _frame_count(dataset: Any, described: int, source: str, notes: list[str]) -> int:
    stated = dataset.get("NumberOfFrames")
    if described == 0:
        raise UnreadableFile(f"{source}: does not describe its frames (no PerFrameFunctionalGroupsSequence).")
    if stated is None:
        if described > 1:
            notes.append(f"NumberOfFrames is missing, {described} frames are described: only the first one is taken")
        return 1
    if int(stated) != described or described < 1:
        raise UnreadableFile(
            f"{source}: NumberOfFrames is {int(stated)}, but {described} frames are described. Export it again."
        )
    return described


def _segment_number(own: Any, shared: Any, where: str) -> int:
    number = functional_group(own, shared, "SegmentIdentificationSequence").get("ReferencedSegmentNumber")
    if number is None or int(number) < 1:
        raise UnreadableFile(f"{where} has no segment number. Export the file again.")
    return int(number)


def _common_plane(planes: Sequence[tuple[Any, Any]], dataset: Any, source: str) -> Plane:
    size = (dataset.get("Rows") or 0, dataset.get("Columns") or 0)
    distinct = [plane_of(size, *plane, source) for plane in dict.fromkeys(planes)]
    if not all(plane.same_as(distinct[0]) for plane in distinct):
        raise UnreadableFile(
            f"{source}: its frames differ in orientation or pixel spacing; they make no single volume."
        )
    return distinct[0]


def _names(dataset: Any, source: str) -> dict[int, str]:
    names: dict[int, str] = {}
    for item in dataset.get("SegmentSequence") or []:
        number = int(item.SegmentNumber)
        if number in names:
            raise UnreadableFile(f"{source}: describes segment {number} twice. Export it again.")
        names[number] = str(item.get("SegmentLabel") or f"Segment {number}")
    return names


def _stack(header: _Header, source: str, options: ReadOptions, notes: list[str]) -> tuple[Grid, list[int]]:
    """Return the grid that the frames span, and the slice of each frame."""
    plane = header.plane
    positions = np.array(header.positions)
    heights = positions @ plane.normal
    distance, note = lattice_distance(heights.tolist(), header.stated_distance)
    if distance is None:
        if np.ptp(heights) > 1e-3:
            gaps = np.unique(np.round(np.diff(np.unique(np.round(heights, 4))), 4))
            raise UnreadableFile(
                f"{source}: its frames lie {gaps.min():g} to {gaps.max():g} mm apart, not on a regular stack of slices."
            )
        distance, note = (
            1.0,
            (f"one slice without a thickness: 1 mm is assumed; pass {option('spacing', ...)} for distances in mm"),
        )
    if note:
        notes.append(note)
    tilt = tilt_degrees(positions, plane.normal)
    if tilt > TILT_DEGREES:
        raise UnreadableFile(f"{source}: its frames are shifted against each other, {tilt:.3g} degrees off the normal.")
    slices = np.rint((heights - heights.min()) / distance).astype(np.int64)
    count = int(slices.max()) + 1
    check_dimensions((plane.columns, plane.rows, count), source, options.limits)
    low, high = int(np.argmin(heights)), int(np.argmax(heights))
    step = (positions[high] - positions[low]) / (count - 1) if count > 1 else plane.normal * distance
    places = positions[low] + slices[:, None] * step
    # Half a millimetre or the usual share of the spacing: frames must sit on the grid that they are put on.
    if np.linalg.norm(places - positions, axis=1).max() > OFF_PLACE * max(distance, plane.row_spacing) + 1e-2:
        raise UnreadableFile(f"{source}: its frames do not lie behind each other; they make no single volume.")
    missing = count - len(np.unique(slices))
    if missing:
        notes.append(f"{missing} of {count} slices between the first and the last have no frame; they are background")
    return plane.grid(positions[low], step, count), slices.tolist()


def _threshold(dataset: Any, header: _Header, options: ReadOptions, notes: list[str]) -> int:
    """Return the smallest stored value that is foreground."""
    if header.kind == "BINARY":
        return 1
    most = int(dataset.get("MaximumFractionalValue") or 255)
    share = DEFAULT_THRESHOLD if options.threshold is None else options.threshold
    stated = str(dataset.get("SegmentationFractionalType", ""))
    kind = stated if stated in ("PROBABILITY", "OCCUPANCY") else "of no known type"
    notes.append(f"FRACTIONAL ({kind}): fractions of at least {share:g} are taken as foreground")
    return max(1, int(np.ceil(share * most - 1e-9)))


def _segment_layers(
    frames: Iterator[Frame],
    slices: Sequence[int],
    grid: Grid,
    header: _Header,
    cut: int,
    source: str,
    options: ReadOptions,
) -> tuple[LabelArray, ...]:
    blocks: dict[int, list[Block]] = {number: [] for number in header.names}
    for frame, where, number in zip(frames, slices, header.segments, strict=True):
        mask = frame >= cut
        box = foreground_box(mask)
        # A copy, because a view would keep the whole frame in memory.
        blocks.setdefault(number, []).append(Block((where, *box), mask[box].copy()))
    return stack_layers(blocks.items(), grid.shape[::-1], max(blocks, default=0), source, options.limits)


def _labelmap_layers(
    frames: Iterator[Frame],
    slices: Sequence[int],
    grid: Grid,
    dataset: Any,
    header: _Header,
    source: str,
    notes: list[str],
) -> tuple[tuple[LabelArray, ...], dict[int, str]]:
    """Return the label map; the padding value is background, and a real segment 0 gets a free number."""
    background = int(dataset.get("PixelPaddingValue") or 0)
    volume = np.full(grid.shape[::-1], background, dtype=np.uint16 if int(dataset.BitsAllocated) == 16 else np.uint8)
    seen: set[int] = set()
    for frame, where in zip(frames, slices, strict=True):
        if where in seen:
            raise UnreadableFile(f"{source}: two frames of the label map lie at one place. Export it again.")
        seen.add(where)
        volume[where] = frame
    names = {number: name for number, name in header.names.items() if number != background}
    if background == 0:
        return (volume,), names
    free = max([*names, int(volume.max()), background]) + 1
    relabelled = volume.astype(np.int32)
    relabelled[volume == 0] = free
    relabelled[volume == background] = 0
    if 0 in names:
        names[free] = names.pop(0)
        notes.append(f"segment 0 ({names[free]}) is no background here; it has label {free}")
    return (relabelled,), names
