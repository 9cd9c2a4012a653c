"""A worker answers call by call, shows what it is at, puts back what a reward set, and leaves when it is spoiled."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

from strop.rewards import worker
from strop.rewards.find import as_reward
from strop.rewards.wire import CALLS, IDLE, Progress
from strop.rewards.worker import Setup, Worker, load

SETUP = Setup(("mine",), 0, 10.0, 2048, "auto", ())


def asked(number: int, *texts: str) -> dict[str, Any]:
    rows = [[text, [], 0, False] for text in texts]
    calls = [[0, [place]] for place in range(len(texts))]
    return {"m": number, "q": ["2+2=", {"answer": "4"}, "'p'"], "w": rows, "calls": calls}


def made(function: Any) -> tuple[Worker, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.settimeout(5)
    return Worker(theirs, Progress(), [as_reward(function)], SETUP), ours


def heard(worker_: Worker, wire: socket.socket) -> list[Any]:
    worker_.flush()
    worker_.wire.close()
    with wire:
        return [json.loads(line) for line in iter(wire.makefile("rb").readline, b"")]


def test_every_call_is_answered_and_shown_while_it_runs() -> None:
    seen = []

    def score(completion: str, answer: str) -> float:
        seen.append((subject.progress.mark[0], subject.progress.since[0] <= time.monotonic()))
        return float(completion == answer)

    subject, wire = made(score)
    subject.message(asked(7, "4", "5"))
    subject.message(asked(8, "4"))
    assert seen == [(7 * CALLS, True), (7 * CALLS + 1, True), (8 * CALLS, True)]
    assert subject.progress.since[0] == IDLE
    answers = [answer for line in heard(subject, wire) for answer in line]
    assert answers == [[7, 0, [1.0]], [7, 1, [0.0]], [8, 0, [1.0]]]


def test_what_a_reward_sets_in_the_process_is_put_back() -> None:
    home, out = os.getcwd(), sys.stdout

    def score(completion: str) -> float:
        signal.setitimer(signal.ITIMER_REAL, 100)
        sys.setprofile(lambda *_: None)
        os.chdir("/")
        sys.stdout = None  # type: ignore[assignment]
        return 1.0

    subject, wire = made(score)
    timer = signal.getitimer(signal.ITIMER_REAL)
    try:
        subject.message(asked(1, "x"))
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert (os.getcwd(), sys.stdout, sys.getprofile()) == (home, out, None)
    finally:
        sys.stdout = sys.__stdout__ = out  # type: ignore[misc]
        signal.setitimer(signal.ITIMER_REAL, *timer)
    heard(subject, wire)


def test_a_child_that_a_reward_forked_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []
    subject, wire = made(lambda completion: 1.0)
    monkeypatch.setattr(worker, "PROCESS", lambda: -1)
    monkeypatch.setattr(worker, "EXIT", lambda status: ended.append(status) or (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        subject.message(asked(1, "x"))
    assert (ended, heard(subject, wire)) == ([0], [])


def test_one_that_fails_after_python_was_changed_is_not_answered_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(completion: str) -> float:
        raise ValueError(completion)

    ended = []
    subject, wire = made(fails)
    monkeypatch.setattr(subject.left, "changed", lambda: True, raising=False)
    monkeypatch.setattr(worker, "EXIT", lambda status: ended.append(status) or (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        subject.message(asked(1, "x"))
    assert (ended, heard(subject, wire)) == ([worker.SPOILED], [])


def test_it_retires_when_it_was_misled_and_says_so_after_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, wire = made(lambda completion: 1.0)
    monkeypatch.setattr(subject.left, "misled", lambda: True, raising=False)
    subject.message(asked(1, "x", "y"))
    assert subject.retired
    assert heard(subject, wire) == [[[1, 0, [1.0]]], {"retire": "a reward replaced a part of Python"}]


def test_only_the_accuracy_reward_keeps_its_answer() -> None:
    uses = ("boxed", "hash")
    votes = [[reward.voted is not None for reward in load(Setup(uses, place, 1.0, 1, "auto", ()))] for place in (0, 1)]
    assert votes == [[True, False], [False, True]]


def test_it_starts_without_torch_transformers_or_numpy() -> None:
    code = (
        "import sys, strop.rewards.worker, strop.rewards.nursery, strop.rewards.find\n"
        "print(sorted({'torch', 'transformers', 'numpy', 'strop.rewards.scorer'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
