"""Workers are forked with their rewards imported, end with all that came from them, and all end with their run."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from strop.rewards import limits
from strop.rewards.nest import Nest, started
from strop.rewards.nursery import PRINTED, passed_on
from strop.rewards.wire import PIECE, Progress
from strop.rewards.worker import Setup
from tests.rewards.made import HOSTILE, reward_file
from tests.rewards.test_limits import apart

SETUP = Setup((f"{HOSTILE}:score",), 0, 10.0, 2048, "auto", tuple(sys.path))


class Ends:
    """A worker's wire, read line by line."""

    def __init__(self, wire: socket.socket, progress: Progress) -> None:
        self.wire, self.progress = wire, progress
        wire.settimeout(20)
        self.lines = wire.makefile("rb")

    def ask(self, completion: str) -> None:
        text = {"m": 1, "q": ["", {}, "'p'"], "w": [[completion, [], 0, False]], "calls": [[0, [0]]]}
        self.wire.sendall(json.dumps(text).encode() + b"\n")

    def hear(self) -> Any:
        line = self.lines.readline()
        return json.loads(line) if line.strip() else line and self.hear()

    def close(self) -> None:
        self.lines.close()
        self.wire.close()
        self.progress.close()


@pytest.fixture
def nest(request: pytest.FixtureRequest) -> Any:
    made = started(SETUP, warm=getattr(request, "param", True)).greeted("x")
    yield made
    made.close()


def worker(nest: Nest, slot: int = 0) -> Ends:
    ends = Ends(*nest.fork(slot))
    assert "ready" in ends.hear()
    return ends


def gone(pids: list[int], seconds: float = 5.0) -> bool:
    """Whether these processes end, and are waited for, within so many seconds."""
    until = time.monotonic() + seconds
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("nest", [True, False], indirect=True, ids=["warm", "cold"])
def test_a_worker_is_forked_answers_and_is_killed(nest: Nest) -> None:
    ends = worker(nest)
    ends.ask("good")
    assert ends.hear() == [[1, 0, [1.0]]]
    family = limits.descendants(nest.pid)
    assert len(family) == 2
    nest.kill(0)
    assert gone(family)
    ends.close()


DAEMONS = {"leaves_a_spinning_daemon": 3, "leaves_a_deaf_daemon": 3, "leaves_a_sleeping_child": 3, "bomb_of_daemons": 9}


@pytest.mark.parametrize("name, members", DAEMONS.items())
def test_nothing_that_came_from_a_worker_outlives_it(nest: Nest, name: str, members: int) -> None:
    other = worker(nest, 1)
    others = set(limits.descendants(nest.pid))
    ends = worker(nest, 2)
    ends.ask(name)
    family: set[int] = set()
    while len(family) < members:
        family = set(limits.descendants(nest.pid)) - others
    nest.kill(2)
    assert gone([*family])
    other.ask("good")
    assert other.hear() == [[1, 0, [1.0]]]
    ends.close()
    other.close()


def test_one_that_left_something_spinning_retires_and_takes_it_along(nest: Nest) -> None:
    ends = worker(nest)
    ends.ask("leaves_a_spinning_daemon")
    assert ends.hear() == [[1, 0, [1.0]]]
    family = limits.descendants(nest.pid)
    assert ends.hear() == {"retire": "a reward left something running"}
    assert ends.hear() == {"ended": 0}
    assert gone(family[1:])
    ends.close()


def test_the_keeper_says_how_the_worker_ended(nest: Nest) -> None:
    for slot, (name, status) in enumerate({"end_exit_1": 1, "end_segv": -11, "end_interrupt": 1}.items()):
        ends = worker(nest, slot)
        ends.ask(name)
        assert ends.hear() == {"ended": status}
        ends.close()


def test_a_worker_whose_keeper_is_killed_dies_and_the_nursery_lives(nest: Nest) -> None:
    ends = worker(nest)
    keeper, _ = limits.descendants(nest.pid)
    os.kill(keeper, signal.SIGKILL)
    assert ends.hear() == b""
    ends.close()
    worker(nest, 1).close()


def test_what_a_worker_prints_is_no_answer_and_does_not_block(nest: Nest) -> None:
    for slot, name in enumerate(("prints_a_lot", "writes_a_lot_to_both", "prints_like_an_answer")):
        ends = worker(nest, slot)
        ends.ask(name)
        assert ends.hear() == [[1, 0, [1.0]]]
        ends.close()


def test_all_end_when_the_run_closes_the_socket(nest: Nest) -> None:
    ends = [worker(nest, slot) for slot in range(2)]
    ends[0].ask("leaves_a_spinning_daemon")
    ends[0].hear()
    family = limits.descendants(nest.pid)
    nest.close()
    assert gone([*family, nest.pid])
    for each in ends:
        each.close()


def test_all_end_when_the_run_is_killed() -> None:
    code = f"""
from strop.rewards.scorer import *
scorer = make_scorer([Part({HOSTILE + ":score"!r})], Scoring())
print(scorer.runner.nest.pid, *limits.descendants(scorer.runner.nest.pid), flush=True)
os.kill(os.getpid(), 9)
"""
    pids = [int(pid) for pid in apart(code).stdout.split()]
    assert len(pids) > 3
    assert gone(pids)


def test_all_end_when_the_run_is_killed_though_a_fork_of_it_holds_the_socket() -> None:
    code = f"""
from strop.rewards.scorer import *
scorer = make_scorer([Part({HOSTILE + ":score"!r})], Scoring())
holder = child(lambda: (os.close(1), os.close(2), time.sleep(60)))
print(holder, scorer.runner.nest.pid, *limits.descendants(scorer.runner.nest.pid), flush=True)
os.kill(os.getpid(), 9)
"""
    holder, *pids = [int(pid) for pid in apart(code).stdout.split()]
    assert gone(pids)
    os.kill(holder, 9)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_are_for_the_run(nest: Nest, number: int) -> None:
    ends = worker(nest)
    for pid in (nest.pid, *limits.descendants(nest.pid)[: None if number == signal.SIGINT else 1]):
        os.kill(pid, number)
    time.sleep(0.1)
    ends.ask("good")
    assert ends.hear() == [[1, 0, [1.0]]]
    ends.close()


COLD = {
    "": "",
    "threading.Thread(target=time.sleep, args=(1,), daemon=True).start()": "its import started a thread",
    "kept = socket.socket()": "its import opened a connection",
    "child(lambda: time.sleep(1))": "its import started a process",
}


@pytest.mark.parametrize("code, reason", COLD.items())
def test_what_was_imported_cannot_be_forked_with_threads_connections_or_children(code: str, reason: str) -> None:
    done = apart(f"from strop.rewards.nursery import *\nbefore = sockets()\n{code}\nprint(why_cold(before))")
    assert done.stdout == reason + "\n", done.stderr


def test_a_file_that_changes_is_not_read_again(tmp_path: Path) -> None:
    file = reward_file(tmp_path, "def score(prompt, completion):\n    return 1.0\n")
    made = started(Setup((f"{file}:score",), 0, 10.0, 2048, "auto", tuple(sys.path)), warm=True).greeted("x")
    Path(file).unlink()
    ends = worker(made)
    ends.ask("x")
    assert ends.hear() == [[1, 0, [1.0]]]
    ends.close()
    made.close()


def test_only_the_beginning_of_what_is_printed_is_passed_on_and_no_escape(capfd: pytest.CaptureFixture[str]) -> None:
    left = passed_on(b"\x1b[2J\xff\xc2\x9bhello \xe2\x80\xae\n\tx", PRINTED)
    assert capfd.readouterr().err == "\ufffd[2J\ufffd\ufffdhello \ufffd\n\tx"
    assert left < PRINTED
    assert passed_on(b"x" * 100, 10) <= 0
    shown = capfd.readouterr().err
    assert shown == "x" * 10 + "\nstrop: what this reward prints beyond this is dropped\n"
    assert passed_on(b"x" * 100, 0) == 0
    assert capfd.readouterr().err == ""


def test_a_reader_that_has_left_or_does_not_read_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    saved = os.dup(2)
    try:
        os.dup2(writer, 2)
        poll = select.poll()
        poll.register(writer, select.POLLOUT)
        while poll.poll(0):
            os.write(writer, b"x" * 4096)
        assert passed_on(b"more", PRINTED) == PRINTED - 4
        os.close(reader)
        assert passed_on(b"more", PRINTED) == PRINTED - 4
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(writer)
    assert PIECE > 4096
