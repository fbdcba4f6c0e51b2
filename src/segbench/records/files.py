"""Records on disk: strict, sorted JSON, whole or not at all; the scores of a large run in Parquet beside it.

Nothing about the machine: paths in texts are cut down to their last part before they enter a record.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge import ScoreTable
from segauge.errors import InvalidInput
from segauge.io.gate import load_json
from segauge.io.outputs import write_whole
from segbench.records.migrations import migrated
from segbench.records.run_record import LARGE, RunRecord
from segbench.records.tables import content_hash, read_scores, write_scores

#: A path from the root, the home folder or a drive on; not the slash of "prostate/uterus", "+/-" or an address.
_PLACE = re.compile(r"""(?<![\w.:/\\+-])(?:file:/+|~|[A-Za-z]:(?=[/\\]))?[/\\][^\s"'()<>|,;:]*""")

#: Keys whose values say only where things lie.
_PLACES = ("root", "cache_dir", "results_path")

#: Keys whose values somebody wrote for the readers of a page.
_WORDS = ("title", "preview_label")


def portable(value: Any) -> Any:
    """Return plain values without the paths of this machine: "/home/me/scan.nii.gz" becomes ".../scan.nii.gz"."""
    if isinstance(value, Mapping):
        return {
            str(key): part if key in _WORDS and isinstance(part, str) else portable(part)
            for key, part in value.items()
            if key not in _PLACES
        }
    if isinstance(value, (list, tuple)):
        return [portable(part) for part in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return _PLACE.sub(_last_part, str(value))


def _last_part(found: re.Match[str]) -> str:
    """Return a place without its folders; a slash before a single word ("kidney /tumor", "</b>") makes no place."""
    text = found.group()
    parts = [part for part in re.split(r"[/\\]+", text) if part]
    return f".../{parts[-1]}" if len(parts) > 1 else text


def save_record(record: RunRecord, path: str | os.PathLike[str], *, large: int = LARGE) -> Path:
    """Write a record as JSON, with the scores of a large run in `<name>.scores.parquet` beside it; return its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    is_large = record.cells >= large
    plain = _beside(record, target) if is_large else record.to_dict()
    try:
        # On one line where nobody reads it by eye: indented, the pairs of a hundred models take minutes to write.
        text = json.dumps(plain, sort_keys=True, indent=None if is_large else 1, allow_nan=False, ensure_ascii=False)
    except ValueError as error:
        raise InvalidInput(f"{target.name}: the record has a value that JSON cannot hold: {error}.") from error
    return write_whole(target, text + "\n")


def load_record(path: str | os.PathLike[str]) -> RunRecord:
    """Read a record, ours or one of the reference harness; refuse what is damaged, with the place."""
    place = Path(path)
    if not place.is_file():
        raise InvalidInput(f"{place}: there is no such file.")
    # A key that appears twice is refused, since one of the two was written to deceive.
    given = load_json(place, unique_keys=True)
    if not isinstance(given, dict):
        raise InvalidInput(f"{place.name}: is no record of a run.")
    plain = migrated(given, place.name)
    scores = plain.get("scores")
    try:
        if isinstance(scores, Mapping) and set(scores) == {"file", "sha256"}:
            return RunRecord.from_dict(plain, _scores_beside(place, scores, plain))
        return RunRecord.from_dict(plain)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise InvalidInput(f"{place.name}: {error}") from error
        raise InvalidInput(f"{place.name}: is not built as a record is: {error!r}.") from error


def _scores_beside(place: Path, scores: Mapping[str, str], plain: Mapping[str, Any]) -> dict[str, ScoreTable]:
    """Return the scores from the file beside a record; a file that does not belong to it is refused."""
    # Only the name counts: a record cannot point out of its folder.
    file = place.with_name(Path(scores["file"]).name)
    if not file.is_file():
        raise InvalidInput(f"its scores are in {file.name}, which is not next to it")
    order = [entry["card"]["name"] for entry in plain["models"]]
    tables = read_scores(file, order, plain["structures"], plain["metrics"], len(plain["cases"]))
    if content_hash(tables) != scores["sha256"]:
        raise InvalidInput(f"the scores in {file.name} are not those that the record was written with")
    return tables


def _beside(record: RunRecord, target: Path) -> dict[str, Any]:
    """Write the scores beside the record, and return the record with their place."""
    file = target.with_name(f"{target.stem}.scores.parquet")
    write_scores(record.tables, file)
    return {**record.to_dict(scores=False), "scores": {"file": file.name, "sha256": record.scores_hash}}
