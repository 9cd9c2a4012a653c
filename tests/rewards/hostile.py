"""Rewards that hang, die, flood, multiply or mislead: one reward whose completions name what it is to do.

Each of HOSTILE is harmful by accident or by design, within bounds that spare the machine: bombs are small, and what
is allocated is more than a worker may have, less than the machine has. A completion that is no such name is good.
"""

from __future__ import annotations

import asyncio
import builtins
import collections
import ctypes
import decimal
import hashlib
import itertools
import json
import math
import mmap
import os
import queue
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

HOSTILE: dict[str, Callable[[], Any]] = {}
KEPT: set[str] = set()
"""Those that give a number all the same: what they leave behind must harm no later one."""

LONG = 10**6
"""Seconds: for ever."""
COPIES = 24
TALKS = 400


def score(prompt: str, completion: str, **columns: Any) -> Any:
    """What the completion is about; 1.0 for one that names nothing hostile."""
    return HOSTILE[completion]() if completion in HOSTILE else 1.0


def hostile(function: Callable[[], Any]) -> Callable[[], Any]:
    HOSTILE[function.__name__] = function
    return function


def kept(function: Callable[[], Any]) -> Callable[[], Any]:
    KEPT.add(function.__name__)
    return hostile(function)


def each(name: str, values: dict[str, Any], do: Callable[[Any], Any]) -> None:
    """A family of hostile rewards: one of each value."""
    for key, value in values.items():
        HOSTILE[f"{name}_{key}"] = lambda value=value: do(value)


# time in Python


@hostile
def spin() -> Any:
    while True:
        pass


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


# time in C, where no Python signal handler runs


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


# waiting for what does not come


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
    "thread": lambda: _thread(lambda: time.sleep(LONG)).join(),
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


def _thread(work: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


# deaf to signals


@hostile
def ignores_sigterm() -> Any:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(LONG)


@hostile
def blocks_every_signal() -> Any:
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
    time.sleep(LONG)


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


# processes


def child(work: Callable[[], Any]) -> int:
    """A forked child that does `work` and ends."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    finally:
        os._exit(0)


def daemon(work: Callable[[], Any]) -> None:
    """A process that left its parent, its group and its session."""

    def first() -> None:
        os.setsid()
        child(work)

    os.waitpid(child(first), 0)


@kept
def fork_and_both_return() -> Any:
    os.fork()
    return 1.0


@kept
def leaves_a_spinning_child() -> Any:
    child(spin)
    return 1.0


@kept
def leaves_a_sleeping_child() -> Any:
    child(lambda: time.sleep(LONG))
    return 1.0


@kept
def leaves_a_spinning_daemon() -> Any:
    daemon(spin)
    return 1.0


@kept
def leaves_a_deaf_daemon() -> Any:
    daemon(blocks_every_signal)
    return 1.0


@kept
def leaves_a_shell_in_the_background() -> Any:
    subprocess.run(["sh", "-c", "(while :; do :; done) &"], check=False)
    return 1.0


@hostile
def waits_for_its_daemon() -> Any:
    daemon(spin)
    time.sleep(LONG)


@hostile
def bomb_of_children() -> Any:
    for _ in range(COPIES):
        child(spin)
    time.sleep(LONG)


@hostile
def bomb_of_daemons() -> Any:
    for _ in range(COPIES):
        daemon(spin)
    time.sleep(LONG)


@hostile
def bomb_of_generations() -> Any:
    def more(left: int) -> None:
        for _ in range(2 if left else 0):
            child(lambda: more(left - 1))
        time.sleep(LONG)

    more(4)


@hostile
def runs_from_process_to_process() -> Any:
    def hop() -> None:
        os.setsid()
        until = time.monotonic() + 30
        while time.monotonic() < until:
            if os.fork():
                os._exit(0)
            time.sleep(0.002)

    child(hop)
    time.sleep(LONG)


@hostile
def becomes_another_program() -> Any:
    os.execv("/bin/sleep", ["sleep", "100000"])  # noqa: S606


@hostile
def becomes_a_shell_that_prints() -> Any:
    os.execv("/bin/sh", ["sh", "-c", "while :; do echo x; done"])  # noqa: S606


# threads


@kept
def leaves_a_spinning_thread() -> Any:
    _thread(spin)
    return 1.0


@kept
def leaves_sleeping_threads() -> Any:
    for _ in range(COPIES):
        _thread(lambda: time.sleep(LONG))
    return 1.0


@hostile
def leaves_a_thread_that_holds_the_interpreter() -> Any:
    sys.setswitchinterval(100.0)
    _thread(spin)
    return 1.0


# memory


MEMORY = {
    "text": lambda: "x" * 10**11,
    "bytes": lambda: bytearray(10**11),
    "list": lambda: [0] * 10**10,
    "append": lambda: _grown(lambda: bytearray(2**24)),
    "dict": lambda: {number: bytearray(2**16) for number in itertools.count()},
    "shift": lambda: 1 << 10**12,
    "map": lambda: mmap.mmap(-1, 2**37).write(b"x"),
    "product": lambda: list(itertools.product(range(10), repeat=12)),
    "zip_bomb": lambda: zlib.decompress(zlib.compress(bytes(2**28)) + b"") * 64,
    "json": lambda: json.loads("[" + "0," * 3 * 10**8 + "0]"),
    "child": lambda: os.waitpid(child(lambda: _grown(lambda: bytearray(2**24))), 0)[1] and _grown(spin),
}
each("memory", MEMORY, lambda memory: len(memory()))


def _grown(piece: Callable[[], Any]) -> list[Any]:
    return [piece() for _ in itertools.count()]


# output


@kept
def prints_a_lot() -> Any:
    for _ in range(TALKS):
        print("x" * 10_000)
    return 1.0


@kept
def writes_a_lot_to_both() -> Any:
    for _ in range(TALKS):
        os.write(1, b"y" * 10_000)
        os.write(2, b"\x1b[2J\x1b]0;z\x07" * 1_000)
    return 1.0


@hostile
def prints_for_ever() -> Any:
    while True:
        print("x" * 10_000)


@hostile
def writes_for_ever() -> Any:
    while True:
        os.write(2, b"x" * 100_000)


@kept
def prints_like_an_answer() -> Any:
    print('[[1,0,[[9.0,null,{},"",""]]]]', flush=True)
    sys.stderr.write('{"ready": []}\n{"ended": 0}\n')
    return 1.0


# ends


ENDS = {
    "exit_0": lambda: os._exit(0),
    "exit_1": lambda: os._exit(1),
    "exit_70": lambda: os._exit(70),
    "abort": os.abort,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "term": lambda: os.kill(os.getpid(), signal.SIGTERM) or time.sleep(LONG),
    "segv": lambda: os.kill(os.getpid(), signal.SIGSEGV) or time.sleep(LONG),
    "null": lambda: ctypes.string_at(0),
    "keeper": lambda: os.kill(os.getppid(), signal.SIGKILL) or time.sleep(LONG),
    "group": lambda: os.killpg(0, signal.SIGKILL) or time.sleep(LONG),
    "keepers_group": lambda: os.killpg(os.getpgid(os.getppid()), signal.SIGKILL) or time.sleep(LONG),
    "interrupt": lambda: _raise(KeyboardInterrupt()),
    "generator": lambda: _raise(GeneratorExit()),
    "own": lambda: _raise(type("Own", (BaseException,), {})()),
}
each("end", ENDS, lambda end: end())


def _raise(error: BaseException) -> Any:
    raise error


@hostile
def exits_politely() -> Any:
    sys.exit("done")


# the wire


@hostile
def closes_every_descriptor() -> Any:
    os.closerange(0, 4096)
    return 1.0


@hostile
def writes_nonsense_to_every_descriptor() -> Any:
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"nonsense\n")
        except OSError:  # noqa: S112
            continue
    return 1.0


@hostile
def floods_every_socket() -> Any:
    while True:
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"x" * 65_536)
            except OSError:  # noqa: S112
                continue


@hostile
def points_every_descriptor_at_nothing() -> Any:
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(64):
        os.dup2(nothing, descriptor)
    return 1.0


# depth


@hostile
def recursion() -> Any:
    return recursion()


@hostile
def recursion_without_limit() -> Any:
    sys.setrecursionlimit(2**30)
    return [recursion()]


@hostile
def depth_in_c() -> Any:
    sys.setrecursionlimit(2**30)
    value: list[Any] = []
    for _ in range(10**6):
        value = [value]
    return len(repr(value))


@hostile
def deep_text() -> Any:
    return json.loads("[" * 10**6)


# what they return


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
    "function": score,
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


# what they change


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
    signal.signal(signal.SIGALRM, lambda *_: _raise(ValueError("late")))
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
