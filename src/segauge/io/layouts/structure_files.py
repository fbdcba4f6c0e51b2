"""Structures from a file: dataset.json of nnU-Net (v2 and v1 / MSD), or YAML."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.gate import load_json
from segauge.io.yaml_files import read_yaml
from segauge.labeling import Labeling


def read_structures(path: str | os.PathLike[str]) -> Labeling:
    """Return the structures, regions and ignore label that a file declares.

    JSON: a dataset.json, or name -> label (or list of labels). YAML: name -> label or list, at the top or under
    `structures`, beside which only `ignore` may stand.
    """
    place = Path(path)
    if place.suffix.lower() == ".json":
        return labeling_of_dataset(load_json(place, unique_keys=True), place.name)
    return _labeling_of_yaml(read_yaml(place, "a list of structures"), place.name)


def read_aliases(path: str | os.PathLike[str]) -> dict[str, tuple[int | str, ...]]:
    """Return the structures of a YAML file that also holds names: labels and the names that files use for each.

    `prostate: [Prostate, prostate_gland]` is whichever of these a file has. {} for a file of numbers alone.
    """
    place = Path(path)
    if place.suffix.lower() == ".json":
        return {}
    structures, _ = _of_yaml(read_yaml(place, "a list of structures"), place.name)
    listed = {str(key): value if isinstance(value, list) else [value] for key, value in structures.items()}
    if not any(isinstance(part, str) for parts in listed.values() for part in parts):
        return {}
    return {
        name: tuple(part if isinstance(part, str) else _numbers(name, part, place.name)[0] for part in parts)
        for name, parts in listed.items()
    }


def labeling_of_dataset(data: Any, source: str) -> Labeling:
    """Return the labeling of a dataset.json: names to numbers or regions, or (v1) numbers to names.

    Numbers of one name make one structure.
    """
    labels = data.get("labels", data) if isinstance(data, Mapping) else None
    if not isinstance(labels, Mapping):
        raise InvalidInput(f'{source}: expected an object with "labels", such as {{"labels": {{"liver": 1}}}}.')
    structures: dict[str, tuple[int, ...]] = {}
    ignore = None
    for name, value in labels.items():
        if isinstance(value, str) and str(name).isdigit():
            name, value = value, int(name)
        numbers = _numbers(name, value, source)
        if str(name) == "ignore":
            ignore = numbers[0]
        elif numbers != (0,):
            structures[str(name)] = tuple(dict.fromkeys((*structures.get(str(name), ()), *numbers)))
    return Labeling(structures, ignore)


def _labeling_of_yaml(data: Any, source: str) -> Labeling:
    structures, ignore = _of_yaml(data, source)
    found = {name: _numbers(name, value, source) for name, value in structures.items()}
    return Labeling(found, None if ignore is None else _numbers("ignore", ignore, source)[0])


def _of_yaml(data: Any, source: str) -> tuple[Mapping[str, Any], Any]:
    """Return the structures and the ignore label as they are written."""
    if not isinstance(data, Mapping):
        raise InvalidInput(f"{source}: expected names and labels, such as `liver: 1`, one a line.")
    structures, ignore = data, None
    if "structures" in data:
        unknown = [str(key) for key in data if key not in ("structures", "ignore")]
        if unknown:
            raise InvalidInput(f"{source}: unknown key {unknown[0]!r}; the only other key is ignore.")
        structures, ignore = data["structures"], data.get("ignore")
        if not isinstance(structures, Mapping):
            raise InvalidInput(f"{source}: structures should hold names and labels, such as `liver: 1`.")
    for name in structures:
        if not isinstance(name, str):
            raise InvalidInput(
                f"{source}: a structure's name is text, this one was read as {name!r} "
                '(YAML takes no, yes, on, off for truth values): write it in quotes, as in "no": 3.'
            )
    return structures, ignore


def _numbers(name: object, value: object, source: str) -> tuple[int, ...]:
    listed = value if isinstance(value, (list, tuple)) else [value]
    if not listed or len(listed) > 65535:
        raise InvalidInput(f"{source}: structure {name!r} should have one or more labels, got {len(listed)}.")
    for number in listed:
        if isinstance(number, bool) or not isinstance(number, int):
            raise InvalidInput(
                f"{source}: structure {name!r} should be a label or a list of labels, got {reprlib.repr(number)}."
            )
    return tuple(listed)
