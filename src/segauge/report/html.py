"""The HTML report: one file that opens offline, with nothing in it that can run but the script that we wrote."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_05UP, Context
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from segauge.evaluation import Case, EvaluationResult
from segauge.io.outputs import write_whole
from segauge.metrics.definitions.surfaces import SUFFIX
from segauge.plural import agreeing, chance_text, counted
from segauge.report import check_report_extra, figures
from segauge.report.floors import HINT, MEAN_HINT
from segauge.report.gallery import GalleryItem, gallery
from segauge.report.illustrations import Illustration, illustrations, volume_agreement
from segauge.report.lesions import lesion_sizes
from segauge.report.methods import citations, file_rows, paragraph, protocol_rows
from segauge.report.notable import NotableCase, once_per_case, surprising_cases, worst_cases
from segauge.report.summary import Summary
from segauge.report.tables import case_table, estimate_table, result_table
from segauge.report.viewer import niivue
from segauge.scores import MetricInfo
from segauge.tables import Column, Table, table

#: How numbers in the tables of the page are cut; `to_csv` has all digits. The page rounds them again, to fewer: of a
#: number rounded to the nearest here, the last digit would be off (2/2001 was 0.000999). This mode never ends in a 0 or
#: 5 that is not exact.
TABLE_DIGITS = Context(prec=6, rounding=ROUND_05UP)


@dataclass(frozen=True)
class Picture:
    """A figure as it stands in the page."""

    key: str
    title: str
    caption: str
    svg: str

    @classmethod
    def of(cls, one: Illustration) -> Picture:
        """Render a figure."""
        svg = figures.inline_svg(one.make(), label=f"{one.title}. {one.caption}")
        return cls(one.key, one.title, f"{one.caption} {one.hint}".strip(), svg)


def write_report(
    result: EvaluationResult,
    path: str | os.PathLike[str],
    *,
    cases: Iterable[Case] | None = None,
    images: Mapping[str, Any] | None = None,
    title: str | None = None,
    worst: int = 6,
) -> Path:
    """Write the report of a result as one HTML file.

    Args:
        result: what was measured.
        path: of the file.
        cases: the cases that were measured, for pictures of the worst ones and lesions by size: files are read again.
        images: per case id the image to draw below the outlines: a path or an array on the ground truth's grid.
        title: of the page.
        worst: how many of the worst cases get pictures.

    """
    return write_whole(path, report_text(result, cases=cases, images=images, title=title, worst=worst))


def report_text(
    result: EvaluationResult,
    *,
    cases: Iterable[Case] | None = None,
    images: Mapping[str, Any] | None = None,
    title: str | None = None,
    worst: int = 6,
) -> str:
    """Return the report as the text of an HTML file; arguments as in `write_report`."""
    summary = Summary(result)
    known = None if cases is None else list(cases)
    shown = gallery(result, known, summary.leading, images=images, most=worst) if known and worst > 0 else []
    sizes = lesion_sizes(result, known) if known else {}
    every = len(result.table.cases) * len(result.table.structures)
    return page(
        "report.html.j2",
        title=title or "Segmentation report",
        summary=summary,
        kinds=kind_sentence(shown),
        pictures=_by_section([Picture.of(one) for one in illustrations(summary, sizes)]),
        structures=structure_table(summary),
        agreement=_agreement_table(result),
        worst=_notable_table(once_per_case(worst_cases(result, summary.leading[0], every))[:worst]),
        surprising=_notable_table(surprising_cases(result, summary.leading)),
        paragraph=paragraph(summary),
        references=citations(summary),
        glossary=glossary(result.metrics),
        gallery=shown,
        protocol=list(protocol_rows(result.protocol)),
        files=table(["case", "prediction", "SHA-256", "ground truth", "SHA-256"], file_rows(result.protocol)),
        data={
            "estimates": table_data(estimate_table(summary), {"noise floor": HINT, "noise floor of means": MEAN_HINT}),
            "cases": table_data(case_table(result), {info.key: info.name for info in summary.known}),
            **_pictures(shown),
        },
    )


def structure_table(summary: Summary) -> Table:
    """Return one row per structure with the leading metrics, from the best structure to the worst."""
    shown = result_table(summary, [info.key for info in summary.leading[:4]])
    order = {name: place for place, name in enumerate(summary.by_value(summary.leading[0]))}
    rows = tuple(sorted(shown.rows, key=lambda row: order[row[0]]))
    return replace(shown, rows=rows)


def kind_sentence(items: Sequence[GalleryItem]) -> str:
    """Return which kinds of failure the worst cases show, the most frequent first; "" without pictures."""
    kinds = Counter(item.diagnosis.kind.value for item in items if item.diagnosis is not None)
    named = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
    return f"Kinds of failure in the {sum(kinds.values())} worst cases: {named}." if named else ""


def _notable_table(found: Sequence[NotableCase]) -> Table:
    return table(["case", "structure", "reason"], [(one.case, one.structure, one.reason) for one in found])


def _agreement_table(result: EvaluationResult) -> Table:
    """Return bias and limits of agreement of the volume of every structure."""
    limits = (Column(title, "ml", "mixed") for title in ("bias", "lower limit", "upper limit"))
    rows = [
        (name, None, None, None, None) if found is None else (name, found.n, found.bias, found.low, found.high)
        for name, found in volume_agreement(result).items()
    ]
    caption = "Predicted minus true volume: bias and limits of agreement (95 % of the differences)."
    notes = ["Empty: too few cases with both masks."] if rows else []
    return table(["structure", Column("n", format="count"), *limits], rows, caption, notes=notes)


def _pictures(items: Sequence[GalleryItem]) -> dict[str, Any]:
    """Return the surfaces of the gallery by their number and the cases of the viewer; nothing where there are none."""
    found = {str(i): item.surface.packed(item.largest_mm) for i, item in enumerate(items) if item.surface is not None}
    viewed = [item.viewed for item in items if item.viewed is not None]
    return ({"surfaces": found} if found else {}) | ({"viewer": {"cases": viewed}} if viewed else {})


def _by_section(pictures: Sequence[Picture]) -> dict[str, list[Picture]]:
    sections: dict[str, list[Picture]] = defaultdict(list)
    for picture in pictures:
        sections[picture.key.partition("-")[0]].append(picture)
    return sections


def page(template: str, *, data: Mapping[str, Any], load: Callable[[str], str] | None = None, **values: Any) -> str:
    """Return a page from a template: styles, scripts and data inside, and a policy that lets nothing else run.

    `load` returns the text of templates by name, for pages of other packages; those of this package by default. Where
    the data has cases for the viewer, the viewer and the library that draws for it come with the page.
    """
    style = figures.style_rules() + asset("report.css")
    library = niivue() if "viewer" in data else None
    scripts = [asset("report.js")] if library is None else [library, asset("report.js"), asset("viewer.js")]
    # NiiVue reads the letters that it writes from a picture of its own, and sets the size of its canvas by style.
    drawing = "" if library is None else " blob:; connect-src data: blob:"
    allowed = " ".join(f"'{_hash(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src {allowed}; img-src data:{drawing}; "
        "base-uri 'none'; form-action 'none'"
    )
    markup = _markup()
    tables = {name: markup(_json(table)) for name, table in data.items()}
    return str(
        _environment(load or asset)
        .get_template(template)
        .render(policy=policy, style=markup(style), scripts=[markup(one) for one in scripts], data=tables, **values)
    )


@lru_cache(maxsize=8)
def asset(name: str) -> str:
    """Return a style sheet or script of the package."""
    return (files("segauge.report") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _json(value: Any) -> str:
    """Return JSON that can stand in a script element: no text in it can end the element or begin another."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _jinja() -> Any:
    check_report_extra()
    import jinja2

    return jinja2


def _markup() -> Any:
    from markupsafe import Markup

    _jinja()
    return Markup


@lru_cache(maxsize=4)
def _environment(load: Callable[[str], str]) -> Any:
    jinja2 = _jinja()
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["svg"] = lambda picture: _markup()(picture.svg)
    environment.filters.update(counted=counted, agreeing=agreeing, chance=chance_text)
    return environment


def filled(template: str, load: Callable[[str], str], filters: Mapping[str, Callable[..., Any]], **values: Any) -> str:
    """Return a template with its values, all of them escaped: for pages whose styles and scripts are files.

    `load` returns the text of templates by name; `filters` are those that they use beside the ones of the report.
    """
    environment = _environment(load)
    environment.filters.update(filters)
    return str(environment.get_template(template).render(**values))


def script_json(value: Any) -> Any:
    """Return JSON that a template can put into a script element as it is."""
    return _markup()(_json(value))


def glossary(metrics: Sequence[MetricInfo]) -> list[tuple[MetricInfo, list[str]]]:
    """Return each definition once, with the keys of all metrics that share it (the NSD at several tolerances, say)."""
    entries: dict[tuple[str, str], tuple[MetricInfo, list[str]]] = {}
    for info in metrics:
        family = info.key.partition("@")[0]
        if family.endswith(SUFFIX):
            family, info = SUFFIX, replace(info, name="Noise floor")
        entries.setdefault((family, info.definition), (info, []))[1].append(info.key)
    return list(entries.values())


def rounded(value: float | None) -> float | None:
    """Return a number with six significant digits that can be rounded again to fewer, None where it is none.

    One of more digits before the point keeps all of these, because pages show them.
    """
    if value is None or not math.isfinite(value):
        return None
    return float(round(value)) if abs(value) >= 1e5 else float(TABLE_DIGITS.create_decimal(str(float(value))))


def table_data(table: Table, hints: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a table as the script of a page sorts and filters it; `hints` are shown at the heads of columns."""
    columns: list[dict[str, Any]] = []
    for name, column, cells in table.plain_columns():
        hint = {"hint": hints[name]} if hints and name in hints else {}
        head = column.head if column is not None else name
        if column is not None and column.is_number:
            values = [rounded(cell) if isinstance(cell, float) else cell for cell in cells]
            columns.append({"name": head, **hint, "number": True, "values": values})
        else:
            texts = ["" if cell is None else str(cell) for cell in cells]
            columns.append(packed_column({"name": head, **hint, "values": texts}))
    return {"columns": columns, "rows": len(table.rows)}


def packed_column(column: dict[str, Any]) -> dict[str, Any]:
    """Return a column of texts as distinct texts and their numbers; numbers stay as they are."""
    if column.get("number"):
        return column
    distinct = list(dict.fromkeys(column["values"]))
    place = {text: i for i, text in enumerate(distinct)}
    return {**column, "texts": distinct, "values": [place[text] for text in column["values"]]}
