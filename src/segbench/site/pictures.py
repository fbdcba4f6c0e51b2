"""Pictures of the worst cases, from the files of a run: outlines over the image where its licence allows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from segauge import Case
from segauge.digits import with_unit
from segauge.errors import SegaugeError
from segauge.report.figures.charting import number_text
from segauge.report.html import script_json
from segauge.report.pairs import CasePair, Part, background, read_pair
from segauge.report.slices import Plane
from segauge.report.viewer import MaskPair, ViewedCase, niivue
from segauge.stats import AVERAGE, Board
from segbench.cards import DatasetCard
from segbench.planning import Prediction
from segbench.records import RunRecord
from segbench.registry import DatasetCase
from segbench.site.cases import CaseScores, case_scores
from segbench.site.chapters import Chapter
from segbench.site.outlines import Drawn, Outlines, outlines

#: Cases of one board that get pictures, models in a picture, and cases of one record that are read at all.
MOST_CASES = 3
MOST_MODELS = 8
MOST_READ = 24
#: Structures of a case in the viewer: those that it has pictures of, then the others in the order of the record.
MOST_VIEWED = 12
#: Voxels of a case in the viewer: it is a file of its own, loaded when the case is opened.
MOST_VOXELS = 1_500_000
#: What a licence says where nobody knows it.
_NO_LICENCE = ("", "none", "n/a", "?", "tbd")
_DOUBTS = ("unknown", "not known", "not verified", "unverified", "no redistribution", "disagree")


def why_no_images(card: DatasetCard) -> str:
    """Return why pages may not show images of a dataset, "" if they may.

    They may only if its card has so, and names a licence that is known: what nobody found out is forbidden.
    """
    licence = " ".join(card.licence.lower().split())
    if licence in _NO_LICENCE or any(word in licence for word in _DOUBTS):
        return f"the licence of {card.title} is not known well enough"
    return (
        ""
        if card.show_images
        else f"the card of {card.title} does not confirm that its licence allows them to be shown"
    )


@dataclass(frozen=True)
class RunFiles:
    """The files of a run, for its pictures.

    Attributes:
        cases: by id: image and ground truth.
        predictions: by model and case id.
        card: the dataset's own; images are shown only if this and the record's card let them be.

    """

    cases: Mapping[str, DatasetCase]
    predictions: Mapping[tuple[str, str], Path]
    card: DatasetCard

    @classmethod
    def of(cls, card: DatasetCard, cases: Iterable[DatasetCase], predictions: Iterable[Prediction]) -> RunFiles:
        """Return the files of a run that was just made."""
        made = {(one.model, one.case_id): Path(one.file) for one in predictions if one.file is not None}
        return cls({case.case_id: case for case in cases}, made, card)


@dataclass(frozen=True)
class Panel:
    """One model's outline in a picture: its score, what kind of failure it is; no plane without a prediction."""

    model: str
    score: str
    kind: str
    words: str
    plane: Plane | None = None


@dataclass(frozen=True)
class CasePicture:
    """One case of a board: which slice, the address of the image below ("" without one), and a panel per model."""

    case: str
    words: str
    place: str
    image: str
    panels: list[Panel]
    remark: str = ""


@dataclass(frozen=True)
class Pictures:
    """Pictures by structure and metric, the images that they lie on, by address, and why there are none, if so.

    `viewed` are the files of the viewer by case: the address, and the text. `has_files` says whether any board has a
    picture, so whether the files of some case were there.
    """

    by_board: Mapping[tuple[str, str], list[CasePicture]] = field(default_factory=dict)
    images: Mapping[str, bytes] = field(default_factory=dict)
    viewed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    image_reason: str = ""
    has_files: bool = False

    @property
    def shows_images(self) -> bool:
        """Whether the outlines lie on images."""
        return not self.image_reason

    def of(self, board: Board) -> list[CasePicture]:
        """Return the pictures of a board."""
        return self.by_board.get((board.structure, board.metric), [])

    def of_structure(self, structure: str) -> Pictures:
        """Return the pictures of one structure, without images and volumes: these are written already."""
        return replace(
            self,
            by_board={key: value for key, value in self.by_board.items() if key[0] == structure},
            images={},
            viewed={},
        )


def pictures_of(chapter: Chapter, files: RunFiles | None) -> Pictures:
    """Return the pictures of a record; none without its files. One case after another is read, each only once."""
    if files is None:
        return Pictures()
    reason = why_no_images(chapter.record.dataset) or why_no_images(files.card)
    chosen = chosen_cases(chapter)
    found: dict[tuple[str, str], dict[str, CasePicture]] = {}
    images: dict[str, bytes] = {}
    viewed: dict[str, tuple[str, str]] = {}
    for case_id in dict.fromkeys(one.case for one in chosen):
        own = [one for one in chosen if one.case == case_id]
        case = _Case(chapter, files, case_id)
        masks = case.masks(own, shows_images=not reason)
        if niivue() is not None and masks.truth:
            viewed[case_id] = viewer_file(chapter, case_id, masks.viewed(chapter, own))
        for one, picture, image in case.pictures(own, masks):
            images.update({picture.image: image} if picture.image else {})
            found.setdefault((one.board.structure, one.board.metric), {})[case_id] = picture
    # From the worst on, as the board lists them, whatever the order in which the cases were read.
    ordered: dict[tuple[str, str], list[CasePicture]] = {}
    for one in chosen:
        key = (one.board.structure, one.board.metric)
        ordered.setdefault(key, []).extend([found[key][one.case]] if one.case in found.get(key, {}) else [])
    return Pictures(ordered, images, viewed, reason, bool(ordered))


@dataclass(frozen=True)
class Choice:
    """A case that a board has a picture of, and its scores there."""

    board: Board
    case: str
    scores: CaseScores


def chosen_cases(chapter: Chapter) -> list[Choice]:
    """Return the worst cases of every board, the worst of all boards first; no more cases than may be read."""
    worst: dict[int, list[Choice]] = {}
    for number, board in enumerate(chapter.boards):
        matrix = (
            None
            if board.structure == AVERAGE
            else chapter.scored.matrix(board.structure, board.metric, chapter.case_rule)
        )
        scores = case_scores(board, matrix)
        if scores is not None:
            names = [one.case for one in scores.hardest][:MOST_CASES]
            worst[number] = [Choice(board, case, scores) for case in names]
    found: list[Choice] = []
    read: set[str] = set()
    for level in range(MOST_CASES):
        for choices in worst.values():
            if level < len(choices) and (choices[level].case in read or len(read) < MOST_READ):
                found.append(choices[level])
                read.add(choices[level].case)
    return found


@dataclass(frozen=True)
class _Case:
    """One case that is being drawn, with the files of all models."""

    chapter: Chapter
    files: RunFiles
    case_id: str

    @property
    def record(self) -> RunRecord:
        """The record of the run."""
        return self.chapter.record

    def pictures(self, choices: Sequence[Choice], masks: _Masks) -> Iterator[tuple[Choice, CasePicture, bytes]]:
        """Yield a picture per board; those of one structure share the slice and the outlines."""
        for structure in dict.fromkeys(one.board.structure for one in choices):
            drawn = masks.drawn.get(structure, {})
            if all(one.pred.is_empty and one.gt.is_empty for one in drawn.values()):
                continue
            made = outlines(drawn, masks.spacing, masks.image, oriented=masks.oriented)
            for one in choices:
                if one.board.structure == structure:
                    yield one, self._picture(one, drawn, masks, made), made.image

    def masks(self, choices: Sequence[Choice], *, shows_images: bool) -> _Masks:
        """Read the files of one model after another, and keep of each no more than the structures that are drawn."""
        wanted: dict[str, list[str]] = {}
        for one in choices:
            for name in shown_models(one):
                wanted.setdefault(name, []).append(one.board.structure)
        found = _Masks(self.case_id)
        own = [one.board.structure for one in choices]
        seen = list(dict.fromkeys([*own, *self.record.structures]))[:MOST_VIEWED]
        for model, structures in wanted.items():
            pair, why = self._pair(model)
            if pair is not None and found.shape not in (None, pair.gt.grid.shape):
                pair, why = None, "its prediction reaches beyond the ground truth's image"
            if pair is None:
                found.trouble[model] = why
                continue
            if found.shape is None:
                found.shape, found.spacing, found.oriented = pair.gt.grid.shape, pair.upright.spacing, pair.gt.in_space
                if shows_images:
                    found.image, found.remark = background(self.files.cases[self.case_id].image, pair.gt)
                    found.remark = self._without_paths(found.remark)
            for structure in dict.fromkeys(structures):
                if structure in pair.structures:
                    found.drawn.setdefault(structure, {})[model] = Drawn.of(pair, structure)
            found.add(model, pair, seen)
        return found

    def _picture(self, choice: Choice, drawn: Mapping[str, Drawn], masks: _Masks, made: Outlines) -> CasePicture:
        panels = []
        for name in shown_models(choice):
            score = choice.scores.score_text(self.case_id, name)
            if name in drawn:
                found = drawn[name].diagnosis
                panels.append(Panel(name, score, found.kind.value, found.words, made.planes[name]))
            else:
                why = masks.trouble.get(name, "it does not have the structure")
                panels.append(Panel(name, score, "no picture", why))
        address = f"pictures/{hashlib.sha256(made.image).hexdigest()[:20]}.png" if made.image else ""
        words = choice.scores.of(self.case_id).words
        return CasePicture(self.case_id, words, made.place, address, panels, masks.remark)

    def _pair(self, model: str) -> tuple[CasePair | None, str]:
        """Return both label maps of a model, or why there are none."""
        entry, case = self.record[model], self.files.cases.get(self.case_id)
        path = self.files.predictions.get((model, self.case_id))
        if case is None or path is None:
            return None, entry.failures.get(self.case_id) or "its prediction is not among the files"
        known = self.record.dataset.structures
        names = [name for name in self.record.structures if name in entry.card.structures and name in known]
        options = {
            "structures": {name: known[name] for name in names},
            "pred_structures": {name: entry.card.structures[name] for name in names},
            "ignore": self.record.dataset.ignore,
            "resample": self.record.protocol.get("options", {}).get("resample"),
        }
        try:
            return read_pair(Case(self.case_id, path, case.gt), options), ""
        except SegaugeError as error:
            return None, self._without_paths(str(error).replace(str(path), "the prediction"))

    def _without_paths(self, words: str) -> str:
        """Return words that do not tell a visitor where the files of this machine lie."""
        case = self.files.cases[self.case_id]
        return words.replace(str(case.gt), "the ground truth").replace(str(case.image), "the image")


@dataclass
class _Masks:
    """What was read of one case: masks by structure and model, one image, and why a model has no mask."""

    case_id: str
    drawn: dict[str, dict[str, Drawn]] = field(default_factory=dict)
    truth: dict[str, Part] = field(default_factory=dict)
    preds: dict[str, dict[str, Part]] = field(default_factory=dict)
    trouble: dict[str, str] = field(default_factory=dict)
    shape: tuple[int, ...] | None = None
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)
    oriented: bool = True
    image: npt.NDArray[Any] | None = None
    remark: str = ""

    def add(self, model: str, pair: CasePair, structures: Sequence[str]) -> None:
        """Keep what the viewer shows of a model: the structures that are in either mask."""
        if niivue() is None:
            return
        for structure in structures:
            if structure in pair.structures:
                pred, gt = map(Part.of, pair.masks(structure))
                if not (pred.is_empty and gt.is_empty):
                    self.truth.setdefault(structure, gt)
                    self.preds.setdefault(structure, {})[model] = pred

    def viewed(self, chapter: Chapter, choices: Sequence[Choice]) -> ViewedCase:
        """Return what the viewer shows of the case, structures by their key in addresses."""
        boards = {structure: own for structure, own in chapter.structures() if structure in self.truth}
        keys = {structure: chapter.structure_key(own[0]) for structure, own in boards.items()}
        masks = {key: MaskPair(self.truth[name], self.preds[name]) for name, key in keys.items()}
        scores = {
            keys[name]: {model: _score_lines(chapter, own, self.case_id, model) for model in self.preds[name]}
            for name, own in boards.items()
        }
        # The structures whose worst case by the first metric this is: a surface takes time to make.
        surfaced = {one.board.structure for one in choices if one.board.metric == chapter.metrics[0]}
        return ViewedCase(
            self.case_id, masks, self.spacing, self.image, self.oriented, scores,
            [keys[name] for name in surfaced if name in keys],
        )  # fmt: skip


def _score_lines(chapter: Chapter, boards: Sequence[Board], case: str, model: str) -> list[tuple[str, str]]:
    table = chapter.record.tables[model]
    lines = []
    for board in boards:
        value = table[case, board.structure, board.metric].value
        text = "no number" if value is None else with_unit(number_text(value), board.unit)
        lines.append((chapter.metric_title(board), text))
    return lines


def viewer_file(chapter: Chapter, case: str, viewed: ViewedCase) -> tuple[str, str]:
    """Return the address and the text of a case's file for the viewer."""
    number = next(i for i, one in enumerate(chapter.record.cases) if one.case_id == case)
    address = f"volumes/{chapter.key}/{number}.js"
    return address, f"segbenchData({script_json(address)},{script_json(viewed.packed(MOST_VOXELS))});\n"


def shown_models(choice: Choice) -> list[str]:
    """Return the models of a picture: the first of the board, and the one that is worst on the case."""
    names = list(choice.scores.models)
    if len(names) <= MOST_MODELS:
        return names
    worst = choice.scores.of(choice.case).worst
    return names[:MOST_MODELS] if worst in names[:MOST_MODELS] else [*names[: MOST_MODELS - 1], worst]
