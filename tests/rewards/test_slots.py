"""A worker as the run sees it: what it was asked, what it answered, what it died of."""

from __future__ import annotations

import json
import math
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from strop.rewards.adapters import Question
from strop.rewards.slots import Blame, Call, Job, Slot, Task, how_it_ended
from strop.rewards.wire import CALLS, IDLE, LONGEST_LINE, PIECE, Progress


def job(completions: int, parts: int = 1) -> Job:
    rows = [f'["text {place}",[],0,false]' for place in range(completions)]
    values: list[list[Any]] = [[None] * completions for _ in range(parts)]
    return Job(Question("2+2=", {}, "'p'"), '["2+2=",{},"p"]', rows, values, completions * parts)


def singles(task_job: Job, *places: int) -> Task:
    return Task(task_job, [Call(0, (place,)) for place in places])


@pytest.fixture
def ends() -> Iterator[tuple[Slot, socket.socket]]:
    ours, theirs = socket.socketpair()
    slot = Slot(3, ours, Progress())
    yield slot, theirs
    theirs.close()
    slot.close()


def say(wire: socket.socket, value: Any) -> None:
    wire.sendall(json.dumps(value).encode() + b"\n")


def test_a_message_holds_the_completions_that_it_is_about_and_no_others() -> None:
    task = Task(job(4), [Call(0, (1, 3)), Call(1, (3,))])
    message = json.loads(task.line(9))
    assert message["w"] == [["text 1", [], 0, False], ["text 3", [], 0, False]]
    assert (message["m"], message["calls"]) == (9, [[0, [0, 1]], [1, [1]]])
    assert message["q"] == ["2+2=", {}, "p"]


def test_answers_find_their_places_and_the_task_is_done_with_its_last(ends: tuple[Slot, socket.socket]) -> None:
    slot, wire = ends
    work = job(3)
    slot.ask(singles(work, 2, 0))
    slot.send()
    assert json.loads(wire.recv(PIECE))["m"] == 1
    say(wire, [[1, 0, [0.5]]])
    slot.receive()
    assert (work.left, work.values[0][2].score, len(slot.tasks)) == (2, 0.5, 1)  # type: ignore[union-attr]
    say(wire, [[1, 1, [[None, None, {}, "", "failed"]]]])
    slot.receive()
    assert (work.left, work.values[0][0].error, slot.tasks, slot.load()) == (1, "failed", {}, 0.0)  # type: ignore[union-attr]


def test_what_the_wire_does_not_take_at_once_is_sent_on(ends: tuple[Slot, socket.socket]) -> None:
    slot, wire = ends
    work = job(1)
    work.rows[0] = json.dumps(["x" * 10**6, [], 0, False])
    slot.ask(singles(work, 0))
    slot.ask(singles(work, 0))
    slot.send()
    assert slot.out
    slot.heard = 0.0
    got = bytearray()
    while got.count(b"\n") < 2:
        got += wire.recv(PIECE)
        slot.send()
    assert [json.loads(line)["m"] for line in got.splitlines()] == [1, 2]
    assert slot.heard > 0.0


NONSENSE = {
    "no json": b"nonsense\n",
    "another's words": b'{"hello": 1}\n',
    "an answer to nothing": b"[[7,0,[1.0]]]\n",
    "an answer to no call": b"[[1,5,[1.0]]]\n",
    "too many values": b"[[1,0,[1.0,1.0]]]\n",
    "no value": b'[[1,0,["1.0"]]]\n',
    "depth": b"[" * 10**5 + b"\n",
}


@pytest.mark.parametrize("data", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_ends_it_and_is_the_fault_of_the_first_call_without_an_answer(
    data: bytes, ends: tuple[Slot, socket.socket]
) -> None:
    slot, wire = ends
    task = singles(job(2), 1, 0)
    slot.ask(task)
    slot.progress.mark[0], slot.progress.since[0] = 1 * CALLS + 1, time.monotonic()
    wire.sendall(data)
    slot.receive()
    assert (slot.state, slot.end) == ("gone", "it wrote what is no answer")
    blamed = slot.blamed()
    assert blamed is not None
    assert (blamed.call, blamed.sure) == (task.calls[0], False)


def test_a_flood_without_a_line_s_end_is_cut_off(ends: tuple[Slot, socket.socket]) -> None:
    slot, wire = ends
    slot.lines.longest = 10 * PIECE
    assert slot.lines.longest < LONGEST_LINE
    wire.setblocking(False)
    sent = 0
    while slot.state != "gone" and sent < 99:
        try:
            wire.send(b"x" * PIECE)
            sent += 1
        except BlockingIOError:
            slot.receive()
    assert slot.garbled


def test_the_call_that_it_is_in_is_to_blame_for_its_end(ends: tuple[Slot, socket.socket]) -> None:
    slot, wire = ends
    first, second = singles(job(2), 0, 1), singles(job(2), 0, 1)
    slot.ask(first)
    slot.ask(second)
    slot.progress.since[0], slot.progress.mark[0] = time.monotonic() - 2.0, 2 * CALLS + 1
    say(wire, {"ended": -9})
    slot.receive()
    assert slot.end == "its process was ended by signal 9"
    blamed = slot.blamed()
    assert blamed is not None
    assert (blamed.task, blamed.call, blamed.sure) == (second, second.calls[1], False)
    assert 2.0 <= blamed.spent < 3.0


def test_only_of_its_very_first_call_is_it_sure_that_nothing_else_was_the_cause(
    ends: tuple[Slot, socket.socket],
) -> None:
    slot, _ = ends
    task = singles(job(2), 0, 1)
    slot.ask(task)
    for place, sure in ((0, True), (1, False)):
        slot.progress.since[0], slot.progress.mark[0] = time.monotonic(), 1 * CALLS + place
        blamed = slot.blamed()
        assert blamed is not None
        assert (blamed.call, blamed.sure) == (task.calls[place], sure)


def test_one_that_dies_between_calls_is_the_fault_of_the_first_without_an_answer(
    ends: tuple[Slot, socket.socket],
) -> None:
    slot, wire = ends
    task = singles(job(2), 0, 1)
    slot.ask(task)
    say(wire, [[1, 0, [1.0]]])
    wire.shutdown(socket.SHUT_WR)
    slot.receive()
    slot.receive()
    assert slot.end == "it ended"
    assert slot.blamed() == Blame(task, task.calls[1], 0.0, sure=False)


def test_one_that_retires_or_had_nothing_to_do_blames_nobody(ends: tuple[Slot, socket.socket]) -> None:
    slot, wire = ends
    assert slot.blamed() is None
    slot.ask(singles(job(1), 0))
    say(wire, {"retire": "its memory grew"})
    slot.receive()
    assert (slot.end, slot.told, slot.blamed()) == ("its memory grew", True, None)


def test_it_is_ready_when_it_says_what_it_found(ends: tuple[Slot, socket.socket]) -> None:
    slot, wire = ends
    assert slot.state == "starting"
    say(wire, {"ready": [{"name": "f"}]})
    slot.receive()
    assert (slot.state, slot.said) == ("ready", [{"name": "f"}])


def test_its_pace_follows_its_answers(ends: tuple[Slot, socket.socket]) -> None:
    slot, wire = ends
    assert slot.pace == math.inf
    slot.ask(singles(job(4), 0, 1, 2, 3))
    assert slot.load() == math.inf
    slot.heard = time.monotonic() - 1.0
    say(wire, [[1, 0, [1.0]], [1, 1, [1.0]]])
    slot.receive()
    assert 0.5 <= slot.pace < 1.0
    assert slot.load() == 2 * slot.pace


def test_a_call_counts_as_running_only_between_its_start_and_its_answer(ends: tuple[Slot, socket.socket]) -> None:
    slot, wire = ends
    task = singles(job(2), 0, 1)
    slot.ask(task)
    assert slot.running() is None
    slot.progress.since[0], slot.progress.mark[0] = 5.0, 1 * CALLS
    assert slot.running() == (task, 0, 5.0)
    say(wire, [[1, 0, [1.0]]])
    slot.receive()
    assert slot.running() is None
    slot.progress.since[0], slot.progress.mark[0] = IDLE, 1 * CALLS + 1
    assert slot.running() is None


def test_an_end_is_told_by_its_status() -> None:
    assert how_it_ended(3) == "it ended its process (exit code 3)"
    assert how_it_ended(-11) == "its process was ended by signal 11"
