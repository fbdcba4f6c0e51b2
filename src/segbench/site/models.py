"""Models and test sets as the site shows them: cards, exposures with the paths that convict, and the lineage graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import urlencode

from segauge.report.html import Picture
from segauge.stats import AVERAGE
from segbench.addresses import numbered, safe_link
from segbench.cards import DatasetCard, Exposure, Lineage, ModelCard, TrainingSet, known_lineage
from segbench.site.axes import Axis, axis_for
from segbench.site.chapters import Chapter, structure_title
from segbench.site.history import history_picture
from segbench.site.pages import Pages
from segbench.site.pictures import why_no_images
from segbench.site.rows import count_text, duration_text

#: Boards that a model's card lists: with more of them, those over all structures and those of the best places.
MOST_STANDINGS = 24


@dataclass(frozen=True)
class Seen:
    """What a model has seen of one test set: the exposure, and its path by title."""

    chapter: Chapter
    exposure: Exposure
    path: tuple[str, ...]
    ranked: bool


@dataclass(frozen=True)
class ModelView:
    """One model: its card, facts, training sets, exposures, places (and how many more boards rank it), badges."""

    key: str
    card: ModelCard
    facts: list[tuple[str, str]]
    links: list[tuple[str, str]]
    training: list[tuple[str, str, str]]
    seen: list[Seen]
    standings: list[tuple[str, str, str]]
    more_standings: int
    badges: list[tuple[str, str]]
    plots: list[DotPlot]
    worst: list[tuple[str, str, str]]


@dataclass(frozen=True)
class DotPlot:
    """The means of a model on every structure of a test set beside those of all others, by the leading metric."""

    title: str
    axis: Axis
    rows: list[tuple[str, str, float | None, list[float]]]


@dataclass(frozen=True)
class Box:
    """One node of the lineage graph: where it is drawn, and what it is."""

    text: str
    kind: str
    x: float
    y: float


@dataclass(frozen=True)
class Graph:
    """Training sets and how their images came into the test set; columns from the models to the test set."""

    boxes: list[Box]
    arrows: list[tuple[float, float, float, float, bool]]
    width: float
    height: float


@dataclass(frozen=True)
class DatasetView:
    """One test set: key, name, card, facts, kin, its records in order, the graph of exposures, and the history."""

    key: str
    name: str
    card: DatasetCard
    facts: list[tuple[str, str]]
    kin: list[tuple[str, str, str]]
    chapters: list[Chapter]
    graph: Graph | None
    history: Picture | None = None


def model_views(chapters: Sequence[Chapter]) -> list[ModelView]:
    """Return all models of the site in the order in which they first appear; the newest card counts."""
    names = dict.fromkeys(entry.name for chapter in chapters for entry in chapter.record.models)
    return [_model_view(name, [chapter for chapter in chapters if name in chapter.model_keys]) for name in names]


def _model_view(name: str, chapters: Sequence[Chapter]) -> ModelView:
    entries = [chapter.record[name] for chapter in chapters]
    card = entries[-1].card
    seconds = chapters[-1].seconds.get(name)
    facts = [
        ("organisation", card.organisation),
        ("version", card.version),
        ("licence", card.licence),
        ("licence of the weights", card.weights_licence),
        ("framework", card.framework),
        ("parameters", "" if card.parameters is None else count_text(card.parameters)),
        ("time per case", "" if seconds is None else duration_text(seconds)),
        ("citation", card.citation),
        ("not disclosed", card.undisclosed),
        ("note", card.note),
    ]
    seen = [
        Seen(chapter, entry.exposure, _titles(chapter, entry.exposure.path), entry.ranked)
        for chapter, entry in zip(chapters, entries, strict=True)
    ]
    links = [("paper", safe_link(card.paper)), ("code", safe_link(card.code))]
    return ModelView(
        chapters[-1].model_keys[name],
        card,
        [(what, text) for what, text in facts if text],
        [(what, address) for what, address in links if address],
        _training(card),
        seen,
        [found for chapter in chapters for found in _standings(chapter, name)[0]],
        sum(_standings(chapter, name)[1] for chapter in chapters),
        [(chapter.name, chapter.badge(name)) for chapter in chapters],
        [plot for chapter in chapters if (plot := _dot_plot(chapter, name)) is not None],
        _worst_cases(chapters[-1], name),
    )


def write_models(pages: Pages, models: Sequence[ModelView]) -> None:
    """Write the page of each model."""
    for model in models:
        pages.page(f"models/{model.key}.html", "model.html.j2", model=model)


def _dot_plot(chapter: Chapter, name: str) -> DotPlot | None:
    lead = chapter.leading
    boards = [board for board in chapter.boards if lead is not None and board.metric == lead.metric]
    rows = []
    for board in boards:
        means = {row.model: row.estimate.value for row in board.rows if row.estimate and row.estimate.value is not None}
        others = [value for model, value in means.items() if model != name]
        rows.append((structure_title(board), chapter.address(board), means.get(name), others))
    axis = axis_for([value for _, _, own, others in rows for value in (own, *others)])
    if axis is None or lead is None or all(own is None for _, _, own, _ in rows):
        return None
    return DotPlot(f"{chapter.name}: {chapter.axis(lead)}", axis, rows)


def _worst_cases(chapter: Chapter, name: str) -> list[tuple[str, str, str]]:
    """Return case, score and address of the worst cases of a model by the leading metric."""
    lead = chapter.leading
    if lead is None:
        return []
    found: list[tuple[float, str, str, str]] = []
    for board in chapter.boards:
        if board.structure == AVERAGE or board.metric != lead.metric or board.get(name) is None:
            continue
        matrix = chapter.scored.matrix(board.structure, board.metric, chapter.case_rule)
        if name not in matrix.models:
            continue
        sign = 1.0 if board.higher_is_better else -1.0
        place = chapter.selection(board)
        for case, value in zip(matrix.cases, matrix.values[:, matrix.models.index(name)].tolist(), strict=True):
            if value == value:  # a number
                words = "failed" if value in (float("inf"), float("-inf")) else f"{value:.3g}"
                cost = float("-inf") if words == "failed" else sign * value
                asked = urlencode({**place, "case": case})
                found.append((cost, f"{case}, {structure_title(board)}", words, f"case.html#{asked}"))
    return [(case, words, address) for _, case, words, address in sorted(found)[:6]]


def _training(card: ModelCard) -> list[tuple[str, str, str]]:
    """Return how and on what a model was trained, with the source; a training that nobody described says so."""
    rows: list[tuple[str, str, str]] = []
    for words, parts in (("trained on", card.trained_on), ("pre-trained on", card.pretrained_on)):
        if parts is None:
            rows.append((words, "not known", ""))
        rows += [(words, _training_words(part), part.source) for part in parts or ()]
    return rows


def _training_words(part: TrainingSet) -> str:
    return f"{part.dataset} (unverified)" if part.confidence.value == "unverified" else part.dataset


def _standings(chapter: Chapter, name: str) -> tuple[list[tuple[str, str, str]], int]:
    """Return the boards that rank a model (title, address, place in words), and how many more there are.

    Where there are many these are the boards over all structures, and then those of the best places.
    """
    ranked = [(board, place) for board in chapter.boards if (place := chapter.place(board, name)) is not None]
    if len(ranked) > MOST_STANDINGS:
        ranked.sort(key=lambda one: (one[0].structure != AVERAGE, one[1]))
    found = []
    for board, place in ranked[:MOST_STANDINGS]:
        shared = sum(standing.place == place for standing in board.rows)
        words = f"place {place}" + (f", shared by {shared}" if shared > 1 else "")
        metric = chapter.metric_title(board)
        title = f"{chapter.name}: {structure_title(board)}, {metric}"
        found.append((title, chapter.address(board), words))
    return found, len(ranked) - len(found)


def _titles(chapter: Chapter, path: Sequence[str]) -> tuple[str, ...]:
    lineage = known_lineage([chapter.record.dataset])
    return tuple(lineage.title_of(name) for name in path)


def dataset_views(chapters: Sequence[Chapter]) -> list[DatasetView]:
    """Return all test sets of the site, each with its records from older to newer."""
    names = dict.fromkeys(chapter.record.dataset.name for chapter in chapters)
    groups = [[chapter for chapter in chapters if chapter.record.dataset.name == name] for name in names]
    # Two test sets may call themselves the same: then the second is numbered, as in the selectors.
    titles = numbered([group[-1].record.dataset.title for group in groups])
    return [_dataset_view(group, title) for group, title in zip(groups, titles, strict=True)]


def _dataset_view(chapters: list[Chapter], name: str) -> DatasetView:
    newest = chapters[-1]
    card = newest.record.dataset
    lineage = known_lineage([card])
    facts = [
        ("modality", card.modality),
        ("cases with public labels", "" if card.n_cases is None else str(card.n_cases)),
        ("cases in the record", str(len(newest.record.cases))),
        ("structures", ", ".join(newest.record.structures)),
        ("licence", card.licence),
        ("source", card.source),
        ("citation", card.citation),
        ("images", f"are not shown: {reason}" if (reason := why_no_images(card)) else "may be shown"),
        ("note", card.note),
    ]
    kin = [
        (edge.relation.value.replace("_", " "), lineage.title_of(edge.other), edge.source)
        for edge in card.lineage or ()
    ]
    return DatasetView(
        newest.key,
        name,
        card,
        [fact for fact in facts if fact[1]],
        kin,
        chapters,
        lineage_graph(newest, lineage),
        history_picture(chapters),
    )


def lineage_graph(chapter: Chapter, lineage: Lineage) -> Graph | None:
    """Return the graph of the models whose training leads to the test set; None if none does."""
    convicted = [entry for entry in chapter.record.models if entry.exposure.path]
    if not convicted:
        return None
    depth: dict[str, int] = {}
    edges: dict[tuple[str, str], bool] = {}
    for entry in convicted:
        path = entry.exposure.path
        is_open = entry.exposure.level.value == "unknown"
        for i, name in enumerate(reversed(path)):
            depth[name] = max(depth.get(name, 0), i)
        for one, other in pairwise(path):
            edges[one, other] = is_open and edges.get((one, other), True)
    last = max(depth.values()) + 1
    columns: dict[int, list[str]] = {}
    for name in depth:
        columns.setdefault(last - depth[name], []).append(name)
    boxes = {f"m:{entry.name}": Box(entry.name, "model", 0, 44 * i) for i, entry in enumerate(convicted)}
    for column, names in columns.items():
        for i, name in enumerate(names):
            kind = "test" if depth[name] == 0 else "set"
            boxes[f"d:{name}"] = Box(lineage.title_of(name), kind, 260 * column, 44 * i)
    joined = [(f"m:{e.name}", f"d:{e.exposure.path[0]}", e.exposure.level.value == "unknown") for e in convicted]
    joined += [(f"d:{one}", f"d:{other}", dashed) for (one, other), dashed in edges.items()]
    arrows = [(boxes[a].x + 200, boxes[a].y + 16, boxes[b].x, boxes[b].y + 16, dashed) for a, b, dashed in joined]
    height = 44.0 * max(len(convicted), *(len(names) for names in columns.values()))
    return Graph(list(boxes.values()), arrows, 260.0 * last + 202, height)
