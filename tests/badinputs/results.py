"""Result files that are wrong, by number: each generator writes one and says which command is to notice."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from segauge import Case, evaluate
from tests.badinputs.datasets import box


@dataclass(frozen=True)
class BadResult:
    number: int
    name: str
    make: Callable[[Path], Path]
    command: str
    code: int
    says: str


RESULTS: list[BadResult] = []


def bad_result(number: int, **facts: object) -> Callable[[Callable[[Path], Path]], Callable[[Path], Path]]:
    def add(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
        RESULTS.append(BadResult(number, make.__name__, make, **facts))  # type: ignore[arg-type]
        return make

    return add


def _written(folder: Path, text: str) -> Path:
    path = folder / "model.json"
    path.write_text(text)
    return path


@bad_result(49, command="import", code=0, says=r"dice, hd95, nsd \S +3 \S +1 \S +0 ")
def nan_and_infinity(folder: Path) -> Path:
    rows = '{"case_id": "a", "dice": 0.0, "hd95": Infinity}, {"case_id": "b", "dice": 0.5, "hd95": 3, "nsd": NaN}'
    return _written(folder, f'{{"per_case": [{rows}]}}')


@bad_result(49, command="import", code=1, says="1 score appears twice with different values, in 1 case, such as a of")
def a_case_twice(folder: Path) -> Path:
    rows = '{"case_id": "a", "dice": 0.25}, {"case_id": "a", "dice": 0.5}'
    return _written(folder, f'{{"per_case": [{rows}]}}')


def _result(folder: Path) -> Path:
    shifted = np.roll(box(), 1, axis=0)
    cases = [Case(name, pred, box(), spacing=1.0) for name, pred in (("a", box()), ("b", shifted), ("c", box()))]
    return evaluate(cases, metrics=["dice", "hd"], n_resamples=100).to_json(folder / "model.json")


def _edited(folder: Path, edit: Callable[[dict], None]) -> Path:
    data = json.loads(_result(folder).read_text())
    edit(data)
    return _written(folder, json.dumps(data))


@bad_result(49, command="verify", code=0, says="values computed again from its rows .* confirmed")
def no_edit_at_all(folder: Path) -> Path:
    return _result(folder)


@bad_result(49, command="verify", code=5, says=r"summary / dice / value: the file has 0\.99, expected 0\.9166")
def an_edited_mean(folder: Path) -> Path:
    return _edited(folder, lambda data: data["summary"]["dice"].update(value=0.99))


@bad_result(49, command="verify", code=5, says=r"summary / dice / value: the file has 0\.9166\d+, expected 1\.0")
def an_edited_score(folder: Path) -> Path:
    return _edited(folder, lambda data: data["per_case"][1].update(dice=1.0))


@bad_result(
    49, command="verify", code=5, says=r"b / foreground / dice: the file has 75\.0, expected 'a value from 0 to 1'"
)
def a_score_in_per_cent(folder: Path) -> Path:
    return _edited(folder, lambda data: data["per_case"][1].update(dice=75))


@bad_result(49, command="verify", code=1, says="'foreground' of case 'b' appears in it twice")
def a_row_twice(folder: Path) -> Path:
    return _edited(folder, lambda data: data["per_case"].append(data["per_case"][1]))
