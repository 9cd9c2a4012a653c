"""What a run tells while it goes, and how it is asked to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from strop.types import Group


class Watcher:
    """Hears what a run does. These methods are silent: a screen, or a notebook, answers those that it cares about.

    progress(phase, done, total)   the phases: check prompts, sample, score old, score reference, train, evaluate, save
    evaluated(name, result)        "before", "step 10", "after", and the strop.evaluate.Evaluation
    stepped(record, steps)         the row of metrics.jsonl, and how many steps the run will take
    sampled(groups)                every group that the step sampled
    """

    def started(self, folder: Path, facts: dict[str, str]) -> None: ...
    def progress(self, phase: str, done: int, total: int) -> None: ...
    def evaluated(self, name: str, result: Any) -> None: ...
    def stepped(self, record: dict[str, Any], steps: int) -> None: ...
    def sampled(self, groups: Sequence[Group]) -> None: ...
    def warned(self, text: str) -> None: ...
    def finished(self, folder: Path, summary: dict[str, Any]) -> None: ...


class Stopped(Exception):
    """Ctrl-C was pressed, and this is a place where the step can be left without harm."""


class Stopper:
    """Turns Ctrl-C into a flag that is looked at between pieces of work; a second Ctrl-C leaves at once."""

    def __init__(self) -> None:
        self.asked = False
        self._restore: Callable[[], object] = lambda: None

    def __enter__(self) -> Stopper:
        if threading.current_thread() is threading.main_thread():
            previous = signal.signal(signal.SIGINT, self._ask)
            self._restore = lambda: signal.signal(signal.SIGINT, previous)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def check(self) -> None:
        """Raises Stopped once Ctrl-C has been pressed."""
        if self.asked:
            raise Stopped

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


def interruptible(phase: str, watch: Watcher, stopper: Stopper) -> Callable[[int, int], None]:
    """Progress of a phase that Ctrl-C may end between two pieces of work."""

    def tick(done: int, total: int) -> None:
        watch.progress(phase, done, total)
        stopper.check()

    return tick
