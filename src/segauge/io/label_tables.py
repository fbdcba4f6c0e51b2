"""Label names that TotalSegmentator and Connectome tools keep in a NIfTI extension (a Caret XML label table)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from xml.parsers import expat

#: Names longer than this are cut: no structure is called so, and messages must stay readable.
_MAX_NAME = 200


class _DoctypeRefusedError(Exception):
    """An XML text declares a document type; entities could blow it up, and label tables have none."""


def names_in_extensions(data: bytes, byte_order: str) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return label names from the extension bytes after a NIfTI header (extender included), and notes."""
    names: dict[int, str] = {}
    notes: list[str] = []
    for content in _extensions(data, byte_order):
        text = content.rstrip(b"\0 \r\n\t")
        if b"LabelTable" not in text:
            continue
        try:
            names.update(_parse_label_table(text))
        except _DoctypeRefusedError:
            notes.append("the label table in its extension declares a document type; it was not read")
        except (expat.ExpatError, ValueError) as error:
            notes.append(f"the label table in its extension is damaged ({error}); it was not read")
    return names, tuple(notes)


def _extensions(data: bytes, byte_order: str) -> Iterator[bytes]:
    """Yield the content of each extension, stopping at the first that does not fit."""
    if len(data) < 4 or data[0] == 0:
        return
    position = 4
    while position + 8 <= len(data):
        size, _code = struct.unpack_from(byte_order + "2i", data, position)
        if size < 8 or position + size > len(data):
            return
        yield data[position + 8 : position + size]
        position += size


def _parse_label_table(text: bytes) -> dict[int, str]:
    """Parse `<Label Key="1"><![CDATA[spleen]]></Label>` elements, refusing any document type."""
    names: dict[int, str] = {}
    open_key: list[int] = []
    characters: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "Label":
            open_key[:] = [int(attributes.get("Key", "0"))]
            characters.clear()

    def end(tag: str) -> None:
        name = "".join(characters).strip()
        if tag == "Label" and open_key and name and abs(open_key[0]) < 2**63:
            names[open_key[0]] = name[:_MAX_NAME]

    def refuse(*_: object) -> None:
        raise _DoctypeRefusedError

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters.append
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(text, True)
    return names
