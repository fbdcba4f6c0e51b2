"""Read RTSTRUCT: the contours of its regions of interest, filled by our own rasteriser on the grid of their images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from segauge.errors import GridMismatch, InvalidInput, UnknownStructure, UnreadableFile, option
from segauge.grid import Grid
from segauge.io.gate import Limits, check_dimensions
from segauge.io.reading import Reading, ReadOptions, ReferenceGrid, SpacingSource
from segauge.io.structure_sets import Contour, Points, Roi, StructureSet, fill, read_structure_set, without_repeats
from segauge.io.voxels import Block, stack_layers
from segauge.labelmap import LabelMap
from segauge.plural import counted

#: A contour lies in a plane of the grid if its points stray along the normal by at most this share of a slice.
_FLAT = 0.2

#: Planes closer than this share of a slice are one plane.
_ONE_PLANE = 0.05

#: Slice distances lie between these, in mm; planes closer are one plane, planes further apart skip slices.
_LEAST_DISTANCE, _LARGEST_DISTANCE = 0.05, 10.0


def read_rtstruct(path: Path, dataset: Any, options: ReadOptions) -> Reading:
    """Fill every region on the grid of `options.reference`; labels are region numbers."""
    structures = read_structure_set(path, options.limits, dataset)
    if options.reference is None:
        raise InvalidInput(
            f"{path}: contours need a grid to be filled on. "
            "Put the series of images that they were drawn on next to the file; read_labels() and `segauge doctor "
            "FILE` also take it, or the ground truth, as their reference."
        )
    check_frame_of_reference(structures, options)
    return fill_regions(structures, structures.rois, options.reference, options)


def check_frame_of_reference(structures: StructureSet, options: ReadOptions) -> None:
    """Refuse to fill contours on images of another coordinate system, unless that was asked for."""
    one, other = structures.frame_of_reference, options.reference.frame_of_reference if options.reference else ""
    if one and other and one != other and not options.any_frame_of_reference:
        raise GridMismatch(
            f"{structures.source}: its contours lie in the frame of reference {one}, the images in {other}. "
            "Give the images they were drawn on, or, if both are the same space, pass "
            f"{option('any_frame_of_reference')}."
        )


def region_named(structures: StructureSet, name: str) -> Roi:
    """Return the region of a name, refusing an unknown or an ambiguous one."""
    found = [roi for roi in structures.rois if roi.name == name]
    if not found:
        known = ", ".join(repr(roi.name) for roi in structures.rois)
        raise UnknownStructure(f"{structures.source}: has no region {name!r}; it has {known or 'none'}.")
    if len(found) > 1:
        numbers = ", ".join(str(roi.number) for roi in found)
        raise UnknownStructure(
            f"{structures.source}: {len(found)} regions are called {name!r} (numbers {numbers}). Rename one of them."
        )
    return found[0]


def fill_regions(
    structures: StructureSet, rois: Sequence[Roi], reference: ReferenceGrid, options: ReadOptions
) -> Reading:
    """Fill the given regions on a grid; what could not be used is told in the notes."""
    grid = reference.grid
    if grid.ndim != 3:
        raise InvalidInput(f"{structures.source}: contours are filled on a 3-D grid, got a {grid.ndim}-D one.")
    if reference.partial:
        grid = _grown_over(grid, rois, structures.source, options.limits)
    if not rois:
        raise UnreadableFile(f"{structures.source}: holds no regions of interest.")
    notes: list[str] = [*structures.notes, *reference.notes]
    repeated = sorted(name for name, count in Counter(roi.name for roi in rois).items() if count > 1)
    if repeated:
        notes.append(f"several regions are called {', '.join(repeated)}; distinguish them by their numbers")
    on_own_slices = reference.is_series or _has_slice_per_image(reference.grid, structures)
    slab_mm = 0.0 if on_own_slices else _plane_distance(structures.rois)
    slices = np.array(reference.slices)
    unfilled: set[int] = set()
    filled = ((roi.number, list(_blocks(roi, grid, slab_mm, slices, notes, unfilled))) for roi in rois)
    largest = max(roi.number for roi in rois)
    layers = stack_layers(filled, grid.shape, largest, structures.source, options.limits)
    names = {roi.number: roi.name for roi in rois}
    spacing_source = SpacingSource.HEADER
    if options.spacing is not None:
        grid, spacing_source = grid.with_spacing(options.spacing), SpacingSource.ARGUMENT
    labels = LabelMap(
        layers, grid, names, structures.source, partial=reference.partial,
        frame_of_reference=_frame_of_reference(structures, options),
    )  # fmt: skip
    return Reading(labels, "rtstruct", tuple(notes), spacing_source, frozenset(unfilled), reference)


def _frame_of_reference(structures: StructureSet, options: ReadOptions) -> str:
    """Return the coordinate system of what was filled: that of the reference where both are said to be one space."""
    own = structures.frame_of_reference
    given = options.reference.frame_of_reference if options.reference and options.any_frame_of_reference else ""
    return given or own


def _grown_over(grid: Grid, rois: Sequence[Roi], source: str, limits: Limits) -> Grid:
    """Return a grid on the same lattice that also holds every point of some contours, and a slice on either side."""
    points = [contour.points for roi in rois for contour in roi.contours if len(contour.points)]
    if not points:
        return grid
    inverse = np.linalg.inv(grid.affine)
    index = np.concatenate(points) @ inverse[:3, :3].T + inverse[:3, 3]
    low = np.minimum(np.floor(index.min(axis=0)) - 1, 0)
    high = np.maximum(np.ceil(index.max(axis=0)) + 2, grid.shape)
    shape = tuple(int(n) for n in high - low)
    check_dimensions(shape, source, limits)
    affine = np.array(grid.affine)
    affine[:3, 3] += grid.affine[:3, :3] @ low
    return Grid(shape, affine)


def _has_slice_per_image(grid: Grid, structures: StructureSet) -> bool:
    """Say whether a grid is that of the images that contours were drawn on, converted to another format.

    It has as many slices as the file lists images, and every contour lies in one of them. The number of a case must not
    depend on whether its ground truth is kept as DICOM or as NIfTI.
    """
    points = [contour.points for roi in structures.rois for contour in roi.contours if len(contour.points)]
    if structures.image_count not in grid.shape or not points:
        return False
    inverse = np.linalg.inv(grid.affine)
    index = np.concatenate(points) @ inverse[:3, :3].T + inverse[:3, 3]
    off = np.abs(index - np.rint(index)).max(axis=0)
    return any(n == structures.image_count and off[axis] <= _ONE_PLANE for axis, n in enumerate(grid.shape))


def _plane_distance(rois: Sequence[Roi]) -> float:
    """Return the smallest distance in mm between parallel contour planes of one region, over all regions.

    It stands for the slice distance of the images that the contours were drawn on. 0 if there is none, or none that
    a slice distance could be.
    """
    gaps = [gap for roi in rois for gap in np.diff(_plane_heights(roi)).tolist() if gap > _LEAST_DISTANCE]
    smallest: float = min(gaps, default=0.0)
    return smallest if smallest <= _LARGEST_DISTANCE else 0.0


def _plane_heights(roi: Roi) -> list[float]:
    """Return where the contours parallel to the first one lie along its normal, in mm, ascending."""
    planes = [
        contour.points for contour in roi.contours if contour.kind.startswith("CLOSED") and len(contour.points) > 2
    ]
    normals = [_normal(points) for points in planes]
    parallel = [points for points, normal in zip(planes, normals, strict=True) if abs(normal @ normals[0]) > 0.999]
    return sorted(float(points[0] @ normals[0]) for points in parallel)


def _normal(points: Points) -> Points:
    """Return the unit normal of a closed contour (of length 0 if it encloses nothing), whichever way it is drawn."""
    around = points - points[0]
    normal: Points = np.cross(around, np.roll(around, -1, axis=0)).sum(axis=0)
    return normal / (float(np.linalg.norm(normal)) or 1.0)


def _blocks(
    roi: Roi, grid: Grid, slab_mm: float, slices: Points, notes: list[str], unfilled: set[int]
) -> Iterator[Block]:
    """Yield the filled slices of one region; one that cannot be filled on this grid goes into `unfilled`."""
    who = f"region {roi.number} ({roi.name})"
    usable = _usable(roi, who, notes)
    if not usable:
        notes.append(f"{who}: has no closed contour; its mask is empty")
        return
    inverse = np.linalg.inv(grid.affine)
    indexed = [contour.points @ inverse[:3, :3].T + inverse[:3, 3] for contour in usable]
    axis = _slice_axis(indexed, who, notes)
    if axis is None:
        unfilled.add(roi.number)
        return
    flat = [points for points in indexed if float(np.ptp(points[:, axis])) <= _FLAT]
    if len(flat) < len(indexed):
        notes.append(f"{who}: {counted(len(indexed) - len(flat), 'contour')} in no plane of the grid; dropped")
    if flat:
        owners = slices if axis == 2 else slices[:0]
        yield from _fill_planes(flat, axis, grid, slab_mm / grid.spacing[axis], owners, who, notes)


#: Contours that DICOM knows and that have no inside. No other text of a header is repeated in a note.
_ENCLOSING_NOTHING = ("POINT", "OPEN_PLANAR", "OPEN_NONPLANAR")


def _usable(roi: Roi, who: str, notes: list[str]) -> list[Contour]:
    """Return the closed contours of three points and more; tell of the others."""
    found = [contour.kind for contour in roi.contours if not contour.kind.startswith("CLOSED")]
    kinds = Counter(kind if kind in _ENCLOSING_NOTHING else "unknown" for kind in found)
    for kind, count in sorted(kinds.items()):
        notes.append(f"{who}: {counted(count, 'contour')} of type {kind}, which encloses nothing; dropped")
    closed = [contour for contour in roi.contours if contour.kind.startswith("CLOSED")]
    large = [contour for contour in closed if len(np.unique(contour.points, axis=0)) >= 3]
    if len(large) < len(closed):
        notes.append(f"{who}: {counted(len(closed) - len(large), 'contour')} of fewer than 3 different points; dropped")
    return large


def _slice_axis(indexed: Sequence[Points], who: str, notes: list[str]) -> int | None:
    """Return the grid axis that the contours are flat along: the slices if possible, else another one, else None."""
    flat = [[float(np.ptp(points[:, axis])) <= _FLAT for points in indexed] for axis in range(3)]
    counts = [sum(one) for one in flat]
    best = max((2, 1, 0), key=lambda axis: counts[axis])
    if counts[best] == 0:
        notes.append(f"{who}: its contours lie oblique to the grid and cannot be filled on it; its mask is empty. "
                     "Put the images they were drawn on next to the file")  # fmt: skip
        return None
    if best != 2:
        notes.append(f"{who}: its contours lie across axis {best} of the grid; they were filled in those planes")
    return best


def _fill_planes(
    flat: Sequence[Points], axis: int, grid: Grid, slab: float, owners: Points, who: str, notes: list[str]
) -> Iterator[Block]:
    """Give each slice the contour plane nearest to it, within half a slice or half a slab, and fill it.

    On the images they were drawn on, contours fill their own slice and nothing else. On a finer grid a plane stands
    for the slab around it, as thick as those slices were (`slab`, in slices of this grid); on a coarser one the
    nearest plane is taken. A slice further from any plane than that stays empty. Where the images are unevenly spaced
    (`owners`, their places), a plane fills all that is nearer to its own image than to any other.
    """
    heights = np.array([float(points[:, axis].mean()) for points in flat])
    order = np.argsort(heights, kind="stable")
    plane_of = np.zeros(len(flat), dtype=np.int64)
    plane_of[order] = np.cumsum(np.diff(heights[order], prepend=heights[order[0]]) > _ONE_PLANE)
    planes = np.array([heights[plane_of == k].mean() for k in range(int(plane_of.max()) + 1)])
    reach = max(1.0, slab) / 2
    if not owners.size:
        _note_gaps(planes, slab, grid.spacing[axis], who, notes)
    in_plane = [k for k in range(3) if k != axis]
    size = (grid.shape[in_plane[0]], grid.shape[in_plane[1]])
    beyond = sum(bool(np.any((p[:, in_plane] < -0.5) | (p[:, in_plane] > np.subtract(size, 0.5)))) for p in flat)
    if beyond:
        notes.append(f"{who}: {counted(beyond, 'contour')} reaching beyond the image; only the part inside was filled")
    count = grid.shape[axis]
    used = _owned_slices(planes, owners, count) if owners.size else _nearest_planes(planes, reach, count)
    _note_planes(planes, used, grid.spacing[axis], count, who, notes)
    repeated = 0
    for plane, slices in used.items():
        drawn = [points[:, in_plane] for k, points in enumerate(flat) if plane_of[k] == plane]
        once = without_repeats(drawn)
        repeated += len(drawn) - len(once)
        area = fill(once, size)
        spans = [slice(start, start + n) for start, n in zip(area.start, area.mask.shape, strict=True)]
        for index in slices:
            where: list[slice | int] = [spans[0], spans[1]]
            where.insert(axis, index)
            yield Block(tuple(where), area.mask)
    if repeated:
        notes.append(f"{who}: {counted(repeated, 'contour')} in the file more than once; counting once")


def _note_gaps(planes: Points, slab: float, thickness: float, who: str, notes: list[str]) -> None:
    """Tell what became of slices between contour planes, where planes skip slices throughout."""
    if slab > 1.01:
        notes.append(
            f"{who}: contour planes {slab * thickness:.3g} mm apart are taken for drawn on images of that slice "
            f"distance; they fill the slices around them, which lie {thickness:.3g} mm apart here"
        )
        return
    apart = float(np.diff(planes).min()) if len(planes) > 2 else 1.0
    if apart > 1.5:
        notes.append(
            f"{who}: contour planes lie {apart:.3g} slices apart, or further; the slices between them are empty, since "
            "nothing is interpolated"
        )


def _nearest_planes(planes: Points, reach: float, count: int) -> dict[int, list[int]]:
    """Return for each plane the slices it fills: those it is nearest to, from -reach up to but not +reach."""
    used: dict[int, list[int]] = {}
    slack = 1e-6
    first, last = (int(np.clip(edge, 0, count)) for edge in (planes[0] - reach - 1, planes[-1] + reach + 2))
    for index in range(first, last):
        above = int(np.searchsorted(planes, index - slack))
        candidates = [k for k in (above - 1, above) if 0 <= k < len(planes)]
        nearest = min(candidates, key=lambda k: abs(planes[k] - index) - (slack if planes[k] > index else 0))
        if -reach - slack <= index - planes[nearest] < reach - slack:
            used.setdefault(nearest, []).append(index)
    return used


def _owned_slices(planes: Points, owners: Points, count: int) -> dict[int, list[int]]:
    """Return for each plane the slices it fills: those nearer to its image than to any other, ties to the lower one."""
    middles = (owners[1:] + owners[:-1]) / 2
    image_of = np.searchsorted(middles, np.arange(count))
    own = np.searchsorted(middles, planes)
    inside = (planes > -0.5) & (planes < count - 0.5)
    return {k: np.flatnonzero(image_of == own[k]).tolist() for k in range(len(planes)) if inside[k]}


def _note_planes(
    planes: Points, used: dict[int, list[int]], thickness: float, count: int, who: str, notes: list[str]
) -> None:
    off = max((min(abs(planes[k] - index) for index in slices) for k, slices in used.items()), default=0.0)
    if off > 0.01:
        notes.append(f"{who}: contours lie up to {off * thickness:.3g} mm off the slices; the nearest slice was filled")
    outside = int(np.count_nonzero((planes < -0.5) | (planes > count - 0.5)))
    if outside:
        notes.append(f"{who}: {counted(outside, 'contour plane')} outside of the grid; dropped")
    between = len(planes) - len(used) - outside
    if between > 0:
        notes.append(f"{who}: {counted(between, 'contour plane')} nearest to no slice; dropped")
