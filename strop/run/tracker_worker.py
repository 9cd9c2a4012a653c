"""The process of one tracker: reads messages from its input, a line of JSON each, and answers {} or {"error": text}.

    python -m strop.run.tracker_worker wandb

What the tracker prints is thrown away: the screen is the run's. When the input ends, so does the process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Protocol

from strop.run.tracker_line import LEAVE_S, family

LONGEST = 200
"""Characters of an error that are passed on."""


class Tracker(Protocol):
    """Where the rows of one run end up. Any method may raise, and may take its time."""

    def start(self, config: dict[str, Any], name: str, folder: Path) -> None:
        """`config`: key path -> value. `folder` is the run's, for the tracker's files."""
        ...

    def log(self, step: int, metrics: dict[str, float]) -> None:
        """A row. A step may come twice, and an older one after a newer: the later values count."""
        ...

    def finish(self, summary: dict[str, Any]) -> None:
        """Return once everything is where it belongs."""
        ...


def find(name: str) -> Tracker:
    """The tracker of this name; its library is imported when it starts."""
    from strop.run.tracker_tensorboard import TensorBoard
    from strop.run.tracker_wandb import Trackio, Wandb

    return {"tensorboard": TensorBoard, "wandb": Wandb, "trackio": Trackio}[name]()


def main() -> None:
    """Serve the tracker that the command line names."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    serve(find(sys.argv[1]), read_beside(sys.stdin, leave_soon), answers)


def serve(tracker: Tracker, messages: Iterator[str], answers: IO[str]) -> None:
    """Answer every message; a run that went without `finish` is finished all the same."""
    pending = False
    for line in messages:
        message = json.loads(line)
        answers.write(json.dumps(answer(tracker, message)) + "\n")
        answers.flush()
        pending = "finish" not in message
    if pending:
        answer(tracker, {"finish": {"summary": {}}})


def answer(tracker: Tracker, message: dict[str, Any]) -> dict[str, str]:
    """Do as the message says."""
    [(name, given)] = message.items()
    try:
        if name == "start":
            tracker.start(given["config"], given["name"], Path(given["folder"]))
        elif name == "log":
            tracker.log(given["step"], given["metrics"])
        else:
            tracker.finish(given["summary"])
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        place = f"log of step {given['step']}" if name == "log" else name
        text = " ".join(str(error).split()) or "no reason given"
        return {"error": f"{place}: {type(error).__name__}: {text}"[:LONGEST]}
    return {}


def read_beside(source: IO[str], ended: Callable[[], None]) -> Iterator[str]:
    """The lines of `source`; a thread reads on whatever the tracker does, and calls `ended` at the end of them."""
    queue: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in source:
            queue.put(line)
        ended()
        queue.put("")

    threading.Thread(target=read, daemon=True).start()
    while line := queue.get():
        yield line


def leave_soon() -> None:
    """The run is over, or was killed: in LEAVE_S this process ends, with all that the tracker has started."""

    def end() -> None:
        for pid in family(os.getpid()):
            os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(LEAVE_S, end)
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    main()
