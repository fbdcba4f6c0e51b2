"""Where may the surface pass between two voxel centres? Answers that were weighed, against the truth of solids.

`python -m benchmarks.accuracy.candidates [--pairs 3] [--shapes ball,lesion,box] [--slow]`

Every candidate moves the vertices of the same marching-cubes surface along their edges; what differs is where to:

- `middle`: marching cubes.
- `distance map`: the zero of the signed Euclidean distance map (to the nearest centre of the other class) after a
  Gaussian of one smallest voxel edge.
- `one Gaussian`: the depths of one Gaussian of 1.5 edges.
- `two Gaussians`: the depths of 1.5 edges and 1.5 / sqrt(2), curvature cancelled.
- `three Gaussians`: two widths where the object is thick, two narrower ones where it is thin.
- `the rule`: that of segauge.geometry.subvoxel, in which chords end caps and outlines count between thick slices.
- `elastic net` (with --slow): vertices relaxed until the bending of the net is least, held to their edges.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy import ndimage, optimize, sparse

from benchmarks.accuracy.solids import SHAPES, drawn_pair
from benchmarks.accuracy.surfaces import TOLERANCE_MM, true_values
from benchmarks.phantom_pairs import phantom_pair
from benchmarks.tables import markdown_table
from segauge.geometry.distances import SurfaceDistances
from segauge.geometry.reference.distances import distances_to
from segauge.geometry.reference.subvoxel import edge_positions, surface_through
from segauge.geometry.subvoxel import SubvoxelRule, subvoxel_rule
from segauge.metrics.surface import assd, hausdorff, hausdorff95, nsd

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Cuts = list[Floats]

SPACINGS = ((1.0, 1.0, 1.0), (0.8, 0.8, 2.5), (0.8, 0.8, 5.0))
_RELAXATIONS = 200
_MARGIN = 7  # voxels of background: Gaussians and distance maps reach beyond the object


def middle(mask: Bools, rule: SubvoxelRule) -> Cuts:
    """Return the middle of every cut edge."""
    return [np.where(np.isfinite(cut), 0.5, np.nan) for cut in edge_positions(mask, rule)]


def distance_map(mask: Bools, rule: SubvoxelRule) -> Cuts:
    """Return where the smoothed signed distance map is zero."""
    spacing = np.diag(rule.linear)
    field = ndimage.distance_transform_edt(mask, spacing) - ndimage.distance_transform_edt(~mask, spacing)
    return _zeros_of(mask, ndimage.gaussian_filter(field, spacing.min() / spacing, truncate=4))


def one_gaussian(mask: Bools, rule: SubvoxelRule) -> Cuts:
    """Return what the depths of one Gaussian say."""
    return _zeros_of(mask, _gaussian(mask, rule, 1.5))


def two_gaussians(mask: Bools, rule: SubvoxelRule) -> Cuts:
    """Return what the depths of two Gaussians say in which curvature cancels."""
    return _zeros_of(mask, 2 * _gaussian(mask, rule, 1.5 / np.sqrt(2)) - _gaussian(mask, rule, 1.5))


def three_gaussians(mask: Bools, rule: SubvoxelRule) -> Cuts:
    """Return what the Gaussians of the rule say along all axes."""
    return edge_positions(mask, dataclasses.replace(rule, cap_axes=(), thick_axes=()))


def elastic_net(mask: Bools, rule: SubvoxelRule) -> Cuts:
    """Return the places of vertices that minimise the sum of squared bendings, each held to its own edge."""
    start = three_gaussians(mask, rule)
    edges = [np.isfinite(cut) for cut in start]
    counts = [int(edge.sum()) for edge in edges]
    axis = np.repeat(np.arange(3), counts)
    base = np.concatenate([np.argwhere(edge) for edge in edges]) @ rule.linear.T
    step = rule.linear.T[axis]
    bending = _bending(mask, edges, rule)

    def energy(parts: Floats) -> tuple[float, Floats]:
        points = base + parts[:, np.newaxis] * step
        pull = bending @ points
        return float((points * pull).sum() / 2), (pull * step).sum(axis=1)

    first = np.concatenate([cut[edge] for cut, edge in zip(start, edges, strict=True)])
    bounds = [(rule.margin, 1 - rule.margin)] * len(first)
    found = optimize.minimize(
        energy, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _RELAXATIONS}
    ).x
    cuts = [np.full(edge.shape, np.nan) for edge in edges]
    for cut, edge, parts in zip(cuts, edges, np.split(found, np.cumsum(counts)[:-1]), strict=True):
        cut[edge] = parts
    return cuts


CANDIDATES: Mapping[str, Callable[[Bools, SubvoxelRule], Cuts]] = {
    "middle": middle,
    "distance map": distance_map,
    "one Gaussian": one_gaussian,
    "two Gaussians": two_gaussians,
    "three Gaussians": three_gaussians,
    "the rule": edge_positions,
}
SLOW: Mapping[str, Callable[[Bools, SubvoxelRule], Cuts]] = {"elastic net": elastic_net}


def _gaussian(mask: Bools, rule: SubvoxelRule, width: float) -> Floats:
    """Return signed depths from one Gaussian, positive inside."""
    from scipy.special import ndtri

    spacing = np.diag(rule.linear)
    sigma = width * spacing.min()
    share = ndimage.gaussian_filter(mask.astype(np.float64), sigma / spacing, truncate=4)
    return np.asarray(sigma * ndtri(np.clip(share, 1e-15, 1 - 1e-15)))


def _zeros_of(mask: Bools, field: Floats) -> Cuts:
    """Return where a field is zero along the cut edges, held to them; where it has the wrong sign, at the centre."""
    depth = np.maximum(np.where(mask, field, -field), 0)
    cuts = []
    for axis in range(mask.ndim):
        low, high = (np.moveaxis(depth, axis, 0)[part] for part in (slice(None, -1), slice(1, None)))
        place = np.clip(np.divide(low, low + high, out=np.full(low.shape, 0.5), where=low + high > 0), 1e-3, 1 - 1e-3)
        is_cut = np.diff(np.moveaxis(mask, axis, 0).astype(np.int8), axis=0) != 0
        cuts.append(np.moveaxis(np.where(is_cut, place, np.nan), 0, axis))
    return cuts


def _bending(mask: Bools, edges: Sequence[Bools], rule: SubvoxelRule) -> sparse.csr_matrix:
    """Return the matrix of the net's bending energy: vertices that share a face of a cell are neighbours."""
    number, total = [], 0
    for edge in edges:
        numbers = np.full(edge.shape, -1, dtype=np.int64)
        numbers[edge] = np.arange(total, total + int(edge.sum()))
        total += int(edge.sum())
        number.append(numbers)
    links = set()
    loops = rule.loops
    code = np.zeros([n - 1 for n in mask.shape], dtype=np.int64)
    for bit, corner in enumerate(np.ndindex(2, 2, 2)):
        code |= mask[tuple(slice(c, c + n) for c, n in zip(corner, code.shape, strict=True))].astype(np.int64) << bit
    for cell in np.argwhere((code != 0) & (code != 255)):
        for loop in range(loops.loop_start[code[tuple(cell)]], loops.loop_start[code[tuple(cell)] + 1]):
            corners = range(loops.corner_start[loop], loops.corner_start[loop + 1])
            ring = [int(number[loops.axis[k]][tuple(cell + loops.low[k])]) for k in corners]
            links |= {(min(a, b), max(a, b)) for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)}
    first, second = np.array(sorted(links)).T
    joined = sparse.coo_matrix((np.ones(len(first)), (first, second)), shape=(total, total)).tocsr()
    joined = joined + joined.T
    smoothing = sparse.diags(1 / np.asarray(joined.sum(axis=1)).ravel()) @ joined - sparse.eye(total)
    return (smoothing.T @ smoothing).tocsr()


def measure(
    masks: Sequence[Bools], spacing: Sequence[float], place: Callable[[Bools, SubvoxelRule], Cuts]
) -> list[float]:
    """Return HD, HD95, ASSD and NSD of two masks, with the surfaces that a candidate makes."""
    rule = subvoxel_rule(np.diag(spacing))
    a, b = (surface_through(mask, None, place(np.pad(mask, 1), rule), rule) for mask in masks)
    found = SurfaceDistances(distances_to(a.points, b.targets), a.areas, distances_to(b.points, a.targets), b.areas)
    return [hausdorff(found), hausdorff95(found), assd(found), nsd(found, TOLERANCE_MM)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.candidates", description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--shapes", default="ball,ellipsoid,lesion,vessel,box", help=", ".join(SHAPES))
    parser.add_argument("--slow", action="store_true", help="also the candidates that take minutes")
    given = parser.parse_args(arguments)
    candidates = {**CANDIDATES, **(SLOW if given.slow else {})}
    for shape in given.shapes.split(","):
        rows = []
        for spacing in SPACINGS:
            errors: dict[str, list[list[float]]] = {name: [] for name in candidates}
            for number in range(given.pairs):
                pred, gt = drawn_pair(shape, number)
                pair = phantom_pair(pred, gt, spacing, tolerance_mm=TOLERANCE_MM)
                masks = [np.pad(np.asarray(mask).astype(bool), _MARGIN) for mask in (pair.pred, pair.gt)]
                if not all(mask.any() for mask in masks):
                    continue
                truth = true_values(pred, gt)
                for name, place in candidates.items():
                    values = measure(masks, pair.spacing, place)
                    expected = [truth[key] for key in ("hd", "hd95", "assd", "nsd")]
                    errors[name].append([abs(value - true) for value, true in zip(values, expected, strict=True)])
            for name, found in errors.items():
                cells = [f"{statistics.fmean(column):.3f}" for column in zip(*found, strict=True)]
                rows.append([f"{' x '.join(f'{edge:g}' for edge in spacing)}: {name}", str(len(found)), *cells])
        header = ["spacing, mm: candidate", "pairs", "HD, mm", "HD95, mm", "ASSD, mm", f"NSD({TOLERANCE_MM:g} mm)"]
        print(f"## {shape}\n\n{markdown_table(header, rows)}\n", flush=True)


if __name__ == "__main__":
    main()
