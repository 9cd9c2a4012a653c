"""A process that runs rewards, and nothing else: it reads questions from its wire and answers them, until it is ended.

python -m strop.rewards.worker DESCRIPTOR     the nursery that such processes are forked from (strop.rewards.nursery)

The reward runs in the main thread of a process without other threads, so its own time-outs by signal work; the
deadline is kept by the run, which ends the process.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from strop.errors import ConfigError
from strop.rewards import limits
from strop.rewards.adapters import Question, Written, values_of
from strop.rewards.described import Described
from strop.rewards.find import Reward, find_reward
from strop.rewards.wire import CALLS, IDLE, Progress, decode, encode, lines_of, value_row

FLUSH_S = 0.0005
"""Answers wait for others this long at most before they are sent."""
LOOK_S = 0.05
"""How often a busy worker looks for what its reward left running."""
GLANCE_S, GLANCE_AGAIN_S = 0.02, 2.0
"""For how long it watches what is left running, and when it watches the same again."""
BUSY = 0.25
"""What is left running spins if it uses more than this share of a processor."""
MARGIN = 0.5
"""A worker whose memory has grown by more than this share of what it may take is replaced."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is told before it starts: the rewards to find, which of them votes, and its limits."""

    uses: tuple[str, ...]
    accuracy: int
    deadline_s: float
    memory_mb: int
    sandbox: str
    path: tuple[str, ...]


def load(setup: Setup) -> list[Reward]:
    """The rewards that a worker finds by name; only that of the accuracy keeps what it votes on.

    Raises:
        ConfigError: one cannot be found, imported or called.
    """
    rewards = [find_reward(use) for use in setup.uses]
    return [each if place == setup.accuracy else replace(each, voted=None) for place, each in enumerate(rewards)]


def live(wire: socket.socket, progress: Progress, find: Callable[[], list[Reward]], setup: Setup) -> None:
    """The life of a worker: find the rewards, say so, and answer until the wire closes."""
    try:
        rewards = find()
        answer = {"ready": [Described.of(reward).record() for reward in rewards]}
    except ConfigError as error:
        wire.sendall(line({"refused": str(error)}))
        return
    limits.bound_memory(setup.memory_mb)
    worker = Worker(wire, progress, rewards, setup)
    wire.sendall(line(answer))
    for text in lines_of(wire):
        worker.message(decode(text))
        if worker.retired:
            return


class Worker:
    """Answers messages. It has its own names for what it needs, so that a reward that replaces them harms itself."""

    def __init__(self, wire: socket.socket, progress: Progress, rewards: Sequence[Reward], setup: Setup) -> None:
        self.wire, self.progress, self.rewards, self.setup = wire, progress, rewards, setup
        self.me, self.home, self.clock = os.getpid(), os.getcwd(), time.monotonic
        self.sent = self.looked = self.glanced = self.clock()
        self.known = frozenset[int]()
        self.threads, self.space = limits.threads(), limits.address_space() if limits.LINUX else 0
        self.waiting: list[Any] = []
        self.retired = False

    def message(self, message: dict[str, Any]) -> None:
        """Answer one message, call by call; the run sees which one is under way, and since when."""
        prompt, columns, label = message["q"]
        question = Question(prompt, columns, label)
        written = [Written(*each) for each in message["w"]]
        number = message["m"]
        os.chdir(self.home)
        for place, (part, places) in enumerate(message["calls"]):
            self.progress.since[0] = self.clock()
            self.progress.mark[0] = number * CALLS + place
            values = values_of(self.rewards[part], question, [written[each] for each in places], self.setup.deadline_s)
            if os.getpid() != self.me:
                os._exit(0)  # a reward forked, and this is its child
            self.waiting.append([number, place, [value_row(value) for value in values]])
            if self.clock() - self.sent > FLUSH_S:
                self.flush()
        self.flush()
        if self.clock() - self.looked > LOOK_S or not readable(self.wire):
            self.look()

    def flush(self) -> None:
        """Send the answers that wait."""
        self.progress.since[0] = IDLE
        if self.waiting:
            self.wire.sendall(line(self.waiting))
            self.waiting = []
        self.sent = self.clock()

    def look(self) -> None:
        """Retire if the reward left something behind that would slow or starve the next ones."""
        self.looked = self.clock()
        reason = self.spinning() or self.grown()
        if reason:
            self.retired = True
            self.wire.sendall(line({"retire": reason}))

    def spinning(self) -> str:
        """Whether threads or processes that a reward left use a processor. Idle ones are let be."""
        threads, others = limits.threads(), self.others()
        start = self.clock()
        known = threads <= self.threads and self.known.issuperset(others)
        if not others and known or known and start - self.glanced < GLANCE_AGAIN_S:
            return ""
        before = time.process_time() + limits.processor_seconds(others)
        time.sleep(GLANCE_S)
        used = time.process_time() + limits.processor_seconds(others) - before
        self.threads, self.known, self.glanced = max(threads, self.threads), frozenset(others), self.clock()
        return "it left something running" if used > BUSY * (self.glanced - start) else ""

    def others(self) -> list[int]:
        """The processes that came from the reward: its children, and those that left it for the keeper."""
        return [pid for pid in limits.descendants(os.getppid()) if pid != self.me]

    def grown(self) -> str:
        grown = limits.address_space() - self.space if limits.LINUX else 0
        return "its memory grew" if grown > MARGIN * self.setup.memory_mb * 2**20 else ""


def line(value: Any) -> bytes:
    return encode(value).encode() + b"\n"


def readable(wire: socket.socket) -> bool:
    poll = select.poll()
    poll.register(wire, select.POLLIN)
    return bool(poll.poll(0))


if __name__ == "__main__":
    from strop.rewards.nursery import main

    main()
