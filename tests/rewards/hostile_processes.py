"""Rewards that multiply, end, or become another program, and what they leave running."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from typing import Any

from tests.rewards.hostile_kinds import COPIES, LONG, child, daemon, deaf, each, hostile, kept, raise_, spin, thread


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
    daemon(deaf)
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


@kept
def leaves_a_spinning_thread() -> Any:
    thread(spin)
    return 1.0


@kept
def leaves_sleeping_threads() -> Any:
    for _ in range(COPIES):
        thread(lambda: time.sleep(LONG))
    return 1.0


@hostile
def leaves_a_thread_that_holds_the_interpreter() -> Any:
    sys.setswitchinterval(100.0)
    thread(spin)
    return 1.0


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
    "interrupt": lambda: raise_(KeyboardInterrupt()),
    "generator": lambda: raise_(GeneratorExit()),
    "own": lambda: raise_(type("Own", (BaseException,), {})()),
}
each("end", ENDS, lambda end: end())


@hostile
def exits_politely() -> Any:
    sys.exit("done")
