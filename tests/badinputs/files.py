"""Write small files of every format byte by byte, right or with single fields spoilt."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian

SHAPE = (5, 6, 7)
AFFINE = np.array([[-0.8, 0, 0, 30], [0, -0.9, 0, 20], [0, 0, 2.5, -10], [0, 0, 0, 1.0]])
_CODES = {"uint8": 2, "int16": 4, "int32": 8, "float32": 16, "float64": 64, "int8": 256, "uint16": 512,
          "uint32": 768, "int64": 1024, "uint64": 1280, "complex64": 32}  # fmt: skip


def labels(shape: Sequence[int] = SHAPE, dtype: str = "uint8") -> np.ndarray:
    """Return a small label map with labels 0 to 3, every label at a known place."""
    array = np.zeros(shape, dtype=dtype)
    array[1:3, 1:4, 2:5] = 1
    array[3, 2:5, 1:6] = 2
    array[4, 5, 6] = 3
    return array


def nifti_bytes(array: np.ndarray, affine: np.ndarray = AFFINE, *, order: str = "<", **fields: Any) -> bytes:
    """Return a NIfTI-1 file; `fields` replaces header fields by name before writing."""
    values: dict[str, Any] = {
        "sizeof_hdr": 348,
        "dim": [array.ndim, *array.shape, *[1] * (7 - array.ndim)],
        "datatype": _CODES.get(array.dtype.name, 2),
        "bitpix": array.dtype.itemsize * 8,
        "pixdim": [1.0, *np.linalg.norm(affine[:3, :3], axis=0), 0, 0, 0, 0],
        "vox_offset": 352.0,
        "scl_slope": 0.0,
        "scl_inter": 0.0,
        "xyzt_units": 2,
        "qform_code": 0,
        "sform_code": 1,
        "quatern": [0.0, 0.0, 0.0],
        "qoffset": [0.0, 0.0, 0.0],
        "srow": affine[:3].ravel().tolist(),
        "magic": b"n+1\0",
        "glmin": 0,
        "extension": b"\0\0\0\0",
        **fields,
    }
    header = bytearray(348)
    for name, code, offset in (
        ("sizeof_hdr", "i", 0), ("dim", "8h", 40), ("datatype", "h", 70), ("bitpix", "h", 72), ("pixdim", "8f", 76),
        ("vox_offset", "f", 108), ("scl_slope", "f", 112), ("scl_inter", "f", 116), ("xyzt_units", "B", 123),
        ("glmin", "i", 144), ("qform_code", "h", 252), ("sform_code", "h", 254), ("quatern", "3f", 256),
        ("qoffset", "3f", 268), ("srow", "12f", 280), ("magic", "4s", 344),
    ):  # fmt: skip
        value = values[name]
        struct.pack_into(order + code, header, offset, *(value if isinstance(value, list) else [value]))
    data = array.astype(array.dtype.newbyteorder(order)).tobytes(order="F")
    return bytes(header) + values["extension"] + data


def nrrd_bytes(array: np.ndarray, fields: Mapping[str, str] | None = None, data: bytes | None = None) -> bytes:
    """Return an NRRD file, raw, in LPS at AFFINE; a field of value "" is left out."""
    columns = (np.diag([-1.0, -1.0, 1.0]) @ AFFINE[:3]).T
    values = {
        "type": array.dtype.name,
        "dimension": str(array.ndim),
        "space": "left-posterior-superior",
        "sizes": " ".join(map(str, array.shape)),
        "space directions": " ".join("({},{},{})".format(*column) for column in columns[:3]),
        "endian": "little",
        "encoding": "raw",
        "space origin": "({},{},{})".format(*columns[3]),
        **(fields or {}),
    }
    lines = [f"{key}: {value}" if not key.endswith(":=") else f"{key}{value}" for key, value in values.items() if value]
    return ("NRRD0004\n" + "\n".join(lines) + "\n\n").encode() + (array.tobytes(order="F") if data is None else data)


def metaimage_bytes(array: np.ndarray, fields: Mapping[str, str] | None = None, data: bytes | None = None) -> bytes:
    """Return an .mha file at AFFINE; a field of value "" is left out."""
    values = {
        "ObjectType": "Image",
        "NDims": str(array.ndim),
        "BinaryData": "True",
        "BinaryDataByteOrderMSB": "False",
        "CompressedData": "False",
        "TransformMatrix": "1 0 0 0 1 0 0 0 1",
        "Offset": "-30 -20 -10",
        "ElementSpacing": "0.8 0.9 2.5",
        "DimSize": " ".join(map(str, array.shape)),
        "ElementType": {"uint8": "MET_UCHAR", "int16": "MET_SHORT", "float32": "MET_FLOAT"}[array.dtype.name],
        **(fields or {}),
        "ElementDataFile": (fields or {}).get("ElementDataFile", "LOCAL"),
    }
    values["ElementDataFile"] = values.pop("ElementDataFile")
    text = "".join(f"{key} = {value}\n" for key, value in values.items() if value)
    return text.encode() + (array.tobytes(order="F") if data is None else data)


def dicom_file(path: Path, sop_class: str, modality: str, **elements: Any) -> FileDataset:
    """Return a data set that can be saved, with the elements every object has."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = sop_class
    meta.MediaStorageSOPInstanceUID = pydicom.uid.generate_uid(entropy_srcs=[path.name])
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    dataset.SOPClassUID, dataset.SOPInstanceUID = sop_class, meta.MediaStorageSOPInstanceUID
    dataset.Modality = modality
    dataset.StudyInstanceUID = "1.2.3"
    for name, value in elements.items():
        setattr(dataset, name, value)
    return dataset


def save(dataset: FileDataset, path: Path) -> Path:
    dataset.save_as(path, enforce_file_format=True)
    return path


def write_series(folder: Path, positions: Sequence[Sequence[float]], **elements: Any) -> Path:
    """Write one CT slice of 8 rows and 6 columns per position, with spacing 1.1 x 0.9."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, position in enumerate(positions):
        path = folder / f"slice{k + 1:02}.dcm"
        dataset = dicom_file(path, "1.2.840.10008.5.1.4.1.1.2", "CT")
        dataset.SeriesInstanceUID, dataset.FrameOfReferenceUID = "1.2.3.4", "1.2.3.5"
        dataset.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
        dataset.Rows, dataset.Columns = 8, 6
        dataset.PixelSpacing, dataset.SliceThickness = [1.1, 0.9], 2.0
        dataset.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
        dataset.ImagePositionPatient = list(position)
        for name, value in elements.items():
            chosen = value(k) if callable(value) else value
            if chosen is not None:
                setattr(dataset, name, chosen)
        save(dataset, path)
    return folder


def write_enhanced(path: Path, positions: Sequence[Sequence[float]], **elements: Any) -> Path:
    """Write one enhanced CT file with a frame of 8 rows and 6 columns per position, with spacing 1.1 x 0.9."""
    dataset = dicom_file(path, "1.2.840.10008.5.1.4.1.1.2.1", "CT")
    dataset.SeriesInstanceUID, dataset.FrameOfReferenceUID = "1.2.3.4", "1.2.3.5"
    dataset.Rows, dataset.Columns, dataset.NumberOfFrames = 8, 6, len(positions)
    measures = _sequence_item(PixelSpacing=[1.1, 0.9], SliceThickness=2.0)
    orientation = _sequence_item(ImageOrientationPatient=[1, 0, 0, 0, 1, 0])
    dataset.SharedFunctionalGroupsSequence = [
        _sequence_item(PixelMeasuresSequence=[measures], PlaneOrientationSequence=[orientation])
    ]
    dataset.PerFrameFunctionalGroupsSequence = [
        _sequence_item(PlanePositionSequence=[_sequence_item(ImagePositionPatient=list(position))])
        for position in positions
    ]
    for name, value in elements.items():
        setattr(dataset, name, value)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(dataset, path)
    return path.parent


def even_positions(count: int = 5, distance: float = 2.0) -> list[list[float]]:
    return [[-10.0, -20.0, 30.0 + distance * k] for k in range(count)]


def _sequence_item(**elements: Any) -> Dataset:
    item = Dataset()
    for name, value in elements.items():
        setattr(item, name, value)
    return item


def seg_dataset(path: Path, frames: Sequence[tuple[int, Sequence[float], np.ndarray]], **elements: Any) -> FileDataset:
    """Return a BINARY SEG of (segment, position, mask of 7 rows x 5 columns) frames; 35 bits a frame."""
    dataset = dicom_file(path, "1.2.840.10008.5.1.4.1.1.66.4", "SEG")
    dataset.SegmentationType = "BINARY"
    dataset.FrameOfReferenceUID = "1.2.3.5"
    dataset.Rows, dataset.Columns = frames[0][2].shape
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
    dataset.BitsAllocated = dataset.BitsStored = 1
    dataset.HighBit = dataset.PixelRepresentation = 0
    dataset.NumberOfFrames = len(frames)
    numbers = sorted({number for number, _, _ in frames})
    dataset.SegmentSequence = [_sequence_item(SegmentNumber=n, SegmentLabel=f"organ {n}") for n in numbers]
    measures = _sequence_item(PixelSpacing=[1.1, 0.9], SpacingBetweenSlices=2.0, SliceThickness=2.0)
    orientation = _sequence_item(ImageOrientationPatient=[1, 0, 0, 0, 1, 0])
    dataset.SharedFunctionalGroupsSequence = [
        _sequence_item(PixelMeasuresSequence=[measures], PlaneOrientationSequence=[orientation])
    ]
    dataset.PerFrameFunctionalGroupsSequence = [
        _sequence_item(
            PlanePositionSequence=[_sequence_item(ImagePositionPatient=list(position))],
            SegmentIdentificationSequence=[_sequence_item(ReferencedSegmentNumber=number)],
        )
        for number, position, _ in frames
    ]
    bits = np.concatenate([mask.ravel() for _, _, mask in frames])
    packed = np.packbits(bits.astype(np.uint8), bitorder="little").tobytes()
    dataset.PixelData = packed + b"\0" * (len(packed) % 2)
    for name, value in elements.items():
        if value is None:
            delattr(dataset, name)
        else:
            setattr(dataset, name, value)
    return dataset


def rtstruct_dataset(
    path: Path, regions: Sequence[tuple[str, Sequence[tuple[str, Sequence[Sequence[float]]]]]], **elements: Any
) -> FileDataset:
    """Return an RTSTRUCT of (name, [(type, points in LPS mm)]) regions."""
    dataset = dicom_file(path, "1.2.840.10008.5.1.4.1.1.481.3", "RTSTRUCT")
    frame = elements.pop("frame_of_reference", "1.2.3.5")
    series = _sequence_item(SeriesInstanceUID="1.2.3.4")
    study = _sequence_item(RTReferencedSeriesSequence=[series])
    dataset.ReferencedFrameOfReferenceSequence = [
        _sequence_item(FrameOfReferenceUID=frame, RTReferencedStudySequence=[study])
    ]
    dataset.StructureSetROISequence = [
        _sequence_item(ROINumber=k, ROIName=name, ReferencedFrameOfReferenceUID=frame)
        for k, (name, _) in enumerate(regions, start=1)
    ]
    dataset.ROIContourSequence = [
        _sequence_item(
            ReferencedROINumber=k,
            ContourSequence=[
                _sequence_item(
                    ContourGeometricType=kind,
                    NumberOfContourPoints=len(points),
                    ContourData=[round(float(value), 9) for point in points for value in point],
                )
                for kind, points in contours
            ],
        )
        for k, (_, contours) in enumerate(regions, start=1)
    ]
    for name, value in elements.items():
        setattr(dataset, name, value)
    return dataset
