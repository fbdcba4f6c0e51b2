"""ListedDataset: a dataset whose cases are found in a folder, and perhaps fetched into it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from segauge.errors import InvalidInput
from segbench.cards import DatasetCard
from segbench.registry import DatasetCase, Progress
from segbench.suggestions import unknown


@dataclass(frozen=True)
class ListedDataset:
    """A dataset by its card, a function that lists its cases, and one that fetches what is missing of some.

    `listing` is called once, when somebody first asks for cases; `describe` gives a card that only the files can
    complete.
    """

    listing: Callable[[], Mapping[str, DatasetCase]]
    describe: Callable[[], DatasetCard]
    obtain: Callable[[Sequence[DatasetCase], Progress | None], None] | None = None

    @cached_property
    def card(self) -> DatasetCard:
        """What is known about it."""
        return self.describe()

    @cached_property
    def _found(self) -> Mapping[str, DatasetCase]:
        return self.listing()

    def case_ids(self) -> list[str]:
        """Return the ids of all cases, sorted."""
        return sorted(self._found)

    def cases(self, case_ids: Sequence[str]) -> list[DatasetCase]:
        """Return these cases, in this order."""
        for case_id in case_ids:
            if case_id not in self._found:
                raise InvalidInput(f"{self.card.name}: {unknown('case', case_id, self._found)}")
        return [self._found[case_id] for case_id in case_ids]

    def prepare(self, case_ids: Sequence[str], progress: Progress | None = None) -> None:
        """Fetch what is missing of these cases, and make sure that it is there."""
        wanted = self.cases(case_ids)
        if self.obtain is not None:
            self.obtain(wanted, progress)
            # What was fetched may tell more about the cases.
            self.__dict__.pop("_found", None)
            wanted = self.cases(case_ids)
        for case in wanted:
            for path in (case.image, case.gt):
                if not path.exists():
                    raise InvalidInput(
                        f"{self.card.name}: {case.case_id} has no file {path}. "
                        + (f"Get the dataset from {self.card.source}." if self.card.source else "Put it there.")
                    )


def data_folder(name: str, root: Path | None) -> Path:
    """Return where a dataset lies: the given root, or a folder of its name in SEGBENCH_DATA (./data if not set)."""
    return root if root is not None else Path(os.environ.get("SEGBENCH_DATA", "data")) / name


def require_folder(folder: Path, title: str, what_to_do: str) -> Path:
    """Return a folder that has to be there."""
    if not folder.is_dir():
        raise InvalidInput(f"{title} is not at {folder}. {what_to_do}")
    return folder


def image_name(path: Path, ending: str = ".nii.gz") -> str | None:
    """Return the name of an image file without its ending, None for other files and for those that macOS leaves."""
    if path.name.startswith(".") or not path.name.endswith(ending):
        return None
    return path.name[: -len(ending)]
