"""A process that runs rewards, and nothing else: it reads questions from its wire and answers them, until it is ended.

python -m strop.rewards.worker DESCRIPTOR     the nursery that such processes are forked from (strop.rewards.nursery)

The reward runs in the main thread of a process without other threads, so its own time-outs by signal work; the
deadline is kept by the run, which ends the process.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from strop.errors import ConfigError
from strop.rewards.adapters import Question, Written, values_of
from strop.rewards.builtin import get_ready
from strop.rewards.described import Described
from strop.rewards.find import Reward, find_reward
from strop.rewards.leftovers import Leftovers
from strop.rewards.limits import bound_memory
from strop.rewards.wire import CALLS, IDLE, PIECE, Lines, Progress, decode, encode, value_row

FLUSH_S = 0.002
"""Answers wait for others this long at most before they are sent."""
LOOK_S, REST_S = 0.05, 0.02
"""How often a busy worker looks for what its rewards left behind, and after what rest."""
SPOILED = 70
"""The exit code of a process in which a reward failed after one had changed Python itself."""
CLOCK, PROCESS, EXIT = time.monotonic, os.getpid, os._exit


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is told before it starts: the rewards to find, which of them votes, and its limits."""

    uses: tuple[str, ...]
    accuracy: int
    deadline_s: float
    memory_mb: int
    sandbox: str
    path: tuple[str, ...]

    def environment(self) -> dict[str, str]:
        """What rewards can read of it: the built-in `code` keeps within the deadline itself, and asks for a sandbox."""
        return {"STROP_SANDBOX": self.sandbox, "STROP_DEADLINE_S": str(self.deadline_s)}


def load(setup: Setup) -> list[Reward]:
    """The rewards that a worker finds by name; only that of the accuracy keeps what it votes on.

    Raises:
        ConfigError: one cannot be found, imported or called, or cannot work here.
    """
    for use in setup.uses:
        get_ready(use, setup.sandbox)
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
    bound_memory(setup.memory_mb)
    worker = Worker(wire, progress, rewards, setup)
    wire.sendall(line(answer))
    lines = Lines(longest=2**40)
    while not worker.retired:
        if not readable(wire, REST_S) and worker.looked < worker.sent:
            worker.look()
            continue
        piece = wire.recv(PIECE)
        if not piece:
            return
        for text in lines.feed(piece):
            if not worker.retired:
                worker.message(decode(text))
        worker.rest()


class Worker:
    """Answers messages. What it needs to end or to tell the time it has by its own name: a reward may replace any."""

    def __init__(self, wire: socket.socket, progress: Progress, rewards: Sequence[Reward], setup: Setup) -> None:
        self.wire, self.progress, self.rewards, self.setup = wire, progress, rewards, setup
        self.me, self.home, self.print_to = os.getpid(), os.getcwd(), sys.stdout
        self.left = Leftovers(setup.memory_mb)
        self.sent = self.looked = CLOCK()
        self.waiting: list[Any] = []
        self.retired = False

    def message(self, message: dict[str, Any]) -> None:
        """Answer one message, call by call; the run sees which one is under way, and since when."""
        prompt, columns, label = message["q"]
        question = Question(prompt, columns, label)
        written = [Written(*each) for each in message["w"]]
        number = message["m"]
        for place, (part, places) in enumerate(message["calls"]):
            self.progress.since[0] = CLOCK()
            self.progress.mark[0] = number * CALLS + place
            values = values_of(self.rewards[part], question, [written[each] for each in places], self.setup.deadline_s)
            if PROCESS() != self.me:
                EXIT(0)  # a reward forked, and this is its child
            if any(value.error for value in values) and self.left.changed():
                EXIT(SPOILED)  # an earlier call may be the cause: a new process tries this one again
            self.waiting.append([number, place, [value_row(value) for value in values]])
            if self.left.misled():
                self.retire("a reward replaced a part of Python")
                return
            if CLOCK() - self.sent > FLUSH_S:
                self.flush()
        self.progress.since[0] = IDLE
        self.tidy()

    def rest(self) -> None:
        """Between messages: send the answers, and look around if that was long ago."""
        if not self.retired:
            self.flush()
            if CLOCK() - self.looked > LOOK_S:
                self.look()

    def flush(self) -> None:
        """Send the answers that wait."""
        self.progress.since[0] = IDLE
        if self.waiting:
            self.wire.sendall(line(self.waiting))
            self.waiting = []
        self.sent = CLOCK()

    def tidy(self) -> None:
        """Undo what a reward may have left set in this process."""
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)
        sys.settrace(None)
        sys.setprofile(None)
        sys.stdout = sys.stderr = self.print_to
        os.chdir(self.home)

    def look(self) -> None:
        """Retire if the reward left something behind that would slow, starve or mislead the next ones."""
        self.looked = CLOCK()
        reason = self.left.found()
        if reason:
            self.retire(reason)

    def retire(self, reason: str) -> None:
        self.flush()
        self.retired = True
        self.wire.sendall(line({"retire": reason}))


def line(value: Any) -> bytes:
    return encode(value).encode() + b"\n"


def readable(wire: socket.socket, seconds: float) -> bool:
    """Whether something has come after so many seconds."""
    poll = select.poll()
    poll.register(wire, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


if __name__ == "__main__":
    from strop.rewards.nursery import main

    main()
