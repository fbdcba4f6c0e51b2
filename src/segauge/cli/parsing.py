"""Parsers of both command lines: a mistake is answered with the nearest right word, and help shows examples."""

from __future__ import annotations

import argparse
import difflib
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from segauge.errors import InvalidInput

T = TypeVar("T")

#: What argparse says of a word that is none of the choices; the choices are quoted in some versions of Python only.
_CHOICE = re.compile(r"^argument (?P<where>\S+): invalid choice: '(?P<given>.*?)' \((?:choose from )(?P<known>.+)\)$")
_NUMBER = re.compile(r"^argument (?P<where>\S+): invalid (?P<kind>int|float) value: (?P<given>.+)$")
_REQUIRED = "the following arguments are required: "
_UNKNOWN = "unrecognized arguments: "


class _Formatter(argparse.HelpFormatter):
    """Fills paragraphs, but leaves examples and lists of commands as they are written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return "".join(f"{indent}{line}" for line in text.splitlines(keepends=True))
        return super()._fill_text(text, width, indent)


class _HelpAll(argparse.Action):
    """Prints the help with every option, and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(parser.format_help_all(), end="")  # type: ignore[attr-defined] # noqa: T201 - the command line speaks
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser whose errors are two lines: what is wrong and what was probably meant, and where the help is.

    Its help shows the options of `first_screen` alone, if there are any; `--help-all` shows all of them.
    """

    def __init__(
        self, *, examples: Sequence[str] = (), first_screen: Sequence[str] = (), more_usage: str = "", **options: Any
    ) -> None:
        epilog = "examples:\n" + "\n".join(f"  {line}" for line in examples) if examples else None
        super().__init__(**{"epilog": epilog, "formatter_class": _Formatter, **options})
        self._given: list[str] | None = None
        self.first_screen = {"--help", *first_screen}
        if first_screen:
            self.usage = f"%(prog)s [options]{more_usage}"
            self.add_argument("--help-all", action=_HelpAll, nargs=0, help="show every option and exit")
            self.first_screen.add("--help-all")
        else:
            self.first_screen = set()

    def first_options(self) -> list[argparse.Action]:
        """Return the options that the first screen of help shows, without those for help itself."""
        shown = (one for one in self._actions if one.option_strings and one.help is not argparse.SUPPRESS)
        return [one for one in shown if self._is_first(one) and not {"--help", "--help-all"} & {*one.option_strings}]

    def format_help(self) -> str:
        """Return the first screen of help."""
        later = [one for one in self._actions if one.option_strings and not self._is_first(one)]
        kept = [one.help for one in later]
        for one in later:
            one.help = argparse.SUPPRESS
        try:
            return super().format_help()
        finally:
            for one, text in zip(later, kept, strict=True):
                one.help = text

    def format_help_all(self) -> str:
        """Return the help with every option."""
        return super().format_help()

    def _is_first(self, action: argparse.Action) -> bool:
        return not self.first_screen or not self.first_screen.isdisjoint(action.option_strings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse, and refuse what is left over here, where the options of the command are known.

        Files may stand before, between and after the options: without the second pass over the arguments, an optional
        file is taken for left out as soon as an option comes before it.
        """
        if self._given is not None:
            return super().parse_known_args(args, namespace)
        self._given = list(sys.argv[1:] if args is None else args)
        has_commands = any(isinstance(action, argparse._SubParsersAction) for action in self._actions)
        parse = super().parse_known_args if has_commands else self.parse_known_intermixed_args
        try:
            found, left_over = parse(self._given, namespace)
            if left_over:
                self.error(f"{_UNKNOWN}{' '.join(left_over)}")
        finally:
            self._given = None
        return found, []

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and what was probably meant; exit code 2."""
        self.exit(2, f"{self.prog}: {self._explained(message)}\n`{self.prog} --help` shows what can be given.\n")

    def _explained(self, message: str) -> str:
        choice = _CHOICE.match(message)
        if choice is not None:
            known = [part.strip().strip("'") for part in choice["known"].split(", ")]
            what = f"{choice['where']} cannot be"
            return f"{what} {choice['given']!r}; {nearest(choice['given'], known)}."
        number = _NUMBER.match(message)
        if number is not None:
            expected = "a whole number" if number["kind"] == "int" else "a number"
            return f"{number['where']}: expected {expected}, got {number['given']}."
        strange = next((word for word in self._given or () if self._is_unknown(word)), None)
        if strange is not None and message.startswith((_REQUIRED, _UNKNOWN)):
            name = strange.partition("=")[0]
            close = difflib.get_close_matches(name, self._option_string_actions, n=1)
            return f"there is no option {name}" + (f"; did you mean {close[0]}?" if close else ".")
        if message.startswith(_REQUIRED):
            return f"needs {message.removeprefix(_REQUIRED).replace(', ', ' and ')}."
        return f"{message.removeprefix('argument ').rstrip('.')}."

    def _is_unknown(self, word: str) -> bool:
        """Tell whether a word looks like an option and neither is one nor begins one."""
        name = word.partition("=")[0]
        return name.startswith("--") and name != "--" and not any(known.startswith(name) for known in self._names())

    def _names(self) -> Iterable[str]:
        return self._option_string_actions


def nearest(given: str, known: Sequence[str]) -> str:
    """Return what was probably meant, and what there is."""
    close = difflib.get_close_matches(given, known, n=1)
    return f"did you mean {close[0]!r}? There are {', '.join(known)}" if close else f"there are {', '.join(known)}"


def checked(parse: Callable[[str], T], check: Callable[[T], object] | None = None) -> Callable[[str], T]:
    """Return the type of an argument: parsed, and checked by what the library would refuse; both are usage errors."""

    def parsed(text: str) -> T:
        try:
            value = parse(text)
            if check is not None:
                check(value)
        except InvalidInput as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return value

    # What argparse calls it where it cannot be parsed at all.
    parsed.__name__ = parse.__name__
    return parsed


def number(expected: str, is_right: Callable[[float], bool]) -> Callable[[str], float]:
    """Return the type of an argument that is a number of some range."""
    return checked(float, _within(expected, is_right))


def _path(text: str) -> Path:
    if not text.strip():
        raise InvalidInput("expected a file or folder, got an empty text")
    return Path(text)


def _within(expected: str, is_right: Callable[[float], bool]) -> Callable[[float], None]:
    def check(value: float) -> None:
        if not is_right(value):
            raise InvalidInput(f"expected {expected}, got {value!r}")

    return check


#: A file or folder that is read; an empty text would be the folder that one is in.
PATH = checked(_path)
#: Numbers that several commands take.
COUNT = checked(int, _within("a whole number of at least 1", lambda value: value >= 1))
FINITE = number("a finite number", math.isfinite)
PROBABILITY = number("a probability above 0 and up to 1", lambda value: 0 < value <= 1)


def add_interval_arguments(group: Any, *, n_resamples: int, preset: bool = False) -> None:
    """Add the arguments of intervals: level, resamples, seed. With `preset` they are None unless given."""
    from segauge.stats.resampling import require_level, require_resamples, require_seed

    group.add_argument(
        "--confidence", "--level", dest="confidence", type=checked(float, require_level),
        default=None if preset else 0.95, metavar="P", help="level of intervals and verdicts (default: 0.95)",
    )  # fmt: skip
    group.add_argument(
        "--n-resamples", "--resamples", type=checked(int, require_resamples), default=None if preset else n_resamples,
        metavar="N", help=f"bootstrap resamples (default: {n_resamples})",
    )  # fmt: skip
    group.add_argument(
        "--seed", type=checked(int, require_seed), default=None if preset else 0, metavar="N",
        help="of the resampling (default: 0)",
    )  # fmt: skip
