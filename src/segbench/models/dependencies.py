"""What a model's command depends on beside its text: files, folders of weights and container images that it names.

Their hashes are part of the cache key of a prediction: weights that were trained again under the same name, or a tag
that was moved to another image, are another model. A file that a command writes notes to is not: it would be another
model after every prediction.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from segauge.errors import SegaugeError
from segauge.io.contents import file_hash
from segauge.io.gate import load_json
from segauge.io.outputs import write_whole

#: A file that changed less than this before it was hashed may change again without its times telling.
_SETTLED_NS = 2_000_000_000

#: What lies in a folder of weights or code but is no part of it.
_NO_PART = ("__pycache__", ".git", ".DS_Store")

#: A folder of more files than this is data that a command is shown, and no part of it.
_MOST_FILES = 5_000

#: How the names of files end that a command writes notes to, rather than depends on, unless they are programs.
_WRITTEN_TO = ("", ".log", ".txt", ".out", ".err", ".csv", ".tsv", ".tmp", ".lock", ".pid")

#: Where the system's own programs lie: an update of theirs is no other model.
_SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/proc", "/sbin", "/sys", "/usr")

_ENGINES = ("docker", "podman")


class LateOptions(Mapping[str, Any]):
    """Options that are worked out when somebody first looks at them: hashing weights takes its time."""

    def __init__(self, find: Callable[[], Mapping[str, Any]]) -> None:
        self._find = find

    @cached_property
    def _found(self) -> dict[str, Any]:
        return dict(self._find())

    def __getitem__(self, key: str) -> Any:
        return self._found[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def dependencies_of(words: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the hashes of files and folders that a command names, and the ids of container images: {} for none."""
    files = hashes_of(path for word in words for path in paths_in(word))
    images: dict[str, str] = {}
    if words and Path(words[0]).name in _ENGINES:
        found = ((word, image_id(words[0], word)) for word in words[1:] if _may_be_image(word))
        images = {word: known for word, known in found if known}
    return {name: known for name, known in (("files", files), ("images", images)) if known}


def hashes_of(paths: Iterable[Path]) -> dict[str, str]:
    """Return the hash of each file or folder by its name; those of one name are told apart by their number."""
    found: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        name, number = path.name, 2
        while name in found:
            name, number = f"{path.name} ({number})", number + 1
        known = _folder_hash(path) if path.is_dir() else settled_hash(path)
        if known:
            found[name] = known
    return found


def image_id(engine: str, name: str) -> str:
    """Return the id of a container image that is on this machine, "" where there is none."""
    if "@sha256:" in name:  # says so itself
        return ""
    try:
        asked = subprocess.run(  # noqa: S603 - the engine that the config names, no shell
            [engine, "image", "inspect", "--format", "{{.Id}}", name],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def _may_be_image(word: str) -> bool:
    return re.fullmatch(r"[a-z0-9][\w./:@-]*", word) is not None and not Path(word).exists()


def paths_in(word: str, *, resolved: bool = True) -> Iterator[Path]:
    """Yield the files and folders that a word names: itself, or a part of "--weights=/a/net.pth" and "/a:/b:ro".

    Commands run in a folder of their own, so only paths from the root name anything. Links are followed unless
    `resolved` is false.
    """
    for part in dict.fromkeys((word, *re.split(r"[=:,]", word))):
        path = Path(part)
        if "{" in part or not path.is_absolute() or any(path.is_relative_to(place) for place in _SYSTEM):
            continue
        try:
            if len(path.parts) > 2 and path.exists() and not _is_written_to(path):
                yield path.resolve() if resolved else path
        except (OSError, ValueError):
            continue


def _is_written_to(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in _WRITTEN_TO and not os.access(path, os.X_OK)


def _folder_hash(folder: Path) -> str:
    """Return the hash of all files of a folder by name and content, "" for one of very many."""
    files: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _NO_PART)
        files += [path for name in sorted(names) if name not in _NO_PART and (path := Path(place) / name).is_file()]
        if len(files) > _MOST_FILES:
            return ""
    digest = hashlib.sha256()
    for path in files:
        line = f"{path.relative_to(folder).as_posix()}\0{settled_hash(path)}\0"
        digest.update(line.encode(errors="surrogateescape"))
    return digest.hexdigest()


def settled_hash(path: Path) -> str:
    """Return the SHA-256 of a file; of one that has not changed since, from a note of the last time.

    As git does: size, inode, and the times of the last change of content and of the file itself (which nobody can set
    back) must be those of the note; and only of a file that had been left alone for a while is a note taken.
    """
    note = _notes_folder() / f"{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]}.json"
    before = _facts(path)
    known = _noted(note)
    if known.get("facts") == before and isinstance(known.get("sha256"), str):
        return str(known["sha256"])
    if path.stat().st_size == 0:
        return hashlib.sha256().hexdigest()
    now = time.time_ns()
    found = file_hash(path)
    if _facts(path) == before and max(before[2:]) + _SETTLED_NS < now:
        _keep_note(note, {"facts": before, "sha256": found})
    return found


def _facts(path: Path) -> list[int]:
    known = path.stat()
    return [known.st_size, known.st_ino, known.st_mtime_ns, known.st_ctime_ns]


def _notes_folder() -> Path:
    given = os.environ.get("SEGBENCH_HASHES")
    return Path(given) if given else Path.home() / ".cache" / "segbench" / "hashes"


def _noted(note: Path) -> dict[str, Any]:
    try:
        known = load_json(note)
    except (SegaugeError, OSError):
        return {}
    return known if isinstance(known, dict) else {}


def _keep_note(note: Path, content: Mapping[str, Any]) -> None:
    try:
        write_whole(note, json.dumps(content) + "\n")
    except (SegaugeError, OSError):  # a home folder that cannot be written to costs time, and nothing else
        return
