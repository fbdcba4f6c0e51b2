"""Folders that are wrong as a whole: each generator writes pred/ and gt/ and returns further arguments."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.badinputs.files import AFFINE, nifti_bytes


@dataclass(frozen=True)
class BadDataset:
    number: int
    name: str
    make: Callable[[Path], list[str]]
    code: int
    says: str = ""
    noted: str = ""
    csv: str = ""
    rows: dict[str, dict[str, object]] = field(default_factory=dict)


DATASETS: list[BadDataset] = []


def bad_dataset(number: int, **facts: object) -> Callable[[Callable[[Path], list[str]]], Callable[[Path], list[str]]]:
    def add(make: Callable[[Path], list[str]]) -> Callable[[Path], list[str]]:
        DATASETS.append(BadDataset(number, make.__name__, make, **facts))  # type: ignore[arg-type]
        return make

    return add


def box(label: int = 1) -> np.ndarray:
    array = np.zeros((8, 9, 10), dtype=np.uint8)
    array[2:6, 2:6, 2:6] = label
    return array


def write(folder: Path, case: str, pred: np.ndarray | None, gt: np.ndarray, suffix: str = ".nii") -> None:
    for side, array in (("pred", pred), ("gt", gt)):
        (folder / side).mkdir(exist_ok=True)
        if array is not None:
            (folder / side / f"{case}{suffix}").write_bytes(nifti_bytes(array, AFFINE))


def write_bytes(folder: Path, case: str, data: bytes) -> None:
    for side in ("pred", "gt"):
        (folder / side).mkdir(exist_ok=True)
        (folder / side / f"{case}.nii").write_bytes(data)


EDGELESS = {"pixdim": [1, 0, 0.9, 2.5, 0, 0, 0, 0], "sform_code": 0}


@bad_dataset(
    10,
    code=3,
    says=r"a: ground truth unreadable: .*no usable voxel edges, so hd, hd95, assd \.\.\. cannot be had in mm",
)
def no_voxel_edges_for_distances(folder: Path) -> list[str]:
    write_bytes(folder, "a", nifti_bytes(box(), AFFINE, **EDGELESS))
    return []


@bad_dataset(10, code=0, rows={"a": {"dice": 1.0, "iou": 1.0}})
def no_voxel_edges_for_counts(folder: Path) -> list[str]:
    write_bytes(folder, "a", nifti_bytes(box(), AFFINE, **EDGELESS))
    return ["--metrics", "dice,iou"]


@bad_dataset(10, code=0, rows={"a": {"gt_volume": 4 * 4 * 4 * 2 * 0.001}})
def voxel_edges_from_the_user(folder: Path) -> list[str]:
    write_bytes(folder, "a", nifti_bytes(box(), AFFINE, **EDGELESS))
    return ["--spacing", "1,1,2"]


@bad_dataset(10, code=0, says="1 ground truth knows no voxel edges, such as that of 'a': 1 mm was assumed")
def numpy_files_without_spacing(folder: Path) -> list[str]:
    for side in ("pred", "gt"):
        (folder / side).mkdir()
        np.save(folder / side / "a.npy", box())
    return []


@bad_dataset(21, code=3, says=r"a: ground truth unreadable: .*time series of 2 volumes. Pass --frame")
def time_series(folder: Path) -> list[str]:
    write_bytes(folder, "a", nifti_bytes(np.stack([box(), 2 * box()], axis=-1), AFFINE, xyzt_units=2 | 8))
    return []


@bad_dataset(21, code=0, noted="frame 1 of 2 was taken", rows={"a": {"dice": 1.0, "structure": "label 2"}})
def time_series_with_a_frame(folder: Path) -> list[str]:
    return [*time_series(folder), "--frame", "1", "--structures", "2"]


@bad_dataset(23, code=0, noted="values of at least 0.5 were taken", rows={"a": {"dice": 1.0}})
def probabilities_with_a_threshold(folder: Path) -> list[str]:
    write(folder, "a", box() * np.float32(0.75), box())
    return ["--threshold", "0.5"]


@bad_dataset(24, code=0, noted="1 voxel is NaN or infinite: taken as background", rows={"a": {"dice": 1.0}})
def not_a_number_as_background(folder: Path) -> list[str]:
    array = box().astype(np.float32)
    array[0, 0, 0] = np.nan
    write_bytes(folder, "a", nifti_bytes(array, AFFINE))
    return ["--nan", "background"]


@bad_dataset(7, code=3, says=r"a: ground truth unreadable: .*720 voxels, more than the limit of 500")
def larger_than_allowed(folder: Path) -> list[str]:
    write(folder, "a", box(), box())
    return ["--max-voxels", "500"]


@bad_dataset(28, code=1, says=r"'label 99' occurs in none of 1 ground truth")
def label_in_no_ground_truth(folder: Path) -> list[str]:
    write(folder, "a", box(99), box())
    return ["--label", "99"]


@bad_dataset(29, code=0, noted=r"has labels that were not asked for: 7 \(64 voxels\)")
def unknown_label_in_a_prediction(folder: Path) -> list[str]:
    write(folder, "a", box(), box())
    write(folder, "b", box(7), box())
    return ["--structures", "1"]


STATES = {
    "both": {"status": "present", "dice": 1.0},
    "gt": {"status": "missed", "dice": 0.0, "hd95": None},
    "pred": {"status": "spurious", "dice": 0.0, "hd95": None},
    "none": {"status": "absent", "dice": None, "hd95": None},
}


@bad_dataset(30, code=0, says="1 missed, 1 spurious", rows=STATES)
def label_in_one_mask_only(folder: Path) -> list[str]:
    empty = box(0)
    for case, pred, gt in (
        ("both", box(), box()),
        ("gt", empty, box()),
        ("pred", box(), empty),
        ("none", empty, empty),
    ):
        write(folder, case, pred, gt)
    return []


@bad_dataset(31, code=0, rows={"full": {"dice": 1.0, "hd": 0.0, "nsd": 1.0}, "border": {"dice": 1.0, "hd": 0.0}})
def foreground_up_to_the_border(folder: Path) -> list[str]:
    write(folder, "full", np.ones((6, 7, 8), np.uint8), np.ones((6, 7, 8), np.uint8))
    border = box(0)
    border[:3] = 1
    write(folder, "border", border, border)
    return []


@bad_dataset(32, code=0, rows={name: {"dice": 1.0, "hd": 0.0} for name in ("voxel", "slice", "row", "line")})
def smallest_objects(folder: Path) -> list[str]:
    voxel, one_slice, row = box(0), box(0), box(0)
    voxel[3, 3, 3] = one_slice[:, :, 4] = row[:, 2, 2] = 1
    line = np.zeros((1, 1, 9), dtype=np.uint8)
    line[0, 0, 2:5] = 1
    for case, array in (("voxel", voxel), ("slice", one_slice), ("row", row), ("line", line)):
        write(folder, case, array, array)
    return []


@bad_dataset(33, code=0, rows={"salt": {"dice": 1.0, "det_f1": 1.0}})
def a_hundred_thousand_components(folder: Path) -> list[str]:
    salt = np.zeros((96, 96, 96), dtype=np.uint8)
    salt[::2, ::2, ::2] = 1  # 110592 voxels that touch nobody
    write(folder, "salt", salt, salt)
    return ["--metrics", "dice,det_f1"]


@bad_dataset(
    34, code=3, says="1 of 2 cases has no prediction: 'b'", rows={"b": {"status": "prediction missing", "dice": None}}
)
def missing_prediction(folder: Path) -> list[str]:
    write(folder, "a", box(), box())
    write(folder, "b", None, box())
    return []


@bad_dataset(34, code=0, says="1 of 2 cases has no prediction: 'b'", rows={"b": {"status": "prediction missing"}})
def missing_prediction_allowed(folder: Path) -> list[str]:
    return [*missing_prediction(folder), "--allow-missing"]


@bad_dataset(35, code=0, says="1 prediction has no ground truth and is not measured: 'extra'")
def extra_prediction(folder: Path) -> list[str]:
    write(folder, "a", box(), box())
    (folder / "pred" / "extra.nii").write_bytes(nifti_bytes(box(), AFFINE))
    return []


@bad_dataset(35, code=1, says="are both case 'a'")
def ids_that_differ_in_their_suffix(folder: Path) -> list[str]:
    write(folder, "a", box(), box())
    write(folder, "a", box(), box(), suffix=".nii.gz")
    return []


@bad_dataset(35, code=1, says="are both case 'a'")
def ids_that_differ_in_capitals(folder: Path) -> list[str]:
    write(folder, "A", box(), box())
    write(folder, "a", box(), box())
    return []


AWKWARD = ("=cmd()", "<script>", "\N{LUNGS}", "two\nlines", "x" * 200)


@bad_dataset(36, code=0, rows={name: {"dice": 1.0} for name in AWKWARD})
def awkward_ids(folder: Path) -> list[str]:
    for name in AWKWARD:
        write(folder, name, box(), box())
    return []


def metadata(folder: Path, text: str) -> list[str]:
    for case in ("001", "1"):
        write(folder, case, box(), box())
    (folder / "m.csv").write_bytes(text.encode())
    return ["--metadata", str(folder / "m.csv")]


@bad_dataset(47, code=0, rows={"001": {"meta.sex": "F"}, "1": {"meta.sex": "M"}})
def metadata_with_mark_semicolons_and_zeros(folder: Path) -> list[str]:
    return metadata(folder, "\N{BOM}id;sex\r\n001;F\r\n1;M\r\n")


@bad_dataset(47, code=1, says="the case '1' appears twice")
def metadata_with_an_id_twice(folder: Path) -> list[str]:
    return metadata(folder, "id,sex\n1,F\n1,M\n")


@bad_dataset(47, code=0, says=r"1 case has no row in m\.csv: '001'")
def metadata_without_a_row(folder: Path) -> list[str]:
    return metadata(folder, "id,sex\n1,F\n")


@bad_dataset(47, code=0, rows={"001": {"meta.note": "=1+1"}, "1": {"meta.note": "@cmd"}}, csv="'=1\\+1.*'@cmd")
def metadata_with_formulas(folder: Path) -> list[str]:
    return [*metadata(folder, "id,note\n001,=1+1\n1,@cmd\n"), "--csv", str(folder / "out.csv")]


@bad_dataset(47, code=0, says=r"99998 rows of m\.csv belong to no case", rows={"1": {"meta.serial": "s1"}})
def metadata_of_very_many_levels(folder: Path) -> list[str]:
    return metadata(folder, "id,serial\n001,s001\n" + "".join(f"{k},s{k}\n" for k in range(1, 100_000)))


@bad_dataset(48, code=1, says="write it in quotes")
def yaml_that_reads_no_as_false(folder: Path) -> list[str]:
    write(folder, "a", box(), box())
    (folder / "s.yaml").write_text("no: 1\n")
    return ["--structures", str(folder / "s.yaml")]


@bad_dataset(48, code=1, says="refers to itself more than 100 times")
def yaml_that_grows_by_references(folder: Path) -> list[str]:
    write(folder, "a", box(), box())
    lines = ["a0: &a0 [1, 2, 3]"] + [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 20)]
    (folder / "s.yaml").write_text("\n".join(lines))
    return ["--structures", str(folder / "s.yaml")]


@bad_dataset(48, code=1, says="unknown key 'tolerance'; the only other key is ignore")
def yaml_with_an_unknown_key(folder: Path) -> list[str]:
    write(folder, "a", box(), box())
    (folder / "s.yaml").write_text("structures: {a: 1}\ntolerance: 2\n")
    return ["--structures", str(folder / "s.yaml")]


@bad_dataset(48, code=1, says="not plain YAML")
def yaml_that_would_run_code(folder: Path) -> list[str]:
    write(folder, "a", box(), box())
    (folder / "s.yaml").write_text("a: !!python/object/apply:os.getcwd []\n")
    return ["--structures", str(folder / "s.yaml")]


@bad_dataset(50, code=1, says="cannot be used as cache folder")
def cache_that_cannot_be_written(folder: Path) -> list[str]:
    write(folder, "a", box(), box())
    (folder / "file").write_text("")
    return ["--cache", str(folder / "file")]
