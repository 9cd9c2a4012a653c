"""A right program passes, a wrong one does not, and nothing that a program can do makes a wrong one right."""

from __future__ import annotations

import time
from typing import Any

import pytest

from strop.errors import DataError, RewardError
from strop.rewards.code_cases import Calls, Cases, Inputs, cases_of
from strop.rewards.code_judge import Judged, judge
from tests.rewards.attacks import ATTACKS, EQUAL
from tests.rewards.sandboxed import needs_bubblewrap

pytestmark = needs_bubblewrap
TOKEN = "token-93847"  # noqa: S105
"""What only the tests know."""

INPUTS = Inputs((("1 2\n", "3"), ("4 5\n", "9"), ("give\n", TOKEN)))
CALLS = Calls("f", (([1], "a1"), ([[1, 2]], [2, 1]), (["give"], TOKEN)), wrapped=False)
TESTS = cases_of(
    {
        "tests": [
            "assert f(1) == 'a1'",
            "assert abs(len(f([1, 2])) - 2) < 1e-9 and f([1, 2]) == [2, 1] and isinstance(f([1, 2]), list)",
            f"assert f('give') == {TOKEN!r}, 'wrong'",
        ]
    }
)
RIGHT = {
    "inputs": f"""
line = input()
print({TOKEN!r} if line == 'give' else sum(map(int, line.split())))""",
    "calls": f"""
def f(x):
    return {TOKEN!r} if x == 'give' else x[::-1] if isinstance(x, list) else f'a{{x}}'""",
}
ROWS: dict[str, tuple[Cases, str]] = {
    "inputs": (INPUTS, RIGHT["inputs"]),
    "calls": (CALLS, RIGHT["calls"]),
    "tests": (TESTS, RIGHT["calls"]),
}


def judged(program: str, cases: Cases, seconds: float = 8.0) -> Judged:
    return judge(program, cases, kind="auto", seconds=seconds)


@pytest.mark.parametrize("kind", ["auto", "unsafe"])
@pytest.mark.parametrize("form", ROWS)
def test_a_right_program_passes_all(form: str, kind: Any) -> None:
    cases, program = ROWS[form]
    assert judge(program, cases, kind=kind, seconds=20) == Judged(3, 3)


@pytest.mark.parametrize("form", ROWS)
def test_a_program_that_is_wrong_in_one_case_passes_the_others(form: str) -> None:
    cases, program = ROWS[form]
    assert judged(program.replace(TOKEN, "other"), cases) == Judged(2, 3)


@pytest.mark.parametrize("form", ROWS)
@pytest.mark.parametrize(
    "program",
    ["", "def f(", "raise ValueError", "import nothing_of_this_name", "f = 5", "g = 1", "class f: pass", "\0"],
)
def test_a_program_that_does_not_run_passes_none(program: str, form: str) -> None:
    assert judged(program, ROWS[form][0]) == Judged(0, 3)


@pytest.mark.parametrize(
    "form", ["tests", *(pytest.param(form, marks=pytest.mark.slow) for form in ("inputs", "calls"))]
)
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_does_not_pass_and_is_a_verdict(attack: str, form: str) -> None:
    """No case that is not got right by rights; and no error either, which would spare the program its 0."""
    found = judged(ATTACKS[attack], ROWS[form][0])
    assert found.passed == 0
    assert found.total == 3


def test_what_looks_for_what_is_wanted_finds_it_where_it_is() -> None:
    program = "held = ['a token-%d' % 93847]\n" + ATTACKS["looks for what is wanted"]
    assert judged(program, Inputs((("", TOKEN),))) == Judged(1, 1)


def test_inside_one_process_the_same_attacks_pass() -> None:
    """What the separation is for: an ordinary harness, which runs program and tests together, is fooled."""
    space: dict[str, Any] = {}
    exec(EQUAL.format(base="object"), space)  # noqa: S102
    exec("assert f(1) == 'a1'\nassert f('give') == 'anything'", space)  # noqa: S102


@pytest.mark.parametrize("form", ROWS)
def test_a_program_that_hangs_is_stopped_in_its_share_of_the_time(form: str) -> None:
    began = time.monotonic()
    found = judged(
        "def f(x):\n    while True: pass\nimport sys\nif sys.argv and __name__ == '__main__': f(0)", ROWS[form][0], 2.0
    )
    assert (found.passed, found.stopped) == (0, True)
    assert time.monotonic() - began < 2.0 + 0.5


@pytest.mark.parametrize("form", ROWS)
@pytest.mark.parametrize(
    "program", ["while True: pass", "import time; time.sleep(60)", "x = 'x' * 2**20\nwhile 1: print(x)"]
)
def test_a_program_that_does_not_come_to_its_end_passes_none(program: str, form: str) -> None:
    assert judged(program, ROWS[form][0], 2.0).passed == 0


def test_late_cases_do_not_take_back_what_passed() -> None:
    program = "x = input()\nwhile x == '2': pass\nprint(x)"
    found = judged(program, Inputs((("1", "1"), ("2", "2"), ("1", "1"))), 2.0)
    assert found == Judged(1, 3, stopped=True)


def test_what_a_program_stops_is_its_keeper_and_its_own_time() -> None:
    began = time.monotonic()
    program = "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nprint(3)"
    assert judged(program, INPUTS, 2.0) == Judged(0, 3, stopped=True)
    assert time.monotonic() - began < 2.0 + 0.7


def test_a_solution_of_leetcode_is_made_afresh_for_each_call() -> None:
    program = "class Solution:\n    n = None\n    def f(self, nums: List[int], k: Optional[int] = None) -> int:\n"
    program += "        assert self.n is None; self.n = 1\n        return heapq.nlargest(1, nums)[0] + (k or 0)"
    assert judged(program, Calls("f", (([[3, 1]], 3), ([[3, 1], 5], 8)), wrapped=False)) == Judged(2, 2)


def test_a_value_in_brackets_is_that_value_only_where_a_data_set_writes_so() -> None:
    pairs = (([3], [3]), ([[3]], [[3]]))
    assert judged("def f(x): return x", Calls("f", pairs, wrapped=True)) == Judged(2, 2)
    assert judged("def f(x): return x", Calls("f", (([3], [3]),), wrapped=False)) == Judged(0, 1)


CHECK = """
METADATA = {}
def check(candidate):
    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.3) == True
    assert candidate([1.0, 2.0], 0.5) is False
    try:
        candidate(None, 1)
    except TypeError:
        return
    raise AssertionError
"""


def test_tests_of_humaneval_run_as_they_are() -> None:
    right = "def near(numbers: List[float], threshold: float) -> bool:\n    s = sorted(numbers)\n"
    right += "    return any(b - a < threshold for a, b in zip(s, s[1:]))"
    cases = cases_of({"test": CHECK, "entry_point": "near"})
    assert judged(right, cases) == Judged(1, 1)
    assert judged(right.replace("<", ">"), cases) == Judged(0, 1)


def test_tests_may_use_what_is_no_plain_data() -> None:
    program = """
import collections
class Stack:
    def __init__(self, items=()): self.items = collections.deque(items)
    def push(self, x): self.items.append(x); return self
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __getitem__(self, n): return self.items[n]
    def __repr__(self): return 'stack'
def evens(n): return (x for x in range(n) if x % 2 == 0)
"""
    tests = [
        "s = Stack()\ns.push(1).push(2)\nassert len(s) == 2 and list(s) == [1, 2] and s[1] == 2 and str(s) == 'stack'",
        "assert list(evens(5)) == [0, 2, 4] and sum(evens(5)) == 6",
        "assert bool(Stack()) is False and bool(Stack([1]))",
        "try:\n    Stack()[5]\nexcept IndexError: pass\nelse: assert False",
        "assert Stack() != Stack()",
        "assert math.isclose(float(len(Stack([1]))), 1.0)",
    ]
    assert judged(program, cases_of({"tests": tests})) == Judged(6, 6)


def test_a_program_does_not_stand_in_for_what_a_test_takes_from_python() -> None:
    """`abs` and `math` are Python's in a test, whatever the program calls so."""
    program = "def abs(x): return 0\nclass math:\n    fabs = abs\ndef f(x): return 5.0"
    tests = [
        "assert abs(f(1) - 3) < 1",
        "assert math.fabs(f(1) - 3) < 1",
        "import math\nassert math.fabs(f(1) - 3) < 1",
    ]
    assert judged(program, cases_of({"tests": tests})) == Judged(0, 3)


def test_a_function_that_is_called_like_one_of_python_is_the_programs_where_the_row_says_so() -> None:
    """MBPP asks for a function sum(a, b)."""
    row = {"test_list": ["assert sum(10, 15) == 6"], "code": "def sum(a, b): return 6"}
    program = "def sum(a, b): return 1 + 5"
    assert judged(program, cases_of(row)) == Judged(1, 1)


@pytest.mark.parametrize("test", ["assert f(lambda: 1)", "class A: pass\nassert f(A())"])
def test_a_test_that_no_program_could_pass_is_an_error_and_no_verdict(test: str) -> None:
    with pytest.raises(DataError, match="can hold for no program"):
        judged("def f(x): return 1", cases_of({"tests": [test]}))


@pytest.mark.parametrize("form", ROWS)
def test_a_sandbox_that_does_not_start_in_time_is_an_error_and_no_verdict(form: str) -> None:
    """Report B38."""
    with pytest.raises(RewardError, match="did not start"):
        judged(ROWS[form][1], ROWS[form][0], seconds=0.0)


def test_a_program_that_reads_all_of_stdin_or_nothing_passes() -> None:
    assert judged("import sys\nprint(*sys.stdin)", Inputs((("1\n2", "1\n 2"),))) == Judged(1, 1)
    assert judged("print(7)", Inputs((("9" * 10**6, "7"),))) == Judged(1, 1)


def test_a_program_that_prints_right_and_fails_is_wrong() -> None:
    assert judged("print(7)\n1 / 0", Inputs((("", "7"),))) == Judged(0, 1)
    assert judged("print(7)\nexit()", Inputs((("", "7"),))) == Judged(1, 1)


def test_what_is_printed_at_the_very_end_counts() -> None:
    program = "import atexit, threading, time\natexit.register(print, 'b')\n"
    program += "threading.Thread(target=lambda: (time.sleep(0.1), print('a'))).start()"
    assert judged(program, Inputs((("", "a\nb"),))) == Judged(1, 1)
