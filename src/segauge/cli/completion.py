"""Shell completion of both command lines: one file that the shell loads by itself."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from segauge.cli.program import Program
from segauge.errors import InvalidInput
from segauge.io.outputs import write_whole

SHELLS = ("bash", "zsh", "fish")


def install(shell: str | None, home: Path | None = None) -> list[Path]:
    """Write the completion of `segauge` and `segbench` where the shell finds it; return the files."""
    shell = shell or Path(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        raise InvalidInput(f"No completion for the shell {shell!r}; choose one with --shell: {', '.join(SHELLS)}.")
    return [
        write_whole(_place(shell, program.name, home or Path.home()), script(program, shell))
        for program in Program.both()
    ]


def _place(shell: str, program: str, home: Path) -> Path:
    return {
        "bash": home / ".local/share/bash-completion/completions" / program,
        "zsh": home / ".zsh/completions" / f"_{program}",
        "fish": home / ".config/fish/completions" / f"{program}.fish",
    }[shell]


def script(program: Program, shell: str) -> str:
    """Return what the shell loads: the commands, the options of each, and the words that these can be."""
    if shell == "fish":
        return "\n".join(_fish(program)) + "\n"
    name = program.name
    lines = [f"#compdef {name}", "autoload -U +X bashcompinit && bashcompinit"] if shell == "zsh" else []
    lines += [f"_{name}() {{", '  local current="${COMP_WORDS[COMP_CWORD]}" last="${COMP_WORDS[COMP_CWORD-1]}" words=']
    lines += ['  case "${COMP_WORDS[1]} $last" in']
    for command in program.commands:
        for flag, choices in _choices(program, command):
            lines.append(f'    "{command} {flag}") words={shlex.quote(" ".join(choices))} ;;')
    lines += ["  esac", '  if [ "$COMP_CWORD" -eq 1 ]; then', f"    words={shlex.quote(' '.join(program.commands))}"]
    lines += ['  elif [ -z "$words" ] && [ "${current:0:1}" = - ]; then', '    case "${COMP_WORDS[1]}" in']
    for command in program.commands:
        lines.append(f"      {command}) words={shlex.quote(' '.join(_flags(program, command)))} ;;")
    lines += ["    esac", "  fi", '  COMPREPLY=($(compgen -W "$words" -- "$current"))', "}"]
    return "\n".join([*lines, f"complete -o default -F _{name} {name}", ""])


def _fish(program: Program) -> Iterator[str]:
    first = "__fish_use_subcommand"
    for command, known in program.commands.items():
        yield f"complete -c {program.name} -n {first} -f -a {command} -d {shlex.quote(known.help)}"
        choices = dict(_choices(program, command))
        for flag in _flags(program, command):
            words = f" -x -a {shlex.quote(' '.join(choices[flag]))}" if flag in choices else ""
            yield f"complete -c {program.name} -n '__fish_seen_subcommand_from {command}' -l {flag[2:]}{words}"


def _actions(program: Program, command: str) -> list[argparse.Action]:
    return [one for one in program.parser_of(command)._actions if one.help is not argparse.SUPPRESS]


def _flags(program: Program, command: str) -> list[str]:
    return [flag for one in _actions(program, command) for flag in one.option_strings if flag.startswith("--")]


def _choices(program: Program, command: str) -> Iterator[tuple[str, list[str]]]:
    for one in _actions(program, command):
        if one.choices is not None and one.option_strings:
            yield one.option_strings[0], list(map(str, one.choices))
