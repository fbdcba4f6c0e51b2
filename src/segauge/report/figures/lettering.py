"""How wide the text of a figure is, so that a machine with other fonts draws it as wide.

Figures are laid out with Liberation Sans, whose letters are as wide as those of Arial and Helvetica. Where none of them
is there, a browser takes another font (DejaVu Sans is a sixth wider), and text would run over its neighbours and out of
the figure. With the width written beside it, the letters are made narrower instead.
"""

from __future__ import annotations

import unicodedata
from xml.etree import ElementTree

#: Letters by their width in thousandths of the font's size (Helvetica's font metrics).
_REGULAR = {
    191: "'",
    222: "ijl",
    260: "|",
    278: " !,./:;I[\\]ft",
    333: "()-`r",
    334: "{}",
    355: '"',
    389: "*",
    469: "^",
    500: "Jcksvxyz",
    549: "\N{GREATER-THAN OR EQUAL TO}\N{LESS-THAN OR EQUAL TO}\N{PLUS-MINUS SIGN}",
    556: "#$0123456789?L_abdeghnopqu",
    584: "+<=>~\N{MINUS SIGN}",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1000: "\N{HORIZONTAL ELLIPSIS}",
    1015: "@",
}
_BOLD = {
    238: "'",
    278: " ,./I\\ijl",
    280: "|",
    333: "!()-:;[]`ft",
    389: "*r{}",
    474: '"',
    500: "z",
    549: "\N{GREATER-THAN OR EQUAL TO}\N{LESS-THAN OR EQUAL TO}\N{PLUS-MINUS SIGN}",
    556: "#$0123456789J_aceksvxy",
    584: "+<=>^~\N{MINUS SIGN}",
    611: "?FLTZbdghnopqu",
    667: "EPSVXY",
    722: "&ABCDHKNRU",
    778: "GOQw",
    833: "M",
    889: "%m",
    944: "W",
    975: "@",
    1000: "\N{HORIZONTAL ELLIPSIS}",
}
_WIDTHS = {
    is_bold: {letter: width for width, letters in table.items() for letter in letters}
    for is_bold, table in ((False, _REGULAR), (True, _BOLD))
}


def text_width(text: str, size: float, *, bold: bool = False) -> float | None:
    """Return how wide a line of text is in pixels; None where a letter is not known (another script)."""
    # Accents add no width.
    plain = "".join(c for c in unicodedata.normalize("NFD", " ".join(text.split())) if not unicodedata.combining(c))
    widths = [_WIDTHS[bold].get(letter) for letter in plain]
    known = [width for width in widths if width is not None]
    return None if len(known) < len(widths) else size * sum(known) / 1000


def keep_widths(root: ElementTree.Element) -> None:
    """Write beside every text of an SVG how wide it was laid out, so that no font makes it wider."""
    for text in root.iter():
        if not text.tag.endswith("text"):
            continue
        size, bold = float(text.get("font-size", "11px").removesuffix("px")), text.get("font-weight") == "bold"
        for line in list(text) or [text]:
            if width := text_width(line.text or "", size, bold=bold):
                line.set("textLength", f"{width:.1f}")
                line.set("lengthAdjust", "spacingAndGlyphs")
