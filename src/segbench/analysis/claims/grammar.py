"""Claims as sentences: "MedNeXt > STU-Net-B on liver dice", "A is not worse than B by 0.01 on average nsd".

```
claim    = model relation (model | "all") ["by" number] "on" [structure | "average"] metric
relation = ">" | "<" | ">=" | "<=" | "=" and their words
```

">" reads "is better than", whatever the metric: with a distance in mm the better model has the smaller number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from segauge.errors import InvalidInput

Relation = Literal["better", "not worse", "equivalent"]

#: What stands for all other models.
EVERYBODY = "all"

_EXAMPLE = '"MedNeXt > STU-Net-B on liver dice"'

#: Spelling of each relation, and whether the sides are to be swapped; longer ones are tried first.
_SPELLINGS: dict[str, tuple[Relation, bool]] = {
    "is not worse than": ("not worse", False),
    "is non-inferior to": ("not worse", False),
    "is at least as good as": ("not worse", False),
    "is equivalent to": ("equivalent", False),
    "is as good as": ("equivalent", False),
    "is better than": ("better", False),
    "is worse than": ("better", True),
    "outperforms": ("better", False),
    "beats": ("better", False),
    "equals": ("equivalent", False),
    ">=": ("not worse", False),
    "<=": ("not worse", True),
    "≥": ("not worse", False),
    "≤": ("not worse", True),
    "≈": ("equivalent", False),
    "~": ("equivalent", False),
    "=": ("equivalent", False),
    ">": ("better", False),
    "<": ("better", True),
}
_OPERATORS = "|".join(re.escape(text).replace(r"\ ", r"\s+") for text in _SPELLINGS)
_SENTENCE = re.compile(
    rf"^(?P<left>.+?)\s+(?P<relation>{_OPERATORS})\s+(?P<right>.+?)"
    r"(?:\s+by\s+(?:at\s+least\s+)?(?P<margin>\S+))?"
    r"(?:\s+on\s+(?P<subject>.+))?$",
    re.IGNORECASE,
)
_EVERYBODY = re.compile(r"^(all|all others|all other models|every other model|everybody)$", re.IGNORECASE)
#: Longer sentences are no claims.
LONGEST = 500


@dataclass(frozen=True)
class Claim:
    """What is claimed, with names as they were written.

    Attributes:
        text: the sentence.
        left, right: the models; `right` is "all" for all others.
        relation: of left to right.
        margin: "by 0.01": how much better (better), or what does not matter (the others); None if not said.
        subject: structure or "average" as written; "" if not said.
        metric: as written; "" if not said.
        swapped: whether the sentence named the two the other way round ("A < B").

    """

    text: str
    left: str
    right: str
    relation: Relation
    margin: float | None = None
    subject: str = ""
    metric: str = ""
    swapped: bool = False

    @property
    def words(self) -> str:
        """The claim in words."""
        others = "all other models" if self.right == EVERYBODY else self.right
        amount = "" if self.margin is None else f" by {self.margin:g}"
        middle = {
            "better": f"is better than {others}{amount}",
            "not worse": f"is not worse than {others}{amount}",
            "equivalent": f"is equivalent to {others}{f' within {self.margin:g}' if self.margin else ''}",
        }[self.relation]
        where = " ".join(part for part in (self.subject, self.metric) if part)
        return f"{self.left} {middle}{f' on {where}' if where else ''}"


def parse_claim(text: str) -> Claim:
    """Return the claim that a sentence makes; a sentence that makes none is refused with what was expected."""
    found = _SENTENCE.match(" ".join(text.split())) if len(text) <= LONGEST else None
    if found is None:
        raise InvalidInput(f"Cannot read the claim {text[:LONGEST]!r}; expected a sentence such as {_EXAMPLE}.")
    relation, swapped = _SPELLINGS[" ".join(found["relation"].lower().split())]
    left, right = found["left"], EVERYBODY if _EVERYBODY.match(found["right"]) else found["right"]
    if swapped:
        if right == EVERYBODY:
            raise InvalidInput(f"{text!r}: a claim about all models is made of the better one: {_EXAMPLE}.")
        left, right = right, left
    subject, metric = _subject(found["subject"] or "")
    return Claim(text, left, right, relation, _margin(found["margin"], text), subject, metric, swapped)


def _margin(given: str | None, text: str) -> float | None:
    if given is None:
        return None
    try:
        margin = float(given)
    except ValueError:
        raise InvalidInput(f"{text!r}: expected a number after by, got {given!r}.") from None
    if not 0.0 < margin < float("inf"):
        raise InvalidInput(f"{text!r}: expected a positive number after by, got {given!r}.")
    return margin


def _subject(given: str) -> tuple[str, str]:
    """Return structure and metric: the last word is the metric."""
    words = given.split()
    return (" ".join(words[:-1]), words[-1]) if words else ("", "")
