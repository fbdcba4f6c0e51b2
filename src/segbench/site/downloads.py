"""What visitors take away: the record, its scores as CSV and Parquet, and a badge for a model's own page."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import escape

from segauge.io.outputs import csv_text, write_whole
from segauge.report.figures.charting import drawable, shortened
from segbench.records import RunRecord, save_record
from segbench.records.parquet import write_scores
from segbench.site.chapters import Chapter, metric_title, structure_title

#: Width of a letter of a badge in pixels: text is stretched to it, so that it fits in any font.
_CHARACTER = 6.3


def write_downloads(folder: Path, chapter: Chapter) -> None:
    """Write the record as JSON and its scores as CSV, and as Parquet where pyarrow is installed."""
    place = folder / "downloads"
    place.mkdir(parents=True, exist_ok=True)
    save_record(chapter.record, place / f"{chapter.key}.json")
    header = ("model", "case", "structure", "status", *chapter.record.metrics, "reason")
    write_whole(place / f"{chapter.key}.scores.csv", csv_text(header, score_rows(chapter.record)))
    if "scores.parquet" in download_names():
        write_scores(chapter.record.tables, place / f"{chapter.key}.scores.parquet")


def download_names() -> tuple[str, ...]:
    """Return the endings of the files that a record can be taken as."""
    return ("json", "scores.csv", *(("scores.parquet",) if find_spec("pyarrow") is not None else ()))


def score_rows(record: RunRecord) -> Iterator[tuple[object, ...]]:
    """Yield a row per model, case and structure; a number that is not there is None, and the status says why."""
    for model, table in record.tables.items():
        for i, case in enumerate(table.cases):
            for j, structure in enumerate(table.structures):
                values = [None if value != value else value for value in table.values[i, j].tolist()]
                reason = table.reasons.get((case, structure), "")
                yield (model, case, structure, table.status[i, j].value, *values, reason)


def badge_words(chapter: Chapter, model: str) -> tuple[str, str, bool]:
    """Return what a model's badge says: the board, the place, and whether that is the first."""
    board = chapter.leading
    if board is None:
        return chapter.title, "no board", False
    left = f"{chapter.record.dataset.title} {structure_title(board)} {metric_title(board.metric)}"
    standing = next((one for one in board.standings if one.model == model), None)
    if standing is None or standing.place is None:
        return left, "shown, not ranked", False
    ranked = [one for one in board.standings if one.place is not None]
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
