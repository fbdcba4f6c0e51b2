"""One scene of three organs, written in every format that can be, and every way to name its structures."""

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import nibabel
import numpy as np

from segauge.grid import Grid
from segauge.io import write_nifti
from tests.badinputs.files import (
    even_positions,
    metaimage_bytes,
    nifti_bytes,
    nrrd_bytes,
    rtstruct_dataset,
    save,
    seg_dataset,
    write_series,
)

#: The grid of `write_series`: 6 columns of 0.9 mm, 8 rows of 1.1 mm, 8 slices of 2 mm, in LPS from (-10, -20, 30).
SHAPE = (6, 8, 8)
PLACES = even_positions(SHAPE[2])
AFFINE = np.array([[-0.9, 0, 0, 10], [0, -1.1, 0, 20], [0, 0, 2.0, 30], [0, 0, 0, 1.0]])
NUMBERS = {"kidney": 1, "tumor": 2, "vein": 7}


def boxes(*corners):
    mask = np.zeros(SHAPE, dtype=bool)
    for (x0, x1), (y0, y1), (z0, z1) in corners:
        mask[x0:x1, y0:y1, z0:z1] = True
    return mask


#: The truth, and a prediction of it that is wrong in every structure.
TRUTH = {
    "kidney": boxes(((0, 3), (0, 4), (1, 6))),
    "tumor": boxes(((3, 5), (1, 4), (2, 5))),
    "vein": boxes(((0, 2), (5, 8), (0, 2)), ((3, 6), (6, 8), (4, 7))),
}
GUESS = {
    "kidney": boxes(((0, 3), (0, 3), (1, 7))),
    "tumor": boxes(((3, 6), (1, 4), (3, 5))),
    "vein": boxes(((0, 2), (4, 8), (0, 2)), ((4, 6), (6, 8), (4, 6)), ((4, 6), (1, 3), (6, 8))),
}
UNRELATED = boxes(((5, 6), (0, 1), (0, 8)))


@dataclass(frozen=True)
class Scene:
    """Masks by name, and the number of each in files that have numbers."""

    masks: Mapping[str, np.ndarray]
    numbers: Mapping[str, int]

    def numbered(self) -> dict[int, np.ndarray]:
        return {number: self.masks[name] for name, number in sorted(self.numbers.items(), key=lambda item: item[1])}

    def names(self) -> dict[int, str]:
        return {number: name for name, number in sorted(self.numbers.items(), key=lambda item: item[1])}

    def array(self) -> np.ndarray:
        array = np.zeros(SHAPE, dtype=np.uint8)
        for number, mask in self.numbered().items():
            array[mask] = number
        return array

    def renumbered(self, **numbers: int) -> "Scene":
        return replace(self, numbers=numbers)

    def and_unrelated(self, number: int) -> "Scene":
        return Scene({**self.masks, "aorta": UNRELATED}, {**self.numbers, "aorta": number})


SCENE, OTHER = Scene(TRUTH, NUMBERS), Scene(GUESS, NUMBERS)


def as_npy(folder: Path, scene: Scene) -> Path:
    np.save(folder / "a.npy", scene.array())
    (folder / "a.json").write_text(json.dumps({"affine": AFFINE.tolist()}))
    return folder / "a.npy"


def as_nifti(folder: Path, scene: Scene) -> Path:
    nibabel.save(nibabel.Nifti1Image(scene.array(), AFFINE), folder / "a.nii.gz")
    return folder / "a.nii.gz"


def as_nifti_with_names(folder: Path, scene: Scene) -> Path:
    rows = "".join(f'<Label Key="{number}"><![CDATA[{name}]]></Label>' for number, name in scene.names().items())
    xml = f"<CaretExtension><VolumeInformation><LabelTable>{rows}</LabelTable></VolumeInformation></CaretExtension>"
    size = (len(xml) + 8 + 15) // 16 * 16
    extension = b"\1\0\0\0" + struct.pack("<2i", size, 0) + xml.encode().ljust(size - 8, b"\0")
    data = nifti_bytes(scene.array(), AFFINE, extension=extension, vox_offset=348.0 + len(extension))
    (folder / "a.nii").write_bytes(data)
    return folder / "a.nii"


LPS_FIELDS = {"space directions": "(0.9,0,0) (0,1.1,0) (0,0,2)", "space origin": "(-10,-20,30)"}


def as_nrrd(folder: Path, scene: Scene) -> Path:
    (folder / "a.nrrd").write_bytes(nrrd_bytes(scene.array(), LPS_FIELDS))
    return folder / "a.nrrd"


def as_metaimage(folder: Path, scene: Scene) -> Path:
    fields = {"ElementSpacing": "0.9 1.1 2.0", "Offset": "-10 -20 30"}
    (folder / "a.mha").write_bytes(metaimage_bytes(scene.array(), fields))
    return folder / "a.mha"


def as_seg_nrrd(folder: Path, scene: Scene) -> Path:
    """Two layers, as 3D Slicer writes where segments overlap: the first segment alone, then the others."""
    first = next(iter(scene.names()))
    layers = np.zeros((2, *SHAPE), dtype=np.uint8)
    fields = {**LPS_FIELDS, "kinds": "list domain domain domain"}
    fields["space directions"] = "none " + fields["space directions"]
    for k, (number, name) in enumerate(scene.names().items()):
        layers[int(number != first)][scene.masks[name]] = number
        fields |= {f"Segment{k}_Name:=": name, f"Segment{k}_LabelValue:=": str(number)}
        fields[f"Segment{k}_Layer:="] = str(int(number != first))
    (folder / "a.seg.nrrd").write_bytes(nrrd_bytes(layers, fields))
    return folder / "a.seg.nrrd"


def _segmentation(folder: Path, scene: Scene):
    frames = [
        (number, PLACES[k], mask[:, :, k].T.astype(np.uint8))
        for number, mask in scene.numbered().items()
        for k in range(SHAPE[2])
        if mask[:, :, k].any()
    ]
    dataset = seg_dataset(folder / "a.dcm", frames)
    for item in dataset.SegmentSequence:
        item.SegmentLabel = scene.names()[int(item.SegmentNumber)]
    return dataset, frames


def _with_bytes(dataset, frames):
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.HighBit = 7
    pixels = b"".join(np.ascontiguousarray(frame, dtype=np.uint8).tobytes() for frame in frames)
    dataset.PixelData = pixels + b"\0" * (len(pixels) % 2)
    return dataset


def as_dicom_binary(folder: Path, scene: Scene) -> Path:
    return save(_segmentation(folder, scene)[0], folder / "a.dcm")


def as_dicom_fractional(folder: Path, scene: Scene) -> Path:
    dataset, frames = _segmentation(folder, scene)
    dataset.SegmentationType, dataset.SegmentationFractionalType = "FRACTIONAL", "PROBABILITY"
    dataset.MaximumFractionalValue = 200
    return save(_with_bytes(dataset, [150 * frame for _, _, frame in frames]), folder / "a.dcm")


def as_dicom_labelmap(folder: Path, scene: Scene) -> Path:
    dataset, _ = _segmentation(folder, scene)
    groups = dataset.PerFrameFunctionalGroupsSequence
    planes = [scene.array()[:, :, k].T for k in range(SHAPE[2])]
    kept = groups[: len(planes)]
    for place, group in zip(PLACES, kept, strict=True):
        group.PlanePositionSequence[0].ImagePositionPatient = place
        del group.SegmentIdentificationSequence
    dataset.PerFrameFunctionalGroupsSequence, dataset.NumberOfFrames = kept, len(planes)
    dataset.SegmentationType = "LABELMAP"
    return save(_with_bytes(dataset, planes), folder / "a.dcm")


def as_structure_set(folder: Path, scene: Scene) -> Path:
    """Contours of boxes, half a voxel outside of the outer centres, beside the series that they are drawn on."""
    write_series(folder / "ct", PLACES)
    regions = [(name, _contours(scene.masks[name])) for name in scene.names().values()]
    dataset = rtstruct_dataset(folder / "a.dcm", regions)
    for item, roi, number in zip(
        dataset.StructureSetROISequence, dataset.ROIContourSequence, scene.names(), strict=True
    ):
        item.ROINumber = roi.ReferencedROINumber = number
    return save(dataset, folder / "a.dcm")


def _contours(mask):
    contours = []
    for k, (_, _, z) in enumerate(PLACES):
        for box in _rectangles(mask[:, :, k]):
            (x0, x1), (y0, y1) = box
            corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
            contours.append(("CLOSED_PLANAR", [[-10 + 0.9 * (x - 0.5), -20 + 1.1 * (y - 0.5), z] for x, y in corners]))
    return contours


def _rectangles(plane):
    """Yield the rectangles of a plane; those of one structure do not touch in these scenes."""
    left = plane.copy()
    while left.any():
        x0, y0 = (int(edge) for edge in np.argwhere(left)[0])
        x1 = x0 + int(np.argmin([*left[x0:, y0], False]))
        y1 = y0 + int(np.argmin([*left[x0, y0:], False]))
        left[x0:x1, y0:y1] = False
        yield (x0, x1), (y0, y1)


def as_masks(folder: Path, scene: Scene) -> Path:
    (folder / "a").mkdir()
    for name in scene.numbers:
        write_nifti(folder / "a" / f"{name}.nii.gz", scene.masks[name].astype(np.uint8), Grid(SHAPE, AFFINE))
    return folder / "a"


@dataclass(frozen=True)
class Format:
    """A format, and whether its files have names and numbers of their own for their structures."""

    write: Callable[[Path, Scene], Path]
    has_names: bool = True
    has_numbers: bool = True


FORMATS = {
    "npy": Format(as_npy, has_names=False),
    "nifti": Format(as_nifti, has_names=False),
    "nrrd": Format(as_nrrd, has_names=False),
    "mha": Format(as_metaimage, has_names=False),
    "nifti with a label table": Format(as_nifti_with_names),
    "seg.nrrd with layers": Format(as_seg_nrrd),
    "DICOM-SEG binary": Format(as_dicom_binary),
    "DICOM-SEG fractional": Format(as_dicom_fractional),
    "DICOM-SEG labelmap": Format(as_dicom_labelmap),
    "RTSTRUCT": Format(as_structure_set),
    "a file per structure": Format(as_masks, has_numbers=False),
}

#: Ways to say what is measured. "text" is read from a file of that name; the others are arguments of `evaluate`.
SPECS = {
    "all": "all",
    "foreground": "foreground",
    "numbers": [1, 2, 7],
    "own names": {"kidney": 1, "tumor": 2},
    "a union that contains the other": {"kidney": [1, 2], "tumor": 2},
    "a number under another's name": {"kidney": 2},
    "a union under a name of a part": {"tumor": [1, 2]},
    "two names exchanged": {"kidney": 2, "tumor": 1},
    "a union under a name of neither": {"vein": [1, 7], "kidney": 1},
    "a union of all": {"organs": [1, 2, 7], "tumor": 2},
    "three names in a circle": {"tumor": 1, "vein": 2, "kidney": 7},
    "names": ["kidney", "vein"],
    "names in other capitals": ["Kidney", "TUMOR"],
    "a union of names": {"both": ["kidney", "tumor"], "tumor": ["tumor"]},
    "a union of names under a name of a part": {"tumor": ["kidney", "tumor"], "vein": "vein"},
    "names exchanged": {"kidney": "tumor", "tumor": "kidney"},
    "a number and a name": {"kidney": [1, "tumor"], "tumor": 2},
    "a YAML file": Path("structures.yaml"),
    "regions of a dataset.json": Path("dataset.json"),
}
FILES = {
    "structures.yaml": "structures:\n  kidney: [1, 2]\n  tumor: 2\nignore: 9\n",
    "dataset.json": json.dumps(
        {"labels": {"background": 0, "kidney": [1, 2, 7], "tumor": 2, "vein": [2, 7]}, "regions_class_order": [1, 2, 7]}
    ),
}

#: What a folder of masks cannot be asked: it has no numbers, and no mask of these names.
_NOT_OF_FOLDERS = ("numbers", "a union of all", "a number and a name")


def parts_of(spec):
    """Return the parts of a spec that are given in memory."""
    listed = spec.values() if isinstance(spec, dict) else spec
    return [part for one in listed for part in (one if isinstance(one, list) else [one])]


def fits(form: Format, way: str) -> bool:
    """Say whether files of this format can be asked for structures in this way."""
    spec = SPECS[way]
    if isinstance(spec, (str, Path)):
        return True
    has_words = any(isinstance(part, str) for part in parts_of(spec))
    return (form.has_names or not has_words) and (form.has_numbers or way not in _NOT_OF_FOLDERS)


def given(way: str, folder: Path):
    """Return a spec as `evaluate` takes it; files are written to the folder."""
    spec = SPECS[way]
    if not isinstance(spec, Path):
        return spec
    (folder / spec.name).write_text(FILES[spec.name])
    return str(folder / spec.name)


def as_text(way: str, folder: Path) -> str:
    """Return a spec as the command line takes it."""
    spec = given(way, folder)
    if isinstance(spec, str):
        return spec
    if isinstance(spec, list):
        return ",".join(map(str, spec))
    joined = {name: parts if isinstance(parts, list) else [parts] for name, parts in spec.items()}
    return ",".join(f"{name}={'+'.join(map(str, parts))}" for name, parts in joined.items())
