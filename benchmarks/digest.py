"""Makes the one page of results, docs/benchmarks.md, of all that was measured, benchmarks/results.md.

    python -m benchmarks.digest

`benchmarks.publish` does it after every run. Nothing on the page is typed: it selects tables and columns and draws
two charts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.charts import bars, lines
from benchmarks.tables import MISSING, markdown_table, times

PROJECT = Path(__file__).resolve().parents[1]
DETAILS = PROJECT / "benchmarks" / "results.md"
PAGE = PROJECT / "docs" / "benchmarks.md"
IMAGES = PROJECT / "docs" / "images"

Row = Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table of the results."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def choose(self, columns: Mapping[str, str]) -> str:
        """Return the table of some columns, by their names, with the headings that are given."""
        places = [self.header.index(name) for name in columns]
        return markdown_table(list(columns.values()), [[row[place] for place in places] for row in self.rows])

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        place = self.header.index(name)
        return [row[place] for row in self.rows]


@dataclass(frozen=True)
class Digest:
    """The text of one part of the page, and its charts by file name."""

    text: str
    charts: Mapping[str, str]


def part_of(page: str, part: str) -> str:
    """Return what stands between the marks of a part."""
    return page.partition(f"<!-- begin: {part} -->")[2].partition(f"<!-- end: {part} -->")[0].strip()


def section(text: str, heading: str) -> str:
    """Return what follows a heading, up to the next one of its level or above."""
    found = re.search(rf"^(#+) {re.escape(heading)}$", text, flags=re.MULTILINE)
    if found is None:
        raise SystemExit(f"benchmarks/results.md has no section {heading!r}.")
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, flags=re.MULTILINE)
    return rest[: end.start()] if end else rest


def tables_of(text: str) -> list[Table]:
    """Return the Markdown tables of a text."""
    found, lines_of = [], [*text.splitlines(), ""]
    rows: list[tuple[str, ...]] = []
    for line in lines_of:
        if line.startswith("|"):
            rows.append(tuple(cell.strip() for cell in line.strip().strip("|").split("|")))
        elif rows:
            found.append(Table(rows[0], tuple(rows[2:])))
            rows = []
    return found


def _verdicts(text: str) -> str:
    """Return how many promises were kept, and those that were not."""
    kept = len(re.findall(r"^- PASS", text, flags=re.MULTILINE))
    missed = re.findall(r"^- FAIL +(.+)$", text, flags=re.MULTILINE)
    names = [re.sub(r", median.*", "", name.partition(";")[0]) for name in missed]
    counted = f"{kept} of {kept + len(missed)} promises are kept."
    return counted + ("" if not names else " Not kept:\n\n" + "\n".join(f"- {name}" for name in names))


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0]


def speed(text: str) -> Digest:
    """Return whole cases, the range over single structures, folders, and the sub-voxel surface."""
    whole = tables_of(section(text, "Whole cases"))[0]
    columns = {
        "case": "case",
        "structures": "structures",
        "ours, ms": "segauge, ms",
        "2 threads, ms": "2 threads, ms",
        "surface-distance": "surface-distance",
        "surface-distance-cropped": "surface-distance, cropped first",
        "monai": "MONAI",
        "read: nibabel": "reading the files",
        "peak memory": "peak memory",
    }
    ranges = []
    for kind in ("cropped", "whole", "phantom"):
        table = tables_of(section(text, f"One structure, {kind} arrays"))[0]
        for tool in ("surface-distance", "monai"):
            values = [float(cell.rstrip("x*~")) for cell in table.column(tool) if cell != MISSING]
            ranges.append([kind, tool, *map(times, (min(values), median(values), max(values))), str(len(values))])
    folder = dict(re.findall(r"^(segauge|surface-distance|ratio) +([\d.]+)", text, flags=re.MULTILINE))
    cases = re.search(r"^(\d+) cases, first", text, flags=re.MULTILINE)
    subvoxel = tables_of(section(text, "The sub-voxel surface beside marching cubes"))[0]
    per_case = Table(subvoxel.header, tuple(row for row in subvoxel.rows if row[0].endswith(": all structures")))
    pieces = [
        _first_line(text),
        "All structures of a case in one pass. Other packages, and reading the files, are multiples of the time of "
        "segauge on two threads; memory is a multiple of the two label maps.",
        whole.choose(columns),
        "Single structures, one thread, as multiples of the time of segauge:",
        markdown_table(["arrays", "package", "lowest", "median", "highest", "structures"], ranges),
        f"From files to scores, {cases[1] if cases else 'some'} cases, two processes: segauge {folder['segauge']} s, "
        f"surface-distance {folder['surface-distance']} s ({folder['ratio']} times).",
        "The sub-voxel surface next to marching cubes, default metrics:",
        per_case.choose({"structure": "case", **{name: name for name in subvoxel.header[1:]}}),
        _verdicts(text),
    ]
    return Digest("\n\n".join(pieces), {})


def scale(text: str) -> Digest:
    """Return the table of runs and what a killed run did."""
    killed = re.search(r"^Killed after .*$", text, flags=re.MULTILINE)
    pieces = [
        _first_line(text),
        tables_of(text)[0].choose(
            {
                "run": "run",
                "s": "s",
                "cases/s": "cases/s",
                "2nd half / 1st": "time of 2nd half / 1st",
                "growth MB/1000": "growth, MB per 1000 cases",
            }
        ),
        killed[0] if killed else "",
    ]
    return Digest("\n\n".join(pieces), {})


def accuracy(text: str) -> Digest:
    """Return the errors of all tools, in a table and a chart, by spacing, and on readers' organs."""
    truth = section(text, "Distance from the truth")
    tools, _, by_spacing, *_ = tables_of(truth)
    assd = [(name, cell.split()[0]) for name, cell in zip(tools.column("tool"), tools.column("ASSD, mm"), strict=True)]
    values = {name: float(cell) for name, cell in assd if cell != MISSING}
    organs = tables_of(section(text, "Readers' organs"))[0]
    by_tool: dict[str, list[str]] = {}
    spacings: list[str] = []
    for name, error in zip(organs.column(organs.header[0]), organs.column("HD95, mm"), strict=True):
        spacing, _, tool = name.partition(": ")
        spacings += [spacing] if spacing not in spacings else []
        by_tool.setdefault(tool, []).append(error.partition(" ")[0])
    pairs = re.search(r"over (\d+) pairs of masks", truth)
    pieces = [
        _first_line(text),
        f"Mean absolute error over {pairs[1] if pairs else 'all'} pairs of solids; in brackets its ratio to that of "
        "`segauge`. Each tool is compared with the definition that it implements.",
        markdown_table(tools.header, tools.rows),
        "![ASSD error of each tool](images/accuracy.svg)",
        "HD95 error in mm by voxel edges in mm:",
        markdown_table(by_spacing.header, by_spacing.rows),
        "HD95 error in mm on readers' organs (kidneys, tumours and cysts as smooth objects), by voxel edges in mm:",
        markdown_table(["tool", *spacings], [[tool, *errors] for tool, errors in by_tool.items()]),
        f"The sub-voxel surface: {_verdicts(text)}",
    ]
    return Digest(
        "\n\n".join(pieces), {"accuracy.svg": bars("Mean absolute error of ASSD, mm", values, ours="segauge")}
    )


#: Methods on the page, of all that are measured.
METHODS = ("percentile", "bca", "t", "bootstrap-t", "jeffreys", "half-case", "half-case + tail")
_FAMILY = re.compile(
    r"^(?P<name>[^\n]+?): (?P<populations>\d+) populations x \d+ test sets; coverage in %$", re.MULTILINE
)

_PROMISE = re.compile(r"^(.{42})(.{33}) +([\d.]+)  (holds|[a-z ]+)$", re.MULTILINE)


def _families(text: str) -> dict[str, dict[str, list[float]]]:
    """Return per family and method the coverage by size, then the other columns."""
    found: dict[str, dict[str, list[float]]] = {}
    for match in _FAMILY.finditer(text):
        block = text[match.end() :].strip("\n").partition("\n\n")[0]
        rows = (re.match(r"^(.{17})(.+)$", line) for line in block.splitlines()[1:])
        found[match["name"]] = {row[1].strip(): [float(x) for x in row[2].split()] for row in rows if row}
    return found


def coverage(text: str) -> Digest:
    """Return the coverage of intervals, false positives of comparisons, and how often rank sets hold."""
    families = _families(section(text, "Intervals of a mean"))
    rows, seen = [], []
    for name, methods in families.items():
        rows.append([name, *(f"{methods[key][2]:.1f}" if key in methods else MISSING for key in METHODS)])
        ours = methods["half-case"]
        seen.append([name, f"{ours[7]:.2f}", f"{ours[8]:.1f}", f"{ours[9]:.1f}"])
    shown = families["Touchstone, TotalSegmentator"]
    sizes = ("5", "10", "20", "50", "100")
    chart = lines(
        "Coverage of 95 % intervals, Touchstone on TotalSegmentator, %",
        sizes,
        {key: shown[key][:5] for key in ("half-case", "half-case + tail", "t", "percentile", "bca")},
        low=70.0,
        line=95.0,
        axis="cases",
    )
    promises = [[cell.strip() for cell in found.groups()] for found in _PROMISE.finditer(text)]
    pairs = section(text, "All pairs, and rank sets")
    errors, ranks = _pairs(pairs)
    phantom = re.findall(r"^(\w+) +(\d+ of \d+) repeats hold, mean width ([\d.]+)", text, flags=re.MULTILINE)
    pieces = [
        _first_line(text),
        "Coverage of nominal 95 % intervals of a mean at n = 20, in %:",
        markdown_table(["scores", *METHODS], rows),
        "![Coverage by number of cases](images/coverage.svg)",
        "Half-case at n = 20: width relative to Student's t, and coverage in % in the worst population and among test "
        "sets without a failure. The last two show what the interval does not cover: failures that did not occur.",
        markdown_table(["scores", "width / t", "worst population", "no failure seen"], seen),
        "Promises of half-case at n = 20, on all populations (the tables above have every sixth one of some families):",
        markdown_table(["scores", "promise", "measured", "verdict"], promises),
        "Comparisons of 13 models, corrected for all pairs: share of test sets with a false positive (models of equal "
        "means), and power, in %:",
        markdown_table(["scores", "n", "method", "false positives", "power"], errors),
        "Test sets in which the ranks of all models hold, in %:",
        markdown_table(["scores", "n", "rank sets", "bootstrap ranks"], ranks),
        "Rank sets of the phantom benchmark:",
        markdown_table(["structure", "repeats that hold", "mean width"], phantom),
    ]
    return Digest("\n\n".join(pieces), {"coverage.svg": chart})


def _pairs(text: str) -> tuple[list[Row], list[Row]]:
    """Return the rows of false positives and power, and those of rank sets."""
    errors: list[Row] = []
    ranks: list[Row] = []
    scores = size = ""
    for line in text.splitlines():
        if found := re.match(r"^(.+?) scores, \d+ models", line):
            scores = found[1]
        elif found := re.match(r"^n=(\d+)$", line):
            size = found[1]
        elif found := re.match(r"^  (.+?) +swapped +[\d.]+ +equal means +([\d.]+) +power +([\d.]+)$", line):
            errors.append([scores, size, *found.groups()])
        elif found := re.match(r"^  all rank sets hold: ([\d.]+) %; all bootstrap rank intervals: ([\d.]+) %$", line):
            ranks.append([scores, size, *found.groups()])
    return errors, ranks


PARTS: Mapping[str, Callable[[str], Digest]] = {
    "speed": speed,
    "scale": scale,
    "accuracy": accuracy,
    "coverage": coverage,
}


def replaced(page: str, part: str, text: str) -> str:
    """Return the page with other text between the marks of a part."""
    begin, end = f"<!-- begin: {part} -->", f"<!-- end: {part} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit(f"The page should have {begin} and {end} once each.")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"


def digest(page: str, details: str) -> tuple[str, dict[str, str]]:
    """Return the page as the results make it, and its charts by file name."""
    charts: dict[str, str] = {}
    for part, make in PARTS.items():
        made = make(part_of(details, part))
        page = replaced(page, part, made.text)
        charts.update(made.charts)
    return page, charts


def write() -> None:
    """Write the page and its charts."""
    page, charts = digest(PAGE.read_text(encoding="utf-8"), DETAILS.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")
    for name, chart in charts.items():
        (IMAGES / name).write_text(chart, encoding="utf-8")


if __name__ == "__main__":
    write()
