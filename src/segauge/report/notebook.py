"""A result as a notebook shows it: a small HTML table that needs nothing but the standard library."""

from __future__ import annotations

from html import escape

from segauge.report.summary import Summary
from segauge.report.tables import flat, result_table


def notebook_html(summary: Summary) -> str:
    """Return the summary as HTML: the sentences, then one row per structure."""
    table = result_table(summary)
    head = "".join(f"<th>{escape(column.title)}</th>" for column in table.columns)
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{"right" if column.is_number else "left"}">{escape(flat(cell))}</td>'
            for cell, column in zip(row, table.columns, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    sentences = "".join(f"<li>{escape(flat(sentence))}</li>" for sentence in summary.sentences()[1:])
    return (
        f"<div><strong>{escape(flat(summary.sentences()[0]))}</strong><ul>{sentences}</ul>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<p><small>{escape(flat(table.caption))}</small></p></div>"
    )
