"""A chart as a file (SVG, PDF, PNG), and as SVG inside a page.

Pages hold figures as SVG that is rendered when the page is written, not as a program that draws them. Such a page shows
its figures without a script, prints them sharply, and needs no rule in its content-security policy that would let text
be run as code. What a reader points at answers by its label (`aria-label`), which a few lines of script show beside the
pointer and a screen reader reads out. Colours stand in the SVG as CSS variables, so a figure turns dark with its page.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from segauge.errors import InvalidInput, MissingExtra
from segauge.io.outputs import write_whole
from segauge.report.figures.charting import drawable
from segauge.report.figures.lettering import keep_widths
from segauge.report.figures.themes import ThemeName, colours, config, variable

#: Endings of files that a chart can be saved as.
FILE_FORMATS = (".svg", ".pdf", ".png")

#: What may stand in the SVG of a chart; anything else (script, style, foreignObject, a link) is refused.
_ELEMENTS = frozenset(
    {"svg", "g", "path", "rect", "line", "text", "tspan", "circle", "defs", "clipPath", "linearGradient", "stop"}
)


#: Namespace of the elements.
SVG = "http://www.w3.org/2000/svg"

#: Digits of a coordinate beyond the hundredth of a pixel.
_LONG_NUMBER = re.compile(r"(\d\.\d\d)\d+")
#: How much larger than its own size a figure stands in a page, where text is larger than in a column of a paper.
ZOOM = 1.2


def svg(chart: Any, theme: ThemeName = "light") -> str:
    """Return a chart as the text of an SVG file."""
    root = parsed(_rendered(chart, theme))
    keep_widths(root)
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _rendered(chart: Any, theme: ThemeName) -> str:
    return str(_converter().vegalite_to_svg(_spec(chart, theme), allowed_base_urls=[]))


def save(chart: Any, path: str | os.PathLike[str], *, theme: ThemeName = "light", scale: float = 2.0) -> Path:
    """Write a chart as SVG, PDF or PNG, by the ending of the path; `scale` is that of PNG pixels."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending == ".svg":
        return write_whole(target, svg(chart, theme))
    if ending == ".pdf":
        data = _converter().vegalite_to_pdf(_spec(chart, theme), allowed_base_urls=[])
    elif ending == ".png":
        data = _converter().vegalite_to_png(_spec(chart, theme), scale=scale, allowed_base_urls=[])
    else:
        raise InvalidInput(f"{target.name}: a figure is saved as {', '.join(FILE_FORMATS)}, not {ending or 'this'!r}.")
    return write_whole(target, data)


def inline_svg(chart: Any, *, label: str) -> str:
    """Return a chart as SVG for a page: no outer declarations, colours as variables, `label` for who cannot see it.

    `chart` may be what `svg` returned of it, so that it is not rendered twice. The page needs the variables of
    `themes.style_rules()`. The text is safe to stand in HTML as it is: it was parsed, and holds shapes and text only.
    """
    root = parsed(chart if isinstance(chart, str) else _rendered(chart, "light"))
    keep_widths(root)
    root.set("role", "group")
    root.set("aria-label", drawable(label))
    _simplify(root)
    root.set("class", "figure")
    for side in ("width", "height"):
        root.set(side, f"{float(root.get(side, '0').removesuffix('px')) * ZOOM:.0f}")
    ElementTree.register_namespace("", SVG)
    return _with_variables(ElementTree.tostring(root, encoding="unicode"))


def _simplify(root: ElementTree.Element) -> None:
    """Take away what a page does not need: the names of Vega's own groups, and labels of scaffolding."""
    for element in root.iter():
        element.attrib.pop("aria-roledescription", None)
        element.attrib.pop("class", None)
        if element is not root and element.get("role") in ("graphics-object", "graphics-symbol"):
            element.attrib.pop("role")
            if element.get("aria-label") and element.tag.endswith(("path", "rect", "circle", "line", "text")):
                element.set("role", "img")
            else:
                element.attrib.pop("aria-label", None)
        if element.get("aria-hidden") == "true" and element.tag.endswith("}g"):
            # What has no words of its own lets the pointer through to what has; text is read as it is.
            element.set("pointer-events", "none")
        if element.get("aria-hidden") == "false" or any(child.tag.endswith("text") for child in element):
            element.attrib.pop("aria-hidden", None)
        if "stroke" not in element.attrib and element.tag.endswith("path"):
            element.attrib.pop("stroke-width", None)
        if "transform" in element.attrib:
            element.set("transform", _LONG_NUMBER.sub(r"\1", element.get("transform", "")))


def _spec(chart: Any, theme: ThemeName) -> dict[str, Any]:
    spec = dict(chart) if isinstance(chart, dict) else chart.to_dict(validate=False)
    if theme != "light":
        spec = _recoloured(spec, dict(zip(colours("light").values(), colours(theme).values(), strict=True)))
    return {**_silenced(_drawable(spec)), "config": config(theme)}


def _silenced(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the specification with labels for marks that have words only: Vega would read out the fields of others."""
    made: dict[str, Any] = {
        key: [_silenced(part) for part in value] if key in ("layer", "concat", "hconcat", "vconcat") else value
        for key, value in spec.items()
    }
    if "mark" in made and "description" not in made.get("encoding", {}):
        mark = made["mark"]
        made["mark"] = {**({"type": mark} if isinstance(mark, str) else mark), "aria": False}
    return made


def _drawable(spec: Any) -> Any:
    """Return the specification with nothing in its texts that XML cannot hold."""
    if isinstance(spec, dict):
        return {key: _drawable(value) for key, value in spec.items()}
    if isinstance(spec, (list, tuple)):
        return [_drawable(value) for value in spec]
    return drawable(spec) if isinstance(spec, str) and not spec.isprintable() else spec


def _recoloured(spec: Any, instead: dict[str, str]) -> Any:
    """Return the specification with other colours; data stay as they are, whatever they look like."""
    if isinstance(spec, dict):
        data = ("data", "datasets", "domain", "title", "description")
        return {key: value if key in data else _recoloured(value, instead) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_recoloured(value, instead) for value in spec]
    return instead.get(spec, spec) if isinstance(spec, str) else spec


def _with_variables(text: str) -> str:
    for name, value in colours("light").items():
        text = text.replace(f'"{value}"', f'"var({variable(name)},{value})"')
    return text


def checked_svg(text: str) -> str:
    """Return the text if it is an SVG of shapes and text only."""
    parsed(text)
    return text


def parsed(text: str) -> ElementTree.Element:
    """Return the root of an SVG; anything but shapes and text in it is refused."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InvalidInput("The figure holds a document type declaration, which no figure of ours has.")
    root = ElementTree.fromstring(text)  # noqa: S314 - entities are refused above
    for element in root.iter():
        name = element.tag.rpartition("}")[2]
        strange = [key for key in element.attrib if key.lower().startswith("on") or key.endswith("href")]
        if name not in _ELEMENTS or strange:
            raise InvalidInput(f"The figure holds <{name}> {' '.join(strange)}, which no figure of ours has.")
    return root


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtra("Figures need altair and vl-convert: install `segauge[report]`.") from error
    return vl_convert
