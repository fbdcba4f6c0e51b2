"""Phantoms: solids that are known in closed form, as masks on any grid, with the true answers of every metric.

>>> from segauge.grid import Grid
>>> from segauge.phantoms import Ball, distance_truth
>>> gt, pred = Ball((20, 20, 20), 10), Ball((21, 20, 20), 10)
>>> mask = gt.rasterize(Grid.from_spacing((40, 40, 40)))
>>> distance_truth(pred, gt).hd()
1.0
"""

from segauge.phantoms.closed_forms import distance_truth
from segauge.phantoms.phantom import Phantom, SurfaceSamples
from segauge.phantoms.scenes import Organ, Scene, perturbed, scene
from segauge.phantoms.solids import Ball, Box, Disk, Ellipse, Ellipsoid, Rectangle, Shell, rotation_about
from segauge.phantoms.truth import DirectedDistances, DistanceTruth, sampled_truth
from segauge.phantoms.tubes import Cylinder, Torus, Tube

__all__ = [
    "Ball", "Box", "Cylinder", "DirectedDistances", "Disk", "DistanceTruth", "Ellipse", "Ellipsoid", "Organ",
    "Phantom", "Rectangle", "Scene", "Shell", "SurfaceSamples", "Torus", "Tube", "distance_truth", "perturbed",
    "rotation_about", "sampled_truth", "scene",
]  # fmt: skip
