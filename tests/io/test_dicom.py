"""DICOM series, segmentations and contours made for the purpose, against what they were made from."""

import sys

import numpy as np
import pydicom
import pytest
from pydicom.encaps import encapsulate
from tests.badinputs.catalog import GRID, box, frame_mask
from tests.badinputs.files import (
    dicom_file,
    even_positions,
    rtstruct_dataset,
    save,
    seg_dataset,
    write_enhanced,
    write_series,
)  # fmt: skip

from segauge import Case, LabelMap, Status, evaluate
from segauge.errors import GridMismatch, InvalidInput, IrregularSeries, MissingExtra, UnknownStructure, UnreadableFile
from segauge.grid import Grid
from segauge.io import load_mask, load_rtstruct, read_labels
from segauge.io.description import describe
from segauge.io.dicom_series import read_series
from segauge.io.layouts import find_pairs
from segauge.io.structure_sets import fill
from segauge.placement import Method, place
from segauge.plural import counted


def oblique(angle_degrees: float) -> tuple[list[float], np.ndarray]:
    c, s = np.cos(np.radians(angle_degrees)), np.sin(np.radians(angle_degrees))
    return [1, 0, 0, 0, c, s], np.array([0, -s, c])


def test_a_series_is_a_grid_in_ras(tmp_path):
    series = read_series(write_series(tmp_path / "ct", even_positions(5)))
    assert series.grid.shape == (6, 8, 5)
    expected = [[-0.9, 0, 0, 10], [0, -1.1, 0, 20], [0, 0, 2, 30], [0, 0, 0, 1]]
    np.testing.assert_allclose(series.grid.affine, expected, atol=1e-12)
    assert (series.series_uid, series.frame_of_reference) == ("1.2.3.4", "1.2.3.5")


@pytest.mark.parametrize("as_file", [True, False])
def test_an_enhanced_multi_frame_image_is_the_same_grid(tmp_path, as_file):
    single = read_series(write_series(tmp_path / "ct", even_positions()))
    write_enhanced(tmp_path / "enhanced" / "ct.dcm", even_positions()[::-1])
    place = tmp_path / "enhanced" / "ct.dcm" if as_file else tmp_path / "enhanced"
    enhanced = read_series(place)
    assert enhanced.grid == single.grid
    assert (enhanced.series_uid, enhanced.frame_of_reference) == (single.series_uid, single.frame_of_reference)
    assert enhanced.files == (tmp_path / "enhanced" / "ct.dcm",)
    contour = [("CLOSED_PLANAR", [[-8.2, -17.8, 32], [-6.4, -17.8, 32], [-6.4, -14.5, 32], [-8.2, -14.5, 32]])]
    save(rtstruct_dataset(tmp_path / "rt.dcm", [("organ", contour)]), tmp_path / "rt.dcm")
    drawn, other = (read_labels(tmp_path / "rt.dcm", reference=ref).labels for ref in (place, tmp_path / "ct"))
    assert drawn.layers[0].any()
    assert np.array_equal(drawn.layers[0], other.layers[0])


def contour_at(z, low=(-8.2, -17.8), high=(-6.4, -14.5)):
    corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
    return ("CLOSED_PLANAR", [[x, y, z] for x, y in corners])


def write_contours(path, names=("organ",), **elements):
    save(rtstruct_dataset(path, [(name, [contour_at(32), contour_at(34)]) for name in names], **elements), path)
    return path


@pytest.mark.parametrize("numbers", [[0, 1, 2], [2, 0, 1], [-1, 0, 5], [0]])
def test_region_numbers_may_start_at_zero(tmp_path, numbers):
    """Such a file was refused: "region numbers start at 1. Export it again."."""
    write_series(tmp_path / "ct", even_positions())
    dataset = rtstruct_dataset(
        tmp_path / "rt.dcm",
        [(f"organ {k}", [contour_at(32, high=(-6.4, -14.5 + 1.1 * k))]) for k in range(len(numbers))],
    )
    for k, number in enumerate(numbers):
        dataset.StructureSetROISequence[k].ROINumber = number
        dataset.ROIContourSequence[k].ReferencedROINumber = number
    save(dataset, tmp_path / "rt.dcm")
    reading = read_labels(tmp_path / "rt.dcm")
    label_of = {name: label for label, name in reading.labels.names.items()}
    assert min(label_of.values()) >= 1
    for k, number in enumerate(numbers):
        assert np.count_nonzero(reading.labels.mask(label_of[f"organ {k}"]).array) == 3 * (4 + k)
        assert label_of[f"organ {k}"] == number or number < 1
    assert sum("since labels start at 1" in note for note in reading.notes) == sum(n < 1 for n in numbers)
    mask, _ = load_rtstruct(tmp_path / "ct", tmp_path / "rt.dcm", "organ 0")
    assert np.count_nonzero(mask) == 12


#: What lies among the slices of an export, and is none of them: class, modality, elements.
AMONG_SLICES = {
    "screen save": ("1.2.840.10008.5.1.4.1.1.7", "CT", {"Rows": 8, "Columns": 6, "SeriesInstanceUID": "1.2.3.99"}),
    "screen save of the same series": (
        "1.2.840.10008.5.1.4.1.1.7", "CT", {"Rows": 8, "Columns": 6, "SeriesInstanceUID": "1.2.3.4"},
    ),
    "scout": (
        "1.2.840.10008.5.1.4.1.1.2", "CT",
        {"Rows": 30, "Columns": 6, "SeriesInstanceUID": "1.2.3.4", "ImageType": ["ORIGINAL", "PRIMARY", "LOCALIZER"],
         "PixelSpacing": [1, 1], "ImageOrientationPatient": [1, 0, 0, 0, 0, -1], "ImagePositionPatient": [0, 0, 0]},
    ),
    "dose": (
        "1.2.840.10008.5.1.4.1.1.481.2", "RTDOSE",
        {"Rows": 4, "Columns": 4, "NumberOfFrames": 3, "SeriesInstanceUID": "1.2.3.98", "PixelSpacing": [3, 3],
         "ImageOrientationPatient": [1, 0, 0, 0, 1, 0], "ImagePositionPatient": [0, 0, 0]},
    ),
    "report": ("1.2.840.10008.5.1.4.1.1.88.33", "SR", {"SeriesInstanceUID": "1.2.3.97"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", AMONG_SLICES)
def test_what_lies_among_the_slices_is_not_used_and_told(tmp_path, kind):
    """ "no image series found beside the file", or "ImageOrientationPatient is missing"."""
    expected = read_series(write_series(tmp_path / "alone", even_positions()))
    folder = write_series(tmp_path / "ct", even_positions())
    sop_class, modality, elements = AMONG_SLICES[kind]
    save(dicom_file(folder / "other.dcm", sop_class, modality, **elements), folder / "other.dcm")
    series = read_series(folder)
    assert series.grid == expected.grid
    assert series.notes == ("1 DICOM file of other kinds or series not used: other.dcm",)
    reading = read_labels(write_contours(folder / "rt.dcm"))
    assert np.count_nonzero(reading.labels.layers[0]) == 2 * 12
    assert reading.labels.grid == expected.grid


def test_the_series_that_the_contours_refer_to_decides(tmp_path):
    folder = write_series(tmp_path / "ct", even_positions())
    for k, path in enumerate(
        write_series(tmp_path / "pt", even_positions(9, 1.0), SeriesInstanceUID="1.2.3.9").iterdir()
    ):
        path.rename(folder / f"pt{k}.dcm")
    reading = read_labels(write_contours(folder / "rt.dcm"), reference=folder)
    assert reading.labels.grid.shape == (6, 8, 5)
    assert any("9 DICOM files of other kinds or series" in note for note in reading.notes)


def test_a_slice_without_its_place_is_no_screen_save(tmp_path):
    """Left out, it would make a gap; of a whole series without places each file must be refused."""
    for damaged in ([2], range(5)):
        folder = write_series(tmp_path / f"ct{len(damaged)}", even_positions())
        for k, path in enumerate(sorted(folder.iterdir())):
            if k in damaged:
                dataset = pydicom.dcmread(path)
                del dataset.ImagePositionPatient
                dataset.save_as(path)
        with pytest.raises(UnreadableFile, match="ImagePositionPatient is missing"):
            read_series(folder)


def test_a_damaged_slice_is_told_and_not_that_there_is_no_series(tmp_path):
    folder = write_series(tmp_path / "ct", even_positions())
    path = folder / "slice03.dcm"
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(UnreadableFile, match="usually 2 mm but 4 mm between"):
        read_labels(write_contours(tmp_path / "rt.dcm"))


def flat_export(folder, **elements):
    write_series(folder, even_positions())
    for k, path in enumerate(sorted(folder.iterdir())):
        path.rename(folder / f"CT.1.2.{k}")  # as many systems name them
    return write_contours(folder / "RS.dcm", **elements)


def test_a_flat_export_is_one_case(tmp_path):
    """As ground truth its slices made 54 cases; with a folder per patient each case failed."""
    for side in ("pred", "gt"):
        flat_export(tmp_path / side / "patient")
    one = find_pairs(tmp_path / "pred" / "patient", tmp_path / "gt" / "patient")
    several = find_pairs(tmp_path / "pred", tmp_path / "gt")
    assert (several.layout, [pair.case_id for pair in several.pairs]) == ("folders", ["patient"])
    for pairing in (one, several):
        ((pred, gt),) = [(pair.pred, pair.gt) for pair in pairing.pairs]
        assert (pred, gt) == tuple(tmp_path / side / "patient" / "RS.dcm" for side in ("pred", "gt"))
        result = evaluate([Case("a", pred, gt)], metrics=["dice"])
        assert result.summary()["dice"].value == 1.0


def test_a_series_alone_or_with_several_structure_sets_is_no_ground_truth(tmp_path):
    pred = write_contours(tmp_path / "pred.dcm")
    folder = write_series(tmp_path / "gt", even_positions())
    with pytest.raises(
        InvalidInput, match=r"holds a DICOM image series and no segmentation .* Give the file or folder"
    ):
        find_pairs(pred, folder)
    write_contours(folder / "RS1.dcm")
    write_contours(folder / "RS2.dcm")
    with pytest.raises(InvalidInput, match=r"2 segmentations .* \(RS1.dcm, RS2.dcm\). Give one of these files"):
        find_pairs(pred, folder)
    for side in ("one", "two"):
        (tmp_path / side).mkdir()
        folder.rename(tmp_path / side / "a") if side == "one" else None
    with pytest.raises(InvalidInput, match="holds 2 DICOM segmentations"):
        find_pairs(tmp_path / "one", tmp_path / "one")


def test_the_description_of_a_flat_export_mentions_the_structure_set(tmp_path):
    """It spoke of the series alone."""
    flat_export(tmp_path / "patient", names=("liver", "spleen"))
    notes = describe(tmp_path / "patient")["notes"]
    assert "RS.dcm is a structure set (RTSTRUCT) with 2 regions: give this file to see them" in notes


def uneven_positions():
    """Heights 0, 2, 4, 8, 10: the slice at 6 mm is missing."""
    return [place for k, place in enumerate(even_positions(6)) if k != 3]


def test_an_uneven_series_is_an_even_grid_only_when_asked_for(tmp_path):
    folder = write_series(tmp_path / "ct", uneven_positions())
    with pytest.raises(IrregularSeries, match="allow_nonuniform=True"):
        read_series(folder)
    series = read_series(folder, allow_nonuniform=True)
    assert series.grid == read_series(write_series(tmp_path / "whole", even_positions(6))).grid
    assert series.places == pytest.approx((0, 1, 2, 4, 5))
    assert "2 to 4 mm apart" in series.notes[0]


def test_a_tilted_series_is_a_sheared_grid_only_when_asked_for(tmp_path):
    shift = 2 * np.tan(np.radians(10))
    folder = write_series(tmp_path / "ct", [[0.0, shift * k, 2.0 * k] for k in range(5)])
    series = read_series(folder, allow_nonuniform=True)
    # LPS to RAS turns the first two axes round; the step has the height of the slices and their shift.
    np.testing.assert_allclose(series.grid.affine[:3, 2], [0, -shift, 2.0], atol=1e-12)
    assert "10 degrees off the normal" in series.notes[0]
    jumping = write_series(tmp_path / "jump", [[0.0, 3.0 * (k == 2) + shift * k, 2.0 * k] for k in range(5)])
    with pytest.raises(IrregularSeries, match="gantry tilt"):
        read_series(jumping, allow_nonuniform=True)


def test_contours_on_an_uneven_series_stand_for_the_space_around_their_slice(tmp_path):
    """Slices at 0, 2, 4, 8, 10 mm: that at 4 mm reaches from 3 to 6, that at 8 mm from 6 to 9."""
    write_series(tmp_path / "ct", uneven_positions())
    square = [[-8.2, -17.8], [-6.4, -17.8], [-6.4, -14.5], [-8.2, -14.5]]
    contours = {z: [("CLOSED_PLANAR", [[*point, 30.0 + z] for point in square])] for z in (2, 4, 8)}
    regions = [(f"at {z}", contour) for z, contour in contours.items()]
    save(rtstruct_dataset(tmp_path / "rt.dcm", regions), tmp_path / "rt.dcm")
    with pytest.raises(IrregularSeries, match="not constant"):  # and not: no series found
        read_labels(tmp_path / "rt.dcm")
    found = read_labels(tmp_path / "rt.dcm", allow_nonuniform=True)
    filled = {
        name: np.flatnonzero(found.labels.mask(number).array.any(axis=(0, 1))).tolist()
        for number, name in found.labels.names.items()
    }
    # The middle at 6 mm goes to the lower slice.
    assert filled == {"at 2": [1], "at 4": [2, 3], "at 8": [4]}
    assert "each slice from halfway to halfway" in found.notes[0]


def test_slices_are_sorted_along_the_normal_not_by_name(tmp_path):
    orientation, normal = oblique(30)
    places = [(np.array([1.0, 2, 3]) + normal * 2 * k).tolist() for k in (3, 0, 4, 1, 2)]
    series = read_series(write_series(tmp_path / "ct", places, ImageOrientationPatient=orientation))
    assert [path.name for path in series.files] == [f"slice{k:02}.dcm" for k in (2, 4, 5, 1, 3)]
    np.testing.assert_allclose(series.grid.affine[:3, 2], normal * [-2, -2, 2], atol=1e-9)
    np.testing.assert_allclose(series.grid.affine[:3, 3], [-1, -2, 3], atol=1e-9)


def test_one_of_several_series_can_be_chosen(tmp_path):
    folder = write_series(
        tmp_path / "ct", even_positions(6), SeriesInstanceUID=lambda k: "1.2.3.9" if k > 2 else "1.2.3.4"
    )
    assert read_series(folder, series_uid="1.2.3.9").grid.shape == (6, 8, 3)


def test_a_series_is_no_segmentation(tmp_path):
    folder = write_series(tmp_path / "ct", even_positions(2))
    with pytest.raises(UnreadableFile, match="folder of DICOM files"):
        read_labels(folder)
    with pytest.raises(UnreadableFile, match="is an image slice, expected a DICOM segmentation"):
        read_labels(folder / "slice01.dcm")


def test_a_segmentation_is_placed_on_its_series(tmp_path):
    series = read_series(write_series(tmp_path / "ct", even_positions(6), Rows=7, Columns=5))
    places = even_positions(6)
    frames = [(1, places[4], frame_mask()), (1, places[3], frame_mask(1))]
    seg = read_labels(save(seg_dataset(tmp_path / "a.dcm", frames), tmp_path / "a.dcm")).labels
    assert seg.partial
    whole = read_labels(np.zeros(series.grid.shape, dtype=np.uint8)).labels
    gt = type(whole)(whole.layers, series.grid, source="gt")
    placed = place(seg, gt)
    expected = np.zeros((5, 7, 6), dtype=bool)
    expected[:, :, 4], expected[:, :, 3] = frame_mask().T, frame_mask(1).T
    assert placed.method is Method.PLACED
    assert np.array_equal(placed.pred.layers[0] != 0, expected)


def test_frames_of_one_segment_at_one_place_are_told(tmp_path):
    place = even_positions(1)[0]
    frames = [(1, place, frame_mask()), (1, place, frame_mask(1)), (2, place, frame_mask(1))]
    reading = read_labels(save(seg_dataset(tmp_path / "a.dcm", frames), tmp_path / "a.dcm"))
    assert np.array_equal(reading.labels.mask(1).array[:, :, 0], (frame_mask() | frame_mask(1)).T.astype(bool))
    assert reading.notes == ("1 frames lie where another one of their segment does; taken together",)


def test_a_thickness_is_no_slice_distance(tmp_path):
    frames = [(1, place, frame_mask()) for place in even_positions(3, distance=2.5)]
    dataset = seg_dataset(tmp_path / "a.dcm", frames)
    measures = dataset.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0]
    del measures.SpacingBetweenSlices
    measures.SliceThickness = 1.25
    got = read_labels(save(dataset, tmp_path / "a.dcm")).labels
    assert got.grid.shape[2] == 3
    assert got.grid.spacing[2] == pytest.approx(2.5)


def test_oblique_segmentation(tmp_path):
    orientation, normal = oblique(25)
    places = [(np.array([5.0, -3, 8]) + normal * 2 * k).tolist() for k in range(3)]
    dataset = seg_dataset(tmp_path / "a.dcm", [(1, place, frame_mask(k)) for k, place in enumerate(places)])
    plane = dataset.SharedFunctionalGroupsSequence[0].PlaneOrientationSequence[0]
    plane.ImageOrientationPatient = [f"{value:.10g}" for value in orientation]
    got = read_labels(save(dataset, tmp_path / "a.dcm")).labels
    np.testing.assert_allclose(got.grid.affine[:3, 2], normal * [-2, -2, 2], atol=1e-6)
    assert got.grid.shear_degrees < 1e-4


@pytest.mark.parametrize("maximum", [1, 255])
def test_fractions_count_by_their_maximum(tmp_path, maximum):
    dataset = seg_dataset(tmp_path / "a.dcm", [(1, [0, 0, 0], frame_mask())], SegmentationType="FRACTIONAL")
    dataset.SegmentationFractionalType, dataset.MaximumFractionalValue = "OCCUPANCY", maximum
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.PixelData = (frame_mask() * maximum).astype(np.uint8).tobytes() + b"\0"
    path = save(dataset, tmp_path / "a.dcm")
    for threshold in (None, 0.9, 1.0):
        assert np.array_equal(read_labels(path, threshold=threshold).labels.layers[0][..., 0] != 0, frame_mask().T)


@pytest.mark.parametrize("bits", [8, 16])
def test_run_length_frames(tmp_path, bits):
    rng = np.random.default_rng(5)
    values = rng.integers(0, 3, (7, 5)).astype(np.uint8 if bits == 8 else np.uint16) * (1 if bits == 8 else 300)
    dataset = seg_dataset(tmp_path / "a.dcm", [(0, [0, 0, 0], frame_mask())], SegmentationType="LABELMAP")
    dataset.BitsAllocated = dataset.BitsStored = bits
    dataset.PixelData = values.tobytes() + b"\0" * (values.nbytes % 2)
    dataset.compress(pydicom.uid.RLELossless, encoding_plugin="pydicom")
    got = read_labels(save(dataset, tmp_path / "a.dcm")).labels
    assert np.array_equal(got.layers[0][..., 0], values.T)


def test_too_few_encapsulated_frames_are_refused(tmp_path):
    dataset = seg_dataset(tmp_path / "a.dcm", [(1, p, frame_mask()) for p in even_positions(2)])
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.RLELossless
    dataset.PixelData = encapsulate([b"\0" * 66])
    dataset["PixelData"].is_undefined_length = True
    with pytest.raises(UnreadableFile):
        read_labels(save(dataset, tmp_path / "a.dcm"))


def test_load_mask_of_a_segmentation(tmp_path):
    frames = [(1, [0, 0, 0], frame_mask()), (2, [0, 0, 2], frame_mask(1))]
    path = save(seg_dataset(tmp_path / "a.dcm", frames), tmp_path / "a.dcm")
    mask, spacing = load_mask(path, segment_number=2)
    assert np.array_equal(mask, np.stack([frame_mask(1), np.zeros((7, 5), dtype=bool)]))
    assert spacing == pytest.approx((2.0, 1.1, 0.9))
    with pytest.raises(UnknownStructure, match=r"no segment 7; it has 1 \(organ 1\), 2 \(organ 2\)"):
        load_mask(path, segment_number=7)


def test_without_pydicom_the_extra_is_named(tmp_path, monkeypatch):
    path = save(seg_dataset(tmp_path / "a.dcm", [(1, [0, 0, 0], frame_mask())]), tmp_path / "a.dcm")
    monkeypatch.setitem(sys.modules, "pydicom", None)
    with pytest.raises(MissingExtra, match=r"pip install 'segauge\[dicom\]'"):
        read_labels(path)


# Contours


def ring(radius: float, centre: tuple[float, float] = (10.0, 10.0), n: int = 200) -> np.ndarray:
    t = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return np.column_stack([centre[0] + radius * np.cos(t), centre[1] + radius * np.sin(t)])


def filled(polygons, shape=(21, 22)) -> np.ndarray:
    area = fill([np.asarray(polygon, dtype=float) for polygon in polygons], shape)
    mask = np.zeros(shape, dtype=bool)
    mask[tuple(slice(start, start + n) for start, n in zip(area.start, area.mask.shape, strict=True))] = area.mask
    return mask


def centres(shape=(21, 22)) -> np.ndarray:
    return np.indices(shape).astype(float)


def test_a_box_between_centres_is_exact():
    mask = filled([[[2.5, 3.5], [6.5, 3.5], [6.5, 9.5], [2.5, 9.5]]])
    expected = np.zeros_like(mask)
    expected[3:7, 4:10] = True
    assert np.array_equal(mask, expected)


def test_lines_through_centres_belong_to_the_inside():
    mask = filled([[[2, 3], [6, 3], [6, 9], [2, 9]]])
    expected = np.zeros_like(mask)
    expected[2:7, 3:10] = True
    assert np.array_equal(mask, expected)


def test_a_circle_is_the_set_of_centres_inside():
    x, y = centres()
    # The polygon of 2000 corners is inside of its circle by less than 1e-5; no centre is that close to radius 7.3.
    assert np.array_equal(filled([ring(7.3, n=2000)]), (x - 10) ** 2 + (y - 10) ** 2 <= 7.3**2)


def test_nested_rings_are_holes_and_islands():
    x, y = centres()
    r = np.hypot(x - 10, y - 10)
    mask = filled([ring(9.3, n=2000), ring(5.2, n=2000), ring(2.7, n=2000)])
    assert np.array_equal(mask, ((r < 9.3) & (r > 5.2)) | (r < 2.7))


def test_a_keyhole_is_a_ring_with_its_cut_filled():
    outer, inner = ring(8.3, n=400), ring(4.2, n=400)[::-1]
    keyhole = np.vstack([outer, outer[:1], inner[-1:], inner, inner[:1] * 0 + inner[-1:], outer[:1]])
    x, y = centres()
    r = np.hypot(x - 10, y - 10)
    assert np.array_equal(filled([keyhole]), (r < 8.3) & (r > 4.2))


def test_a_figure_of_eight_fills_both_loops():
    mask = filled([[[2.5, 2.5], [10.5, 10.5], [10.5, 2.5], [2.5, 10.5]]])
    assert mask[3, 5] or mask[5, 3]
    assert mask.sum() == pytest.approx(32, abs=9)  # two triangles of 16 pixels, give or take their outline


def test_fill_is_the_same_mirrored_and_transposed():
    rng = np.random.default_rng(11)
    for _ in range(20):
        polygon = rng.uniform(-3, 24, (7, 2))
        mask = filled([polygon], (21, 21))
        assert np.array_equal(filled([polygon[:, ::-1]], (21, 21)), mask.T)
        assert np.array_equal(filled([20 - polygon], (21, 21)), mask[::-1, ::-1])
        assert np.array_equal(filled([polygon[::-1]], (21, 21)), mask)


def test_random_polygons_against_counting_crossings_point_by_point():
    rng = np.random.default_rng(12)
    for _ in range(20):
        polygon = rng.uniform(-3, 24, (9, 2))
        mask = filled([polygon])
        for i, j in rng.integers(0, 21, (40, 2)):
            assert mask[i, j] == inside(polygon, float(i), float(j))


def inside(polygon: np.ndarray, x: float, y: float) -> bool:
    odd = False
    for (x0, y0), (x1, y1) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) / (y1 - y0) * (x1 - x0):
            odd = not odd
    return odd


def rtstruct(tmp_path, *regions):
    return save(rtstruct_dataset(tmp_path / "rt.dcm", regions), tmp_path / "rt.dcm")


def closed(*polygons):
    return [("CLOSED_PLANAR", polygon) for polygon in polygons]


def test_holes_in_a_slice_and_several_contours(tmp_path):
    path = rtstruct(tmp_path, ("organ", closed(box(2.5, 9.5), box(4.5, 6.5), box(12.5, 14.5))))
    mask = read_labels(path, reference=GRID).labels.mask(1).array
    assert mask[:, :, 1].sum() == 49 - 4 + 4
    assert mask.sum() == mask[:, :, 1].sum()
    assert not mask[5, 5, 1]
    assert mask[13, 13, 1]


@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.parametrize(
    "again",
    [
        lambda points: points,
        lambda points: points[1:] + points[:1],
        lambda points: points[::-1],
        lambda points: [*points, points[0]],
        lambda points: [[x + 0.004, y, z] for x, y, z in points],  # written with two digits instead of six
    ],
)
def test_a_contour_that_is_stored_twice_is_no_hole(tmp_path, copies, again):
    outline, hole = box(2.5, 9.5), box(4.5, 6.5)
    path = rtstruct(
        tmp_path, ("organ", closed(outline, hole, *[again(list(outline))] * (copies - 1), again(list(hole))))
    )
    reading = read_labels(path, reference=GRID)
    once = read_labels(rtstruct(tmp_path, ("organ", closed(outline, hole))), reference=GRID)
    assert np.array_equal(reading.labels.mask(1).array, once.labels.mask(1).array)
    assert np.count_nonzero(once.labels.mask(1).array) == 7 * 7 - 2 * 2
    assert f"region 1 (organ): {counted(copies, 'contour')} in the file more than once; counting once" in reading.notes


def test_regions_that_overlap_are_both_whole(tmp_path):
    path = rtstruct(tmp_path, ("one", closed(box(2.5, 9.5))), ("two", closed(box(4.5, 12.5))))
    got = read_labels(path, reference=GRID).labels
    assert [int(got.mask(k).array.sum()) for k in (1, 2)] == [49, 64]
    assert dict(got.names) == {1: "one", 2: "two"}


def test_a_finer_grid_gets_slabs_and_a_gap_stays_a_gap(tmp_path):
    contours = closed(*(box(2.5, 9.5, z=z) for z in (2.0, 4.0, 8.0)))
    fine = Grid((20, 20, 12), np.diag([-1.0, -1.0, 1.0, 1.0]))
    mask = read_labels(rtstruct(tmp_path, ("organ", contours)), reference=fine).labels.mask(1).array
    # Planes 2 mm apart stand for 2 mm each, from 1 mm below (included) to 1 mm above (excluded).
    assert np.flatnonzero(mask.any(axis=(0, 1))).tolist() == [1, 2, 3, 4, 7, 8]


def test_on_their_own_images_contours_fill_their_own_slice_only(tmp_path):
    write_series(tmp_path / "ct", even_positions(7))
    contours = closed(*((np.array(box(1.0, 4.0, z=z)) - [10, 20, 0]).tolist() for z in (30.0, 36.0, 42.0)))
    mask = read_labels(rtstruct(tmp_path, ("organ", contours))).labels.mask(1).array
    assert np.flatnonzero(mask.any(axis=(0, 1))).tolist() == [0, 3, 6]


def test_the_thinnest_region_says_how_thick_the_slices_were(tmp_path):
    sparse = closed(*(box(2.5, 9.5, z=z) for z in (2.0, 8.0)))
    dense = closed(*(box(12.5, 14.5, z=z) for z in (4.0, 6.0)))
    fine = Grid((20, 20, 12), np.diag([-1.0, -1.0, 1.0, 1.0]))
    mask = read_labels(rtstruct(tmp_path, ("a", sparse), ("b", dense)), reference=fine).labels.mask(1).array
    assert np.flatnonzero(mask.any(axis=(0, 1))).tolist() == [1, 2, 7, 8]


def test_a_coarser_grid_takes_the_nearest_plane(tmp_path):
    contours = closed(*(box(2.5, 9.5 + z, z=z) for z in (0.0, 1.0, 2.0, 3.0)))
    reading = read_labels(rtstruct(tmp_path, ("organ", contours)), reference=GRID)
    mask = reading.labels.mask(1).array
    assert [int(mask[:, :, k].sum()) for k in range(3)] == [49, 81, 0]
    assert any("nearest to no slice" in note for note in reading.notes)


def test_oblique_contours_on_their_own_oblique_series(tmp_path):
    orientation, normal = oblique(20)
    row, column = np.array(orientation[:3]), np.array(orientation[3:])
    first = np.array([5.0, -8, 3])
    places = [(first + normal * 2 * k).tolist() for k in range(4)]
    write_series(tmp_path / "ct", places, ImageOrientationPatient=orientation)
    corners = [(0.6, 1.6), (4.4, 1.6), (4.4, 5.4), (0.6, 5.4)]
    points = [(first + normal * 4 + row * i * 0.9 + column * j * 1.1).tolist() for i, j in corners]
    path = rtstruct(tmp_path, ("organ", closed(points)))
    reading = read_labels(path)
    assert reading.notes == ()
    expected = np.zeros((6, 8, 4), dtype=bool)
    expected[1:5, 2:6, 2] = True
    assert np.array_equal(reading.labels.mask(1).array, expected)
    mask, spacing = load_rtstruct(tmp_path / "ct", path, "organ")
    assert np.array_equal(mask, expected.transpose(1, 0, 2))
    assert spacing == pytest.approx((1.1, 0.9, 2.0))


def test_the_ground_truth_can_be_the_reference(tmp_path):
    path = rtstruct(tmp_path, ("organ", closed(box(2.5, 9.5))))
    gt = read_labels(np.zeros((20, 20, 5), dtype=np.uint8)).labels
    gt = type(gt)(gt.layers, GRID, frame_of_reference="7.7")
    with pytest.raises(GridMismatch, match="frame of reference"):
        read_labels(path, reference=gt)
    labels = read_labels(path, reference=gt, any_frame_of_reference=True).labels
    assert (labels.grid, labels.frame_of_reference) == (GRID, "7.7")  # so that they can be measured


def test_names_that_are_unknown_or_ambiguous(tmp_path):
    write_series(tmp_path / "ct", even_positions())
    path = rtstruct(tmp_path, ("a", closed(box(0, 1))), ("b", []), ("b", []))
    with pytest.raises(UnknownStructure, match="has no region 'c'; it has 'a', 'b', 'b'"):
        load_rtstruct(tmp_path / "ct", path, "c")
    with pytest.raises(UnknownStructure, match=r"2 regions are called 'b' \(numbers 2, 3\)"):
        load_rtstruct(tmp_path / "ct", path, "b")


def test_contours_of_another_series_and_frame_are_refused(tmp_path):
    write_series(tmp_path / "ct", even_positions(), SeriesInstanceUID="1.2.3.77", FrameOfReferenceUID="7.7")
    path = rtstruct(tmp_path, ("a", closed(box(0, 1))))
    with pytest.raises(GridMismatch, match=r"frame of reference 1\.2\.3\.5, the images in 7\.7"):
        load_rtstruct(tmp_path / "ct", path, "a")


def test_a_region_that_cannot_be_filled_is_refused_and_does_not_count_as_missed(tmp_path):
    """Its mask on the ground truth's grid is empty, but the prediction has it."""
    tilted = [[2.5, 2.5, 3.0], [9.5, 2.5, 3.0], [9.5, 9.5, 7.0], [2.5, 9.5, 7.0]]
    path = rtstruct(tmp_path, ("flat", closed(box(2.5, 9.5))), ("tilted", closed(tilted)))
    reading = read_labels(path, reference=GRID)
    assert reading.unfilled == {2}
    voxels = np.where(np.arange(GRID.shape[0])[:, None, None] > 14, 2, reading.labels.layers[0])
    gt = LabelMap((voxels,), GRID, {1: "flat", 2: "tilted"})
    asked = evaluate([Case("a", path, gt)], structures=["tilted"], metrics=["dice"])
    assert asked.failures["a"][0] is Status.REFUSED
    assert "'tilted' lie oblique to the grid" in asked.failures["a"][1]
    assert evaluate([Case("a", path, gt)], structures=["flat"], metrics=["dice"]).rows[0]["dice"] == 1.0
    assert evaluate([Case("a", path, gt)], metrics=["dice"]).failures["a"][0] is Status.REFUSED


def square(low, high, z):
    """A square on the series of `even_positions`, whose first pixel lies at (-10, -20)."""
    return [[-10 + x, -20 + y, z] for x, y in ((low, low), (high, low), (high, high), (low, high))]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_contours_on_every_other_slice_agree_with_themselves(tmp_path, elsewhere):
    """Those of the ground truth fill their own slices; those of the prediction filled the slices around them, too."""
    write_series(tmp_path / "gt" / "ct", even_positions(7))
    path = rtstruct(tmp_path / "gt", ("organ", closed(*(square(0.5, 3.5, z) for z in (30.0, 34.0, 38.0, 42.0)))))
    (tmp_path / "pred").mkdir()
    pred = tmp_path / "pred" / "rt.dcm" if elsewhere else path
    pred.write_bytes(path.read_bytes())
    (row,) = evaluate([Case("a", pred, path)], metrics=["dice", "gt_volume", "pred_volume"]).rows
    assert row["dice"] == 1.0
    assert row["gt_volume"] == row["pred_volume"]


def drawn_on(path, count):
    """Write into an RTSTRUCT how many images it was drawn on, as every program that makes them does."""
    dataset = pydicom.dcmread(path)
    images = [pydicom.Dataset() for _ in range(count)]
    frame = dataset.ReferencedFrameOfReferenceSequence[0]
    frame.RTReferencedStudySequence[0].RTReferencedSeriesSequence[0].ContourImageSequence = images
    dataset.save_as(path)
    return path


@pytest.mark.parametrize(
    ("images", "slices"), [(7, [0, 2, 4, 6]), (4, [0, 1, 2, 3, 4, 5, 6]), (0, [0, 1, 2, 3, 4, 5, 6])]
)
def test_contours_on_every_other_slice_mean_the_same_on_a_converted_ground_truth(tmp_path, images, slices):
    """On their own images nothing lies between them; a NIfTI file of the same slices is no reason to fill more."""
    write_series(tmp_path / "ct", even_positions(7))
    path = rtstruct(tmp_path, ("organ", closed(*(square(0.5, 3.5, z) for z in (30.0, 34.0, 38.0, 42.0)))))
    own = read_labels(path)
    assert any("planes lie 2 slices apart, or further; the slices between them are empty" in note for note in own.notes)
    converted = LabelMap(own.labels.layers, own.labels.grid, {1: "organ"})
    reading = read_labels(drawn_on(path, images), reference=converted)
    assert np.flatnonzero(reading.labels.mask(1).array.any(axis=(0, 1))).tolist() == slices
    if images == 7:
        assert reading.notes == own.notes
        assert evaluate([Case("a", path, converted)], metrics=["dice"]).rows[0]["dice"] == 1.0
    else:
        assert "contour planes 4 mm apart are taken for drawn on images of that slice distance" in reading.notes[0]


def test_contours_beyond_a_segmentation_that_stores_a_part_are_false_and_not_cut(tmp_path):
    """A DICOM-SEG has the slices that hold something: what was drawn elsewhere is wrong, and counts."""
    mask = np.zeros((8, 6), dtype=np.uint8)
    mask[1:4, 1:5] = 1
    gt = save(
        seg_dataset(tmp_path / "gt.dcm", [(1, place, mask) for place in even_positions(6)[2:4]]), tmp_path / "gt.dcm"
    )
    # Pixels are 0.9 x 1.1 mm: columns 1 to 4 and rows 1 to 3, as the mask.
    outline = [[-10 + x, -20 + y] for x, y in ((0.5, 0.6), (4.0, 0.6), (4.0, 3.9), (0.5, 3.9))]
    drawn = [[[*point, 30.0 + 2.0 * k] for point in outline] for k in range(6)]
    path = rtstruct(tmp_path, ("organ 1", closed(*drawn)))
    result = evaluate([Case("a", path, gt)], metrics=["sensitivity", "precision", "specificity"])
    assert (result.rows[0]["sensitivity"], result.rows[0]["precision"]) == (1.0, pytest.approx(2 / 6))
    assert any("specificity covers the stored part only" in note for note in result.notes["a"])
