"""Case: one ground truth, its prediction, and what is known about the patient."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.labelmap import LabelMap

Source = str | os.PathLike[str] | npt.NDArray[Any] | LabelMap


@dataclass(frozen=True, eq=False)
class Case:
    """One case to evaluate.

    Attributes:
        case_id: its name, any text; no two cases of a dataset may share one.
        pred: predicted label map: a file or folder, an array, or a LabelMap. None where there is no prediction: the
            case then counts as a failure, it does not vanish.
        gt: ground truth, likewise.
        spacing: voxel edges in mm, one number or one per array axis; replaces that of the files. By default the
            ground truth's, 1 mm for arrays.
        metadata: what subgroups are made of: {"sex": "F", "scanner": "A"}.

    """

    case_id: str
    pred: Source | None
    gt: Source
    spacing: float | tuple[float, ...] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.case_id, str) or not self.case_id:
            raise InvalidInput(f"case_id: expected a text that is not empty, got {self.case_id!r}.")
        for name in ("pred", "gt"):
            source = getattr(self, name)
            if isinstance(source, (list, tuple)):
                object.__setattr__(self, name, np.asarray(source))
            elif not (source is None and name == "pred") and not isinstance(
                source, (str, os.PathLike, np.ndarray, LabelMap)
            ):
                raise InvalidInput(
                    f"Case {self.case_id!r}: {name} should be a path, an array or a LabelMap, "
                    f"got {type(source).__name__}."
                )
        if self.spacing is not None:
            object.__setattr__(self, "spacing", self._checked_spacing())
        object.__setattr__(self, "metadata", {str(key): _plain(value) for key, value in self.metadata.items()})

    def _checked_spacing(self) -> float | tuple[float, ...]:
        """Return the spacing as numbers; whether there is one per axis is seen when the images are read."""
        given = self.spacing
        try:
            edges = tuple(float(edge) for edge in np.atleast_1d(np.asarray(given)).tolist())
        except (TypeError, ValueError):
            edges = ()
        if not edges or not all(0 < edge < math.inf for edge in edges):
            raise InvalidInput(
                f"Case {self.case_id!r}: spacing: expected positive voxel edges in mm, one number or one per axis, got "
                f"{given!r}."
            )
        return edges[0] if isinstance(given, (int, float, np.number)) else edges


def _plain(value: object) -> object:
    """Return a value of a table as plain Python: numbers of NumPy's, which no file has, and what stands for nothing.

    A NaN is not even itself: every case without a value would be a group of its own.
    """
    if isinstance(value, np.generic):
        value = value.item()
    is_nothing = value != value if isinstance(value, float) else type(value).__name__ in ("NAType", "NaTType")
    return None if is_nothing else value
