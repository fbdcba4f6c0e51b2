"""One folder per case: TotalSegmentator (a mask per structure, or one --ml file), KiTS, and others like them."""

from __future__ import annotations

import re
from pathlib import Path

from segauge.errors import InvalidInput, SegaugeError, UnusableOption, option
from segauge.grid import Kinship
from segauge.io.dicom_objects import dicom_files_in
from segauge.io.formats import identify, image_stem
from segauge.io.layouts.pairs import Pairing, image_files, once_each, paired
from segauge.io.reading import DEFAULT_OPTIONS
from segauge.io.sources import mask_files
from segauge.io.streams import list_folder

#: What a segmentation is called where it lies beside its image; tried in this order.
_SEGMENTATION_NAMES = ("segmentation", "segmentations", "seg", "labels", "label", "mask", "aggregated_seg")
#: What the image is called.
_IMAGE_NAMES = ("ct", "mri", "mr", "imaging", "image")


#: Words of anatomy and oncology: names of files that have one are names of structures.
_ANATOMY = """
    abdomen adrenal amygdala antrum aorta aortic appendage appendix artery atrial atrium autochthon bladder bone
    bowel brachiocephalic brain brainstem breast bronchus cardiac carotid cartilage cauda caudate cava cavity
    cerebellum cerebrum cervix chiasm chiasma clavicle clavicula cochlea colon cord cortex costal ctv cyst duodenum
    edema enhancing esophagus eye eyeball femoral femur fibula gallbladder gland gluteus gtv gtvn gtvp head heart
    hemorrhage hepatic hip hippocampus humerus hypophysis iliac iliopsoas infarct intestine ivc jaw jejunum kidney
    lacrimal larynx lesion lips liver lobe lung lymph mandible masseter maxilla mediastinum metastasis mucosa muscle
    myocardium nasopharynx neck necrosis necrotic nerve nodule nrv oesophagus optic oral orbit ovary pallidum
    pancreas parotid patella pelvis pharynx pituitary pleura pons portal postcava prostate psoas ptv pulmonary
    putamen rectum renal retina rib sacrum scapula skin skull spinal spine spleen sternum stomach striatum
    subclavian submandibular tendon testis thalamus thorax thymus thyroid tibia tissue tongue trachea tumor tumour
    urethra uterus vein vena ventricle vertebra vertebrae vessel vessels
"""


def are_masks(pred: Path, gt: Path) -> bool:
    """Return True for a folder of masks against one file, and for two folders of one case's masks."""
    if not gt.is_dir():
        return pred.is_dir() and bool(mask_files(pred))
    if gt.name == "segmentations" or pred.is_file():
        return bool(mask_files(gt))
    return are_named_masks(gt) and not image_files(gt).keys().isdisjoint(image_files(pred))


def are_named_masks(folder: Path) -> bool:
    """Return True where the files of a folder have names of structures, and are masks on one grid.

    Raises:
        UnusableOption: if they lie on one grid, and only some of them have such names.

    """
    files = image_files(folder)
    # liver_0, liver_1, ... are cases of one dataset.
    if len({re.sub(r"\d+", "", name) for name in files}) < 2:
        return False
    named = [name for name in files if is_structure_name(name)]
    if not named or not _share_a_grid(list(files.values())):
        return False
    if len(named) == len(files):
        return True
    other = next(name for name in files if name not in named)
    raise UnusableOption(
        f"{folder}: {named[0]!r} is the name of a structure and {other!r} is not, and the files lie on one grid. "
        f"Pass {option('layout', 'masks')} if they are the structures of one case, {option('layout', 'files')} if each "
        "is a case."
    )


def is_structure_name(name: str) -> bool:
    """Return whether a word of a name is one of anatomy, such as in kidney_left, Optic-Nerves or LungUpperLobe."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    known = set(_ANATOMY.split())
    return any(word.lower() in known or word.lower().removesuffix("s") in known for word in words)


def _share_a_grid(files: list[Path]) -> bool:
    """Return whether the first, the middle and the last of these files hold one structure each, on one grid."""
    first = None
    for path in (files[0], files[len(files) // 2], files[-1]):
        try:
            labels = identify(path).read(path, DEFAULT_OPTIONS).labels
        except SegaugeError:
            return False
        first = first or labels
        other_frame = labels.frame_of_reference != first.frame_of_reference
        if other_frame or labels.grid.relation_to(first.grid).kind is not Kinship.SAME or len(labels.labels()) > 1:
            return False
    return True


def find_masks(pred: Path, gt: Path) -> Pairing:
    """Take both sides as one case: a folder of masks each, or a file of several labels."""
    case = gt.parent.name if gt.name == "segmentations" else image_stem(gt.name) or gt.name
    return paired("masks", {case: pred}, {case: gt}, structures="all")


def recognises(pred: Path, gt: Path) -> bool:
    """Return True where the ground truth has a folder per case and no files of its own."""
    return gt.is_dir() and pred.is_dir() and not image_files(gt) and bool(_case_folders(gt))


def find(pred: Path, gt: Path) -> Pairing:
    """Pair the folders of both sides by name; a prediction may also be one file beside the others."""
    gts = {folder.name: segmentation_in(folder) for folder in _case_folders(gt)}
    in_folders = [(folder.name, segmentation_in(folder)) for folder in _case_folders(pred)]
    preds = once_each([*in_folders, *image_files(pred).items()])
    for case in gts.keys() & preds.keys():
        preds[case], gts[case] = _as_masks(preds[case], gts[case], pred), _as_masks(gts[case], preds[case], gt)
    several = any(path.is_dir() for path in (*gts.values(), *preds.values()))
    return paired("folders", preds, gts, structures="all" if several else None)


def _as_masks(one: Path, other: Path, root: Path) -> Path:
    """Return the folder of a file that is the only mask of its case, where the other side has a folder of masks.

    Otherwise the name of the one structure that somebody predicted would be lost.
    """
    alone = one.is_file() and one.parent.parent == root and len(mask_files(one.parent)) == 1
    return one.parent if alone and other.is_dir() and image_stem(one.name) in mask_files(other) else one


def segmentation_in(folder: Path) -> Path:
    """Return the segmentation in the folder of one case: a file, or the folder of its masks; refuse two of one name."""
    entries: dict[str, Path] = {}
    twice: dict[str, Path] = {}
    kinds = dicom_files_in(folder)
    for path in list_folder(folder):
        if kinds.get(path) in ("image", "other"):
            continue
        is_dicom = path in kinds or path.suffix == ".dcm"
        stem = path.name if path.is_dir() else path.name.removesuffix(".dcm") if is_dicom else image_stem(path.name)
        if stem is not None and not path.name.startswith("."):
            (twice if stem.lower() in entries else entries)[stem.lower()] = path
    for name in _SEGMENTATION_NAMES:
        if name in twice:
            raise InvalidInput(f"{entries[name]} and {twice[name]} are both {name!r}. Which one counts? Remove one.")
        if name in entries:
            return entries[name]
    files = [path for name, path in entries.items() if path.is_file() and name not in _IMAGE_NAMES]
    if len(files) == 1:
        return files[0]
    dicom = [path.name for path in files if path in kinds]
    if len(dicom) > 1:
        raise InvalidInput(
            f"{folder}: holds {len(dicom)} DICOM segmentations ({', '.join(dicom[:3])}). Leave one of them."
        )
    if not files:
        raise InvalidInput(f"{folder}: holds no segmentation; expected one such as segmentation.nii.gz.")
    return folder


def _case_folders(folder: Path) -> list[Path]:
    return [
        path for path in list_folder(folder) if path.is_dir() and not path.name.startswith(".") and _holds_any(path)
    ]


def _holds_any(folder: Path) -> bool:
    entries = list_folder(folder)
    named = any(path.is_dir() or image_stem(path.name) or path.suffix == ".dcm" for path in entries)
    return named or bool(dicom_files_in(folder))
