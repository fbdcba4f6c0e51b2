"""What a page stores for the case viewer: masks that come back, places in millimetres, a budget that is kept."""

import base64
import gzip

import numpy as np
import pytest

from segauge.report import html, viewer
from segauge.report.surfaces import surface_of
from segauge.report.viewer import MaskPair, ViewedCase
from tests.report.examples import phantom_result


def ball(shape=(40, 36, 30), centre=(18, 20, 14), radius=8.0, spacing=(1.0, 1.0, 1.0)):
    places = np.indices(shape).reshape(3, -1).T * np.array(spacing) - np.array(centre) * np.array(spacing)
    return (np.linalg.norm(places, axis=1) <= radius).reshape(shape)


def voxels(text, dims):
    packed = np.frombuffer(gzip.decompress(base64.b64decode(text)), dtype=np.uint8)
    count = int(np.prod(dims))
    return np.unpackbits(packed, count=count, bitorder="little").astype(bool).reshape(dims, order="F")


def test_masks_come_back_at_their_places():
    gt, pred = ball(), ball(centre=(20, 20, 14))
    packed = ViewedCase("c", {"ball": MaskPair.of(gt, {"A": pred})}, (1.0, 2.0, 3.0)).packed()
    first = [round(start / edge) for start, edge in zip(packed["origin"], packed["spacing"], strict=True)]
    box = tuple(slice(start, start + size) for start, size in zip(first, packed["dims"], strict=True))
    assert packed["spacing"] == [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(voxels(packed["structures"]["ball"]["gt"], packed["dims"]), gt[box])
    np.testing.assert_array_equal(voxels(packed["structures"]["ball"]["preds"]["A"], packed["dims"]), pred[box])
    assert gt[box].sum() == gt.sum()
    assert pred[box].sum() == pred.sum()


def test_a_large_case_is_thinned_to_the_budget_and_keeps_its_place():
    gt = ball((150, 140, 120), (70, 75, 60), 50.0)
    packed = ViewedCase("c", {"ball": MaskPair.of(gt, {"A": gt})}, (1.0, 1.0, 1.0), image=gt * 100.0).packed(50_000)
    assert np.prod(packed["dims"]) <= 50_000
    found = np.argwhere(voxels(packed["structures"]["ball"]["gt"], packed["dims"]))
    middle = found.mean(axis=0) * packed["spacing"] + packed["origin"]
    # Thinning to voxels of 3 or 4 mm moves the middle by less than one of them.
    assert np.all(np.abs(middle - [70, 75, 60]) < max(packed["spacing"]))


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (0.8, 0.8, 2.5)])
def test_the_surface_lies_on_the_mask_in_millimetres(spacing):
    gt = ball((60, 60, 30), (30, 28, 14), 12.0, spacing)
    packed = surface_of(gt, gt, spacing).packed(1.0)
    points = np.frombuffer(base64.b64decode(packed["points"]), dtype="<i2").reshape(-1, 3) / 32767
    places = points * packed["reach"] + packed["centre"]
    reach = np.linalg.norm(places - np.array([30, 28, 14]) * spacing, axis=1)
    # A radius of 12 mm, a voxel of the coarse grid off at most (smoothing takes less).
    assert np.all(np.abs(reach - 12) < 1.5 * max(spacing))


def test_faces_are_seen_from_outside():
    # Half of them were not, and a view that draws front faces only showed a ball in stripes.
    surface = surface_of(ball(), ball(), (1.0, 1.0, 1.0))
    a, b, c = (surface.points[surface.faces[:, k]] for k in range(3))
    outwards = (a + c) / 2 - surface.points.mean(axis=0)
    assert np.all(np.einsum("ij,ij->i", np.cross(b - a, c - a), outwards) > 0)


def test_a_report_holds_each_of_its_worst_cases_once():
    pytest.importorskip("nilearn", reason="the viewer's library comes with nilearn")
    cases, result = phantom_result()
    text = html.report_text(result, cases=cases)
    assert 'id="data-viewer"' in text
    shown = html.gallery(result, cases, html.Summary(result).leading, most=6)
    names = [item.case for item in shown]
    assert len(names) == len(set(names))
    assert all(item.viewed is None or item.viewed["case"] == item.case for item in shown)
    assert all(item.viewed is None or next(iter(item.viewed["structures"])) == item.structure for item in shown)


def test_without_the_library_a_report_has_fixed_slices(monkeypatch):
    cases, result = phantom_result()
    for module in (html, __import__("segauge.report.gallery", fromlist=["gallery"])):
        monkeypatch.setattr(module, "niivue", lambda: None)
    text = html.report_text(result, cases=cases)
    assert "data-viewer" not in text.replace("[data-viewer]", "")
    assert "<canvas data-surface" in text


def test_the_library_is_found_where_nilearn_is_installed():
    pytest.importorskip("nilearn", reason="the viewer's library comes with nilearn")
    text = viewer.niivue()
    assert text is not None
    assert "niivue" in text[:1000]
    assert "</script" not in text.lower()
