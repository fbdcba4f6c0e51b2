"""What visitors take away: the record, its scores as CSV and Parquet, and a badge for a model's own page."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import escape

from segauge.io.outputs import write_whole
from segauge.report.figures.charting import drawable, shortened
from segauge.tables import csv_text
from segbench.records import RunRecord, save_record
from segbench.records.run_record import LARGE
from segbench.records.tables import write_scores
from segbench.site.chapters import Chapter, structure_title

#: Rows of a CSV file that somebody may still open.
MOST_ROWS = 2_000_000
#: Width of a letter of a badge in pixels: text is stretched to it, so that it fits in any font.
_CHARACTER = 6.3


def write_downloads(folder: Path, chapter: Chapter) -> None:
    """Write the record as JSON and its scores as CSV, and as Parquet where pyarrow is installed."""
    place = folder / "downloads"
    place.mkdir(parents=True, exist_ok=True)
    save_record(chapter.record, place / f"{chapter.key}.json")
    names = download_names(chapter.record)
    if "scores.csv" in names:
        write_whole(place / f"{chapter.key}.scores.csv", score_lines(chapter.record))
    scores = place / f"{chapter.key}.scores.parquet"
    # Those of a large record stand beside it already.
    if "scores.parquet" in names and chapter.record.cells < LARGE:
        write_scores(chapter.record.tables, scores)


def download_names(record: RunRecord) -> tuple[str, ...]:
    """Return the endings of the files that a record can be taken as; a CSV of millions of rows helps nobody."""
    parquet = ("scores.parquet",) if find_spec("pyarrow") is not None else ()
    return ("json", *(("scores.csv",) if record.cells <= MOST_ROWS else ()), *parquet)


def score_lines(record: RunRecord) -> Iterator[str]:
    """Yield the scores as CSV, piece by piece: a row per model, case and structure.

    A number that is not there is an empty cell, and the status says why; formulas are made harmless.
    """
    yield csv_text(("model", "case", "structure", "status", *record.metrics, "reason"), ())
    for model, table in record.tables.items():
        # Names are quoted once: a row is then its texts and numbers put together, and a million of them take seconds.
        start, structures = _cell(model), [_cell(name) for name in table.structures]
        for i, case in enumerate(table.cases):
            head, states = f"{start},{_cell(case)}", table.status[i]
            lines = []
            for j, values in enumerate(table.values[i].tolist()):
                numbers = ",".join(["" if value != value else repr(value) for value in values])
                reason = table.reasons.get((case, table.structures[j]), "") if table.reasons else ""
                lines.append(f"{head},{structures[j]},{states[j].value},{numbers},{_cell(reason) if reason else ''}\n")
            yield "".join(lines)


@lru_cache(maxsize=1 << 16)
def _cell(text: str) -> str:
    """Return a text as it stands in a CSV file."""
    # The header of a table with this one column is the quoted text, and the end of its line.
    return csv_text((text,), ())[:-1] if text else ""


def badge_words(chapter: Chapter, model: str) -> tuple[str, str, bool]:
    """Return what a model's badge says: the board, the place, and whether that is the first."""
    board = chapter.leading
    if board is None:
        return chapter.title, "no board", False
    left = f"{chapter.record.dataset.title} {structure_title(board)} {chapter.metric_title(board)}"
    standing = next((one for one in board.rows if one.model == model), None)
    if standing is None or standing.place is None:
        return left, "shown, not ranked", False
    ranked = [one for one in board.rows if one.place is not None]
    shared = sum(one.place == standing.place for one in ranked)
    words = f"place {standing.place} of {len(ranked)}" + (f", shared by {shared}" if shared > 1 else "")
    return left, words, standing.place == 1


def badge_text(chapter: Chapter, model: str) -> str:
    """Return a badge as the text of an SVG file: the board and the place side by side."""
    left, right, first = badge_words(chapter, model)
    left, right = shortened(left, 60), shortened(right, 40)
    a, b = _CHARACTER * len(left) + 16, _CHARACTER * len(right) + 16
    colour = "#0072b2" if first else "#5a646e"
    label = escape(drawable(f"{model}: {left}, {right}"), {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{a + b:.0f}" height="22" role="img" aria-label="{label}">'
        f"<title>{label}</title>"
        f'<rect width="{a + b:.0f}" height="22" rx="4" fill="{colour}"/>'
        f'<path d="M4 0h{a - 4:.1f}v22H4a4 4 0 0 1-4-4V4a4 4 0 0 1 4-4z" fill="#1d2329"/>'
        '<g fill="#fff" font-family="Liberation Sans,Arial,Helvetica,sans-serif" font-size="12">'
        f'<text x="8" y="15" textLength="{a - 16:.1f}" lengthAdjust="spacingAndGlyphs">{escape(left)}</text>'
        f'<text x="{a + 8:.1f}" y="15" textLength="{b - 16:.1f}" lengthAdjust="spacingAndGlyphs">{escape(right)}</text>'
        "</g></svg>\n"
    )
