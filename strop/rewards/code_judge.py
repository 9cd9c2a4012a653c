"""What a program makes of its cases, judged out of its reach.

The program runs in a sandbox (strop.rewards.sandbox) and answers with what it printed or returned; what is wanted stays
out here, or, where Python asserts it, in a second sandbox that asks the first. So nothing that the program prints,
raises, overrides, ends or reads makes a wrong result right.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from strop.errors import DataError
from strop.rewards.code_cases import Asserts, Calls, Cases, Inputs
from strop.rewards.code_compare import same_output, same_value
from strop.rewards.inside import Handle, unpacked
from strop.rewards.sandbox import Ended, Kind, Limits, Session, start

SHARE, GRACE = 0.5, 0.1
"""Parts of the whole time: what one case may take. A program that hangs ends there, and its later cases have failed."""

GIVEN = (
    *(("typing", n) for n in ("Any", "Callable", "Dict", "Iterable", "List", "Optional", "Set", "Tuple", "Union")),
    *(("collections", n) for n in ("Counter", "OrderedDict", "defaultdict", "deque")),
    *(("functools", n) for n in ("cache", "lru_cache", "reduce")),
    *(("itertools", n) for n in ("accumulate", "combinations", "permutations", "product")),
    *(("math", n) for n in ("ceil", "floor", "gcd", "inf", "sqrt")),
    *((n, "") for n in ("bisect", "collections", "copy", "functools", "heapq", "itertools", "math", "operator")),
    *((n, "") for n in ("random", "re", "string", "sys")),
)
"""What judges of function cases have imported when a solution begins: LeetCode's write `List[int]` without import."""


@dataclass(frozen=True, slots=True)
class Judged:
    """How many cases passed, of how many, and whether a limit ended the program."""

    passed: int
    total: int
    stopped: bool = False

    @property
    def right(self) -> bool:
        return self.passed == self.total


@dataclass(frozen=True, slots=True)
class Most:
    """When all must be done, how long one case may take, and how long a sandbox has to say that one was late."""

    until: float
    case_s: float
    grace_s: float

    def case(self) -> float:
        """When a case that begins now must be done."""
        return min(self.until, time.monotonic() + self.case_s)


def judge(program: str, cases: Cases, *, kind: Kind, seconds: float) -> Judged:
    """What the program makes of its cases, in so many seconds in all.

    Raises:
        RewardError: the sandbox failed, which says nothing of the program.
        DataError: a test of the row can hold for no program.
    """
    most = Most(time.monotonic() + seconds, SHARE * seconds, GRACE * seconds)
    limits = Limits(cpu_s=math.ceil(seconds))
    with ExitStack() as stack:
        session = stack.enter_context(start(program, kind, limits=limits, until=most.until))
        if isinstance(cases, Inputs):
            return judge_inputs(session, cases, limits, most)
        if isinstance(cases, Calls):
            return judge_calls(session, cases, most)
        checking = stack.enter_context(start(checker(), kind, limits=limits, until=most.until))
        return judge_tests(session, checking, cases, most)


def tried(tries: list[Callable[[], bool]]) -> Judged:
    """One case after another, until a limit ends the program."""
    passed = 0
    for each in tries:
        try:
            passed += each()
        except Ended:
            return Judged(passed, len(tries), stopped=True)
    return Judged(passed, len(tries))


def judge_inputs(session: Session, cases: Inputs, limits: Limits, most: Most) -> Judged:
    largest = 7 * limits.output_mb * 2**20  # JSON writes a control character with six

    def passes(given: str, wanted: str) -> bool:
        seconds = most.case() - time.monotonic()
        found = session.ask({"input": given, "seconds": seconds}, most.until + most.grace_s, largest)
        if found["late"]:
            raise Ended("late")
        return found["status"] == 0 and same_output(found["output"], wanted)

    return tried([partial(passes, *pair) for pair in cases.pairs])


def judge_calls(session: Session, cases: Calls, most: Most) -> Judged:
    """Each call is made afresh: of the function, or of a new Solution's method of that name."""

    def function(until: float) -> Any:
        if cases.function in names:
            return names[cases.function]
        solution = session.ask({"do": "call", "on": names.get("Solution"), "args": []}, until).get("value")
        return session.ask({"do": "get", "on": solution, "args": [cases.function]}, until).get("value")

    def passes(given: list[Any], wanted: Any) -> bool:
        until = most.case()
        found = value_of(session.ask({"do": "call", "on": function(until), "args": plain(given)}, until))
        one = cases.wrapped and isinstance(wanted, list) and len(wanted) == 1
        return same_value(found, wanted) or bool(one and same_value(found, wanted[0]))

    try:
        names = names_of(session, (cases.function, "Solution"), most.case())
    except Ended:
        return Judged(0, len(cases.pairs), stopped=True)
    return tried([partial(passes, *pair) for pair in cases.pairs]) if names else Judged(0, len(cases.pairs))


def judge_tests(session: Session, checking: Session, cases: Asserts, most: Most) -> Judged:
    """Each test runs in the sandbox `checking`, and what it calls in that of the program."""
    try:
        names = json.dumps(names_of(session, cases.names, most.case()))
    except Ended:
        return Judged(0, len(cases.tests), stopped=True)
    checking.hand_over(most.until)
    check = checking.ask({"load": ["check"], "given": []}, most.until)["names"]["check"]

    def passes(number: int, test: str) -> bool:
        until = most.case()
        arguments = [number, f"{cases.setup}\n{test}\n", names, list(cases.modules)]
        reply = checking.ask({"do": "call", "on": check, "args": arguments}, until)
        while "ask" in reply:
            reply = checking.ask(answer_of(session.ask(reply["ask"], until)), until)
        if reply.get("raised", [""])[0] == "Broken":
            raise DataError(f"reward code: a test of the row can hold for no program: {reply['raised'][1]}")
        return reply.get("value") == ""

    return tried([partial(passes, number, test) for number, test in enumerate(cases.tests)])


def names_of(session: Session, names: tuple[str, ...], until: float) -> dict[str, Any]:
    """Load the program; what it defines of these names, packed. A program that fails to load defines none."""
    session.hand_over(until)
    found = session.ask({"load": list(names), "given": GIVEN}, until).get("names")
    return found if isinstance(found, dict) else {}


def answer_of(found: dict[str, Any]) -> dict[str, Any]:
    """A program's answer in one of the two forms that an answer has."""
    if "value" in found:
        return {"value": found["value"]}
    raised = found.get("raised")
    name, text = raised if isinstance(raised, list) and len(raised) == 2 else ("RuntimeError", "")
    return {"raised": [str(name), str(text)]}


def value_of(found: dict[str, Any]) -> Any:
    """The value that a program returned; a Handle, which is equal to nothing, if it is no plain data."""
    try:
        return unpacked(found["value"])
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError):
        return Handle(-1)


def plain(value: Any) -> Any:
    """A value that came from JSON, packed for the program."""
    if isinstance(value, dict):
        return {"dict": [[key, plain(item)] for key, item in value.items()]}
    return [plain(item) for item in value] if isinstance(value, list) else value


@cache
def checker() -> str:
    return (Path(__file__).parent / "inside_check.py").read_text(encoding="utf-8")
