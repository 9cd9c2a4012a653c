"""A test sees the program's values through a Remote, and what the program raises as what Python calls so."""

from __future__ import annotations

import pytest

from strop.rewards.code_cases import cases_of
from strop.rewards.code_judge import Judged, judge
from tests.rewards.sandboxed import needs_bubblewrap

pytestmark = needs_bubblewrap

PROGRAM = """
class Own(ValueError): pass
class Thing:
    size = 3
    def __call__(self, x, *, y=0): return x + y
    def grow(self, n): self.size += n
    def __str__(self): return 'a thing'
def thing(): return Thing()
def fails(name):
    kinds = {'Own': Own, 'exit': SystemExit, 'unicode': lambda t: b'\\xff'.decode()}
    raise (kinds.get(name) or getattr(__import__('builtins'), name))('why')
def same(x): return x
"""


def holds(test: str) -> bool:
    return judge(PROGRAM, cases_of({"tests": [test]}), kind="auto", seconds=8) == Judged(1, 1)


@pytest.mark.parametrize(
    "test",
    [
        "assert thing().size == 3",
        "t = thing()\nt.grow(2)\nassert t.size == 5",
        "assert thing()(2, y=3) == 5",
        "assert str(thing()) == 'a thing' and f'{thing()}' == 'a thing'",
        "t = thing()\nassert same(t) is not t and same([1]) == [1]",
        "assert thing() and not same([])",
        "assert sorted(map(same, [3, 1])) == [1, 3]",
        "for x in (None, True, 1.5, (1, [2]), {3: {4}}, b'5', 6j, 10**40): assert repr(same(x)) == repr(x)",
        "x = [1]\nsame(x).append(2)\nassert x == [1]",
    ],
)
def test_it_reaches_the_program_through_its_values(test: str) -> None:
    assert holds(test)


@pytest.mark.parametrize(
    "test",
    [
        "assert thing() == thing()",
        "assert thing() == 3",
        "assert thing() in [1, 'a thing', None]",
        "assert thing() > 2",
        "assert math.isclose(thing(), 3)",
        "assert thing().absent",
        "assert isinstance(thing(), int)",
        "assert same",
        "raise SystemExit(0)",
    ],
)
def test_a_value_that_is_no_data_is_nothing_but_itself(test: str) -> None:
    assert holds(test) is (test == "assert same")


@pytest.mark.parametrize(
    ("name", "caught"),
    [
        ("ValueError", "ValueError"),
        ("KeyError", "KeyError"),
        ("ZeroDivisionError", "ArithmeticError"),
        ("Own", "RuntimeError"),
        ("exit", "RuntimeError"),
        ("unicode", "RuntimeError"),
        ("KeyboardInterrupt", "RuntimeError"),
    ],
)
def test_what_the_program_raises_a_test_can_catch(name: str, caught: str) -> None:
    assert holds(f"try:\n    fails({name!r})\nexcept {caught}: pass\nelse: raise AssertionError")
    assert not holds(f"fails({name!r})")


def test_each_test_is_a_module_of_its_own() -> None:
    tests = [
        "x = 1\nassert x == 1",
        "try:\n    x\nexcept NameError: pass\nelse: raise AssertionError",
        "assert same(1) == 1",
    ]
    assert judge(PROGRAM, cases_of({"tests": tests}), kind="auto", seconds=8) == Judged(3, 3)


def test_what_a_test_sets_up_and_imports_is_there() -> None:
    row = {
        "test_list": ["assert floor(same(TOP)) == 2"],
        "test_setup_code": "TOP = 2.5",
        "test_imports": ["from math import floor"],
    }
    assert judge(PROGRAM, cases_of(row), kind="auto", seconds=8) == Judged(1, 1)
