"""Pair and Pairing: which prediction belongs to which ground truth. The ground truths are the denominator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from segauge.errors import InvalidInput
from segauge.io.formats import image_stem
from segauge.io.gate import are_identical
from segauge.io.streams import list_folder
from segauge.labeling import Labeling
from segauge.plural import agreeing, counted


@dataclass(frozen=True)
class Pair:
    """One case: its ground truth, and its prediction or None."""

    case_id: str
    pred: Path | None
    gt: Path


@dataclass(frozen=True)
class Pairing:
    """All cases of two folders, the structures that the layout declares, and what found no partner.

    `structures` is a labeling, "all" where files name their structures themselves, or None where nothing is known.
    """

    layout: str
    pairs: tuple[Pair, ...]
    warnings: tuple[str, ...] = ()
    structures: Labeling | str | None = None

    @property
    def copies(self) -> tuple[str, ...]:
        """Warnings about predictions that are their ground truth byte for byte: they are perfect, whoever made them."""
        same = [pair.case_id for pair in self.pairs if pair.pred is not None and are_identical(pair.pred, pair.gt)]
        if not same:
            return ()
        which = agreeing(len(same), "prediction is its ground truth", "predictions are their ground truths")
        return (f"{which}, byte for byte: {_some(same)}",)

    @property
    def missing(self) -> tuple[str, ...]:
        """Cases without a prediction."""
        return tuple(pair.case_id for pair in self.pairs if pair.pred is None)


def image_files(folder: Path, ending: str | None = None) -> dict[str, Path]:
    """Return the segmentation files of a folder by case id; refuse two that differ only in suffix or case."""
    files = [path for path in list_folder(folder) if not path.name.startswith(".") and not path.is_dir()]
    return once_each((stem, path) for path in files if (stem := _case_of(path.name, ending)))


def _case_of(name: str, ending: str | None) -> str | None:
    if ending is not None:
        return name.removesuffix(ending) if name.endswith(ending) else None
    return name[:-4] if name.lower().endswith(".dcm") else image_stem(name)


def once_each(entries: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    """Return files by case id; refuse a second one for a case, whatever its suffix and whether in capitals."""
    found: dict[str, Path] = {}
    folded: dict[str, Path] = {}
    for case, path in entries:
        other = folded.setdefault(case.casefold(), path)
        if other is not path:
            raise InvalidInput(f"{other} and {path} are both case {case!r}. Which one counts? Remove one.")
        found[case] = path
    return found


def paired(
    layout: str,
    preds: Mapping[str, Path],
    gts: Mapping[str, Path],
    *,
    structures: Labeling | str | None = None,
    warnings: Iterable[str] = (),
) -> Pairing:
    """Pair by case id: a ground truth without a prediction stays, a prediction without a ground truth is warned of."""
    if not gts:
        raise InvalidInput(
            "No ground truth was found in the folder given as --gt; expected files such as case_01.nii.gz."
        )
    extra = [case for case in preds if case not in gts]
    if preds and len(extra) == len(preds):
        raise InvalidInput(
            f"No prediction has the name of a ground truth: predictions such as {_some(preds)}, ground truths such as "
            f"{_some(gts)}. Rename one side so that the names agree."
        )
    said = list(warnings)
    if extra:
        lone = agreeing(
            len(extra), "prediction has no ground truth and is not", "predictions have no ground truth and are not"
        )
        said.append(f"{lone} measured: {_some(extra)}")
    pairs = tuple(Pair(case, preds.get(case), gt) for case, gt in sorted(gts.items()))
    missing = [pair.case_id for pair in pairs if pair.pred is None]
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        said.append(f"{len(missing)} of {counted(len(pairs), 'case')} {verb} no prediction: {_some(missing)}")
    return Pairing(layout, pairs, tuple(said), structures)


def _some(names: Iterable[str]) -> str:
    listed = sorted(names)
    return ", ".join(map(repr, listed[:3])) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")
