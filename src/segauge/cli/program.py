"""One lazy main for both command lines: it loads the module of the command that was typed, and no other."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from segauge import __version__
from segauge.cli import terminal
from segauge.cli.ending import exit_code_of
from segauge.cli.parsing import Parser, nearest


@dataclass(frozen=True)
class Command:
    """A command: the module that has its `add_parser`, its line in the help of the program, what to type instead."""

    module: str
    help: str
    now: str = ""


@dataclass(frozen=True)
class Alias:
    """An old name of a command: the words to type now, more to say of them, and options that are written otherwise."""

    words: tuple[str, ...]
    note: str = ""
    replaced: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A command line.

    Attributes:
        name, description: as typed, and in one sentence.
        commands: by name, in the order of the help.
        tasks: what people do most, each with the line to type; shown where nothing is typed.
        aliases: old names of commands, which keep working and print what to type now.
        hidden: commands that work and that no help lists.
        when_stopped: what Ctrl-C prints.

    """

    name: str
    description: str
    commands: Mapping[str, Command]
    tasks: tuple[tuple[str, str], ...]
    aliases: Mapping[str, Alias] = field(default_factory=dict)
    hidden: Mapping[str, Command] = field(default_factory=dict)
    when_stopped: str = "stopped."

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run the command line and return the exit code: 0 fine, 1 error, 2 usage, 3 and up as the command says.

        Ctrl-C while modules are loaded and arguments are read ends as it does in a command: one line, and 130.
        """
        try:
            return self._main(arguments)
        except KeyboardInterrupt:
            print(f"{self.name}: {self.when_stopped}", file=sys.stderr)  # noqa: T201 - the command line speaks
            return 130

    def _main(self, arguments: Sequence[str] | None) -> int:
        given = self._renamed(list(sys.argv[1:] if arguments is None else arguments))
        if not given:
            print(self._welcome(), file=sys.stderr)  # noqa: T201 - the command line speaks
            return 2
        known = {**self.commands, **self.hidden}
        if given[0] not in known:
            return self._without_command(given)
        if known[given[0]].now:
            note = f"{self.name}: `{self.name} {given[0]}` is now `{self.name} {known[given[0]].now}`."
            print(note, file=sys.stderr)  # noqa: T201 - the command line speaks
        args = self.parser_of(given[0]).parse_args(given[1:])
        terminal.set_up(quiet=args.quiet, no_color=args.no_color, arguments=args)
        return exit_code_of(self.name, lambda: args.run(args), when_stopped=self.when_stopped)

    @classmethod
    def both(cls) -> tuple[Program, ...]:
        """Return the programs of this installation: segauge, and segbench where it is there."""
        return tuple(import_module(f"{name}.cli").PROGRAM for name in ("segauge", "segbench"))

    def parser_of(self, name: str) -> Parser:
        """Return the parser of a command."""
        command = {**self.commands, **self.hidden}[name]
        maker = _Maker(self.name)
        import_module(command.module).add_parser(maker)
        parser = maker.made[name]
        parser.set_defaults(refuse=parser.error)
        shown = parser.add_argument_group("messages")
        shown.add_argument("--quiet", action="store_true", help="print results and errors only")
        shown.add_argument("--no-color", action="store_true", help="print without colours (also: NO_COLOR is set)")
        return parser

    def _renamed(self, given: list[str]) -> list[str]:
        """Return the words with an old name replaced, and print what to type now."""
        alias = self.aliases.get(given[0]) if given else None
        if alias is None:
            return given
        now = " ".join((self.name, *alias.words))
        note = f"{self.name}: `{self.name} {given[0]}` is now `{now}`{alias.note}."
        print(note, file=sys.stderr)  # noqa: T201 - the command line speaks
        rest = (alias.replaced.get(word, word) for word in given[1:])
        return [*alias.words, *filter(None, rest)]

    def _without_command(self, given: list[str]) -> int:
        parser = Parser(prog=self.name, description=self.description, epilog=self._listing(), add_help=True)
        parser.add_argument("--version", action="version", version=f"{self.name} {__version__}")
        parser.add_argument("command", metavar="COMMAND", nargs="?", help="one of those below")
        parser.parse_args(given[:1] if given[0].startswith("-") else [])
        parser.error(f"there is no command {given[0]!r}; {nearest(given[0], list(self.commands))}.")

    def _listing(self) -> str:
        width = max(map(len, self.commands))
        lines = [f"  {name:<{width}}  {command.help}" for name, command in self.commands.items()]
        tasks = [f"  {line}" for _, line in self.tasks]
        more = f"  {self.name} COMMAND --help        the options that most people need; --help-all lists every one"
        return "\n".join(["examples:", *tasks, more, "", "commands:", *lines])

    def _welcome(self) -> str:
        lines = [self.description, ""]
        for what, line in self.tasks:
            lines += [f"{what}:", f"  {line}", ""]
        return "\n".join([*lines, f"All commands: {self.name} --help"])


class _Maker:
    """Takes the place of argparse's subparsers: makes the parser of one command, called as it is typed."""

    def __init__(self, program: str) -> None:
        self._program = program
        self.made: dict[str, Parser] = {}

    def add_parser(self, name: str, **options: Any) -> Parser:
        """Return the parser of a command."""
        self.made[name] = Parser(prog=f"{self._program} {name}", **options)
        return self.made[name]
