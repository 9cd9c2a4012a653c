"""A rank that dies is told of by name, and one that leaves in good order is not."""

from __future__ import annotations

import os
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from strop.errors import ConfigError
from strop.policy.alive import KEY, Alive, _accepted


class Store:
    """What ranks share: `get` waits until somebody has set it."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.there = threading.Event()

    def set(self, key: str, value: str) -> None:
        self.values[key] = value
        self.there.set()

    def get(self, key: str) -> str:
        assert self.there.wait(10)
        return self.values[key]


@contextmanager
def three() -> Iterator[tuple[list[Alive], queue.Queue[tuple[int, str]]]]:
    """Three ranks in one process; what each hears of a death lands in the queue as (who heard, name)."""
    store, heard = Store(), queue.Queue[tuple[int, str]]()
    found: dict[int, Alive] = {}

    def join(rank: int) -> None:
        lost = lambda name: heard.put((rank, name))  # noqa: E731
        found[rank] = Alive.watching(store, rank=rank, ranks=3, address="127.0.0.1", lost=lost)

    threads = [threading.Thread(target=join, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    ranks = [found[rank] for rank in range(3)]
    yield ranks, heard
    for alive in ranks:
        cut(alive)
    for thread in threading.enumerate():
        if thread.name == "strop-alive":
            thread.join(10)
    for alive in ranks:
        for connection in alive.names:
            connection.close()


def cut(alive: Alive) -> None:
    """What the kernel does to the connections of a process that ends; the process itself hears no more."""
    alive.left = True
    for connection in alive.names:
        with suppress(OSError):  # the other end was cut before
            connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_the_others_hear_which_rank_died(victim: int) -> None:
    with three() as (ranks, heard):
        cut(ranks[victim])
        told = dict(heard.get(timeout=10) for _ in range(2))
        assert set(told) == {0, 1, 2} - {victim}
        assert all(name.startswith(f"rank {victim} (process ") for name in told.values())


def test_whoever_leaves_in_good_order_is_not_mourned() -> None:
    with three() as (ranks, heard):
        for alive in ranks:
            alive.leave()
        for alive in ranks:
            cut(alive)
        time.sleep(0.2)
        assert heard.empty()


def test_whoever_falls_is_named_though_its_process_goes_on() -> None:
    with three() as (ranks, heard):
        ranks[1].fall()
        told = dict(heard.get(timeout=10) for _ in range(2))
        assert set(told) == {0, 2} and all(name.startswith("rank 1 (process ") for name in told.values())


def test_a_forked_child_lets_go_of_the_connections() -> None:
    """A worker that a reward forked would keep them open after its rank had died."""
    with three() as (ranks, _):
        child = os.fork()
        if child == 0:
            os._exit(sum(connection.fileno() != -1 for alive in ranks for connection in alive.names))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert all(connection.fileno() != -1 for alive in ranks for connection in alive.names)


def test_a_rank_that_does_not_come_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strop.policy.alive.JOIN_S", 0.1)
    with pytest.raises(ConfigError, match="only 1 of 3 ranks came within 0 s: is 127.0.0.1 the address of rank 0"):
        _accepted(Store(), "rank 0", 3, "127.0.0.1", "")


def test_a_stranger_without_the_secret_is_not_let_in() -> None:
    store, found = Store(), queue.Queue[int]()

    def accept() -> None:
        names = _accepted(store, "rank 0", 2, "127.0.0.1", "127.0.0.1")
        for connection in names:
            connection.close()
        found.put(len(names))

    threading.Thread(target=accept, daemon=True).start()
    import json

    there = json.loads(store.get(KEY))
    with socket.create_connection((there["host"], there["port"]), timeout=10) as stranger:
        stranger.sendall("wröng rank 1\n".encode())
        assert stranger.recv(1) == b""
    with socket.create_connection((there["host"], there["port"]), timeout=10) as friend:
        friend.sendall(f"{there['secret']} rank 1\n".encode())
        assert friend.recv(7) == b"welcome"
        assert found.get(timeout=10) == 1
