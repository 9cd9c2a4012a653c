"""What rewards leave behind in their process: spinning threads and processes, grown memory, a changed Python.

What is idle is let be: a client's threads, a server that a reward keeps to talk to.
"""

from __future__ import annotations

import builtins
import json
import os
import time
from types import ModuleType
from typing import Any

from strop.rewards import limits

GLANCE_S, GLANCE_AGAIN_S = 0.02, 2.0
"""For how long what is left running is watched, and when the same is watched again."""
BUSY = 0.25
"""It spins if it wants a processor for more than this share of the time."""
MARGIN = 0.5
"""Memory that has grown by more than this share of what a reward may take is a leak."""
OWN: tuple[ModuleType, ...] = (builtins, os, json, time)
"""Modules of Python in which nothing may be replaced."""

CLOCK, SLEEP = time.monotonic, time.sleep


class Leftovers:
    """Knows the process as it was when it began."""

    def __init__(self, memory_mb: int) -> None:
        self.me, self.keeper, self.most = os.getpid(), os.getppid(), MARGIN * memory_mb * 2**20
        self.threads, self.space = limits.threads(), limits.address_space()
        self.known, self.glanced = frozenset[int](), CLOCK()
        self.modules = [(vars(module), dict(vars(module))) for module in OWN]
        self.place = placement()

    def found(self) -> str:
        """Why this process should not go on; "" if it may."""
        if self.changed():
            return "a reward replaced a part of Python"
        if placement() != self.place:
            return "a reward changed its own priority"
        if limits.address_space() - self.space > self.most:
            return "its memory grew"
        return "a reward left something running" if self.spinning() else ""

    def changed(self) -> bool:
        """Whether something in Python's own modules was replaced; what was added is let be."""
        return any(now != then and replaced(now, then) for now, then in self.modules)

    def misled(self) -> bool:
        """Whether one of the functions that every reward counts on was replaced: the next result might be wrong."""
        now, then = self.modules[0]
        return now != then and replaced(now, then)

    def spinning(self) -> bool:
        """Whether threads or processes that came from a reward use a processor while this one rests."""
        threads, others = limits.threads(), [pid for pid in limits.descendants(self.keeper) if pid != self.me]
        known = threads <= self.threads and self.known.issuperset(others)
        if known and (not others or CLOCK() - self.glanced < GLANCE_AGAIN_S):
            return False
        all_of_it, start = (self.me, *others), CLOCK()
        before = limits.wanted_seconds(all_of_it, apart=self.me)
        SLEEP(GLANCE_S)
        used = limits.wanted_seconds(all_of_it, apart=self.me) - before
        self.threads, self.known, self.glanced = max(threads, self.threads), frozenset(others), CLOCK()
        return used > BUSY * (self.glanced - start)


def replaced(now: dict[str, Any], then: dict[str, Any]) -> bool:
    return any(now.get(name) is not was for name, was in then.items())


def placement() -> tuple[int, int]:
    """The process's priority, and how many processors it may use."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    return os.getpriority(os.PRIO_PROCESS, 0), processors
