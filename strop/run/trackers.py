"""Trackers: where metrics are sent besides the run folder. Each has a process of its own, so that none can hurt a run.

    trackers = Trackers(["wandb"], config.flat(), folder, watch.warned)       ->  at once
    trackers.log(step, metrics)                                               ->  at once
    trackers.finish(summary)                                                  ->  FINISH_S at most, all together

A row is put into a bounded queue; a thread takes it to the process and waits there for the answer, as long as it takes.
A tracker that raises loses its own rows, one that hangs is ended with the run. Either is told once, and counted.
"""

from __future__ import annotations

import math
import re
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from queue import SimpleQueue
from threading import Thread
from typing import Any

from strop.errors import ConfigError
from strop.run.tracker_line import Line, TrackerError

ROWS = 1000
"""Rows that may wait for a slow tracker: half a minute's of a run that takes 30 steps a second."""
FINISH_S = 10.0
"""The longest that a run waits for its trackers when it ends."""
ABSOLUTE = re.compile(r"(?<![\w.:/~-])[~/][^\s:;,'\"]*/[^\s:;,'\"]*")
Message = dict[str, Any]


def check_installed(names: Sequence[str]) -> None:
    """Refuse a tracker whose library is not there, before anything is loaded.

    Raises:
        ConfigError: with the command that installs it.
    """
    for name in names:
        spec = find_spec(name)
        if spec is None or spec.origin is None:  # a folder of this name, as wandb leaves behind, is no library
            raise ConfigError(f"save.trackers: {name} is not installed; pip install 'strop[{name}]'")


def command_of(name: str) -> list[str]:
    """What runs a tracker's process. -P: a file of the user's that is called random.py is not imported."""
    return [sys.executable, "-P", "-m", "strop.run.tracker_worker", name]


class Delivery:
    """One tracker's queue and the thread that empties it.

    `asked` counts rows to be delivered, `taken` those that the tracker has; `trouble` is what went wrong first.
    """

    def __init__(self, name: str, line: Line) -> None:
        self.name, self.line = name, line
        self.asked = self.taken = 0
        self.trouble = ""
        self.queue: SimpleQueue[Message] = SimpleQueue()
        self.thread = Thread(target=self._deliver, name=f"strop-{name}", daemon=True)
        self.thread.start()

    def log(self, message: Message) -> None:
        """Queue a row, or count it as lost where ROWS of them wait already."""
        self.asked += 1
        if self.queue.qsize() < ROWS:
            self.queue.put({"log": message})
        else:
            self.trouble = self.trouble or f"{ROWS} rows wait for it, and it takes none"

    def _deliver(self) -> None:
        going = True
        while going:
            message = self.queue.get()
            going = "finish" not in message and "leave" not in message
            try:
                if "leave" not in message:
                    self.line.call(message)
                self.taken += "log" in message
            except TrackerError as error:
                self.trouble = self.trouble or str(error)
        self.line.close()


class Trackers:
    """The trackers of one run. Every call returns at once, but for `finish`; none raises for what a tracker does."""

    def __init__(
        self, names: Sequence[str], config: Mapping[str, Any], folder: Path, warned: Callable[[str], None]
    ) -> None:
        """Starts them. `warned` is called by whoever calls the methods, never by another thread."""
        self.warned = warned
        self.told: set[str] = set()
        self.deliveries = [Delivery(name, Line(command_of(name))) for name in dict.fromkeys(names)]
        start = {"config": sendable(config), "name": folder.name, "folder": str(folder.resolve())}
        for delivery in self.deliveries:
            delivery.queue.put({"start": start})
        # Whoever drops a run without `finish` leaves no thread and no process behind.
        weakref.finalize(self, leave, [delivery.queue for delivery in self.deliveries])

    def log(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Send the numbers of a row of metrics.jsonl; what is no finite number is left out. Any step may follow any."""
        values = {name: value for name, value in metrics.items() if name != "step" and is_number(value)}
        for delivery in self.deliveries:
            delivery.log({"step": step, "metrics": values})
        self._tell("; the run goes on")

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Wait until all is delivered, or FINISH_S have passed, and end every tracker."""
        deadline = time.monotonic() + FINISH_S
        for delivery in self.deliveries:
            delivery.queue.put({"finish": {"summary": sendable(flattened(summary))}})
        for delivery in self.deliveries:
            delivery.thread.join(max(0.0, deadline - time.monotonic()))
            if delivery.thread.is_alive():
                delivery.trouble = delivery.trouble or f"not done {FINISH_S:g} s after the run, so it was ended"
                delivery.line.kill()
                delivery.thread.join(1.0)  # a process in the middle of a write to a dead disk cannot even be killed
        self._tell("")
        for delivery in self.deliveries:
            if lost := delivery.asked - delivery.taken:
                self.warned(f"tracker {delivery.name} lacks {lost} of {delivery.asked} rows; the run folder has them")
        self.deliveries = []

    def _tell(self, ending: str) -> None:
        for delivery in self.deliveries:
            if delivery.trouble and delivery.name not in self.told:
                self.told.add(delivery.name)
                self.warned(f"tracker {delivery.name}: {delivery.trouble}{ending}")


def leave(queues: Sequence[SimpleQueue[Message]]) -> None:
    for queue in queues:
        queue.put({"leave": True})


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Numbers and texts of a nested mapping, by path: {"ledger/trained": 12}."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flattened(value, f"{prefix}{name}/")
        elif is_number(value) or isinstance(value, str):
            found[f"{prefix}{name}"] = value
    return found


def sendable(value: Any) -> Any:
    """The same without the folders of this machine: of an absolute path its last part stays."""
    if isinstance(value, Mapping):
        return {str(name): sendable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(inner) for inner in value]
    if not isinstance(value, str):
        return value
    if value.startswith(("/", "~/")):
        return PurePosixPath(value).name
    return ABSOLUTE.sub(lambda path: PurePosixPath(path[0]).name, value)
