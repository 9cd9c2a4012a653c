"""Ctrl-C as a flag: looked at between pieces of work, obeyed at once the second time."""

from __future__ import annotations

import os
import signal

import pytest

from strop.watch import Stopped, Stopper, Watcher, interruptible


def test_the_first_ctrl_c_is_a_flag_and_the_second_leaves() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stopper() as stopper:
        stopper.check()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Stopped):
            stopper.check()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_is_told_before_the_flag_is_looked_at() -> None:
    told: list[tuple[str, int, int]] = []

    class Listener(Watcher):
        def progress(self, phase: str, done: int, total: int) -> None:
            told.append((phase, done, total))

    stopper = Stopper()
    tick = interruptible("sample", Listener(), stopper)
    tick(1, 4)
    stopper.asked = True
    with pytest.raises(Stopped):
        tick(2, 4)
    assert told == [("sample", 1, 4), ("sample", 2, 4)]
