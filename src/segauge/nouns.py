"""Numbers with their nouns, wherever a sentence counts something."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 case", "3 cases"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def agreeing(number: int, singular: str, plural: str) -> str:
    """Return a number with the words that agree with it: "1 cell is", "3 cells are"."""
    return f"{number} {singular if number == 1 else plural}"
