"""Rewards that take for ever: in Python, in C where no signal handler runs, waiting, and deaf to signals."""

from __future__ import annotations

import asyncio
import collections
import ctypes
import decimal
import hashlib
import itertools
import math
import os
import queue
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.rewards.hostile_kinds import LONG, deaf, each, hostile, spin, thread


@hostile
def spin_that_catches_everything() -> Any:
    while True:
        try:
            time.sleep(0.01)
        except BaseException:  # noqa: S112
            continue


@hostile
def spin_on_a_generator() -> Any:
    return sum(value * 0 for value in itertools.count())


@hostile
def backtracking_search() -> Any:
    def colour(left: int) -> bool:
        return all(colour(left - 1) for _ in range(3)) if left else True

    return colour(60)


@hostile
def towers_of_fractions() -> Any:
    from fractions import Fraction

    value = Fraction(1, 3)
    while True:
        value = value * value + 1


@hostile
def collatz_that_never_ends() -> Any:
    value = 27
    while value:
        value = value * 3 + 1 if value % 2 else value // 2 or 1


@hostile
def quadratic_text() -> Any:
    text = ""
    while True:
        text = "x" + text[:10_000_000]


ENDLESS = {
    "sum": lambda: sum(itertools.count()),
    "any": lambda: any(itertools.repeat(False)),
    "all": lambda: all(itertools.repeat(True)),
    "max": lambda: max(itertools.repeat(1)),
    "last": lambda: collections.deque(itertools.count(), maxlen=0),
    "in": lambda: -1 in itertools.count(),
    "index": lambda: next(filter(None, itertools.repeat(0))),
    "zip": lambda: collections.deque(zip(itertools.count(), itertools.count(), strict=False), maxlen=0),
    "cycle": lambda: sum(itertools.cycle([0])),
    "set": lambda: set(itertools.repeat(0)),
    "join": lambda: len("".join(itertools.repeat(""))),
    "min": lambda: min(itertools.cycle((2, 1))),
}
each("c_loop", ENDLESS, lambda loop: loop())

PATTERNS = {
    "nested_plus": (r"(a+)+$", "a" * 60 + "!"),
    "alternatives": (r"(a|a)*$", "a" * 60 + "!"),
    "dots": (r"(.*)*x$", "a" * 60),
    "words": (r"^(\w+\s?)*$", "word " * 20 + "!"),
    "digits": (r"^(\d+)*$", "1" * 60 + "x"),
    "braces": (r"\\boxed\{((?:[^{}]|\{.*\})*)*\}", r"\boxed{" + "{x}" * 40),
    "optional": (r"(a?){40}a{40}", "a" * 39),
    "tags": (r"<think>(.|\s)*</think>(.|\s)*</answer>", "<think>" + " " * 40 + "</think>" + " x" * 4000),
}


def search(pair: tuple[str, str]) -> Any:
    """A search that takes for ever; one that this Python is quick at is made for ever."""
    while True:
        re.search(*pair)


each("regex", PATTERNS, search)


POWERS = {
    "ten": lambda: 10**10**8,
    "seven": lambda: 7 ** (7**10),
    "factorial": lambda: math.factorial(10**8),
    "product": lambda: math.prod(range(1, 10**7)),
    "comb": lambda: math.comb(10**8, 10**7),
    "modulus": lambda: pow(3, 10**8 + 1, 10**5_000_000 + 1),
    "root": lambda: math.isqrt(1 << 500_000_000),
    "lcm": lambda: math.lcm(*range(1, 3_000_000)),
    "digits": lambda: len(str((sys.set_int_max_str_digits(0), 1 << 80_000_000)[1])),
}
each("power", POWERS, lambda power: float(power() > 0))


@hostile
def decimal_root() -> Any:
    with decimal.localcontext() as context:
        context.prec = 300_000_000
        return float(decimal.Decimal(2).sqrt() > 1)


@hostile
def slow_hash() -> Any:
    return hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2**31 - 1)[0]


SYMPY = {
    "tower": lambda s: s.sympify("9**9**9**9"),
    "expand": lambda s: s.expand((s.Symbol("x") + s.Symbol("y") + s.Symbol("z") + 1) ** 400),
    "factor": lambda s: s.factorint((10**40 + 121) * (10**41 + 193)),
    "integrate": lambda s: [s.integrate(s.exp(s.sin(s.Symbol("x")) ** n) / (s.Symbol("x") + 1)) for n in range(2, 99)],
}


def sympy_blow_up(work: Callable[[Any], Any]) -> Any:
    import sympy

    while True:
        work(sympy)


each("sympy", SYMPY, sympy_blow_up)


WAITS = {
    "sleep": lambda: time.sleep(LONG),
    "event": lambda: threading.Event().wait(),
    "queue": lambda: queue.Queue[int]().get(),
    "select": lambda: select.select([], [], []),
    "pause": signal.pause,
    "pipe": lambda: os.read(os.pipe()[0], 1),
    "socket": lambda: _listening().accept(),
    "lock": lambda: _locked().acquire(),
    "loop": lambda: asyncio.run(asyncio.sleep(LONG)),
    "child": lambda: subprocess.run(["sleep", "100000"], check=False),
    "shell": lambda: subprocess.run(["sh", "-c", "sleep 100000 & wait"], check=False),
    "thread": lambda: thread(lambda: time.sleep(LONG)).join(),
}


def _listening() -> socket.socket:
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    return server


def _locked() -> Any:
    lock = threading.Lock()
    lock.acquire()
    return lock


def _locked_file() -> Any:
    import fcntl

    first, second = os.pipe()
    os.close(first)
    with open("/dev/null", "rb") as one, open("/dev/null", "rb") as other:
        fcntl.flock(one, fcntl.LOCK_EX)
        fcntl.flock(other, fcntl.LOCK_EX)
    return os.read(second, 1)


WAITS["flock"] = _locked_file
each("wait", WAITS, lambda wait: wait())


@hostile
def ignores_sigterm() -> Any:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(LONG)


@hostile
def blocks_every_signal() -> Any:
    deaf()


@hostile
def new_session_deaf_spin() -> Any:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.getpid() != os.getsid(0):
        os.setsid()
    spin()


@hostile
def no_longer_dies_with_its_keeper() -> Any:
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    os.kill(os.getppid(), signal.SIGKILL)
    spin()


@hostile
def stops_itself() -> Any:
    os.kill(os.getpid(), signal.SIGSTOP)
    return time.sleep(LONG)


@hostile
def stops_its_keeper() -> Any:
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(LONG)
