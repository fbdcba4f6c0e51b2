"""Makes a page of a module's public names: signatures by `inspect`, docstrings (Google style) as Markdown.

Written for docstrings that are Markdown already, as ours are: what stands in backticks stays so.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

#: Headings in docstrings whose lines are `name: words`.
_LISTS = ("Args", "Attributes", "Raises", "Returns", "Yields")
_TITLES = {"Args": "Arguments"}
_SECTION = re.compile(rf"^({'|'.join(_LISTS)}):$")
_ITEM = re.compile(r"^ {4}(\*{0,2}[\w., ]+?): (.*)$")


def api_page(module_name: str, besides: str = "") -> str:
    """Return the public names of a module as Markdown: classes, functions, values.

    Names that the module `besides` has, too, are described on its page and only named here.
    """
    module = importlib.import_module(module_name)
    elsewhere = set(importlib.import_module(besides).__all__) if besides else set()
    known = sorted(elsewhere & set(module.__all__), key=str.lower)
    own = sorted(set(module.__all__) - elsewhere, key=lambda name: (_rank(getattr(module, name)), name.lower()))
    also = [f"Described with [{besides}]({besides}.md): {', '.join(f'`{name}`' for name in known)}."] if known else []
    return "\n\n".join([*also, *(part for name in own for part in _entry(name, getattr(module, name)))])


def module_text(module_name: str) -> str:
    """Return a module's docstring, read from its source: the module may need a package that is not here."""
    return _blocks(inspect.cleandoc(ast.get_docstring(_tree(module_name)) or ""))


def function_entries(module_name: str) -> list[str]:
    """Return the public functions and classes that a module defines, by their source: signature and docstring."""
    entries = []
    for node in _tree(module_name).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        doc = _docstring_text(ast.get_docstring(node) or "")
        entries.append(f"### {node.name}\n\n{_source_signature(node)}\n\n{doc}")
    return entries


def _tree(module_name: str) -> ast.Module:
    found = importlib.util.find_spec(module_name)
    if found is None or found.origin is None:
        raise ValueError(f"no module {module_name}")
    return ast.parse(Path(found.origin).read_text(encoding="utf-8"))


def _source_signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    if isinstance(node, ast.ClassDef):
        makers = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        arguments = ast.unparse(makers[0].args).removeprefix("self, ").removeprefix("self") if makers else ""
        line = f"{node.name}({arguments})"
    else:
        returned = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
        line = f"{node.name}({ast.unparse(node.args)}){returned}"
    return f"```python\n{line if len(line) <= 100 else _argument_per_line(line)}\n```"


def _argument_per_line(line: str) -> str:
    """Return a signature with a line per argument: cut at the commas that stand in no inner bracket."""
    start, end = line.index("("), line.rindex(")" if " -> " not in line else ") -> ")
    depth, arguments = 0, [""]
    for letter in line[start + 1 : end]:
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += letter
    lines = [f"    {argument.strip()}," for argument in arguments]
    return "\n".join([line[: start + 1], *lines, line[end:]])


def _rank(member: object) -> int:
    return 0 if inspect.isroutine(member) else 1 if inspect.isclass(member) else 2


def _entry(name: str, member: Any) -> Iterator[str]:
    yield f"## {name}"
    if not (inspect.isroutine(member) or inspect.isclass(member)):
        yield _value(member)
        return
    if inspect.isclass(member) and issubclass(member, enum.Enum):
        yield _docstring(member)
        yield "\n".join(f"- `{one.name}`: `{one.value!r}`" for one in member)
        return
    yield _signature(name, member)
    yield _docstring(member)
    if inspect.isclass(member):
        yield from _members(member)


def _signature(name: str, member: Any) -> str:
    try:
        signature = inspect.signature(member)
    except (TypeError, ValueError):  # a class whose constructor is none of its own
        return f"```python\n{name}\n```"
    parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    signature = signature.replace(parameters=[_shown(parameter) for parameter in parameters])
    line = f"{name}{_unquoted(signature)}"
    if len(line) > 100:
        line = f"{name}{_one_per_line(signature)}"
    return f"```python\n{line}\n```"


def _shown(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose default reads as in the source where Python would print an address."""
    default = parameter.default
    if default is inspect.Parameter.empty or " at 0x" not in repr(default):
        return parameter
    return parameter.replace(default=_Words("..."))


class _Words:
    def __init__(self, words: str) -> None:
        self.words = words

    def __repr__(self) -> str:
        return self.words


def _unquoted(signature: inspect.Signature) -> str:
    """Return the signature with annotations as they are written, not as strings."""
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(signature))


def _one_per_line(signature: inspect.Signature) -> str:
    returned = "" if signature.return_annotation is inspect.Signature.empty else f" -> {signature.return_annotation}"
    lines = []
    seen_star = False
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            seen_star = True
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not seen_star:
            lines.append("    *,")
            seen_star = True
        lines.append(f"    {_unquoted_parameter(parameter)},")
    return "\n".join(["(", *lines, f"){returned}"])


def _unquoted_parameter(parameter: inspect.Parameter) -> str:
    return re.sub(r": '([^']*)'", r": \1", str(parameter), count=1)


def _members(cls: type) -> Iterator[str]:
    """Return the public methods and properties that the class itself defines, in the order of the source."""
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    for name, member in vars(cls).items():
        if name.startswith("_") or name in fields:
            continue
        function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
        if not inspect.isroutine(function) or not inspect.getdoc(function):
            continue
        words = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
        shown = f"{name}{_short(function)}" if callable(getattr(cls, name, None)) else name
        yield f"- `{cls.__name__}.{shown}`: {words}"


def _short(function: Any) -> str:
    """Return the names of a method's arguments."""
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    return f"({', '.join(names)})"


def _docstring(member: Any) -> str:
    return _docstring_text(inspect.getdoc(member) or "")


def _docstring_text(text: str) -> str:
    """Return a docstring as Markdown: lists of arguments become bullets, examples become blocks."""
    lines: list[str] = []
    in_list = False
    for line in text.splitlines():
        section, item = _SECTION.match(line), _ITEM.match(line)
        if section:
            in_list = True
            lines += ["", f"**{_TITLES.get(section[1], section[1])}**", ""]
        elif in_list and item:
            lines.append(f"- `{item[1]}`: {item[2]}")
        elif in_list and line.startswith("    "):
            lines.append(f"  {line.strip()}")
        else:
            in_list = in_list and not line
            lines.append(line)
    return _blocks("\n".join(lines)).strip()


def _blocks(text: str) -> str:
    """Return text whose indented paragraphs and examples are fenced."""
    paragraphs = []
    for paragraph in re.split(r"\n{2,}", text):
        first = next((line for line in paragraph.splitlines() if line), "")
        if first.startswith((">>>", "    ")):
            language = "pycon" if first.startswith(">>>") else "text"
            paragraphs.append(f"```{language}\n{inspect.cleandoc(paragraph)}\n```")
        else:
            paragraphs.append(paragraph)
    return "\n\n".join(paragraphs)


def _value(member: object) -> str:
    if isinstance(member, Mapping):
        return f"A mapping with the keys {', '.join(f'`{key}`' for key in member)}."
    text = repr(member)
    return f"`{text}`" if len(text) < 400 and " at 0x" not in text else f"A `{type(member).__name__}`."
