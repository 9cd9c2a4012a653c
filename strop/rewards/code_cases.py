"""The test cases of a row, in the forms that public data sets write them.

    inputs    what the program reads from stdin, and what it must print
    calls     the arguments of a function, and what it must return
    tests     Python that asserts what a function returns

A row's cases stand in one of the columns of COLUMNS, as lists and mappings or as JSON text:

    [{"input": "1 2", "output": "3"}, ...]      {"inputs": ["1 2", ...], "outputs": ["3", ...]}      inputs
    {"fn_name": "add", "inputs": [[1, 2], ...], "outputs": [3, ...]}                                 calls
    ["assert add(1, 2) == 3", ...]      "def check(candidate): ..." beside the column entry_point    tests
"""

from __future__ import annotations

import ast
import builtins
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strop.errors import DataError
from strop.rewards.gold import gold, has_gold

COLUMNS = ("tests", "test_cases", "test_list", "test", "input_output", "verification_info")
"""Where cases are looked for, in this order; then where the right answer of a row is."""

INSIDE = (*COLUMNS, "assert_case", "functional")
"""Keys under which a mapping holds the cases themselves."""

REFERENCE = ("code", "canonical_solution", "solution")
"""Columns that hold a right program."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Pairs of what is read and what must be printed."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Calls:
    """A function's name, and pairs of its arguments and what it must return.

    `wrapped`: APPS may write a value 3 as [3].
    """

    function: str
    pairs: tuple[tuple[list[Any], Any], ...]
    wrapped: bool


@dataclass(frozen=True, slots=True)
class Asserts:
    """Tests as Python text, and what they stand on: text that runs first, what they import and what they ask for.

    `names` are those that the program must define, `modules` those that the tests use without importing them.
    """

    tests: tuple[str, ...]
    setup: str
    names: tuple[str, ...]
    modules: tuple[str, ...]


Cases = Inputs | Calls | Asserts


def cases_of(columns: Mapping[str, Any], prompt: str = "") -> Cases:
    """The cases of a row; `prompt` may hold, as HumanEval's does, functions that its tests use.

    Raises:
        DataError: the row has none, or in no form that is known here.
    """
    found = next((columns[name] for name in COLUMNS if columns.get(name) not in (None, "", [], {})), None)
    if found is None and has_gold(columns):
        found = gold(columns)
    if found is None:
        raise DataError(
            f"reward code: the row has no test cases: it has the columns {', '.join(columns) or 'none'}; "
            "name one of them tests with task.data.columns"
        )
    return read(found, columns, prompt)


def read(found: Any, columns: Mapping[str, Any], prompt: str) -> Cases:
    if isinstance(found, str):
        return read_text(found, columns, prompt)
    if isinstance(found, Mapping):
        return read_mapping(found, columns, prompt)
    if isinstance(found, Sequence) and found:
        if all(isinstance(each, str) for each in found):
            return tests_of([str(each) for each in found], columns, prompt)
        if all(isinstance(each, Mapping) and {"input", "output"} <= set(each) for each in found):
            return read_pairs([each["input"] for each in found], [each["output"] for each in found], columns, found[0])
    raise unknown(found)


def read_text(found: str, columns: Mapping[str, Any], prompt: str) -> Cases:
    if found.lstrip()[:1] in ("{", "["):
        try:
            return read(json.loads(found), columns, prompt)
        except ValueError:
            pass  # Python may begin so too
    if "assert" not in found and "check(" not in found:
        raise unknown(found)
    entry = str(columns.get("entry_point") or "")
    calls = f"\n\ncheck({entry})\n" if entry and "def check(" in found else ""
    return tests_of([found + calls], columns, prompt)


def read_mapping(found: Mapping[str, Any], columns: Mapping[str, Any], prompt: str) -> Cases:
    for given, wanted in (("inputs", "outputs"), ("input", "output")):
        if isinstance(found.get(given), Sequence) and isinstance(found.get(wanted), Sequence):
            return read_pairs(found[given], found[wanted], columns, found)
    for name in INSIDE:
        if found.get(name):
            return read(found[name], {**columns, **found}, prompt)
    raise unknown(found)


def read_pairs(given: Any, wanted: Any, columns: Mapping[str, Any], first: Mapping[str, Any]) -> Inputs | Calls:
    if isinstance(given, str) or isinstance(wanted, str) or not given or len(given) != len(wanted):
        raise DataError(
            "reward code: the row's inputs and outputs must be two lists of one length, at least one of each"
        )
    function = function_of(first) or function_of(columns)
    if not function:
        return Inputs(tuple((text_of(i), text_of(o)) for i, o in zip(given, wanted, strict=True)))
    as_text = all(isinstance(each, str) for each in given)
    pairs = zip(map(arguments_of, given), map(value_of, wanted) if as_text else wanted, strict=True)
    return Calls(function, tuple(pairs), wrapped=not as_text)


def function_of(found: Mapping[str, Any]) -> str:
    """The function that calls are of: fn_name, or the func_name of the metadata; "" if the cases are of a program."""
    metadata = found.get("metadata")
    if isinstance(metadata, str) and metadata.startswith("{"):
        metadata = json.loads(metadata)
    inner = metadata.get("func_name") if isinstance(metadata, Mapping) else None
    return str(found.get("fn_name") or inner or "")


def text_of(value: Any) -> str:
    """What is read or printed, which may be written as a list of lines."""
    return "\n".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)


def arguments_of(value: Any) -> list[Any]:
    """The arguments of a call: a list of them, or a text with one of them, as JSON, a line."""
    if isinstance(value, str):
        return [value_of(line) for line in value.splitlines() if line.strip()]
    return list(value) if isinstance(value, Sequence) else [value]


def value_of(text: Any) -> Any:
    """What a text says as JSON; itself, if it is none."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def tests_of(tests: Sequence[str], columns: Mapping[str, Any], prompt: str) -> Asserts:
    entry = str(columns.get("entry_point") or "")
    imports = columns.get("test_imports") or []
    setup = "\n".join([*imports, str(columns.get("test_setup_code") or ""), helpers(prompt, entry)])
    try:
        trees = [ast.parse(text) for text in (setup, *tests)]
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise DataError(f"reward code: a test of the row is no Python: {error}") from error
    nodes = [node for tree in trees for node in ast.walk(tree)]
    if any(isinstance(node, ast.Attribute) and node.attr == "TestCase" for node in nodes):
        raise DataError("reward code: the row's tests are unittest classes, which are not run here; write asserts")
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    bases = {node.value.id for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}
    right = {entry, *defined(columns)} & used
    modules = {name for name in bases & sys.stdlib_module_names if name not in right}
    names = (used - set(dir(builtins)) - modules) | right
    return Asserts(tuple(tests), setup, tuple(sorted(names)), tuple(sorted(modules)))


def helpers(prompt: str, entry: str) -> str:
    """The imports of a prompt that is a program, and its functions other than the one that is asked for."""
    try:
        body = ast.parse(prompt).body if entry and f"def {entry}" in prompt else []
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return ""
    kept = [n for n in body if isinstance(n, ast.Import | ast.ImportFrom | ast.FunctionDef)]
    return "\n".join(ast.unparse(n) for n in kept if not (isinstance(n, ast.FunctionDef) and n.name == entry))


def defined(columns: Mapping[str, Any]) -> set[str]:
    """What a right program of the row defines: MBPP has functions called `sum`, which no test means as Python's."""
    found: set[str] = set()
    for text in (columns.get(name) for name in REFERENCE):
        try:
            body = ast.parse(text).body if isinstance(text, str) else []
        except (SyntaxError, RecursionError, MemoryError, ValueError):
            continue
        found |= {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return found


def unknown(found: Any) -> DataError:
    shown = f"{found!r:.80}"
    return DataError(f"reward code: the row's test cases are in no known form: {shown}; docs/code-rewards.md has them")
