"""Numbers with their nouns, wherever a sentence counts something."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 case", "3 cases"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def agreeing(number: int, singular: str, plural: str) -> str:
    """Return a number with the words that agree with it: "1 cell is", "3 cells are"."""
    return f"{number} {singular if number == 1 else plural}"


def chance_text(chance: float | None) -> str:
    """Return a chance that was counted in resamples with two digits, none as certain: ">0.99"; "" without one."""
    if chance is None:
        return ""
    return ">0.99" if chance >= 0.995 else "<0.01" if chance < 0.005 else f"{chance:.2f}"
