"""The phantom benchmark: scans that depend on the seed alone, whose truth and metadata are what they say."""

import hashlib

import numpy as np
import pytest

from segauge import read_labels
from segauge.errors import InvalidInput
from segauge.io import read_image
from segbench import registry
from segbench.datasets.phantom import ORGAN_HU, SCANNERS, PhantomPatient, scan

PATIENTS = [PhantomPatient(number) for number in range(4)]


@pytest.fixture(scope="module")
def scans():
    return {patient: scan(patient) for patient in PATIENTS}


def test_every_structure_is_in_every_scan(scans):
    for found in scans.values():
        assert set(np.unique(found.labels)) == set(range(9))


def test_organs_have_the_attenuation_of_their_kind(scans):
    """Inside an organ, away from its border, blur and partial volume change nothing: only noise is left."""
    from scipy import ndimage

    for patient, found in scans.items():
        inside = ndimage.binary_erosion(found.labels == 1, iterations=3)
        values = found.image[inside].astype(float)
        mean, spread = ORGAN_HU["liver"]
        # Five standard deviations between patients; the mean of hundreds of voxels adds next to nothing.
        assert abs(values.mean() - mean) < 5 * spread + 3
        noise = SCANNERS[patient.scanner].noise_hu
        # The noise of a few hundred correlated voxels is known to some 15 %.
        assert values.std() == pytest.approx(noise, rel=0.25)


def test_partial_volume_lies_between_the_two_sides(scans):
    """At the border of the bone to soft tissue there are values of neither."""
    from scipy import ndimage

    found = next(iter(scans.values()))
    bone = found.labels == 8
    rim = bone & ~ndimage.binary_erosion(bone)
    deep = ndimage.binary_erosion(bone, iterations=2)
    outside = ndimage.binary_dilation(bone, iterations=3) & (found.labels == 0)
    assert found.image[outside].mean() < found.image[rim].mean() < found.image[deep].mean()


def test_metadata_have_an_effect():
    """Women are smaller, bone fades with age, and scanners differ in noise: by construction, seen in the scans."""
    many = [PhantomPatient(number, seed=1) for number in range(40)]
    assert {patient.sex for patient in many} == {"F", "M"}
    assert {patient.scanner for patient in many} == set(SCANNERS)
    young, old = min(many, key=lambda one: one.age), max(many, key=lambda one: one.age)
    bone = [scan(one) for one in (young, old)]
    assert np.median(bone[0].image[bone[0].labels == 8]) > np.median(bone[1].image[bone[1].labels == 8]) + 60


def test_patients_depend_on_seed_and_number_alone(scans):
    again = scan(PhantomPatient(3))
    assert np.array_equal(again.image, scans[PATIENTS[3]].image)
    everyone = [*scans.values(), scan(PhantomPatient(3, seed=1))]
    assert len({hashlib.sha256(found.image.tobytes()).hexdigest() for found in everyone}) == len(PATIENTS) + 1


def test_files_hold_the_scan_in_either_orientation(tmp_path, scans):
    dataset = registry.dataset("phantom", tmp_path, {"size": 8})
    assert dataset.case_ids() == [f"phantom_{number:04}" for number in range(8)]
    dataset.prepare(dataset.case_ids()[:4])
    orientations = set()
    for patient, case in zip(PATIENTS, dataset.cases(dataset.case_ids()[:4]), strict=True):
        image, labels = read_image(case.image), read_labels(case.gt).labels
        assert np.array_equal(image.array, scans[patient].image)
        assert np.array_equal(labels.layers[0], scans[patient].labels)
        assert image.grid.relation_to(labels.grid).words == "same grid"
        assert case.metadata == patient.metadata
        orientations.add(image.grid.orientation)
    assert orientations == {"LPS", "RAS"}
    assert dataset.card.n_cases == 8
    assert not (tmp_path / "version1-seed0" / "images" / "phantom_0004.nii.gz").exists()


def test_liver_and_spleen_are_on_their_sides(scans):
    for found in scans.values():
        x = {label: np.argwhere(found.labels == label).mean(axis=0) for label in (1, 3)}
        world = {label: (found.grid.affine @ [*place, 1.0])[0] for label, place in x.items()}
        assert world[1] > world[3]  # RAS: the liver lies on the right


def test_options_are_checked(tmp_path):
    with pytest.raises(InvalidInput, match="did you mean 'size'"):
        registry.dataset("phantom", tmp_path, {"sizes": 3})
    with pytest.raises(InvalidInput, match="size should be a whole number"):
        registry.dataset("phantom", tmp_path, {"size": "three"})
    with pytest.raises(InvalidInput, match="expected a size from 1"):
        registry.dataset("phantom", tmp_path, {"size": 0})
