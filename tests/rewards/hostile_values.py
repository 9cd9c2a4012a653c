"""Rewards that return what is no number, and those that change the process they run in."""

from __future__ import annotations

import builtins
import decimal
import json
import math
import os
import resource
import signal
import sys
import time
from typing import Any

from tests.rewards.hostile_kinds import each, hostile, kept, raise_, spin


class Slow:
    """Something whose every method takes for ever."""

    def __float__(self) -> float:
        return spin()

    def __repr__(self) -> str:
        return spin()


class Untold(Exception):
    """An error whose text takes for ever."""

    def __str__(self) -> str:
        return spin()


RETURNS = {
    "none": None,
    "nan": math.nan,
    "inf": math.inf,
    "minus_inf": -math.inf,
    "huge_int": 10**400,
    "text": "1.0",
    "bytes": b"1",
    "complex": 1 + 0j,
    "decimal": decimal.Decimal(1),
    "list": [1.0],
    "function": spin,
    "type": float,
    "slow_repr": Slow(),
    "generator": (value for value in [1.0]),
    "empty_dict": {},
    "dict_of_nan": {"score": math.nan},
    "dict_of_text": {"score": "1.0"},
    "dict_of_bad_acc": {"score": 1.0, "acc": math.inf},
}
each("returns", RETURNS, lambda value: value)


@hostile
def returns_a_huge_text() -> Any:
    return "x" * 5 * 10**8


@hostile
def returns_a_huge_list() -> Any:
    return [0.0] * 10**7


@hostile
def returns_a_deep_list() -> Any:
    value: list[Any] = []
    for _ in range(10**5):
        value = [value]
    return value


@hostile
def raises_what_cannot_be_told() -> Any:
    raise Untold


@hostile
def raises_a_huge_text() -> Any:
    raise ValueError("x\n\x1b[31m" * 10**7)


@kept
def returns_a_huge_dict() -> Any:
    return {"score": 1.0, **{f"key {number}" * 50: number for number in range(10**4)}, "pred": "x" * 10**7}


@kept
def replaces_json() -> Any:
    json.dumps = json.loads = lambda *_: "nonsense"  # type: ignore[assignment]
    json.JSONEncoder.encode = lambda *_: "nonsense"  # type: ignore[assignment]
    return 1.0


@kept
def replaces_the_clock() -> Any:
    time.monotonic = time.time = lambda: 0.0  # type: ignore[assignment]
    time.sleep = lambda _: None  # type: ignore[assignment]
    return 1.0


@kept
def replaces_builtins() -> Any:
    builtins.len = lambda _: 0  # type: ignore[assignment]
    builtins.float = lambda _: 0.0  # type: ignore[assignment]
    return 1.0


@kept
def replaces_the_system() -> Any:
    os.getpid = lambda: 1  # type: ignore[assignment]
    os._exit = lambda _: None  # type: ignore[assignment]
    return 1.0


@kept
def takes_the_streams() -> Any:
    sys.stdout = sys.stderr = sys.stdin = None  # type: ignore[assignment]
    os.close(1)
    os.close(2)
    return 1.0


@kept
def sets_an_alarm() -> Any:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    return 1.0


@kept
def sets_an_alarm_that_raises() -> Any:
    signal.signal(signal.SIGALRM, lambda *_: raise_(ValueError("late")))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    return 1.0


@hostile
def traces() -> Any:
    sys.settrace(lambda *_: spin())
    sys.setprofile(lambda *_: None)
    return 1.0


@kept
def goes_elsewhere() -> Any:
    os.chdir("/")
    os.umask(0o777)
    os.environ.clear()
    return 1.0


@kept
def forgets_its_modules() -> Any:
    for name in [*sys.modules]:
        if name.startswith(("strop", "json", "tests")):
            del sys.modules[name]
    sys.path.clear()
    return 1.0


@kept
def limits_itself() -> Any:
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
    return 1.0


@kept
def lowers_its_priority() -> Any:
    os.nice(19)
    return 1.0


@kept
def leaks() -> Any:
    LEAKED.append(bytearray(2**27))
    return 1.0


LEAKED: list[bytearray] = []
