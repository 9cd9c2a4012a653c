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
from collections.abc import Iterator
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
    serve(find(sys.argv[1]), lines_until_the_end(sys.stdin), answers)


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


def lines_until_the_end(source: IO[str]) -> Iterator[str]:
    """The lines of `source`, read beside whatever the tracker does, which gets LEAVE_S from the end of them on."""
    queue: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in source:
            queue.put(line)
        queue.put("")
        timer = threading.Timer(LEAVE_S, end)
        timer.daemon = True
        timer.start()

    threading.Thread(target=read, daemon=True).start()
    while line := queue.get():
        yield line


def end() -> None:
    """Leave at once, with all that the tracker has started."""
    for pid in family(os.getpid()):
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
