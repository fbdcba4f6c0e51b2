"""Images of any format, for pictures: what read_labels reads as labels, and DICOM series, as real numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import MissingExtra, UnreadableFile
from segauge.io.dicom_files import parser_failures, read_dataset, require_pydicom
from segauge.io.dicom_planes import Vector, functional_group, position_of
from segauge.io.dicom_series import read_series
from segauge.io.formats import identify
from segauge.io.gate import DEFAULT_LIMITS, Limits
from segauge.io.images import Image
from segauge.io.reading import ReadOptions
from segauge.labelmap import LabelMap

Slice = npt.NDArray[np.float32]


def read_dicom_image(place: Path, *, limits: Limits = DEFAULT_LIMITS) -> Image:
    """Return the image of the series in a folder (or of one multi-frame file), axes (column, row, slice).

    Values are rescaled by slope and intercept of each slice. Slices that are unevenly spaced are taken on an even
    grid, each voxel from the nearest slice.
    """
    series = read_series(place, allow_nonuniform=True, limits=limits)
    normal = _normal(series.grid.affine[:3, :3])
    found = [one for path in series.files for one in _slices(path, limits)]
    found.sort(key=lambda one: float(one[0] @ normal))
    columns, rows, slices = series.grid.shape
    if len(found) != (len(series.places) or slices):
        raise UnreadableFile(f"{place}: {slices} slices were described, {len(found)} have pixels. Export it again.")
    array = np.empty((columns, rows, slices), dtype=np.float32, order="F")
    places = np.asarray(series.places or range(slices), dtype=np.float64)
    for k in range(slices):
        pixels = found[int(np.argmin(np.abs(places - k)))][1]
        if pixels.shape != (rows, columns):
            raise UnreadableFile(f"{place}: a slice decodes to {pixels.shape}, expected {(rows, columns)}.")
        array[:, :, k] = pixels.T
    return Image(array, series.grid, str(place))


def _normal(axes: npt.NDArray[np.float64]) -> Vector:
    """Return the direction across the slices in DICOM's own coordinates (left, back, up)."""
    across = np.cross(axes[:, 0], axes[:, 1])
    return np.asarray(across * np.array([-1.0, -1.0, 1.0]) / np.linalg.norm(across))


def _slices(path: Path, limits: Limits) -> Iterator[tuple[Vector, Slice]]:
    """Yield position and values of every slice of a file."""
    dataset = read_dataset(path, limits, pixels=True)
    pydicom = require_pydicom(str(path))
    with parser_failures(str(path)):
        frames = dataset.get("PerFrameFunctionalGroupsSequence")
        try:
            pixels = np.asarray(pydicom.pixels.pixel_array(dataset))
        except (RuntimeError, NotImplementedError, ImportError) as error:
            raise MissingExtra(
                f"{path}: its pixels need a codec that is not installed ({str(error).splitlines()[0][:200]}). "
                "Run: pip install 'segauge[dicom]'"
            ) from error
        if not frames:
            yield position_of(dataset.get("ImagePositionPatient"), str(path)), _rescaled(pixels, dataset)
            return
        shared = (dataset.get("SharedFunctionalGroupsSequence") or [None])[0]
        for own, frame in zip(frames, pixels.reshape(-1, *pixels.shape[-2:]), strict=True):
            where = functional_group(own, shared, "PlanePositionSequence").get("ImagePositionPatient")
            values = functional_group(own, shared, "PixelValueTransformationSequence") or dataset
            yield position_of(where, str(path)), _rescaled(frame, values)


def _rescaled(pixels: npt.NDArray[Any], rule: Any) -> Slice:
    if pixels.ndim != 2:
        raise UnreadableFile(f"A slice has {pixels.ndim} axes (colour?), expected rows and columns of one value each.")
    slope, intercept = float(rule.get("RescaleSlope") or 1.0), float(rule.get("RescaleIntercept") or 0.0)
    return np.asarray(pixels, dtype=np.float32) * np.float32(slope) + np.float32(intercept)


def read_any_image(source: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Image:
    """Read an image of two or three axes: a file of any format that label maps can have, or a DICOM series.

    A DICOM series is its folder, or one enhanced multi-frame file; its rescale slope and intercept are applied.

    Raises:
        UnreadableFile: if it cannot be read, or holds several volumes or channels.

    """
    place = Path(source)
    if place.is_dir() or identify(place).key == "dicom":
        return read_dicom_image(place, limits=limits)
    reading = identify(place).read(place, ReadOptions(real_values=True, limits=limits))
    return image_of(reading.labels)


def labels_of(image: Image) -> LabelMap:
    """Return an image as a label map whose labels are the bits of its values, to be placed as label maps are.

    Placing moves voxels and fills with 0; no value of the image has these bits, so `image_of` knows what is outside.
    """
    values = np.where(image.array == 0, np.float32(-0.0), image.array).astype(np.float32, copy=False)
    return LabelMap((values.view(np.int32),), image.grid, source="image", in_space=image.in_space)


def image_of(bits: LabelMap, *, outside: float = 0.0) -> Image:
    """Return the image whose values are the bits of a label map; voxels without any get the value `outside`."""
    if len(bits.layers) != 1:
        raise UnreadableFile(f"{bits.source}: holds {len(bits.layers)} volumes or channels, expected one image.")
    layer = bits.layers[0]
    values = layer.astype(np.int32, copy=False).view(np.float32)
    if outside != 0.0:
        values = np.where(layer == 0, np.float32(outside), values)
    return Image(values, bits.grid, bits.source, bits.in_space)
