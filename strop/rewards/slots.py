"""A worker as the run sees it: its wire, what it was asked, what it has answered, and whether it is late."""

from __future__ import annotations

import contextlib
import math
import socket
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from strop.rewards.adapters import Question
from strop.rewards.values import Value
from strop.rewards.wire import IDLE, PIECE, Lines, Progress, TooLong, decode, value_of

KEEP = 0.7
"""Share of what is known of a worker's pace that new answers leave."""
State = Literal["starting", "ready", "gone"]


@dataclass(slots=True)
class Job:
    """A prompt's completions on their way to values[part][place]; `left` counts those that are missing."""

    question: Question
    head: str
    rows: list[str]
    values: list[list[Value | None]]
    left: int

    def give(self, part: int, place: int, value: Value) -> None:
        if self.values[part][place] is None:
            self.left -= 1
        self.values[part][place] = value


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a reward: which, on which of the job's completions; and how long it took in a process that died."""

    part: int
    places: tuple[int, ...]
    spent: float = 0.0
    again: bool = False


@dataclass(slots=True)
class Task:
    """What one message asks for: calls of one job, and which of them are answered."""

    job: Job
    calls: Sequence[Call]
    answered: set[int] = field(default_factory=set)

    def line(self, number: int) -> bytes:
        """The message. Only the completions that it is about travel."""
        places = sorted({place for call in self.calls for place in call.places})
        index = {place: number for number, place in enumerate(places)}
        calls = ",".join(f"[{call.part},[{','.join(str(index[p]) for p in call.places)}]]" for call in self.calls)
        rows = ",".join(self.job.rows[place] for place in places)
        return f'{{"m":{number},"q":{self.job.head},"w":[{rows}],"calls":[{calls}]}}\n'.encode()

    def open(self) -> list[Call]:
        """The calls that are not answered."""
        return [call for place, call in enumerate(self.calls) if place not in self.answered]


Running = tuple[Task, int, float]
"""A call that runs: of which task, its place there, and since when."""


@dataclass(frozen=True, slots=True)
class Blame:
    """The call that a worker died of, how long that took, and whether nothing else can have been the cause."""

    task: Task
    call: Call
    spent: float
    sure: bool


class Slot:
    """One worker. `said` is what it told of its rewards, `heard` when it last said or took something, `end` how it
    ended."""

    def __init__(self, number: int, wire: socket.socket, progress: Progress) -> None:
        self.number, self.wire, self.progress = number, wire, progress
        self.state: State = "starting"
        self.born = self.heard = time.monotonic()
        self.said: list[dict[str, Any]] = []
        self.end, self.told, self.garbled = "", False, False
        self.late: Running | None = None
        self.tasks: dict[int, Task] = {}
        self.messages = 0
        self.first: Task | None = None
        self.pace, self.open_calls = math.inf, 0
        self.lines, self.out = Lines(), deque[memoryview]()
        wire.setblocking(False)

    def ask(self, task: Task) -> None:
        """Put a task into what is to be sent."""
        if not self.tasks:
            self.heard = time.monotonic()
        self.messages += 1
        self.first = self.first or task
        self.tasks[self.messages] = task
        self.open_calls += len(task.calls)
        self.out.append(memoryview(task.line(self.messages)))

    def load(self) -> float:
        """Seconds that what it was asked may take, as its last calls went; infinite before the first."""
        return self.open_calls * self.pace if self.open_calls else 0.0

    def send(self) -> None:
        """Send what is to be sent, or as much of it as the wire takes now."""
        if len(self.out) > 1:
            self.out = deque([memoryview(b"".join(self.out))])
        while self.out:
            try:
                taken = self.wire.send(self.out[0])
            except BlockingIOError:
                return
            except OSError:  # it ended; its wire tells how
                self.out.clear()
                return
            self.heard = time.monotonic()
            rest = self.out.popleft()[taken:]
            if rest:
                self.out.appendleft(rest)

    def receive(self) -> None:
        """Take in what it sent. Whatever is no answer ends the slot: `state` is "gone", and `end` says why."""
        try:
            while piece := self.wire.recv(PIECE):
                for text in self.lines.feed(piece):
                    self.take(text)
                if self.state == "gone" or len(piece) < PIECE:
                    return
            self.gone("it ended")
        except BlockingIOError:
            return
        except (TooLong, ValueError, KeyError, IndexError, TypeError, RecursionError):
            self.gone("it wrote what is no answer", garbled=True)
        except OSError as error:
            self.gone(f"its wire broke: {error.strerror}")

    def take(self, text: bytes) -> None:
        if not text or self.state == "gone":
            return
        found = decode(text)
        before, self.heard = self.heard, time.monotonic()
        if isinstance(found, list):
            took = (self.heard - before) / max(len(found), 1)
            self.pace = took if self.pace == math.inf else KEEP * self.pace + (1 - KEEP) * took
            for number, place, values in found:
                self.answer(self.tasks[number], number, place, [value_of(row) for row in values])
        elif "ready" in found:
            self.said, self.state = found["ready"], "ready"
        elif "ended" in found:
            self.gone(how_it_ended(int(found["ended"])))
        else:
            self.gone(str(found.get("refused") or found["retire"]), told=True)

    def answer(self, task: Task, number: int, place: int, values: list[Value]) -> None:
        call = task.calls[place]
        for each, value in zip(call.places, values, strict=True):
            task.job.give(call.part, each, value)
        task.answered.add(place)
        self.open_calls -= 1
        if len(task.answered) == len(task.calls):
            del self.tasks[number]

    def gone(self, end: str, *, told: bool = False, garbled: bool = False, late: Running | None = None) -> None:
        """It is at its end: `told` by the worker itself, `garbled` by what it wrote, or `late` with a call."""
        self.state, self.end, self.told, self.garbled, self.late = "gone", end, told, garbled, late

    def blamed(self) -> Blame | None:
        """The call that it died of. None if it had nothing to answer, or left by itself.

        That is the call it was in; if it was in none, or wrote nonsense, the first that it has not answered.
        """
        if self.told or not self.tasks:
            return None
        running = self.late or (None if self.garbled else self.running())
        if running:
            task, place, since = running
            first = place == 0 and task is self.first
            return Blame(task, task.calls[place], time.monotonic() - since, sure=first)
        task = next(iter(self.tasks.values()))
        return Blame(task, task.open()[0], 0.0, sure=False)

    def running(self) -> Running | None:
        """The call that it is in. None between calls."""
        number, place, since = self.progress.read()
        task = self.tasks.get(number)
        if task is None or since == IDLE or place in task.answered:
            return None
        return task, place, since

    def close(self) -> None:
        self.state = "gone"
        self.progress.close()
        with contextlib.suppress(OSError):
            self.wire.close()


def how_it_ended(status: int) -> str:
    if status >= 0:
        return f"it ended its process (exit code {status})"
    return f"its process was ended by signal {-status}"
