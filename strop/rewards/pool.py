"""The workers of a run: asked many things at a time, held to their deadlines, and replaced when they fail.

One process more than may work is kept, so that a failed one is replaced at once. There is no thread: the pool looks at
its workers while it is waited for, and one that was late meanwhile is found late then.

A call that fails is the fault of one completion. A batch is asked again about each alone. A completion whose process
died is asked again, once, in a new process, if the old one had answered others before, which may have spoiled it. All
else that the process was asked goes to others.
"""

from __future__ import annotations

import itertools
import math
import selectors
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from strop.errors import ConfigError, RewardError
from strop.rewards.described import Described
from strop.rewards.failures import too_long
from strop.rewards.nest import START_S, Nest
from strop.rewards.slots import Blame, Call, Job, Slot, Task
from strop.rewards.values import Value, one_line

AHEAD_S = 0.01
"""Work that a worker is given beyond what it is at, as long as its last calls took."""
SHORT_S = 0.0005
"""Work that is not worth dealing over several workers."""
OFTEN_S = 0.001
"""How often the pool looks at its workers while jobs are submitted."""
SILENT_S = 5.0
"""A worker that is in no call and says nothing for this long beyond its deadline has stopped answering."""
GRACE_S = 0.2
"""What calls that wait side by side get beyond the deadline, which they keep themselves."""
STARTS = 3
"""Rewards that started once and then fail to start this many times in a row are an error."""
NAP_S = 1.0


class Pool:
    """Answers jobs. `workers` may work at a time; `again` starts another nursery, if that can be done."""

    def __init__(self, nest: Nest, *, workers: int, deadline_s: float, again: Callable[[], Nest] | None = None) -> None:
        self.nest, self.workers, self.deadline_s, self.again = nest, workers, deadline_s, again
        self.numbers, self.failed = itertools.count(), 0
        self.slots: dict[int, Slot] = {}
        self.waiting: deque[Task] = deque()
        self.selector = selectors.DefaultSelector()
        self.rewards: Sequence[Described] = ()
        self.looked = 0.0
        self.close = weakref.finalize(self, shut, nest, self.slots, self.selector)
        for _ in range(workers + 1):
            self.add()

    def describe(self) -> Sequence[Described]:
        """The rewards, as the first worker that is ready tells of them.

        Raises:
            ConfigError: they cannot be found, imported or called.
        """
        while not self.rewards:
            self.step(NAP_S)
        return self.rewards

    def submit(self, job: Job) -> None:
        """Queue a job: a batch reward's call whole, the others' dealt over the workers if they wait for work."""
        places = range(len(job.rows))
        grouped = [part for part, reward in enumerate(self.rewards) if reward.signature.grouped]
        singles = [part for part in range(len(self.rewards)) if part not in grouped]
        if places:
            self.waiting.extend(Task(job, [Call(part, tuple(places))]) for part in grouped)
        pieces = 1 if self.waiting or self.pace() * len(job.rows) * len(singles) < SHORT_S else self.workers
        for piece in range(pieces if singles else 0):
            calls = [Call(part, (place,)) for place in places[piece::pieces] for part in singles]
            if calls:
                self.waiting.append(Task(job, calls))

    def pace(self) -> float:
        """Seconds that a call took of late, where calls were quickest; infinite before the first."""
        return min((slot.pace for slot in self.slots.values()), default=math.inf)

    def finish(self, job: Job) -> None:
        """Work until every value of the job is there.

        Raises:
            RewardError: the rewards can no longer be started.
        """
        while job.left:
            self.step(NAP_S)

    def glance(self) -> None:
        """Hand out what waits, and look at the workers if that was not just now."""
        self.hand_out()
        if time.monotonic() - self.looked > OFTEN_S:
            self.step(0.0)

    def step(self, longest: float) -> None:
        """Hand out what waits, take in what came, and end who is late; waits `longest` seconds at most."""
        self.hand_out()
        for key, events in self.selector.select(min(longest, self.soonest()) if longest else 0.0):
            if events & selectors.EVENT_READ:
                self.receive(key.data)
            if events & selectors.EVENT_WRITE:
                self.send(key.data)
        for slot in [*self.slots.values()]:
            if slot.state != "gone":
                self.look(slot)
            if slot.state == "gone":
                self.replace(slot)
        self.looked = time.monotonic()
        self.hand_out()

    def hand_out(self) -> None:
        """Give work to those at rest, if not enough work, and the next to those who are nearly done."""
        if not self.waiting:
            return
        ready = [slot for slot in self.slots.values() if slot.state == "ready"]
        busy = [slot for slot in ready if slot.tasks]
        free = [slot for slot in busy if slot.load() < AHEAD_S / 2]
        free += [slot for slot in ready if not slot.tasks][: max(self.workers - len(busy), 0)]
        asked = free[:]
        while self.waiting and free:
            slot = min(free, key=Slot.load)
            slot.ask(self.waiting.popleft())
            if slot.load() >= AHEAD_S:
                free.remove(slot)
        for slot in asked:
            self.send(slot)

    def send(self, slot: Slot) -> None:
        slot.send()
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if slot.out else 0)
        if self.selector.get_key(slot.wire).events != wanted:
            self.selector.modify(slot.wire, wanted, slot)

    def receive(self, slot: Slot) -> None:
        starting = slot.state == "starting"
        slot.receive()
        if starting and slot.said:
            self.failed = 0
            self.compare(tuple(map(Described.read, slot.said)))

    def compare(self, rewards: tuple[Described, ...]) -> None:
        """Every worker must have found the same rewards."""
        self.rewards = self.rewards or rewards
        for first, other in zip(self.rewards, rewards, strict=True):
            if first != other:
                why = self.nest.cold or "the process that had imported it ended"
                raise RewardError(
                    f"reward {first.name}: its file changed while the run was going, and a new process imported it "
                    f"anew, as {why}; put the file back, or go on with the new one by starting the run again"
                )

    def limit(self, call: Call) -> float:
        """Seconds that a call may take."""
        signature = self.rewards[call.part].signature
        if signature.grouped and signature.form not in ("batch", "openrlhf"):
            return self.deadline_s + GRACE_S
        return self.deadline_s * len(call.places) - call.spent

    def soonest(self) -> float:
        """Seconds until the first worker may be late: one that is in no call may begin one at once."""
        now, soonest = time.monotonic(), min(NAP_S, self.deadline_s)
        for slot in self.slots.values():
            running = slot.running()
            if running:
                task, place, since = running
                soonest = min(soonest, since + self.limit(task.calls[place]) - now)
        return max(soonest, 0.0)

    def look(self, slot: Slot) -> None:
        """End a worker that is late."""
        now, running = time.monotonic(), slot.running()
        if slot.state == "starting":
            if now - slot.born > START_S:
                slot.gone(f"its import takes more than {START_S:g} s")
        elif running:
            task, place, since = running
            if now - since > self.limit(task.calls[place]):
                slot.gone("", late=running)
        elif slot.tasks and now - slot.heard > self.deadline_s + SILENT_S:
            slot.gone("it stopped answering")

    def add(self) -> None:
        """Start one more worker."""
        if self.again and self.nest.ended():
            self.nest.close()
            self.close.detach()
            self.nest = self.again()
            self.close = weakref.finalize(self, shut, self.nest, self.slots, self.selector)
        number = next(self.numbers)
        slot = Slot(number, *self.nest.fork(number))
        self.slots[number] = slot
        self.selector.register(slot.wire, selectors.EVENT_READ, slot)

    def replace(self, slot: Slot) -> None:
        """Kill a worker, settle what it was at, queue the rest again, and start another."""
        tasks, blamed = [*slot.tasks.values()], slot.blamed()
        del self.slots[slot.number]
        self.selector.unregister(slot.wire)
        self.nest.kill(slot.number)
        slot.close()
        for task in reversed(tasks):
            rest = [call for call in task.open() if not (blamed and call is blamed.call)]
            if rest:
                self.waiting.appendleft(Task(task.job, rest))
        if blamed:
            self.settle(slot, blamed)
        if not slot.said:
            self.failed_to_start(slot)
        self.add()

    def settle(self, slot: Slot, blame: Blame) -> None:
        """The call that a worker died of: asked again about each completion alone, asked again once, or given up."""
        job, call = blame.task.job, blame.call
        name = self.rewards[call.part].name
        place, *others = call.places
        if others:
            alone = [Task(job, [Call(call.part, (each,))]) for each in call.places]
            self.waiting.extendleft(reversed(alone))
        elif slot.late:
            text = too_long(name, job.question.label, self.deadline_s, first=blame.sure)
            job.give(call.part, place, Value(error=text))
        elif not blame.sure and not call.again and blame.spent < self.limit(call):
            self.waiting.appendleft(Task(job, [replace(call, spent=blame.spent, again=True)]))
        else:
            text = f"reward {name}: {slot.end} while it scored a completion of prompt {job.question.label}"
            job.give(call.part, place, Value(error=one_line(text)))

    def failed_to_start(self, slot: Slot) -> None:
        self.failed += 1
        if not self.rewards:
            raise ConfigError(slot.end if slot.told else f"task.reward: a process that imports it fails: {slot.end}")
        if self.failed >= STARTS:
            names = ", ".join(reward.name for reward in self.rewards)
            raise RewardError(f"reward {names} cannot be started again: {slot.end}")


def shut(nest: Nest, slots: dict[int, Slot], selector: Any) -> None:
    """End the nursery and its workers, and let go of their wires."""
    nest.close()
    selector.close()
    for slot in slots.values():
        slot.close()
    slots.clear()
