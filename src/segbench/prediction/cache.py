"""The prediction cache: one label map per case, model and setting; whole or not there, made once, found again.

An entry is a file named after the case, and the hash of its id and its image, in a folder named after the model and the
hash of everything else that its output depends on. A small JSON beside it says what it is; a file that no longer has
the hash of its JSON is made again. The id counts because every model is told it: two cases with one image may have two
predictions.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segauge.io.contents import file_hash
from segauge.io.gate import load_json
from segauge.io.outputs import write_whole

#: What every output file is called: readers go by content, but programs look at the name.
SUFFIX = ".nii.gz"


@dataclass(frozen=True)
class Entry:
    """Where the prediction of one model for one case lies, whether it is there or not."""

    folder: Path
    name: str

    @property
    def file(self) -> Path:
        """The label map."""
        return self.folder / f"{self.name}{SUFFIX}"

    @property
    def description(self) -> Path:
        """What the label map is, as JSON."""
        return self.folder / f"{self.name}.json"

    @property
    def log(self) -> Path:
        """What the model said."""
        return self.folder / f"{self.name}.log"

    @property
    def lock(self) -> Path:
        """Held by whoever makes it."""
        return self.folder / f".{self.name}.lock"

    @property
    def work(self) -> Path:
        """Folder that the model writes to while it is made."""
        return self.folder / f".{self.name}.work"

    def found(self) -> Mapping[str, Any] | None:
        """Return the description of a prediction that is there and unchanged, None otherwise."""
        if self.file.is_symlink():
            return None
        try:
            described = load_json(self.description)
            if isinstance(described, dict) and described.get("sha256") == file_hash(self.file):
                return described
        except (OSError, ValueError):
            pass
        return None

    def keep(self, made: Path, seconds: float, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put a finished label map into its place, then its description, and return that."""
        described = {**facts, "sha256": file_hash(made), "seconds": round(seconds, 3)}
        made.replace(self.file)
        if os.name != "nt":  # where a file that is read only could not be replaced
            self.file.chmod(0o444)
        write_whole(self.description, json.dumps(described, sort_keys=True, indent=1, allow_nan=False) + "\n")
        return described


def entry_of(
    root: Path, model: str, settings: Mapping[str, Any], inside: str | None, case_id: str, image_hash: str
) -> Entry:
    """Return the entry of a model with these settings for a case and its image.

    Args:
        root: folder of the cache.
        model: name of the model.
        settings: what its output depends on, but for the packages it runs with.
        inside: a digest of those packages, "" for a model without an environment. None if it is not known: then the
            entry is in the only folder of these settings, where there is one.
        case_id: id of the case.
        image_hash: of its image.

    """
    folder = f"{safe_name(model)}-{_hash_of(settings)[:12]}"
    if inside is None:
        there = sorted(root.glob(f"{glob.escape(folder)}-*"))
        folder = there[0].name if len(there) == 1 else f"{folder}-unknown"
    elif inside:
        folder += f"-{_hash_of(inside)[:8]}"
    return Entry(root / folder, f"{safe_name(case_id)}-{_hash_of([case_id, image_hash])[:32]}")


def _hash_of(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True, allow_nan=False).encode()).hexdigest()


def safe_name(name: str) -> str:
    """Return a name that any file system takes; the hash behind it tells apart what becomes the same."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60] or "unnamed"
