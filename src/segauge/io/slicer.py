"""Segments of 3D Slicer's .seg.nrrd files: several layers, label values that repeat from layer to layer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from segauge.errors import UnreadableFile
from segauge.labelmap import LabelArray


@dataclass(frozen=True)
class Segment:
    """One segment as the header has it: its layer, its label value there, and its name."""

    number: int
    layer: int
    value: int
    name: str


def segments_as_layers(
    layers: Sequence[LabelArray], keys: Mapping[str, str], source: str, notes: list[str]
) -> tuple[tuple[LabelArray, ...], dict[int, str]]:
    """Return layers whose labels are unique over all of them, and the segments' names.

    Where label values repeat (value 1 in two layers is two segments), the segments are numbered from 1 in the
    file's order; otherwise they keep their values. Voxels that belong to no declared segment keep a label of their
    own after the last one, without a name.
    """
    segments = _segments(keys, len(layers), source)
    values = [segment.value for segment in segments]
    unique = len(set(values)) == len(values)
    label_of = {(s.layer, s.value): s.value if unique else k for k, s in enumerate(segments, start=1)}
    undeclared = _undeclared(layers, label_of)
    if undeclared:
        first = max([*label_of.values(), *(value for _, value in undeclared)], default=0) + 1
        label_of.update({where: first + k for k, where in enumerate(undeclared)})
        notes.append(f"{len(undeclared)} label values belong to no segment of the header; labelled from {first}")
    if not unique:
        notes.append("label values repeat from layer to layer; the segments are labelled from 1 in the file's order")
    relabelled = tuple(_relabel(layer, k, label_of) for k, layer in enumerate(layers))
    return relabelled, {label_of[s.layer, s.value]: s.name for s in segments}


def _segments(keys: Mapping[str, str], layer_count: int, source: str) -> list[Segment]:
    found = sorted({int(m.group(1)) for key in keys if (m := re.match(r"Segment(\d{1,6})_", key))})
    segments = []
    for order, number in enumerate(found):
        # Before 2020 Slicer wrote one 0/1 volume per segment and neither value nor layer.
        layer = _whole(keys.get(f"Segment{number}_Layer", str(order if layer_count > 1 else 0)), source)
        value = _whole(keys.get(f"Segment{number}_LabelValue", "1"), source)
        if not 0 <= layer < layer_count:
            raise UnreadableFile(
                f"{source}: segment {number} lies in layer {layer}, the file has {layer_count} layers."
            )
        name = keys.get(f"Segment{number}_Name") or keys.get(f"Segment{number}_ID") or f"Segment {number}"
        segments.append(Segment(number, layer, value, name))
    if len({(s.layer, s.value) for s in segments}) < len(segments):
        raise UnreadableFile(f"{source}: two segments share one label value in one layer. The header is damaged.")
    return segments


def _whole(text: str, source: str) -> int:
    if not re.fullmatch(r"-?\d{1,9}", text.strip()):
        raise UnreadableFile(f"{source}: a segment's layer and label value are whole numbers, got {text[:40]!r}.")
    return int(text)


def _undeclared(layers: Sequence[LabelArray], label_of: Mapping[tuple[int, int], int]) -> list[tuple[int, int]]:
    occurring = [(k, int(value)) for k, layer in enumerate(layers) for value in np.unique(layer) if value != 0]
    return [where for where in occurring if where not in label_of]


def _relabel(layer: LabelArray, index: int, label_of: Mapping[tuple[int, int], int]) -> LabelArray:
    changes = {value: label for (k, value), label in label_of.items() if k == index and value != label}
    if not changes:
        return layer
    relabelled = layer.astype(np.int32 if max(changes.values()) > np.iinfo(layer.dtype).max else layer.dtype)
    for value, label in changes.items():
        relabelled[layer == value] = label
    return relabelled
