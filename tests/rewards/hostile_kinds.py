"""The registry of hostile rewards, and what they are made of."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

HOSTILE: dict[str, Callable[[], Any]] = {}
KEPT: set[str] = set()
"""Those that give a number all the same: what they leave behind must harm no later one."""

LONG = 10**6
"""Seconds: for ever."""
COPIES = 24


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


@hostile
def spin() -> Any:
    while True:
        pass


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


def deaf() -> Any:
    """Sleeps, and hears no signal that can be refused."""
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
    time.sleep(LONG)


def thread(work: Callable[[], Any]) -> threading.Thread:
    started = threading.Thread(target=work, daemon=True)
    started.start()
    return started


def raise_(error: BaseException) -> Any:
    raise error
