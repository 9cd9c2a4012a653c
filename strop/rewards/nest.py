"""The nursery of a run's workers as the run sees it: started as a program, or forked with a function in its memory.

A function that was handed over from Python has no name to import it by, so its nursery is forked. That is done only
while no other Python thread runs, which might hold a lock that no one would ever give back in the child. Native
threads that torch or a mathematics library keeps idle are no such danger: what they share with the child (the
allocator, the libraries' own pools) is made for fork, save OpenMP's pool, and the child uses one thread of it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from strop.errors import ConfigError
from strop.rewards.find import Reward
from strop.rewards.nursery import COMMAND, FORK, KILL, in_child, no_stop, serve
from strop.rewards.wire import Progress
from strop.rewards.worker import Setup

START_S = 300.0
"""How long rewards may take to be imported."""
END_S = 5.0
ROOT = str(Path(__file__).parents[2])
"""Where strop is imported from."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""One thread each in a worker, unless the environment says otherwise: workers are the parallel part."""
IDLE_THREADS = ("tqdm._monitor.TMonitor",)
"""Python threads that sleep, and hold no lock while they do."""


class Nest:
    """Forks and kills workers through the nursery. `cold` says why none is forked with its rewards imported."""

    def __init__(self, control: socket.socket, pid: int, wait: Callable[[], bool]) -> None:
        self.control, self.pid, self.owner, self.ended = control, pid, os.getpid(), wait
        self.cold = ""

    def greeted(self, names: str) -> Nest:
        """This nest, once the nursery has said that it is there.

        Raises:
            ConfigError: a reward cannot be found, imported or called; or its import ended the process, or never ends.
        """
        self.control.settimeout(START_S)
        try:
            text = b"".join(iter(lambda: self.control.recv(1) or b"\n", b"\n"))
        except TimeoutError as error:
            self.close()
            raise ConfigError(f"task.reward: {names}: its import takes more than {START_S:g} s") from error
        self.control.settimeout(None)
        said = json.loads(text or '{"refused": ""}')
        if "refused" in said:
            self.close()
            raise ConfigError(said["refused"] or f"task.reward: {names}: its import ended the process it ran in")
        self.cold = said["cold"]
        return self

    def fork(self, slot: int) -> tuple[socket.socket, Progress]:
        """A new worker's wire and clock. A nursery that has ended gives a wire that has ended."""
        ours, theirs = socket.socketpair()
        progress = Progress()
        with theirs, suppress(OSError):
            socket.send_fds(self.control, [COMMAND.pack(FORK, slot)], [theirs.fileno(), progress.descriptor])
        return ours, progress

    def kill(self, slot: int) -> None:
        """End a worker and everything that came from it."""
        with suppress(OSError):
            self.control.sendall(COMMAND.pack(KILL, slot))

    def close(self) -> None:
        """End all workers and the nursery; nothing in a process that was forked from the run."""
        if self.owner != os.getpid() or self.control.fileno() < 0:
            return
        self.control.close()
        until = time.monotonic() + END_S
        while not self.ended():
            if time.monotonic() > until:
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.002)


def started(setup: Setup, *, warm: bool) -> Nest:
    """A nursery as a program of its own, which finds the rewards by name.

    warm     it imports them once, and its workers are forked with them; else each worker imports them
    """
    ours, theirs = socket.socketpair()
    paths = os.environ.get("PYTHONPATH")
    environment = {name: "1" for name in THREADS} | os.environ
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, paths)))
    with theirs:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", "strop.rewards.worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,
            start_new_session=True,
            env=environment,
        )
    with suppress(OSError):
        given = {"setup": asdict(setup), "warm": warm, "environment": {"PYTHONPATH": paths}}
        ours.sendall(json.dumps(given).encode() + b"\n")
    return Nest(ours, process.pid, lambda: process.poll() is not None)


def forked(setup: Setup, rewards: list[Reward]) -> Nest:
    """A nursery forked from this process, with the functions that it has."""
    ours, theirs = socket.socketpair()
    parent = os.getpid()

    def newborn() -> None:
        ours.close()
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, no_stop)
        if os.getppid() == parent:
            one_thread()
            serve(theirs, setup, lambda: rewards, warm=False)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 counts native threads too
        pid = os.fork()
    if not pid:
        in_child(newborn)
    theirs.close()
    return Nest(ours, pid, lambda: gone(pid))


def one_thread() -> None:
    """Let this process's torch, if it has one, start no threads."""
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def gone(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def other_threads() -> list[str]:
    """The Python threads beside this one that may hold a lock, by name."""
    me = threading.current_thread()
    kinds = {each: f"{type(each).__module__}.{type(each).__name__}" for each in threading.enumerate()}
    return [each.name for each, kind in kinds.items() if each is not me and kind not in IDLE_THREADS]
