"""Values travel to a program and back as plain data, each as its own type; whatever is no data stays where it is."""

from __future__ import annotations

import ast
import collections
import enum
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.rewards import inside
from strop.rewards.inside import Handle, packed, unpacked
from strop.rewards.sandbox import Ended, Kind, Limits, Session, start
from tests.rewards.sandboxed import needs_bubblewrap

keys = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.binary(), st.tuples(st.integers(), st.text()))
atoms = st.one_of(keys, st.floats(allow_nan=False), st.complex_numbers(allow_nan=False), st.sets(st.integers()))
data = st.recursive(
    st.one_of(atoms, st.frozensets(keys)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.lists(inner, max_size=4).map(tuple), st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=12,
)


def typed(value: Any) -> Any:
    """The value with its types: True is not 1 here, nor (1,) [1]."""
    if isinstance(value, list | tuple):
        return type(value), [typed(item) for item in value]
    if isinstance(value, dict):
        return dict, [(typed(key), typed(item)) for key, item in value.items()]
    if isinstance(value, set | frozenset):
        return type(value), value
    return type(value), value


@given(data)
def test_plain_data_comes_back_as_what_it_was(value: Any) -> None:
    kept: list[Any] = []
    assert typed(unpacked(json.loads(json.dumps(packed(value, kept))))) == typed(value)
    assert kept == []


class Colour(enum.IntEnum):
    RED = 7


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        pytest.param(10**5000, 10**5000, id="huge"),
        (-(2**53), -(2**53)),
        (math.inf, math.inf),
        (Colour.RED, 7),
        (Point(1, 2), (1, 2)),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (numpy.int64(5), 5),
        (numpy.float64(0.5), 0.5),
        (numpy.bool_(True), True),
        (numpy.array([[1, 2]]), [[1, 2]]),
    ],
)
def test_what_is_nearly_plain_data_travels_as_data(value: Any, plain: Any) -> None:
    assert typed(unpacked(json.loads(json.dumps(packed(value, []))))) == typed(plain)


def test_a_nan_stays_one() -> None:
    assert math.isnan(unpacked(json.loads(json.dumps(packed(math.nan, [])))))


class Agreeable:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("value", [Agreeable(), object(), print, int, iter([1]), collections.deque([1])])
def test_what_is_no_data_stays_and_is_equal_to_nothing(value: Any) -> None:
    kept: list[Any] = []
    found = unpacked(packed([value, 1], kept))
    assert kept[0] is value
    assert isinstance(found[0], Handle)
    assert found[0] not in (1, 0, None, "", value) if not isinstance(value, Agreeable) else found[0] != 1
    assert unpacked({"handle": 0}, lambda number: kept[number]) is value


@pytest.mark.parametrize(
    "forged",
    [{"eval": "1"}, {}, {"int": 5}, {"set": [[1]]}, {"complex": 1}, {"a": 1, "b": 2}, {"dict": [[1]]}, {"bytes": "x"}],
)
def test_what_was_not_packed_is_refused(forged: Any) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        unpacked(forged)


def test_the_program_in_the_sandbox_needs_the_standard_library_alone() -> None:
    tree = ast.parse(Path(inside.__file__).read_text(encoding="utf-8"))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_without_a_first_request_it_fails_in_words() -> None:
    done = subprocess.run(
        [sys.executable, inside.__file__], input=b"{}\n", capture_output=True, check=False, timeout=60
    )
    assert json.loads(done.stdout)["failed"].startswith("KeyError")


PROGRAM = """
print("noise on stdout")
import sys
class Solution:
    def __init__(self): self.calls = 0
    def add(self, a, b):
        print("more noise"); self.calls += 1
        return a + b
def stop(): sys.exit("stopped")
def pairs(n): return ((i, {i}) for i in range(n))
LIMIT = 10**30
"""


def owned(program: str, kind: Kind = "auto") -> Session:
    """A session whose process is the program's."""
    until = time.monotonic() + 60
    session = start(program, kind, limits=Limits(cpu_s=20), until=until)
    session.hand_over(until)
    return session


def ask(session: Session, **message: Any) -> Any:
    return session.ask(message, time.monotonic() + 30)


@needs_bubblewrap
@pytest.mark.parametrize("kind", ["auto", "unsafe"])
def test_a_program_is_loaded_once_and_called_by_its_names(kind: Kind) -> None:
    with owned(PROGRAM, kind) as session:
        names = ask(session, load=["Solution", "LIMIT", "absent", "pairs", "stop"], given=[])["names"]
        assert set(names) == {"Solution", "LIMIT", "pairs", "stop"}
        assert unpacked(names["LIMIT"]) == 10**30
        solution = ask(session, do="call", on=names["Solution"], args=[])["value"]
        add = ask(session, do="get", on=solution, args=["add"])["value"]
        assert ask(session, do="call", on=add, args=[{"tuple": [1]}, {"tuple": [2]}]) == {"value": {"tuple": [1, 2]}}
        assert ask(session, do="call", on=add, args=[1], names={"b": 2}) == {"value": 3}
        assert ask(session, do="get", on=solution, args=["calls"]) == {"value": 2}
        assert ask(session, do="call", on=names["stop"], args=[]) == {"raised": ["SystemExit", "stopped"]}
        made = ask(session, do="call", on=names["pairs"], args=[2])["value"]
        assert unpacked(ask(session, do="list", on=made, args=[])["value"]) == [(0, {0}), (1, {1})]
        assert ask(session, do="call", on=names["LIMIT"], args=[])["raised"][0] == "TypeError"


@needs_bubblewrap
def test_a_program_that_fails_to_load_says_how() -> None:
    with owned("1 / 0") as session:
        assert ask(session, load=["f"], given=[]) == {"raised": ["ZeroDivisionError", "division by zero"]}


@needs_bubblewrap
def test_what_is_given_is_there_before_the_first_line() -> None:
    with start(
        "x: List[int] = [floor(2.5), math.inf]", "auto", limits=Limits(), until=time.monotonic() + 60
    ) as session:
        given = [["typing", "List"], ["math", "floor"], ["math", ""]]
        assert unpacked(ask(session, load=["x"], given=given)["names"]["x"]) == [2, math.inf]


@needs_bubblewrap
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("import os; os._exit(0)", "died"),
        ("import os; [os.write(n, b'no answer\\n') for n in range(3, 20) if n != 5]", "died"),
        ("import os; os.closerange(0, 64)", "died"),
        ("return 'x' * 10**7", "flood"),
        ("import __main__; __main__.lines.answer({'failed': 'as if the sandbox had'})", "died"),
        ("while True: pass", "late"),
    ],
)
def test_a_program_that_spoils_its_answer_has_given_none(body: str, why: str) -> None:
    quiet = "def quiet(n, data):\n    import os\n    try: os.write(n, data)\n    except OSError: pass\n"
    program = f"{quiet}def f():\n    {body.replace('os.write(n,', 'quiet(n,')}"
    with owned(program) as session:
        names = ask(session, load=["f"], given=[])["names"]
        with pytest.raises(Ended) as ended:
            session.ask({"do": "call", "on": names["f"], "args": []}, time.monotonic() + 3)
    assert ended.value.why == why
