"""The exceptions of segauge: one tree, so that `except SegaugeError` catches what we raise and nothing else.

Every message says what was expected, what came, and what to do about it. Those that answer to a bad argument
are also `ValueError`, so that code written against plain Python keeps working.
"""

from __future__ import annotations


def option(name: str, value: object = True) -> str:
    """Return how a message names an option, for both who types a command and who writes Python.

    >>> option("trust_array")
    '--trust-array (Python: trust_array=True)'
    >>> option("structures", {"liver": 1})
    "--structures liver=1 (Python: structures={'liver': 1})"
    >>> option("spacing", ...)
    '--spacing (Python: spacing=)'
    """
    flag = f"--{name.replace('_', '-')}"
    if value is ...:
        return f"{flag} (Python: {name}=)"
    text = ",".join(f"{key}={part}" for key, part in value.items()) if isinstance(value, dict) else str(value)
    return f"{flag}{'' if value is True else f' {text}'} (Python: {name}={value!r})"


class SegaugeError(Exception):
    """Base of everything that segauge raises on purpose."""


class InvalidInput(SegaugeError, ValueError):
    """An argument cannot be used as it is: wrong type, range, or shape."""


class ShapeMismatch(InvalidInput):
    """Two arrays that are to be compared voxel by voxel differ in shape."""


class EmptyMask(InvalidInput):
    """A mask without a single voxel was given where a surface is needed."""


class GridMismatch(InvalidInput):
    """Two label maps do not lie on the same grid in space."""


class UnknownMetric(InvalidInput):
    """A metric was asked for that the catalog does not have."""


class UnknownStructure(InvalidInput):
    """A structure was asked for that the labeling or the table does not have."""


class UnreadableFile(InvalidInput):
    """A file or folder cannot be read as a segmentation: damaged, of an unknown kind, or against its own header."""


class FileTooLarge(UnreadableFile):
    """A file asks for more voxels or bytes than the limits allow."""


class IrregularSeries(UnreadableFile):
    """The slices of a DICOM series do not make one regular grid: tilted, doubled, missing, or mixed."""


class UnusableOption(InvalidInput):
    """What was asked for cannot be had from these files: it fails for every case alike, and nothing is measured."""


class CacheUnusable(SegaugeError):
    """The folder that keeps finished cases cannot be used: another run holds it, or it cannot be written."""


class MissingExtra(SegaugeError, ImportError):
    """A file needs an optional dependency that is not installed; the message names the extra."""
