"""Draw the figures of native/DESIGN.md from the NumPy reference: `python native/figures/draw.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from segauge.geometry.patterns import cell_patterns, cell_shapes
from segauge.geometry.reference.distances import distances_to
from segauge.geometry.reference.subvoxel import depths, subvoxel_surface
from segauge.geometry.reference.surfaces import find_cells, sample_points, targets_of
from segauge.geometry.subvoxel import subvoxel_rule

UNIT = np.eye(2)
MASK = np.array([[int(c) for c in row] for row in ("0000000", "0011100", "0111110", "0011110", "0001100", "0000000")]) > 0
OTHER = np.roll(MASK, (0, 1), (0, 1)) & np.array([1, 1, 1, 1, 0, 0], dtype=bool)[:, None]
INK, RED, BLUE, PALE = "#222", "#c0392b", "#2060a0", "#d9d9d9"


class Drawing:
    """Shapes in voxels, y downwards."""

    def __init__(self, width: float, height: float, scale: float = 34) -> None:
        self.size, self.scale, self.shapes = (width, height), scale, []

    def line(self, points, color=INK, width=1.6, dash="", fill="none"):
        at = " ".join(f"{x * self.scale:.1f},{y * self.scale:.1f}" for y, x in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.shapes.append(f'<polyline points="{at}" fill="{fill}" stroke="{color}" stroke-width="{width}"{dashes}/>')

    def box(self, low, high, color=INK, fill="none", width=1.0, dash=""):
        self.line([low, (low[0], high[1]), high, (high[0], low[1]), low], color, width, dash, fill)

    def dot(self, at, color=INK, radius=2.6, fill=None):
        y, x = at[0] * self.scale, at[1] * self.scale
        self.shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill or color}" stroke="{color}"/>')

    def circle(self, at, radius, color=INK):
        self.dot(at, color, radius * self.scale, "none")

    def text(self, at, words, size=11, color=INK):
        y, x = at[0] * self.scale, at[1] * self.scale
        self.shapes.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}">{words}</text>')

    def mask(self, mask, origin=(0, 0)):
        for y, x in np.ndindex(mask.shape):
            low = (y + origin[0], x + origin[1])
            self.box(low, (low[0] + 1, low[1] + 1), PALE, "#efefef" if mask[y, x] else "none")
            self.dot((low[0] + 0.5, low[1] + 0.5), INK if mask[y, x] else "#bbb", 1.6)

    def save(self, name):
        width, height = (side * self.scale for side in self.size)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" font-family="sans-serif">'
        Path(__file__).with_name(f"{name}.svg").write_text("\n".join([head, *self.shapes, "</svg>\n"]), encoding="utf-8")


def pieces(mask, surface="marching-cubes"):
    """Return the pieces of a surface, and the shift from their lattice to the drawing."""
    shift = np.array([-0.5, -0.5]) if surface == "marching-cubes" else np.array([0.5, 0.5])
    return targets_of(find_cells(mask, None, surface), cell_patterns(surface, UNIT)), shift


def draw_pieces(drawing, targets, shift, color, **style):
    for corner, u in zip(targets.corner[:, 1:], targets.u[:, 1:], strict=True):
        drawing.line([corner + shift, corner + u + shift], color, **style)


def surfaces():
    d = Drawing(7, 6)
    d.mask(MASK)
    draw_pieces(d, *pieces(MASK), RED)
    draw_pieces(d, *pieces(MASK, "voxel"), BLUE, dash="4 3")
    sub = subvoxel_surface(MASK, None, subvoxel_rule(UNIT)).targets
    draw_pieces(d, sub, np.array([-0.5, -0.5]), INK, width=2.2)
    d.save("1-surfaces")


def codes():
    d, shapes = Drawing(10.6, 3.2), cell_shapes("marching-cubes", UNIT)
    image = shapes.symmetries.code
    colors = ("#999", RED, BLUE, "#2d8a4e", "#b8860b", "#7d3c98")
    canonical = np.array([image[:, code].min() for code in range(16)])
    order = sorted(set(canonical.tolist()))
    one = cell_patterns("marching-cubes", UNIT)
    for code in range(16):
        low = np.array([0.4 + code // 8 * 1.5, 0.3 + code % 8 * 1.3])
        color = colors[order.index(canonical[code]) % len(colors)]
        d.box(low, low + 0.8, PALE)
        for bit in range(4):
            d.dot(low + 0.8 * np.array([bit >> 1, bit & 1]), INK, 3, INK if code >> bit & 1 else "white")
        for k in range(one.target_start[code], one.target_start[code + 1]):
            start, u = one.target_corner[k, 1:], one.target_u[k, 1:]
            d.line([low + 0.8 * start, low + 0.8 * (start + u)], color, 2.2)
        d.text(low + (1.15, 0.05), f"{code} ~ {canonical[code]}", 10, color)
    d.save("2-codes")


def samples():
    d = Drawing(8, 6)
    a, b = np.zeros((2, 6, 8), dtype=bool)
    a[:, :7], b[:, 1:] = MASK, OTHER
    d.mask(a)
    (targets, shift), (others, _) = pieces(a), pieces(b)
    draw_pieces(d, targets, shift, RED)
    draw_pieces(d, others, shift, BLUE)
    points = sample_points(find_cells(a, None, "marching-cubes"), cell_patterns("marching-cubes", UNIT))
    for point, distance in zip(points, distances_to(points, others), strict=True):
        d.dot(point[1:] + shift, RED)
        if distance > 0.2:
            d.circle(point[1:] + shift, distance, "#e6b0aa")
    d.save("3-samples")


def bricks():
    d = Drawing(24.4, 16.4, 14)
    y, x = np.ogrid[:15, :23]
    cells = find_cells((y - 7) ** 2 / 30 + (x - 11) ** 2 / 90 < 1, None, "marching-cubes").position
    for at in cells:
        d.box(at + 0.2, at + 1.2, PALE, "#f3c6c0")
    for by, bx in sorted({tuple(at // 8) for at in cells}):
        own = cells[(cells // 8 == (by, bx)).all(axis=1)]
        d.box((8 * by + 0.2, 8 * bx + 0.2), (8 * by + 8.2, 8 * bx + 8.2), INK, width=1.4)
        d.box(own.min(axis=0) + 0.2, own.max(axis=0) + 1.2, BLUE, dash="3 2")
    d.save("4-bricks")


def block():
    d = Drawing(7.4, 7.4)
    cells = [tuple(at) for at in find_cells(np.tri(6, 6, 1).astype(bool), None, "marching-cubes").position]
    for y, x in np.ndindex(7, 7):
        reach = max(abs(y - 3), abs(x - 3))
        fill = "#f3c6c0" if (y, x) in cells else "none"
        d.box((y + 0.2, x + 0.2), (y + 1.2, x + 1.2), (RED if reach <= 1 else PALE), fill, 1.6 if reach <= 1 else 1)
    d.dot((3.55, 3.8), BLUE, 4)
    d.text((3.5, 3.95), "query", 10, BLUE)
    d.save("5-block")


def candidates():
    d = Drawing(3.6, 3.6, 60)
    for y, x in np.ndindex(3, 3):
        d.box((y + 0.3, x + 0.3), (y + 1.3, x + 1.3), PALE, "#f7e7a9" if x >= 1 and y <= 1 else "none")
    d.line([(1.3, 1.8), (1.8, 2.3)], BLUE, 2.2)
    point = np.array([1.65, 2.05])
    d.dot(point, RED, 4)
    d.circle(point, float(np.sqrt(((point - np.clip(point, 0, 9)) ** 2).sum()) + 0.14), RED)
    d.text((3.1, 0.4), "a sample, the piece in its own cell,", 10)
    d.text((3.35, 0.4), "and the cells that can be nearer", 10)
    d.save("6-candidates")


def discs():
    d = Drawing(9, 5)
    corners = np.array([[3.6, 1.0], [3.2, 1.9], [3.1, 2.8], [2.8, 3.6]])
    d.line(corners, RED, 2.4)
    d.box(corners.min(axis=0), corners.max(axis=0), BLUE, dash="4 3")
    axis = (corners[-1] - corners[0]) / np.linalg.norm(corners[-1] - corners[0])
    normal, middle = np.array([-axis[1], axis[0]]), corners.mean(axis=0)
    r, h = np.abs((corners - middle) @ axis).max(), np.abs((corners - middle) @ normal).max()
    rim = [middle + s * r * axis + t * h * normal for s, t in ((-1, -1), (-1, 1), (1, 1), (1, -1), (-1, -1))]
    d.line(rim, INK)
    point = np.array([0.8, 1.2])
    d.dot(point, INK, 4)
    d.line([point, (corners.min(axis=0)[0], 1.2)], BLUE)
    d.line([point, middle + np.clip((point - middle) @ axis, -r, r) * axis + np.sign((point - middle) @ normal) * h * normal])
    d.text((1.0, 4.2), "box: bound 2.0", 11, BLUE)
    d.text((1.4, 4.2), "disc: bound follows the slope", 11)
    d.save("7-discs")


def gaussians():
    d = Drawing(8, 7)
    y, x = np.ogrid[:7, :8]
    mask = (y - 3.3) ** 2 + (x - 3.6) ** 2 < 7.8
    d.mask(mask)
    deep = depths(np.pad(mask, 1), subvoxel_rule(UNIT))[1:-1, 1:-1]
    for at in np.ndindex(mask.shape):
        if 0 < deep[at] < 1.1:
            d.circle(np.array(at) + 0.5, float(deep[at]), "#7fa8d1")
    draw_pieces(d, subvoxel_surface(mask, None, subvoxel_rule(UNIT)).targets, np.array([-0.5, -0.5]), INK, width=2.2)
    draw_pieces(d, *pieces(mask), RED, dash="3 3")
    d.save("8-gaussians")


def caps():
    d = Drawing(10, 5)
    mask = np.zeros((5, 10), dtype=bool)
    mask[2:, 2:8], mask[3:, 1:9] = True, True
    d.mask(mask)
    rule = subvoxel_rule(np.diag([1.0, 1.0]))
    draw_pieces(d, subvoxel_surface(mask, None, rule).targets, np.array([-0.5, -0.5]), INK, width=2.2)
    d.line([(2.5, 2), (2.5, 8)], BLUE, 2, "5 3")
    d.line([(3.5, 1), (3.5, 9)], BLUE, 2, "5 3")
    d.text((2.4, 4.0), "chord of the last layer", 11, BLUE)
    d.text((3.4, 4.0), "chord of the layer before", 11, BLUE)
    d.save("9-caps")


def maximum():
    d = Drawing(9, 5)
    left, right = np.array([[3.5, 0.5], [3.5, 3.5]]), np.array([[3.5, 5.5], [3.5, 8.5]])
    d.line(left, BLUE, 2.4)
    d.line(right, BLUE, 2.4)
    d.line([(1.2, 3.0), (1.2, 6.6)], RED, 2.4)
    place = np.linspace(3.0, 6.6, 61)
    to_left = np.hypot(2.3, np.maximum(place - 3.5, 0))
    to_right = np.hypot(2.3, np.maximum(5.5 - place, 0))
    d.line(np.stack([4.9 - to_left, place], axis=1), "#7fa8d1", dash="3 2")
    d.line(np.stack([4.9 - to_right, place], axis=1), "#7fa8d1", dash="3 2")
    d.line(np.stack([4.9 - np.minimum(to_left, to_right), place], axis=1), INK, 1.8)
    d.dot((1.2, 4.5), RED, 4)
    d.text((0.9, 3.4), "cut here: both are equally near", 11)
    d.save("10-maximum")


if __name__ == "__main__":
    for figure in (surfaces, codes, samples, bricks, block, candidates, discs, gaussians, caps, maximum):
        figure()
