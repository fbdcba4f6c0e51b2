"""Tables as LaTeX with booktabs."""

from __future__ import annotations

from segauge.report.tables import TextTable, flat

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': r"\textquotedbl{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
}
_TABLE = str.maketrans(_SPECIAL)


def escaped(text: str) -> str:
    """Return text that LaTeX sets as it is: no command, no mathematics, no comment."""
    return flat(text).translate(_TABLE)


def latex(table: TextTable, *, label: str = "tab:segauge") -> str:
    """Return a table as a LaTeX float; needs the packages booktabs and textcomp, and UTF-8."""
    spec = "".join("r" if column.is_number else "l" for column in table.columns)
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "  \\centering",
        f"  \\caption{{{escaped(table.caption)}}}" if table.caption else "",
        f"  \\label{{{''.join(c for c in label if c.isalnum() or c in ':-.')}}}",
        f"  \\begin{{tabular}}{{{spec}}}",
        "    \\toprule",
        f"    {' & '.join(escaped(column.title) for column in table.columns)} \\\\",
        "    \\midrule",
        # A row that begins with a bracket would be taken for the optional argument of the line break before it.
        *(f"    {' & '.join(_cell(cell) for cell in row)} \\\\" for row in table.rows),
        "    \\bottomrule",
        "  \\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _cell(text: str) -> str:
    shown = escaped(text)
    return f"{{}}{shown}" if shown.startswith(("[", "*")) else shown
