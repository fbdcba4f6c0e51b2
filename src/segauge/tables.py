"""Table: columns with unit and format, rows, a caption; written as text, CSV, LaTeX, Markdown, HTML and JSON.

Rows hold values (numbers, estimates, texts), never printed numbers: each format prints them itself, by the rules of
`segauge.digits`. CSV and JSON have every digit, an estimate in three cells; other formats print what a reader needs.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from segauge.digits import column_decimals, decimals, fixed, p_value, percent, unit_word, with_interval

#: How the cells of a column are printed. "mixed": estimates or numbers of several units, each with its own decimals.
Format = Literal["text", "count", "number", "estimate", "mixed", "p", "share"]

#: Width of a column of text that may be broken into lines, before the column moves to a further table.
_TEXT_WIDTH = 30


@dataclass(frozen=True)
class Column:
    """A column: its title, the unit of its values ("" or "1" for none), their format, and the name in CSV and JSON."""

    title: str
    unit: str = ""
    format: Format = "text"
    key: str = ""

    @property
    def is_number(self) -> bool:
        """Whether the cells are aligned to the right."""
        return self.format != "text"

    @property
    def head(self) -> str:
        """The title with the unit: "hd95 (mm)"."""
        return f"{self.title} ({unit})" if (unit := unit_word(self.unit)) else self.title

    @property
    def name(self) -> str:
        """The name in CSV and JSON, without the unit."""
        return self.key or self.title


@dataclass(frozen=True)
class Noted:
    """A cell with a remark after its value, "0.904 [0.884, 0.921] (n = 19)", or with decimals of its own."""

    value: Any
    note: str = ""
    decimals: int | None = None


@dataclass(frozen=True)
class Table:
    """Columns, rows of values, the words above and the notes below.

    A cell is a text, a number, anything with `value`, `ci_low` and `ci_high` (an `Estimate`), a `Noted` one of these,
    or None.

    Attributes:
        columns: from left to right; a bare text is a column of texts.
        rows: as many cells each as there are columns.
        caption: what the table shows.
        notes: what must be known to read it. Of several tables of one output, `notes_of` returns each note once.

    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        odd = next((row for row in self.rows if len(row) != len(self.columns)), None)
        if odd is not None:
            raise ValueError(f"expected {len(self.columns)} cells in each row, got {len(odd)} in {odd!r}")

    @cached_property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """Every cell as a reader sees it, on one line; a column of estimates has one number of decimals."""
        printed = [_printed(column, [row[i] for row in self.rows]) for i, column in enumerate(self.columns)]
        return tuple(zip(*printed, strict=True)) if printed else ()

    def text(
        self, width: int = 160, *, keys: int = 1, tail: int = 0, wrapped: Collection[str] = (), plain: bool = False
    ) -> str:
        """Return the table as a terminal shows it, caption above; nothing is cut.

        Columns that do not fit stand in further tables below. Columns without content are left out, keys excepted.

        Args:
            width: of the terminal in characters.
            keys: this many first columns stand in every table.
            tail: this many last columns stand in the first table, whatever room is left for those before them.
            wrapped: titles of columns whose cells may be broken into lines.
            plain: draw the lines with ASCII characters only.

        """
        kept = [i for i in range(len(self.columns)) if i < keys or any(row[i] for row in self.cells)]
        tail = sum(i >= len(self.columns) - tail for i in kept)
        heads = [flat(self.columns[i].head) for i in kept]
        rows = [[row[i] for i in kept] for row in self.cells]
        right = [self.columns[i].is_number for i in kept]
        may_wrap = [self.columns[i].title in wrapped for i in kept]
        widths = [max(map(_width, (head, *(row[i] for row in rows)))) for i, head in enumerate(heads)]
        least = [min(w, max(_TEXT_WIDTH, _width(heads[i]))) if may_wrap[i] else w for i, w in enumerate(widths)]
        parts = []
        for chosen in _shared_out(least, width, keys, tail):
            fitted = _fitted([widths[i] for i in chosen], [least[i] for i in chosen], width)
            lines = [[row[i] for i in chosen] for row in (heads, *rows)]
            parts.append(_boxed(lines, fitted, [right[i] for i in chosen], plain))
        caption = [flat(self.caption)] if self.caption else []
        return "\n".join([*caption, *parts]) + "\n"

    def csv(self) -> str:
        """Return the table as CSV with every digit; an estimate has three cells: value, low and high."""
        header, rows = self.plain_cells()
        return csv_text(header, rows)

    def json(self) -> dict[str, Any]:
        """Return caption, columns, rows (by the columns' names) and notes as plain values, ready for strict JSON."""
        header, rows = self.plain_cells()
        return {
            "caption": self.caption,
            "columns": [{"name": one.name, "title": one.title, "unit": one.unit} for one in self.columns],
            "rows": [dict(zip(header, map(_finite, row), strict=True)) for row in rows],
            "notes": list(self.notes),
        }

    def plain_cells(self) -> tuple[list[str], list[list[Any]]]:
        """Return the header and the rows with plain values only; an estimate has three cells, a remark its own."""
        parts = self.plain_columns()
        return [name for name, _, _ in parts], [
            list(row) for row in zip(*(cells for _, _, cells in parts), strict=True)
        ]

    def plain_columns(self) -> list[tuple[str, Column | None, list[Any]]]:
        """Return name and plain values of each column, with the column that they are the values of; None for others."""
        parts: list[tuple[str, Column | None, list[Any]]] = []
        for i, column in enumerate(self.columns):
            cells = [_bare(row[i]) for row in self.rows]
            parts.append((column.name, column, [_value(cell) for cell in cells]))
            if any(_has_interval(cell) for cell in cells):
                for limit in ("low", "high"):
                    limits = [getattr(cell, f"ci_{limit}", None) for cell in cells]
                    parts.append((f"{column.name} {limit}", None, limits))
            notes = [row[i].note if isinstance(row[i], Noted) else "" for row in self.rows]
            if any(notes):
                parts.append((f"{column.name} note", None, notes))
        return parts

    def latex(self, *, label: str = "tab:segauge") -> str:
        """Return the table as a LaTeX float for any ordinary class; it needs the package booktabs only."""
        spec = "".join("r" if column.is_number else "l" for column in self.columns)
        lines = [
            "% needs \\usepackage{booktabs}",
            "\\begin{table}",
            "  \\centering",
            f"  \\caption{{{latex_text(self.caption)}}}" if self.caption else "",
            f"  \\label{{{''.join(c for c in label if c.isalnum() or c in ':-.')}}}",
            f"  \\begin{{tabular}}{{{spec}}}",
            "    \\toprule",
            f"    {' & '.join(latex_text(column.head) for column in self.columns)} \\\\",
            "    \\midrule",
            *(f"    {' & '.join(self._latex_cells(row))} \\\\" for row in self.cells),
            "    \\bottomrule",
            "  \\end{tabular}",
            *(f"  \\par\\smallskip{{\\footnotesize {latex_text(note)}\\par}}" for note in self.notes),
            "\\end{table}",
        ]
        return "\n".join(line for line in lines if line) + "\n"

    def _latex_cells(self, row: Sequence[str]) -> Iterable[str]:
        for column, cell in zip(self.columns, row, strict=True):
            shown = latex_text(cell)
            if column.is_number:
                shown = re.sub(r"(?<![\w.$])-(?=[\d.])", "$-$", shown)
            # A row that begins with a bracket would be taken for the optional argument of the line break before it.
            yield f"{{}}{shown}" if shown.startswith(("[", "*")) else shown

    def markdown(self) -> str:
        """Return the table as Markdown (GitHub's flavour), caption and notes below it."""
        titles = " | ".join(markdown_text(column.head) for column in self.columns)
        rules = " | ".join("---:" if column.is_number else "---" for column in self.columns)
        lines = [f"| {titles} |", f"| {rules} |"]
        lines += [f"| {' | '.join(map(markdown_text, row))} |" for row in self.cells]
        words = "".join(f"\n{markdown_text(line)}\n" for line in (self.caption, *self.notes) if line)
        return "\n".join(lines) + f"\n{words}"

    def html(self, *, most: int | None = None) -> str:
        """Return the table as HTML without any style or script, notes below it; `most` limits its rows."""
        head = "".join(f'<th scope="col">{html.escape(flat(column.head))}</th>' for column in self.columns)
        body = "".join(f"<tr>{''.join(map(self._html_cell, self.columns, row))}</tr>" for row in self.cells[:most])
        caption = f"<caption>{html.escape(flat(self.caption))}</caption>" if self.caption else ""
        rest = 0 if most is None else len(self.rows) - most
        notes = [*([f"and {rest} more rows"] if rest > 0 else []), *self.notes]
        below = "".join(f"<p><small>{html.escape(flat(note))}</small></p>" for note in notes)
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"

    @staticmethod
    def _html_cell(column: Column, cell: str) -> str:
        side = ' style="text-align:right"' if column.is_number else ' style="text-align:left"'
        return f"<td{side}>{html.escape(cell)}</td>"


def table(
    columns: Iterable[Column | str], rows: Iterable[Sequence[Any]], caption: str = "", *, notes: Iterable[str] = ()
) -> Table:
    """Return a table; a bare text among the columns is a column of texts.

    >>> print(table(["structure", Column("dice", format="number")], [["liver", 0.9]]).markdown(), end="")
    | structure | dice |
    | --- | ---: |
    | liver | 0.900 |
    """
    made = tuple(Column(one) if isinstance(one, str) else one for one in columns)
    return Table(made, tuple(tuple(row) for row in rows), caption, tuple(notes))


def notes_of(tables: Iterable[Table]) -> tuple[str, ...]:
    """Return the notes of several tables, each once, in their order: they stand below the last table."""
    return tuple(dict.fromkeys(note for one in tables for note in one.notes))


def flat(text: str) -> str:
    """Return text on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() or c == " " else " " for c in text).split())


def _printed(column: Column, cells: Sequence[Any]) -> list[str]:
    """Return the cells of a column as a reader sees them."""
    bare = [_bare(cell) for cell in cells]
    places = _places(column, bare)
    own = [cell if isinstance(cell, Noted) else Noted(cell) for cell in cells]
    return [
        f"{_cell(column, one.value, places if one.decimals is None else one.decimals)} {one.note}".rstrip()
        for one in own
    ]


def _places(column: Column, cells: Sequence[Any]) -> int | None:
    """Return the number of decimals that the cells share; None where each has its own."""
    if column.format == "estimate":
        return column_decimals(cell for cell in cells if _has_interval(cell))
    if column.format == "number":
        known = [abs(cell) for cell in cells if isinstance(cell, (int, float)) and math.isfinite(cell)]
        return (
            0 if all(isinstance(cell, int) for cell in cells if cell is not None) else decimals(max(known, default=0))
        )
    return None


def _cell(column: Column, cell: Any, places: int | None) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if _has_interval(cell):
        shown = with_interval(cell.value, cell.ci_low, cell.ci_high, places=places)
        return shown or "no value"
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return flat(str(cell))
    if column.format == "p":
        return p_value(cell)
    if column.format == "share":
        return percent(cell)
    if isinstance(cell, int) or column.format == "count":
        return f"{cell:.0f}"
    return fixed(cell, decimals(cell) if places is None else places)


def _bare(cell: Any) -> Any:
    return cell.value if isinstance(cell, Noted) else cell


def _has_interval(cell: Any) -> bool:
    return hasattr(cell, "ci_low") and hasattr(cell, "ci_high")


def _value(cell: Any) -> Any:
    value = cell.value if _has_interval(cell) else cell
    return None if isinstance(value, float) and math.isnan(value) else value


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


# What each format takes for markup.

_LATEX: Mapping[int, str] = str.maketrans(
    {
        **{letter: f"\\{letter}" for letter in "{}$&#_%"},
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
        ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"{\char34}", "`": r"{\char96}", "'": r"{\char39}",
        # Letters that ordinary classes do not know in a text.
        "\N{MINUS SIGN}": "$-$", "\N{LESS-THAN OR EQUAL TO}": r"$\leq$", "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
        "\N{MULTIPLICATION SIGN}": r"$\times$", "\N{PLUS-MINUS SIGN}": r"$\pm$", "\N{MICRO SIGN}": r"$\mu$",
        "\N{GREEK SMALL LETTER SIGMA}": r"$\sigma$", "\N{GREEK SMALL LETTER TAU}": r"$\tau$",
        "\N{ALMOST EQUAL TO}": r"$\approx$", "\N{INFINITY}": r"$\infty$", "\N{NARROW NO-BREAK SPACE}": r"\,",
    }
)  # fmt: skip


def latex_text(text: str) -> str:
    """Return text that LaTeX sets as it is: no command, no mathematics, no comment."""
    return flat(text).translate(_LATEX)


#: What means something to Markdown or to HTML; a backslash takes the meaning away. The bracket of an interval, followed
#: by a number and no parenthesis, is none of it.
_MARKDOWN = re.compile(r"([\\`*_{}#!|~$]|\[(?![-+0-9])|\](?=[(\[]))")


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it is: no markup, no link, no HTML, no end of a cell."""
    plain = flat(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = _MARKDOWN.sub(r"\\\1", plain)
    # Bare addresses would become links.
    return re.sub(r"(?i)(https?|www|ftp|mailto)([:.])", r"\1&#8203;\2", plain)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV: numbers to their last digit, None as an empty cell, formulas made harmless."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([inert(name) for name in header])
    for row in rows:
        writer.writerow([_csv_cell(value) for value in row])
    return buffer.getvalue()


def inert(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula; `plain` takes it away again.

    Text that looks as if it had one already gets another one, so that nothing is lost on the way there and back.
    """
    return f"'{text}" if _is_formula(text.lstrip("'")) else text


def plain(text: str) -> str:
    """Return the text of a cell that `inert` made harmless; other text as it is."""
    return text[1:] if text[:1] == "'" and _is_formula(text.lstrip("'")) else text


def _is_formula(text: str) -> bool:
    return text[:1] in ("=", "+", "-", "@", "\t", "\r")


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return float.__repr__(value)  # NumPy's floats are floats, but call themselves np.float64(0.5)
    return repr(value) if isinstance(value, int) else inert(_CONTROL.sub(_written_out, str(value)))


#: What moves a terminal's cursor when somebody looks at the file; tabs and line ends are quoted by CSV itself.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def _written_out(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"


# The table of a terminal.


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide letters two, accents that are combined none."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) != 0 for letter in text)


def _shared_out(widths: Sequence[int], width: int, keys: int, tail: int) -> list[list[int]]:
    """Return the columns of each of the tables that a terminal of this width needs."""
    taken = [size + 3 for size in widths]  # two blanks and a line
    first, last = list(range(keys)), list(range(len(widths) - tail, len(widths)))
    tables: list[list[int]] = []
    chosen: list[int] = []
    used = sum(taken[i] for i in (*first, *last))
    for i in range(keys, len(widths) - tail):
        if chosen and used + sum(taken[k] for k in (*chosen, i)) > width - 1:
            tables.append(chosen)
            chosen, used = [], sum(taken[k] for k in first)
        chosen.append(i)
    tables.append(chosen)
    return [[*first, *columns, *(last if number == 0 else ())] for number, columns in enumerate(tables)]


def _fitted(widths: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Return the widths of the columns of one table: as wide as they are, or as little of that as the terminal has."""
    fitted = list(widths)
    room = width - 1 - 3 * len(widths)
    for floors in (least, [4] * len(widths)):
        while sum(fitted) > room and any(w > floor for w, floor in zip(fitted, floors, strict=True)):
            at = max((w, i) for i, w in enumerate(fitted) if w > floors[i])[1]
            fitted[at] -= 1
    return fitted


def _boxed(rows: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool], plain: bool) -> str:
    """Return rows, the first of which is the head, in a box."""
    lines = _LINES_PLAIN if plain else _LINES

    def border(name: str) -> str:
        left, dash, middle, end = lines[name]
        return f"{left}{middle.join(dash * (w + 2) for w in widths)}{end}"

    drawn = [border("top")]
    for number, row in enumerate(rows):
        wall = lines["walls"][0 if number == 0 else 1]
        folded = [_folded(cell, w) for cell, w in zip(row, widths, strict=True)]
        for k in range(max(map(len, folded))):
            cells = [part[k] if k < len(part) else "" for part in folded]
            spaces = [" " * (w - _width(cell)) for cell, w in zip(cells, widths, strict=True)]
            sides = [f"{s}{c}" if r else f"{c}{s}" for c, s, r in zip(cells, spaces, right, strict=True)]
            drawn.append(f"{wall} {f' {wall} '.join(sides)} {wall}")
        if number == 0:
            drawn.append(border("middle"))
    return "\n".join([*drawn, border("bottom")])


_LINES = {"top": tuple("┏━┳┓"), "middle": tuple("┡━╇┩"), "bottom": tuple("└─┴┘"), "walls": ("┃", "│")}
_LINES_PLAIN = {"top": tuple("+-++"), "middle": tuple("+=++"), "bottom": tuple("+-++"), "walls": ("|", "|")}


def _folded(text: str, width: int) -> list[str]:
    """Return a cell in lines of at most this width, broken between words where possible; nothing is cut."""
    lines = [""]
    for word in re.findall(r"\S+\s*", text):
        if lines[-1] and _width(lines[-1] + word.rstrip()) > width:
            lines.append("")
        for letter in word:
            if _width(lines[-1] + letter) > width:
                lines.append("")
                if letter == " ":
                    continue
            lines[-1] += letter
    return [line.rstrip() for line in lines]
