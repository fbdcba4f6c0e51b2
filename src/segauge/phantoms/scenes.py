"""Scenes: many organs in one label map, lesions inside one of them, and predictions that are wrong in a known way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, UnknownStructure
from segauge.grid import Grid
from segauge.labeling import Labeling
from segauge.labelmap import LabelMap
from segauge.phantoms.phantom import FloatArray, Phantom, Vector
from segauge.phantoms.solids import Ball, Ellipsoid, Shell, rotation_about
from segauge.phantoms.tubes import Cylinder, Tube

LIVER, LESIONS, TARGET = "liver", "liver lesions", "target volume"

#: How many places for a lesion are drawn, of which the first free one is taken.
_DRAWS = 2000


@dataclass(frozen=True)
class Organ:
    """A named structure of a scene: the union of some solids less the union of others, in one label map layer."""

    name: str
    label: int
    solids: tuple[Phantom, ...]
    holes: tuple[Phantom, ...] = ()
    layer: int = 0

    def shifted(self, offset_mm: Sequence[float]) -> Organ:
        """Return the organ moved as a whole."""
        solids = tuple(solid.shifted(offset_mm) for solid in self.solids)
        return replace(self, solids=solids, holes=tuple(hole.shifted(offset_mm) for hole in self.holes))

    def paint(self, layer: npt.NDArray[np.uint8], grid: Grid) -> None:
        """Write the organ's label over what is there."""
        for solid in self.solids:
            for slab in solid.slabs(grid):
                inside = slab.inside
                for hole in self.holes:
                    inside = inside & (hole.level(slab.centers) > 0.0)
                layer[slab.box][inside] = self.label


@dataclass(frozen=True)
class Scene:
    """Organs on a grid. Later organs are painted over earlier ones of their layer, so lesions replace liver."""

    grid: Grid
    organs: tuple[Organ, ...]

    @cached_property
    def label_map(self) -> LabelMap:
        """The scene as labels: one layer, or two where the target volume overlaps the rest."""
        layers = []
        for number in sorted({organ.layer for organ in self.organs} | {0}):
            layer = np.zeros(self.grid.shape, dtype=np.uint8)
            for organ in self.organs:
                if organ.layer == number:
                    organ.paint(layer, self.grid)
            layers.append(layer)
        return LabelMap(tuple(layers), self.grid, {organ.label: organ.name for organ in self.organs}, "phantom scene")

    @cached_property
    def labeling(self) -> Labeling:
        """Every organ by name; the liver contains its lesions."""
        labels: dict[str, tuple[int, ...]] = {organ.name: (organ.label,) for organ in self.organs}
        if LIVER in labels and LESIONS in labels:
            labels[LIVER] += labels[LESIONS]
        return Labeling(labels)

    def organ(self, name: str) -> Organ:
        """Return the organ of that name."""
        for organ in self.organs:
            if organ.name == name:
                return organ
        raise UnknownStructure(f"No organ {name!r}; there are {', '.join(repr(organ.name) for organ in self.organs)}.")


def scene(grid: Grid, *, seed: int = 0, lesions: int = 3, overlap: bool = False) -> Scene:
    """Return an abdomen that fills the grid: seven organs, round lesions inside the liver.

    Places, sizes and turns vary with the seed; each organ draws from a stream of its own, so that asking for more
    lesions moves no other organ. With `overlap` a target volume around the first lesion shares its voxels with the
    liver, on a second layer.

    Raises:
        InvalidInput: if the grid is not 3-D, or has no room for that many lesions.

    """
    if grid.ndim != 3:
        raise InvalidInput(f"A scene needs a 3-D grid, got shape {grid.shape}.")
    if lesions < 0:
        raise InvalidInput(f"lesions: expected 0 or more, got {lesions}.")
    room = _Room(grid, seed)
    liver = Organ(LIVER, 1, (room.ellipsoid("liver right", (0.32, 0.5, 0.62), (0.2, 0.24, 0.2)), *room.left_lobe()))
    found = _lesions(room, liver, lesions)
    organs = [liver, *([Organ(LESIONS, 2, found)] if found else []), *_other_organs(room)]
    if overlap:
        if not found:
            raise InvalidInput("overlap: the target volume lies around a lesion; ask for at least one.")
        margin = 0.5 * found[0].radius_mm + max(grid.spacing)
        organs.append(Organ(TARGET, 9, (replace(found[0], radius_mm=found[0].radius_mm + margin),), layer=1))
    return Scene(grid, tuple(organs))


def perturbed(
    truth: Scene,
    *,
    shift_mm: float = 1.0,
    missed: int = 0,
    spurious: int = 0,
    without: Sequence[str] = (),
    seed: int = 0,
) -> Scene:
    """Return a prediction of the scene that is wrong in a known way.

    Every organ moves by exactly `shift_mm` in a direction of its own (each lesion in another). The last `missed`
    lesions are left out, `spurious` new ones appear inside the liver, clear of all others, and the organs named in
    `without` are missing altogether.
    """
    if not (math.isfinite(shift_mm) and shift_mm >= 0.0):
        raise InvalidInput(f"shift_mm: expected 0 or more, got {shift_mm!r}.")
    for name in without:
        truth.organ(name)
    room = _Room(truth.grid, seed)
    organs = []
    for organ in truth.organs:
        if organ.name in without:
            continue
        if organ.name == LESIONS:
            organs += _perturbed_lesions(room, truth, organ, shift_mm, missed, spurious)
        else:
            organs.append(organ.shifted(room.step(f"shift {organ.name}", shift_mm)))
    if (missed or spurious) and not any(organ.name == LESIONS for organ in truth.organs):
        raise InvalidInput("missed, spurious: this scene has no lesions.")
    return Scene(truth.grid, tuple(organs))


@dataclass(frozen=True)
class _Room:
    """The box of a grid in space, to be furnished: positions and sizes are shares of its edges."""

    grid: Grid
    seed: int

    @cached_property
    def edges_mm(self) -> FloatArray:
        edges: FloatArray = np.asarray(self.grid.spacing) * np.asarray(self.grid.shape)
        return edges

    @cached_property
    def directions(self) -> FloatArray:
        """Orthonormal columns closest to the directions of the array axes."""
        left, _, right = np.linalg.svd(self.grid.affine[:-1, :-1] / np.asarray(self.grid.spacing))
        nearest: FloatArray = left @ right
        return nearest

    def stream(self, name: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, *name.encode()])

    def step(self, name: str, length_mm: float) -> Vector:
        """Return a step of the given length in a random direction."""
        vector = self.stream(name).normal(size=3)
        return tuple((vector * (length_mm / np.linalg.norm(vector))).tolist())

    def point(self, shares: Sequence[float]) -> Vector:
        index = np.asarray(shares) * np.asarray(self.grid.shape) - 0.5
        return tuple((self.grid.affine[:-1, :-1] @ index + self.grid.affine[:-1, -1]).tolist())

    def radius(self, share: float) -> float:
        return share * float(self.edges_mm.min())

    def moved(self, name: str, shares: Sequence[float]) -> list[float]:
        """Return a position up to 2 % of the edges away from the given one."""
        moved: list[float] = (np.asarray(shares) + self.stream(name + " place").uniform(-0.02, 0.02, 3)).tolist()
        return moved

    def ellipsoid(self, name: str, place: Sequence[float], semi_axes: Sequence[float]) -> Ellipsoid:
        """Return an ellipsoid near a place, up to 10 % larger or smaller and turned by up to 20 degrees."""
        draw = self.stream(name)
        axes = np.asarray(semi_axes) * self.edges_mm * draw.uniform(0.9, 1.1, 3)
        turn = np.asarray(rotation_about(self.step(name + " axis", 1.0), float(draw.uniform(-20.0, 20.0))))
        rotation = tuple(tuple(row) for row in (turn @ self.directions).tolist())
        return Ellipsoid(self.point(self.moved(name, place)), tuple(axes.tolist()), rotation)

    def left_lobe(self) -> tuple[Ellipsoid]:
        return (self.ellipsoid("liver left", (0.52, 0.42, 0.66), (0.16, 0.12, 0.1)),)


def _other_organs(room: _Room) -> list[Organ]:
    organs = [_bean(room, "spleen", 3, (0.82, 0.62, 0.68), (0.09, 0.12, 0.12))]
    organs.append(_bean(room, "left kidney", 4, (0.72, 0.7, 0.42), (0.065, 0.07, 0.11)))
    organs.append(_bean(room, "right kidney", 5, (0.3, 0.74, 0.36), (0.065, 0.07, 0.11)))
    turns = [(0.56, 0.66, 0.9), (0.57, 0.68, 0.6), (0.54, 0.64, 0.38), (0.46, 0.6, 0.18)]
    path = [room.point(room.moved(f"aorta {i}", place)) for i, place in enumerate(turns)]
    organs.append(Organ("aorta", 6, (Tube(tuple(path), room.radius(0.035)),)))
    wall = Shell(room.point(room.moved("bladder", (0.5, 0.36, 0.16))), room.radius(0.11), room.radius(0.075))
    organs.append(Organ("bladder wall", 7, (wall,)))
    foot = room.moved("vertebra", (0.52, 0.86, 0.3))
    body = Cylinder(room.point(foot), room.point([foot[0], foot[1], foot[2] + 0.3]), room.radius(0.075))
    organs.append(Organ("vertebra", 8, (body,)))
    return organs


def _bean(
    room: _Room, name: str, label: int, place: tuple[float, float, float], semi_axes: tuple[float, float, float]
) -> Organ:
    """Return an ellipsoid with a hollow towards the middle of the body."""
    body = room.ellipsoid(name, place, semi_axes)
    middle = np.subtract(room.point((0.5, 0.6, 0.5)), body.center_mm)
    rim = middle * (1.15 * min(body.semi_axes_mm) / float(np.linalg.norm(middle)))
    hollow = Ball(tuple(np.add(body.center_mm, rim).tolist()), 0.55 * min(body.semi_axes_mm))
    return Organ(name, label, (body,), (hollow,))


def _lesions(room: _Room, liver: Organ, count: int) -> tuple[Ball, ...]:
    found: list[Ball] = []
    for number in range(count):
        found.append(_free_lesion(room, liver, found, f"lesion {number}"))
    return tuple(found)


def _free_lesion(room: _Room, liver: Organ, others: Sequence[Ball], name: str) -> Ball:
    """Return a ball inside the liver's right lobe, at least two voxels away from all other lesions."""
    draw = room.stream(name)
    lobe = liver.solids[0]
    low, high = lobe.bounds_mm()
    voxel = max(room.grid.spacing)
    radius = max(room.radius(float(draw.uniform(0.02, 0.05))), 1.2 * voxel)
    centers = draw.uniform(low, high, (_DRAWS, 3))
    free = lobe.signed_distance(centers) <= -radius - voxel
    for other in others:
        free &= other.signed_distance(centers) >= radius + 2.0 * voxel
    if not np.any(free):
        raise InvalidInput(f"lesions: no room for another one in the liver on a grid of {room.grid}. Ask for fewer.")
    return Ball(tuple(centers[np.argmax(free)].tolist()), radius)


def _perturbed_lesions(
    room: _Room, truth: Scene, organ: Organ, shift_mm: float, missed: int, spurious: int
) -> list[Organ]:
    balls = [solid for solid in organ.solids if isinstance(solid, Ball)]
    if not 0 <= missed <= len(balls):
        raise InvalidInput(f"missed: expected 0 to {len(balls)}, the number of lesions, got {missed}.")
    if spurious < 0:
        raise InvalidInput(f"spurious: expected 0 or more, got {spurious}.")
    kept = balls[: len(balls) - missed]
    moved = [ball.shifted(room.step(f"shift lesion {i}", shift_mm)) for i, ball in enumerate(kept)]
    taken = [*balls, *moved]
    for number in range(spurious):
        new = _free_lesion(room, truth.organ(LIVER), taken, f"spurious lesion {number}")
        taken.append(new)
        moved.append(new)
    return [replace(organ, solids=tuple(moved))] if moved else []
