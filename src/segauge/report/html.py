"""The HTML report: one file that opens offline, with nothing in it that can run but the script that we wrote."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_05UP, Context
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from segauge.evaluation import Case, EvaluationResult
from segauge.io.outputs import write_whole
from segauge.metrics.definitions.noise import SUFFIX
from segauge.plural import agreeing, chance_text, counted
from segauge.report import figures
from segauge.report.floors import HINT, MEAN_HINT, unknown_text
from segauge.report.gallery import GalleryItem, gallery
from segauge.report.illustrations import Illustration, illustrations, volume_agreement
from segauge.report.lesions import lesion_sizes
from segauge.report.methods import citations, file_rows, paragraph, protocol_rows
from segauge.report.naming import tolerance_words
from segauge.report.notable import surprising_cases, worst_cases
from segauge.report.requirements import check_report_extra
from segauge.report.summary import Summary, count_text, interval_name, interval_text, value_text
from segauge.report.viewer import niivue
from segauge.scores import MetricInfo, Status

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
    pictures = [Picture.of(one) for one in illustrations(summary, sizes)]
    leading = summary.leading[0]
    return page(
        "report.html.j2",
        title=title or "Segmentation report",
        summary=summary,
        floors={info.key: summary.floor_range(info) for info in summary.leading},
        floor_hint=HINT,
        pictures=_by_section(pictures),
        agreement=volume_agreement(result),
        worst=worst_cases(result, leading),
        surprising=surprising_cases(result, summary.leading),
        paragraph=paragraph(summary),
        references=citations(summary),
        glossary=glossary(result.metrics),
        gallery=shown,
        protocol=list(protocol_rows(result.protocol)),
        files=file_rows(result.protocol),
        data={"estimates": _estimate_table(summary), "cases": _case_table(result), **_pictures(shown)},
    )


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
    environment.filters.update(value_text=value_text, interval_text=interval_text, count_text=count_text)
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


def _number_column(info: MetricInfo, tolerance: str) -> dict[str, Any]:
    unit = f" ({info.scale.unit})" if info.scale.unit else ""
    return {"name": f"{info.key}{unit} {tolerance}".strip(), "hint": f"{info.name} {tolerance}".strip(), "number": True}


def _case_table(result: EvaluationResult) -> dict[str, Any]:
    """Return every case and structure, by columns; texts that repeat are stored once."""
    table = result.table
    several = len(table.structures) > 1
    n = len(table.structures)
    columns: list[dict[str, Any]] = [{"name": "case", "values": [case for case in table.cases for _ in range(n)]}]
    if several:
        columns.append({"name": "structure", "values": list(table.structures) * len(table.cases)})
    columns.append({"name": "status", "values": [status.value for row in table.status for status in row]})
    for k, info in enumerate(result.metrics):
        cells = [rounded(float(x)) for x in table.values[:, :, k].ravel()]
        columns.append({**_number_column(info, tolerance_words(info, result.protocol)), "values": cells})
    for key in result.metadata_keys:
        known = [result.metadata.get(case, {}).get(key) for case in table.cases]
        columns.append({"name": key, "values": [_text(value) for value in known for _ in range(n)]})
    if any(table.reasons.values()):
        reasons = [table.reasons.get((case, name), "") for case in table.cases for name in table.structures]
        columns.append({"name": "reason", "values": reasons})
    return {"columns": [packed_column(column) for column in columns], "rows": len(table.cases) * n}


def _text(value: object) -> str:
    return "" if value is None else str(value)


def packed_column(column: dict[str, Any]) -> dict[str, Any]:
    """Return a column of texts as distinct texts and their numbers; numbers stay as they are."""
    if column.get("number"):
        return column
    distinct = list(dict.fromkeys(column["values"]))
    place = {text: i for i, text in enumerate(distinct)}
    return {**column, "texts": distinct, "values": [place[text] for text in column["values"]]}


def _estimate_table(summary: Summary) -> dict[str, Any]:
    """Return every structure and metric with its interval and what is not in it."""
    rows = summary.rows
    several = len(summary.result.structures) > 1
    columns: list[dict[str, Any]] = []
    if several:
        columns.append({"name": "structure", "values": [row.structure for row in rows]})
    columns += [
        {"name": "metric", "values": [row.metric.name for row in rows]},
        {"name": "mean", "number": True, "values": [rounded(row.estimate.value) for row in rows]},
        {"name": "low", "number": True, "values": [rounded(row.estimate.ci_low) for row in rows]},
        {"name": "high", "number": True, "values": [rounded(row.estimate.ci_high) for row in rows]},
        *_floor_columns(summary),
        {"name": "unit", "values": ["" if row.metric.unit == "1" else row.metric.unit for row in rows]},
        {"name": "n", "number": True, "values": [row.estimate.n for row in rows]},
        {"name": "missed", "number": True, "values": [row.missed for row in rows]},
        {"name": "spurious", "number": True, "values": [row.count(Status.SPURIOUS) for row in rows]},
        {"name": "not measured", "number": True, "values": [row.unmeasured for row in rows]},
        {"name": "left out", "values": [_left_out(row.estimate.excluded) for row in rows]},
        {"name": "interval", "values": [interval_name(row.estimate) for row in rows]},
    ]
    return {"columns": [packed_column(column) for column in columns], "rows": len(rows)}


def _floor_columns(summary: Summary) -> list[dict[str, Any]]:
    """Return the noise floors of every structure and metric, and why one is not there; nothing if none was measured."""
    if not summary.floors:
        return []
    floors = [row.floor for row in summary.rows]
    cells = [(None, None) if floor is None else (floor.one_case, floor.of_mean) for floor in floors]
    columns: list[dict[str, Any]] = [
        {"name": "noise floor", "hint": HINT, "number": True, "values": [rounded(cell[0]) for cell in cells]},
        {"name": "floor of means", "hint": MEAN_HINT, "number": True, "values": [rounded(cell[1]) for cell in cells]},
    ]
    unknown = ["" if floor is None or not floor.n_unknown else unknown_text(floor) for floor in floors]
    return [*columns, {"name": "floor unknown", "values": unknown}] if any(unknown) else columns


def _left_out(excluded: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in excluded.items() if count)
