"""Change one thing in a module, run the tests that should notice, and list the changes that none of them noticed.

    python benchmarks/mutants.py src/segauge/grid.py --tests tests/test_grid.py tests/test_placement.py
    python benchmarks/mutants.py src/segauge/io/nifti.py --tests tests/io --sample 30 --seed 1

No file is changed: a `sitecustomize` of the test process, and of all that it starts, loads the changed source instead.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip

LOADER = """
import importlib.abc, importlib.machinery, os, sys
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == os.environ["MUTANT_MODULE"]:
            loader = importlib.machinery.SourceFileLoader(name, os.environ["MUTANT_FILE"])
            return importlib.machinery.ModuleSpec(name, loader, origin=os.environ["MUTANT_FILE"])
sys.meta_path.insert(0, Finder())
"""


@dataclass(frozen=True)
class Mutant:
    """A changed source: where, what the line was, and how it was changed."""

    line: int
    change: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Yield every change of one operator, number or statement of a module."""
    tree = ast.parse(source)
    skipped = _without_effect(tree)
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        for change in _changes(node):
            other = copy.deepcopy(tree)
            target = next(one for k, one in enumerate(ast.walk(other)) if k == index)
            words = change(target)
            yield Mutant(getattr(node, "lineno", 0), words, ast.unparse(ast.fix_missing_locations(other)))


def _without_effect(tree: ast.Module) -> set[int]:
    """Return the nodes inside of annotations, messages and docstrings."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, (ast.JoinedStr, ast.ImportFrom, ast.Import)):
            parts = [node]
        elif isinstance(node, ast.arg | ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            parts = [node.returns]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            parts = [node]
        found |= {id(inner) for part in parts if part is not None for inner in ast.walk(part)}
    return found


def _changes(node: ast.AST) -> Iterator[Callable[[Any], str]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield _swap_comparison
    if isinstance(node, (ast.BoolOp, ast.BinOp)) and type(node.op) in SWAPS:
        yield _swap_operator
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _drop_not
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield _change_number
    if isinstance(node, ast.If):
        yield _never
    body = getattr(node, "body", None)
    for k, statement in enumerate(body if isinstance(body, list) else []):
        if isinstance(statement, (ast.Raise, ast.AugAssign)) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Call, ast.Yield))
        ):
            yield partial(_drop_statement, k=k)


def _swap_comparison(node: ast.Compare) -> str:
    before, after = type(node.ops[0]), SWAPS[type(node.ops[0])]
    node.ops[0] = after()  # type: ignore[call-overload]
    return f"{before.__name__} -> {after.__name__} in {ast.unparse(node)[:70]}"


def _swap_operator(node: ast.BoolOp | ast.BinOp) -> str:
    before, after = type(node.op), SWAPS[type(node.op)]
    node.op = after()  # type: ignore[assignment]
    return f"{before.__name__} -> {after.__name__} in {ast.unparse(node)[:70]}"


def _drop_not(node: ast.UnaryOp) -> str:
    words = ast.unparse(node)[:70]
    node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
    return f"without not: {words}"


def _change_number(node: ast.Constant) -> str:
    before = node.value
    node.value = before * 10 if isinstance(before, float) else before + 1  # type: ignore[operator]
    return f"{before!r} -> {node.value!r}"


def _never(node: ast.If) -> str:
    words = ast.unparse(node.test)[:70]
    node.test = ast.Constant(False)
    return f"never: if {words}"


def _drop_statement(node: ast.AST, k: int) -> str:
    words = ast.unparse(node.body[k])[:70]  # type: ignore[attr-defined]
    node.body[k] = ast.Pass()  # type: ignore[attr-defined]
    return f"without: {words}"


def survives(mutant: Mutant, module: str, tests: list[str], folder: Path, seconds: float) -> bool:
    """Say whether all tests pass with the changed module."""
    changed = folder / "changed.py"
    changed.write_text(mutant.source, encoding="utf-8")
    environment = {
        **os.environ, "PYTHONPATH": str(folder), "MUTANT_MODULE": module, "MUTANT_FILE": str(changed),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(command, env=environment, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def main() -> int:
    """Run the mutants of one module and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--tests", nargs="+", required=True)
    parser.add_argument("--sample", type=int, help="run so many of them, chosen at random (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300, help="a mutant that takes longer counts as noticed")
    arguments = parser.parse_args()
    found = list(mutants(arguments.file.read_text(encoding="utf-8")))
    if arguments.sample is not None and arguments.sample < len(found):
        found = random.Random(arguments.seed).sample(found, arguments.sample)  # noqa: S311 - a choice, no secret
    module = ".".join(arguments.file.with_suffix("").parts[1:])
    left = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sitecustomize.py").write_text(LOADER, encoding="utf-8")
        for mutant in sorted(found, key=lambda one: one.line):
            if survives(mutant, module, arguments.tests, folder, arguments.seconds):
                left += 1
                print(f"{arguments.file}:{mutant.line}: {mutant.change}", flush=True)
    print(f"{arguments.file}: {len(found)} mutants, {left} survived", flush=True)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
