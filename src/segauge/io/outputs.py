"""Writing results: a file is there whole or not at all, and no cell of a table can become a formula."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from segauge.errors import InvalidInput
from segauge.io.formats import image_stem

#: The path that means standard output, wherever a file is written.
STANDARD_OUTPUT = Path("-")

#: Files that say how a dataset is laid out; no result is called so.
_LAYOUT_FILES = ("dataset.json", "predictions.json")


def write_whole(path: str | os.PathLike[str], content: str | bytes | Iterable[str]) -> Path:
    """Write a file (text as UTF-8, or pieces of text) beside its place, then put it there at once; return its path.

    Folders that are not there are made. "-" is standard output. A pipe or device, such as /dev/stdout, is written to,
    and not replaced.
    """
    target = Path(path)
    if target == STANDARD_OUTPUT:
        pieces = [content] if isinstance(content, (str, bytes)) else content
        for piece in pieces:
            sys.stdout.write(piece.decode("utf-8") if isinstance(piece, bytes) else piece)
        return target
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as file:
                _write(file, content)
            return target
        with beside.open("wb") as file:
            _write(file, content)
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):  # where the folder is none, there is nothing beside its place either
            beside.unlink(missing_ok=True)
        raise InvalidInput(f"{target}: cannot be written ({error.strerror}).") from error
    return target


def write_json(path: str | os.PathLike[str], document: object) -> Path:
    """Write a document as strict JSON, readable for people; return its path."""
    return write_whole(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def plain_values(document: Any) -> Any:
    """Return a tree of values with Python's own numbers in the place of NumPy's, which JSON does not know."""
    if isinstance(document, Mapping):
        return {key: plain_values(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [plain_values(value) for value in document]
    return document.item() if isinstance(document, np.generic) else document


def without_folders(document: Any, named: Iterable[tuple[str, Path]]) -> Any:
    """Return a tree of values whose texts name files relative to the folders that were named.

    Folders may name a person or a ward, and results travel. A file of a named folder is called WORD/FILE by the word
    of its folder, such as pred/case_1.nii.gz; of other paths, the folders above those, the working directory, and the
    folders for home and temporary files are left out.
    """
    words: dict[str, str] = {}
    above = [Path.cwd(), Path.home(), Path(tempfile.gettempdir())]
    for word, folder in named:
        for spelled in dict.fromkeys((folder, folder.absolute(), folder.resolve())):
            words.setdefault(str(spelled), f"{word}/")
            above += spelled.parents
    for folder in above:
        words.setdefault(str(folder), "")
    longest_first = sorted((folder for folder in words if folder.strip("./")), key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, longest_first))})(?:/|(?![\w-]|\.\w))")

    def shortened(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(lambda found: words[found[1]], value) if "/" in value else value
        if isinstance(value, Mapping):
            return {key: shortened(one) for key, one in value.items()}
        return [shortened(one) for one in value] if isinstance(value, (list, tuple)) else value

    return shortened(document)


def common_folder(paths: Iterable[Path | None]) -> Path:
    """Return the folder below which all files lie."""
    folders = {path.parent for path in paths if path is not None}
    return Path(os.path.commonpath(folders)) if folders else Path()


def check_output(path: str | os.PathLike[str]) -> None:
    """Refuse a place where no file can be written, before anything is computed for it."""
    target = Path(path)
    if target == STANDARD_OUTPUT:
        return
    if target.is_dir():
        raise InvalidInput(f"{target}: is a folder; expected the name of a file to write.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{target}: its folder cannot be made ({error.strerror}).") from error
    if not os.access(target.parent, os.W_OK) and not (target.exists() and os.access(target, os.W_OK)):
        raise InvalidInput(f"{target}: cannot be written, its folder is read-only.")


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse, before any work, places that cannot be written, that are the same, or that hold what is to be read.

    What is not given is None. In a folder that is read, every image counts as an input, used or not.
    """
    read = [path for path in inputs if path is not None]
    places: dict[Path, Path] = {}
    for path in outputs:
        if path is None:
            continue
        check_output(path)
        if path.exists() and not path.is_file():  # /dev/stdout takes any number of files, and loses none
            continue
        place = path.resolve()
        if place in places:
            raise InvalidInput(f"{path}: two outputs are to be written here; give each a file of its own.")
        places[place] = path
        source = next((source for source in read if _is_input(place, source.resolve())), None)
        if source is not None or (place.name in _LAYOUT_FILES and place.exists()):
            raise InvalidInput(
                f"{path}: is one of the files that are read, and would be overwritten; name another one."
            )


def _is_input(place: Path, source: Path) -> bool:
    if place == source:
        return True
    in_folder = place.is_file() and source.is_dir() and place.is_relative_to(source)
    return in_folder and (place.suffix.lower() in ("", ".dcm") or image_stem(place.name) is not None)


def _write(file: BinaryIO, content: str | bytes | Iterable[str]) -> None:
    for piece in (content,) if isinstance(content, (str, bytes)) else content:
        file.write(piece.encode("utf-8", errors="backslashreplace") if isinstance(piece, str) else piece)
    file.flush()
