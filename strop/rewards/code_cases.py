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
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strop.errors import DataError
from strop.rewards.gold import NAMES, gold, has_gold

COLUMNS = ("tests", "test_cases", "test_list", "test", "input_output", "verification_info")
"""Where cases are looked for, in this order; then in the columns inputs and outputs; then where the right answer is."""

NOTHING = (None, "", "[]", "{}", [], {})
"""Values of a column that another column is looked for instead of."""

PAIRED = (("inputs", "outputs"), ("input", "output"))
"""Keys under which a mapping holds two lists."""

INSIDE = (*COLUMNS, "assert_case", "functional")
"""Keys under which a mapping holds the cases themselves."""

NO_PYTHON = (SyntaxError, RecursionError, MemoryError, ValueError)
"""What reading a text as Python may raise."""

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
    name = next((name for name in COLUMNS if columns.get(name) not in NOTHING), None)
    try:
        return read(columns[name] if name else elsewhere(columns), columns, prompt)
    except DataError:
        places = [name] if name else [place for place in (*COLUMNS, *PAIRED[0], *NAMES) if place in columns]
        bare = next((place for place in places if empty(columns[place])), None)
        if bare is None:
            raise
    raise DataError(f"reward code: the row has no test cases: its column {bare} is empty")


def elsewhere(columns: Mapping[str, Any]) -> Any:
    """The cases of a row that has none of COLUMNS."""
    if set(PAIRED[0]) <= columns.keys():
        return {key: columns[key] for key in PAIRED[0]}
    if has_gold(columns):
        return gold(columns)
    raise DataError(
        f"reward code: the row has no test cases: it has the columns {', '.join(columns) or 'none'}; "
        "name one of them tests with task.data.columns"
    )


def empty(found: Any) -> bool:
    """Whether there is nothing where cases should be: nothing at all, only blanks, or empty lists under their keys."""
    if isinstance(found, str):
        value = value_of(found)
        return not found.strip() or (not isinstance(value, str) and empty(value))
    if isinstance(found, Mapping):
        keys = {*PAIRED[0], *PAIRED[1], *INSIDE, "ground_truth"} & found.keys()
        return not found or (bool(keys) and all(empty(found[key]) for key in keys))
    return found is None or (isinstance(found, Sequence) and all(each is None or each == "" for each in found))


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
        except (ValueError, RecursionError):
            pass  # Python may begin so too
    if "assert" not in found and "check(" not in found:
        raise unknown(found)
    entry = str(columns.get("entry_point") or "")
    calls = f"\n\ncheck({entry})\n" if entry and "def check(" in found else ""
    return tests_of([found + calls], columns, prompt)


def read_mapping(found: Mapping[str, Any], columns: Mapping[str, Any], prompt: str) -> Cases:
    for given, wanted in PAIRED:
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
    metadata = value_of(found.get("metadata"))
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
    except (ValueError, RecursionError):
        return text


def tests_of(tests: Sequence[str], columns: Mapping[str, Any], prompt: str) -> Asserts:
    if not any(text.strip() for text in tests):
        raise unknown(tests)
    entry = str(columns.get("entry_point") or "")
    imports = value_of(columns.get("test_imports") or [])
    lines = imports if isinstance(imports, list | tuple) else [imports]
    setup = "\n".join([*map(str, lines), str(columns.get("test_setup_code") or ""), helpers(prompt, entry)])
    try:
        trees = [parsed(text) for text in (setup, *tests)]
    except NO_PYTHON as error:
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


def parsed(text: str) -> ast.Module:
    """A text as Python; what it would be warned of, such as "\\d", is not said.

    Raises:
        NO_PYTHON: it is none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def helpers(prompt: str, entry: str) -> str:
    """The imports of a prompt that is a program, and its functions other than the one that is asked for."""
    try:
        body = parsed(prompt).body if entry and f"def {entry}" in prompt else []
    except NO_PYTHON:
        return ""
    kept = [n for n in body if isinstance(n, ast.Import | ast.ImportFrom | ast.FunctionDef)]
    return "\n".join(ast.unparse(n) for n in kept if not (isinstance(n, ast.FunctionDef) and n.name == entry))


def defined(columns: Mapping[str, Any]) -> set[str]:
    """What a right program of the row defines: MBPP has functions called `sum`, which no test means as Python's."""
    found: set[str] = set()
    for text in (columns.get(name) for name in REFERENCE):
        try:
            body = parsed(text).body if isinstance(text, str) else []
        except NO_PYTHON:
            continue
        found |= {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return found


def unknown(found: Any) -> DataError:
    shown = f"{found!r:.80}"
    return DataError(f"reward code: the row's test cases are in no known form: {shown}; docs/code-rewards.md has them")
