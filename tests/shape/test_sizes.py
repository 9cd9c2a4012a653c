"""Small files, short flat functions, small records, without exception."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from strop.config.schema import LEAVES
from tests.shape.source import ROOT, functions, python_files, tree

FILE_LINES, FUNCTION_LINES, NESTING, RECORD_FIELDS, KEYS, FILE_BYTES = 300, 60, 3, 12, 80, 2**20

WEIGHTS = "strop/assets/tiny/model.safetensors"
WEIGHTS_BYTES = 4 * 2**20

BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)
SOURCES = python_files("strop", "tests", "examples", "benchmarks")


def nesting(node: ast.AST, depth: int = 0) -> int:
    """How deep blocks stand inside blocks. `elif` is the same depth as its `if`; a function inside starts anew."""
    deepest = depth
    for field, children in ast.iter_fields(node):
        for child in children if isinstance(children, list) else [children]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            is_elif = isinstance(node, ast.If) and field == "orelse" and isinstance(child, ast.If)
            deepest = max(deepest, nesting(child, depth + (isinstance(child, BLOCKS) and not is_elif)))
    return deepest


def fields(node: ast.ClassDef) -> list[str]:
    """The public fields a record declares; class variables are none."""
    declared = [line for line in node.body if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)]
    kept = [line.target.id for line in declared if "ClassVar" not in ast.unparse(line.annotation)]  # type: ignore[union-attr]
    return [name for name in kept if not name.startswith("_")]


@pytest.mark.parametrize("path", SOURCES)
def test_a_file_is_short(path: str) -> None:
    assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= FILE_LINES


@pytest.mark.parametrize("path", SOURCES)
def test_a_function_is_short_and_flat(path: str) -> None:
    for function in functions(path):
        lines = (function.end_lineno or 0) - function.lineno + 1
        assert lines <= FUNCTION_LINES, f"{path}:{function.lineno} {function.name} has {lines} lines"
        depth = nesting(function)
        assert depth <= NESTING, f"{path}:{function.lineno} {function.name} nests {depth} deep"


@pytest.mark.parametrize("path", python_files("strop"))
def test_a_record_is_small(path: str) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef):
            count = len(fields(node))
            assert count <= RECORD_FIELDS, f"{path}:{node.lineno} {node.name} has {count} fields"


def test_there_are_few_keys() -> None:
    assert len(LEAVES) <= KEYS


def files() -> list[Path]:
    ignored = {".git", ".venv", ".venv-trl", ".venv-verl", "runs", "build", "dist"}
    found = [path for path in ROOT.rglob("*") if path.is_file()]
    return [path for path in found if not ignored & set(path.relative_to(ROOT).parts)]


def test_no_file_but_the_embedded_weights_is_large() -> None:
    sizes = {str(path.relative_to(ROOT)): path.stat().st_size for path in files()}
    assert sizes.pop(WEIGHTS, 0) <= WEIGHTS_BYTES
    assert {name: size for name, size in sizes.items() if size > FILE_BYTES} == {}


def test_nesting_counts_blocks_and_not_branches() -> None:
    code = "def f():\n if a:\n  for b in c:\n   pass\n elif d:\n  pass\n else:\n  while e:\n   if g:\n    pass"
    [function] = ast.parse(code).body
    assert nesting(function) == 3
