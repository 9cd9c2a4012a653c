"""The process that a run's workers are forked from, and that ends them: it runs no reward itself.

run -> nursery     FORK slot (with the worker's wire and progress)     KILL slot     or the socket closes: all end
nursery -> run     {"forks": why it may fork warm, or not}, once, as a line

    run ---- nursery -+- keeper --- worker --- whatever the reward starts
                      '- keeper --- worker

A worker is forked when the rewards have been imported, so a new one is there in milliseconds. A keeper stands between:
a reward that kills its parent kills only that. Keepers and the nursery adopt what leaves its parent, so nothing that
came from a worker outlives it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from strop.errors import ConfigError
from strop.rewards import limits
from strop.rewards.find import Reward
from strop.rewards.wire import Progress, decode
from strop.rewards.worker import Setup, line, live, load

FORK, KILL = 1, 2
COMMAND = struct.Struct("<II")
"""What to do, and the slot."""
LOOK_MS = 1_000
PRINTED = 2**14
"""Bytes that one worker's rewards may print; the rest is dropped."""
PIECE = 4096
"""A pipe that takes anything takes this much without blocking."""

Find = Callable[[], list[Reward]]


def serve(control: socket.socket, setup: Setup, find: Find, *, warm: bool) -> None:
    """Fork and kill workers as the run says, until it closes the socket or ends; then end every one."""
    limits.adopt_orphans()
    os.environ.update(setup.environment())
    parent, before = os.getppid(), sockets()
    try:
        found = find() if warm else None
        control.sendall(line({"cold": "" if found is None else why_cold(before)}))
    except ConfigError as error:
        control.sendall(line({"refused": str(error)}))
        return
    gc.freeze()
    keepers: dict[int, int] = {}
    with contextlib.suppress(ConnectionError):
        while command := received(control, parent):
            (word, slot), descriptors = command
            if word == FORK:
                keepers[slot] = forked(control, descriptors, setup, find if found is None else lambda: found)
            elif slot in keepers:
                end_keeper(keepers.pop(slot))
                limits.end_strays(keepers.values())
    for pid in keepers.values():
        limits.end(pid)
    limits.end_strays()


def why_cold(before: set[str]) -> str:
    """Why a process that has imported the rewards cannot be forked safely; "" if it can."""
    if max(limits.threads(), threading.active_count()) > 1:
        return "its import started a thread"
    if sockets() - before:
        return "its import opened a connection"
    return "its import started a process" if limits.children(os.getpid()) else ""


def sockets() -> set[str]:
    """The sockets that this process has open."""
    found: set[str] = set()
    for name in os.listdir("/proc/self/fd") if limits.LINUX else ():
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{name}"))
    return {name for name in found if name.startswith("socket:")}


def received(control: socket.socket, parent: int) -> tuple[tuple[int, int], list[int]] | None:
    """The next command and the descriptors that came with it; None once the run has closed the socket or ended."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while not poll.poll(LOOK_MS):
        limits.reap()
        if os.getppid() != parent:
            return None
    data, descriptors, _, _ = socket.recv_fds(control, COMMAND.size, 2)
    return (COMMAND.unpack(data), descriptors) if len(data) == COMMAND.size else None


def forked(control: socket.socket, descriptors: list[int], setup: Setup, find: Find) -> int:
    """The keeper of a new worker."""
    nursery = os.getpid()
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        return pid
    in_child(lambda: keep(nursery, control, descriptors, setup, find))
    raise AssertionError("a child does not return")


def in_child(live_it: Callable[[], None]) -> None:
    """Run the life of a forked process, and end it without the parent's own ways of ending."""
    status = 1
    try:
        live_it()
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


def end_keeper(pid: int) -> None:
    limits.end(pid)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def keep(nursery: int, control: socket.socket, descriptors: list[int], setup: Setup, find: Find) -> None:
    """Fork a worker, pass on the beginning of what it prints, say how it ended, and end what it left."""
    limits.die_with(nursery)
    limits.adopt_orphans()
    os.setsid()
    control.close()
    reader, writer = os.pipe()
    keeper = os.getpid()
    worker = os.fork()
    if not worker:
        os.close(reader)
        in_child(lambda: work(keeper, descriptors, writer, setup, find))
    os.close(writer)
    wire, shared = descriptors
    os.close(shared)
    status = watch(worker, reader)
    with contextlib.suppress(OSError), socket.socket(fileno=wire) as last:
        last.sendall(b"\n" + line({"ended": status}))
    limits.end_strays()


def work(keeper: int, descriptors: list[int], writer: int, setup: Setup, find: Find) -> None:
    """The worker: a session of its own where it is found by its keeper, nothing to read, and the keeper to print to."""
    limits.die_with(keeper)
    if limits.LINUX:
        os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (writer, 1), (writer, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(writer)
    sys.stdout = sys.stderr = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    wire, shared = descriptors
    live(socket.socket(fileno=wire), Progress(shared), find, setup)


def watch(worker: int, reader: int) -> int:
    """Pass on what the worker prints until it has ended; -> its exit status, negative for a signal."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    if limits.LINUX:
        poll.register(os.pidfd_open(worker), select.POLLIN)
    left = PRINTED
    while True:
        ready = dict(poll.poll(LOOK_MS if limits.LINUX else 20))
        if ready.get(reader, 0) & select.POLLIN:
            left = passed_on(os.read(reader, PIECE), left)
        elif reader in ready:
            poll.unregister(reader)
        limits.reap({worker})
        pid, status = os.waitpid(worker, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)


def passed_on(data: bytes, left: int) -> int:
    """Print at most `left` bytes of what a reward printed on stderr, if that can be done at once; -> what is left."""
    if left <= 0 or not data:
        return left
    ready = select.poll()
    ready.register(2, select.POLLOUT)
    text = "".join(
        mark if mark.isprintable() or mark in "\n\t" else "\ufffd" for mark in data[:left].decode("utf-8", "replace")
    )
    note = "\nstrop: what this reward prints beyond this is dropped\n" if len(data) >= left else ""
    if ready.poll(0):
        with contextlib.suppress(OSError):
            os.write(2, (text + note).encode("utf-8", "replace")[:PIECE])
    return left - len(data)


def no_stop(number: int, frame: Any) -> None:
    """Ctrl-C and SIGTERM are for the run, which closes its workers when it has saved what it must."""


def main() -> None:
    """The nursery started as a program. Its argument is the control socket, whose first line is the setup."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, no_stop)
    control = socket.socket(fileno=int(sys.argv[1]))
    given = decode(b"".join(iter(lambda: control.recv(1), b"\n")))
    for name, value in given["environment"].items():
        os.environ.pop(name, None) if value is None else os.environ.update({name: value})
    lists = {key: tuple(given["setup"][key]) for key in ("uses", "path")}
    setup = Setup(**given["setup"] | lists)
    sys.path[:] = setup.path
    serve(control, setup, lambda: load(setup), warm=given["warm"])
