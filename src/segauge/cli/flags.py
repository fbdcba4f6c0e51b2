"""Flags made from the options of `segauge.options`, and from a protocol file; the values go back as options."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from segauge.cli.parsing import FINITE, checked
from segauge.errors import InvalidInput
from segauge.io.yaml_files import read_yaml
from segauge.options import GROUPS, OPTIONS, POLICIES, Facts, Options, facts_of, options_of, require_known
from segauge.stats.missing import AbsentPolicy, FailedPolicy, MissingPolicy

#: Further spellings of flags, which older command lines use.
_OTHER_FLAGS = {"confidence": ("--confidence",), "n_resamples": ("--resamples",)}


def add_options(section: Any, group: type[Any], *, without: tuple[str, ...] = ()) -> None:
    """Add the flags of a group of options; what is not given is not in the parsed arguments."""
    for one in fields(group):
        facts = facts_of(one)
        if facts.flag and one.name not in without:
            words = {"dest": one.name, "default": argparse.SUPPRESS, "help": help_of(facts, one.default)}
            if one.name == "detection":  # the older flag, of what is the default now
                section.add_argument("--no-detection", **{**words, "help": argparse.SUPPRESS}, action="store_false")
            section.add_argument(facts.flag, *_OTHER_FLAGS.get(one.name, ()), **words, **_kind(facts, one.default))


def _kind(facts: Facts, default: Any) -> dict[str, Any]:
    if isinstance(default, bool):
        return {"action": "store_false" if default else "store_true"}
    if facts.choices:
        return {"choices": facts.choices, "metavar": facts.metavar or None}
    return {"type": checked(facts.read or str), "metavar": facts.metavar}


def help_of(facts: Facts, default: Any) -> str:
    """Return the help of a flag, with its default where a value has one."""
    words = f"do not {facts.help}" if default is True else facts.help
    shown = "" if default is None or isinstance(default, bool) else f" (default: {default})"
    return words.replace("%", "%%") + shown


def first_flags() -> tuple[str, ...]:
    """Return the flags of options that the first screen of help shows."""
    return tuple(facts_of(one).flag for one in OPTIONS.values() if facts_of(one).is_first)


def add_protocol(section: Any) -> None:
    """Add the flag of the protocol file."""
    section.add_argument(
        "--protocol", type=Path, metavar="FILE",
        help="YAML file of options, such as `segauge init protocol` writes; flags win over it",
    )  # fmt: skip


def add_policy(section: Any) -> None:
    """Add the flag that says what missing and failed cases count as, and its four older, finer ones."""
    words = "; ".join(f"{name}: {sentence}" for name, (_, sentence) in POLICIES.items())
    section.add_argument(
        "--policy", choices=tuple(POLICIES), help=f"what failed and missing cases count as. {words} (default: strict)"
    )
    for flag, kind in (("--failed", FailedPolicy), ("--absent", AbsentPolicy)):
        section.add_argument(flag, choices=get_args(kind), help=argparse.SUPPRESS)
    section.add_argument("--penalty", type=FINITE, metavar="VALUE", help=argparse.SUPPRESS)
    section.add_argument("--allow-missing", action="store_true", help=argparse.SUPPRESS)


def policy_of(args: argparse.Namespace, base: MissingPolicy | None = None) -> MissingPolicy:
    """Return the policy that the flags choose; `base` where they choose none."""
    base = base or getattr(args, "policy_of_protocol", None)
    policy = base if args.policy is None and base is not None else POLICIES[args.policy or "strict"][0]
    return MissingPolicy(
        args.failed or policy.failed,
        args.absent or policy.absent,
        policy.penalty if args.penalty is None else args.penalty,
        "exclude" if args.allow_missing else policy.missing,
    )


def resolve_options(args: argparse.Namespace) -> Options:
    """Return the options of a command: its flags before its protocol file before the defaults.

    The arguments have every option afterwards, by its name.
    """
    written = {} if args.protocol is None else read_protocol(args.protocol)
    flags = {name: getattr(args, name) for name in OPTIONS if hasattr(args, name) and name != "policy"}
    args.policy_of_protocol = written.get("policy")
    policy = policy_of(args)
    found = options_of({**written, **flags, "policy": policy})
    for group in found:
        for one in fields(group):
            if one.name != "policy":
                setattr(args, one.name, getattr(group, one.name))
    return found


def read_protocol(path: Path) -> dict[str, Any]:
    """Return the options of a protocol file by name: values as YAML has them, or text as a flag takes it."""
    document = read_yaml(path, "a protocol")
    if not isinstance(document, dict):
        raise InvalidInput(f"{path.name}: expected options and their values, such as `metrics: [dice, hd95]`.")
    found: dict[str, Any] = {}
    for name, value in document.items():
        try:
            require_known(str(name))
            found[str(name)] = _value(str(name), value)
        except InvalidInput as error:
            raise InvalidInput(f"{path.name}: {name}: {error}") from error
    return {name: value for name, value in found.items() if value is not None}


def _value(name: str, value: Any) -> Any:
    if name == "policy":
        if value not in POLICIES:
            raise InvalidInput(f"expected one of {', '.join(POLICIES)}, got {value!r}")
        return POLICIES[value][0]
    one = OPTIONS[name]
    facts = facts_of(one)
    if isinstance(one.default, bool) and not isinstance(value, bool):
        raise InvalidInput(f"expected true or false, got {value!r}")
    if facts.read is not None and isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return facts.read(str(value))
    return tuple(value) if isinstance(value, list) and name != "structures" else value


def protocol_text() -> str:
    """Return a protocol file with every option, its help as a comment, each at its default and commented out."""
    lines = ["# Options of an evaluation: uncomment what you want to change.", ""]
    for group in GROUPS:
        lines += [f"# {(group.__doc__ or '').splitlines()[0]}", ""]
        for one in fields(group):
            facts = facts_of(one)
            if one.name in ("on_error", "progress", "cache"):
                continue
            lines += textwrap.wrap(facts.help, 100, initial_indent="# ", subsequent_indent="# ")
            if facts.choices:
                lines.append(f"# One of: {', '.join(facts.choices)}.")
            shown = "strict" if one.name == "policy" else one.default
            lines += [f"# {one.name}: {_yaml(shown)}", ""]
    return "\n".join(lines)


def _yaml(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
