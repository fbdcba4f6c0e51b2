"""Fingerprints: copies are found, resampled, cropped and rescaled; other patients are not."""

import json

import numpy as np
import pytest
from scipy import ndimage

from segauge import Grid
from segauge.errors import InvalidInput
from segauge.io import Image, write_nifti
from segbench.cli import main
from segbench.datasets.phantom import PhantomPatient, scan
from segbench.overlap import compare_fingerprints, find_overlap, fingerprint, images_of

N = 4


@pytest.fixture(scope="module")
def images():
    scans = [scan(PhantomPatient(number, seed=11)) for number in range(N)]
    return [Image(one.image.astype(np.float32), one.grid) for one in scans]


@pytest.fixture(scope="module")
def prints(images):
    return [fingerprint(image) for image in images]


def resampled(image, spacing):
    """The same extent in other voxels, linearly."""
    zoom = np.asarray(image.grid.spacing) / spacing
    array = ndimage.zoom(image.array, zoom, order=1, grid_mode=True, mode="nearest")
    affine = image.grid.affine.copy()
    affine[:3, :3] *= np.asarray(image.array.shape) / array.shape
    affine[:3, 3] += (affine[:3, :3] - image.grid.affine[:3, :3]).sum(axis=1) / 2
    return Image(array, Grid(array.shape, affine))


def cropped(image, *shares):
    """A part of the image, from share to share of each axis."""
    box = tuple(slice(int(a * n), int(b * n)) for (a, b), n in zip(shares, image.array.shape, strict=True))
    affine = image.grid.affine.copy()
    affine[:3, 3] += affine[:3, :3] @ [part.start for part in box]
    array = image.array[box]
    return Image(array, Grid(array.shape, affine))


def scaled(image, factor, offset):
    return Image(image.array * np.float32(factor) + np.float32(offset), image.grid)


def moved(image, step):
    affine = image.grid.affine.copy()
    affine[:3, 3] += step
    return Image(image.array, Grid(image.grid.shape, affine))


WHOLE = (0.0, 1.0)
CHANGES = {
    "itself": lambda image: image,
    "finer": lambda image: resampled(image, 3.0),
    "coarser": lambda image: resampled(image, 7.0),
    "scaled": lambda image: scaled(image, 0.01, 7.0),
    "lower half": lambda image: cropped(image, WHOLE, WHOLE, (0.0, 0.5)),
    "left two thirds": lambda image: cropped(image, (0.0, 0.67), WHOLE, WHOLE),
    "all at once": lambda image: scaled(resampled(cropped(image, (0.1, 1.0), WHOLE, (0.3, 1.0)), 4.0), 3.0, -500.0),
    "stored otherwise": lambda image: Image(
        image.array.transpose(2, 0, 1)[::-1], image.grid.reoriented((2, 0, 1), (True, False, False))
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_is_found(images, prints, change):
    for image, known in zip(images[:2], prints[:2], strict=True):
        likeness = compare_fingerprints(known, fingerprint(CHANGES[change](image)))
        assert likeness.is_duplicate, (change, likeness)
        assert np.linalg.norm(likeness.offset_mm) < 2.0  # where it was, up to half a voxel of the common grid


def test_a_copy_elsewhere_is_found_with_its_offset(images, prints):
    likeness = compare_fingerprints(prints[0], fingerprint(moved(images[0], (50.0, -30.0, 200.0))))
    assert likeness.is_duplicate
    assert likeness.offset_mm == pytest.approx((50.0, -30.0, 200.0), abs=0.5)


def test_other_patients_are_not_found(prints):
    found = [compare_fingerprints(prints[i], prints[j]) for i in range(N) for j in range(N) if i != j]
    assert not any(likeness.is_duplicate for likeness in found)
    # Far from the limits of 8 places and a share of 0.15, not just below.
    assert max(likeness.share for likeness in found) < 0.1


def test_likeness_is_the_same_from_both_sides(prints, images):
    other = fingerprint(cropped(images[0], WHOLE, WHOLE, (0.0, 0.6)))
    there, back = compare_fingerprints(prints[0], other), compare_fingerprints(other, prints[0])
    assert there.votes == back.votes
    assert there.offset_mm == pytest.approx([-value for value in back.offset_mm], abs=0.5)


@pytest.mark.parametrize("array", [np.zeros((30, 30, 30)), np.zeros((4, 60, 60)), np.full((40, 40, 40), np.nan)])
def test_what_shows_nothing_is_said(array):
    with pytest.raises(InvalidInput, match="distinct places"):
        fingerprint(Image(array.astype(np.float32), Grid.from_spacing(array.shape, 4.0)))


@pytest.fixture
def folders(tmp_path, images):
    """Three scans here; there a resampled copy of the second under another name, and two others."""
    for name in ("a/images", "b"):
        (tmp_path / name).mkdir(parents=True)
    for number in (0, 1, 2):
        write_nifti(tmp_path / "a" / "images" / f"patient{number}.nii.gz", images[number].array, images[number].grid)
    copy = resampled(images[1], 4.0)
    write_nifti(tmp_path / "b" / "x7.nii.gz", copy.array, copy.grid)
    write_nifti(tmp_path / "b" / "x8.nii.gz", images[3].array, images[3].grid)
    (tmp_path / "b" / "x9.nii.gz").write_bytes(b"no image")
    return tmp_path


def test_two_folders_are_searched(folders):
    found = find_overlap(images_of(str(folders / "a")), images_of(str(folders / "b")))
    assert [(pair.left, pair.right) for pair in found.pairs] == [("patient1", "x7")]
    assert (found.n_left, found.n_right) == (3, 2)
    assert list(found.unusable) == ["x9"]


def test_the_command(folders, capsys):
    code = main(["overlap", str(folders / "a"), str(folders / "b"), "--json", str(folders / "found.json")])
    said = capsys.readouterr().out
    assert code == 3
    assert "patient1" in said
    assert "3 and 2 images compared: 1 pair shows the same scan." in said
    assert "not compared: x9" in said
    assert json.loads((folders / "found.json").read_text())["pairs"][0]["right"] == "x7"
    assert main(["overlap", str(folders / "a"), str(folders / "b"), "--n-cases", "1"]) == 0


def test_images_of_a_dataset_and_of_folders_per_case(folders, tmp_path, images):
    (tmp_path / "kits" / "case_00003").mkdir(parents=True)
    write_nifti(tmp_path / "kits" / "case_00003" / "imaging.nii.gz", images[0].array, images[0].grid)
    assert list(images_of(f"kits23={tmp_path / 'kits'}")) == ["case_00003"]
    assert list(images_of(str(tmp_path / "kits"))) == ["case_00003/imaging"]
    with pytest.raises(InvalidInput, match="none of its images is here"):
        images_of(f"kits23={tmp_path / 'nowhere'}")
    with pytest.raises(InvalidInput, match="neither a dataset nor a folder"):
        images_of("nonsense")


@pytest.mark.shared
@pytest.mark.long
def test_real_heads_and_bodies(shared):
    """Eight real heads of six people: the pairs that are found are the two people who were scanned twice."""
    heads = images_of(str(shared / "data" / "t1_brains"))
    found = find_overlap(heads, heads)
    others = {(pair.left, pair.right) for pair in found.pairs if pair.left < pair.right}
    assert others == {("ms_p01_s1", "ms_p01_s2"), ("ms_p12_s1", "ms_p12_s2")}
    assert {pair.left for pair in found.pairs if pair.left == pair.right} == set(heads)
    bodies = shared / "data" / "totalsegmentator"
    ct, part = bodies / "example_ct.nii.gz", bodies / "example_ct_sm.nii.gz"
    assert find_overlap({"whole": ct}, {"part": part, **heads}).pairs[0].right == "part"
