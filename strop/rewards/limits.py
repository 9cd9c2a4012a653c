"""What the system is asked for to hold a reward: limits of its memory, an end with its parent, and no process left.

A process that leaves its parent is given to the nearest ancestor that adopts orphans, so whoever adopts can end every
process that came from a reward, whatever group or session it moved to. Other systems than Linux have no such
adoption: there a process group is ended, and what left it is not found.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Collection

LINUX = sys.platform == "linux"
SET_DEATH_SIGNAL, SET_ADOPTION = 1, 36
"""Options of prctl."""
ARENAS = -8
"""Option of mallopt: how many pools threads have. Each takes addresses by the 64 MiB, used or not."""
ROUNDS = 50
GIVE_UP_S = 3.0


def prctl(option: int, value: int) -> None:
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def die_with(parent: int) -> None:
    """End this process when its parent, process `parent`, ends; at once, if it has ended already."""
    prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own."""
    prctl(SET_ADOPTION, 1)


def bound_memory(megabytes: int) -> None:
    """Let this process take `megabytes` MiB of addresses more than it has now, and write no core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if LINUX:
        ctypes.CDLL(None).mallopt(ARENAS, 2)
        most = address_space() + megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def address_space() -> int:
    """Bytes of addresses that this process has; 0 where the system does not say."""
    if not LINUX:
        return 0
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def threads() -> int:
    """Native threads of this process; 1 where the system does not say."""
    return len(os.listdir("/proc/self/task")) if LINUX else 1


def children(parent: int) -> list[int]:
    """The processes whose parent it is, those that have ended and not been waited for included."""
    if not LINUX:
        return []
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{thread}/children", "rb") as file:
                found.extend(map(int, file.read().split()))
        return found
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if stat(pid)[:1] == [str(parent)]]


def stat(pid: int) -> list[str]:
    """The words of /proc/PID/stat from the parent's number on; none if the process is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[1:]
    return []


def descendants(ancestor: int) -> list[int]:
    """Its children, their children, and so on."""
    found = children(ancestor)
    for pid in found:
        found.extend(children(pid))
    return found


def wanted_seconds(pids: Collection[int], *, apart: int = 0) -> float:
    """Seconds that the threads of these processes have run, or waited to run; thread `apart` and those gone count 0.

    So a thread that spins counts the time that passes, however busy the machine is, and one that rests counts none.
    """
    found = 0.0
    for pid in pids:
        with contextlib.suppress(OSError):
            found += sum(scheduled(pid, thread) for thread in os.listdir(f"/proc/{pid}/task") if int(thread) != apart)
    return found


def scheduled(pid: int, thread: str) -> float:
    """Seconds that a thread has run and waited to run; where the system does not count that, those it has run."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as file:
        return sum(map(int, file.read().split()[:2])) / 1e9
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def end(ancestor: int) -> None:
    """Kill a process and all its descendants. They are stopped first, so that none is born meanwhile."""
    if not LINUX:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(ancestor, signal.SIGKILL)
        return
    seen: set[int] = set()
    for _ in range(ROUNDS):
        new = {ancestor, *descendants(ancestor)} - seen
        if not new:
            break
        for pid in new:
            send(pid, signal.SIGSTOP)
        seen |= new
    for pid in seen:
        send(pid, signal.SIGKILL)


def end_strays(own: Collection[int] = ()) -> bool:
    """Kill every descendant that is not `own` or a descendant of theirs, and wait for it; -> whether all are gone."""
    until = time.monotonic() + GIVE_UP_S
    while strays := set(children(os.getpid())).difference(own):
        for pid in strays:
            end(pid)
        reap(own)
        if time.monotonic() > until:
            return False
        time.sleep(0.001)
    return True


def reap(own: Collection[int] = ()) -> None:
    """Wait for all children that have ended, without waiting for any to end; those in `own` are left to their owner."""
    for pid in set(children(os.getpid())).difference(own):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
