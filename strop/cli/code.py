"""The code behind a choice: its class, and every function of strop.objective that computes it, however far down."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from strop.cli.formula import values_of

PACKAGE = "strop.objective."


def listing(thing: Any) -> dict[str, Any]:
    """Name, file, first line and source of a class or function."""
    lines, line = inspect.getsourcelines(thing)
    file = "/".join(Path(inspect.getfile(thing)).parts[-3:])
    return {"name": thing.__name__, "file": file, "line": line, "source": "".join(lines)}


def helpers(choice: Any) -> list[Any]:
    """What a choice computes with: the module-level functions that it calls and those that they call, each once.

    Of a table of functions it is the one that the choice's own values name. A record with methods is there too, as
    they compute; one without is not. What a mean divides by is counted before it is called, in `weigh`.
    """
    weigh = getattr(sys.modules[type(choice).__module__], "weigh", None)
    found = [*([weigh] if weigh else []), *_called(type(choice).__call__, choice)]
    for thing in found:
        found += [other for other in _called(thing, choice) if other not in found]
    return list(dict.fromkeys(found))


def _called(thing: Any, choice: Any) -> Iterator[Any]:
    """The functions of the package that a function or class calls by name, in the order of its lines."""
    names = vars(sys.modules[thing.__module__])
    calls = [
        node for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(thing)))) if isinstance(node, ast.Call)
    ]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        for other in _meant(call.func, names, choice):
            if _computes(other):
                yield other


def _meant(function: ast.expr, names: dict[str, Any], choice: Any) -> list[Any]:
    """What a call calls: `f(...)`, or `TABLE[self.field](...)`."""
    if isinstance(function, ast.Name):
        return [names.get(function.id)]
    if isinstance(function, ast.Subscript) and isinstance(function.value, ast.Name):
        table = names.get(function.value.id, {})
        return [table[value] for value in values_of(choice).values() if value in table]
    return []


def _computes(thing: Any) -> bool:
    if not getattr(thing, "__module__", "").startswith(PACKAGE):
        return False
    return inspect.isfunction(thing) or any(isinstance(node, ast.FunctionDef) for node in _body(thing))


def _body(thing: type) -> list[ast.stmt]:
    [written] = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    return written.body if isinstance(written, ast.ClassDef) else []
