"""A process and whatever came from it ends; what it may take is bounded; what leaves its parent is found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from strop.rewards import limits
from tests.rewards.hostile_kinds import child, daemon


def apart(code: str, **how: Any) -> subprocess.CompletedProcess[str]:
    """A Python of its own that runs `code` with this test's helpers."""
    names = "from tests.rewards.hostile_time import *\nfrom tests.rewards.hostile_processes import *"
    text = f"import os, socket, sys, threading, time\nfrom strop.rewards import limits\n{names}\n{code}"
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False, **how)


def state(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_memory_is_bounded_from_where_the_process_stands() -> None:
    done = apart(
        "limits.bound_memory(64)\nfirst = bytearray(2**25)\n"
        "try:\n    bytearray(2**26)\nexcept MemoryError:\n    print('no')"
    )
    assert done.stdout == "no\n"


def test_threads_fit_into_a_bound_that_their_stacks_fit_into() -> None:
    done = apart("limits.bound_memory(512)\nleaves_sleeping_threads()\nprint(limits.threads())")
    assert done.stdout == "25\n"


def test_the_address_space_and_the_threads_are_this_process_s() -> None:
    before = limits.address_space()
    taken = bytearray(2**26)
    assert limits.address_space() - before >= len(taken)
    assert limits.threads() == len(os.listdir("/proc/self/task"))


def test_a_process_ends_with_its_parent() -> None:
    done = apart(
        "pid = child(lambda: (limits.die_with(os.getppid()), time.sleep(60)))\n"
        "time.sleep(0.3)\nprint(pid, flush=True)\nos.kill(os.getpid(), 9)"
    )
    pid = int(done.stdout)
    until = time.monotonic() + 5
    while os.path.exists(f"/proc/{pid}") and state(pid) != "Z":
        assert time.monotonic() < until
        time.sleep(0.01)


def rest() -> None:
    time.sleep(60)


FAMILIES: dict[str, Callable[[], Any]] = {
    "children": lambda: [child(rest) for _ in range(5)],
    "daemon": lambda: daemon(rest),
    "generations": lambda: daemon(lambda: (child(rest), daemon(rest), rest())),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_all_that_came_from_a_process_ends_with_it_wherever_it_went(family: str) -> None:
    done = apart(
        f"""
from tests.rewards.test_limits import FAMILIES
limits.adopt_orphans()
keep = child(lambda: time.sleep(60))
pid = child(lambda: (limits.adopt_orphans(), FAMILIES[{family!r}](), time.sleep(60)))
time.sleep(0.5)
print(len(limits.descendants(pid)) > 0, end=" ")
limits.end(pid)
print(limits.end_strays([keep]), limits.children(os.getpid()) == [keep])
limits.end(keep)
"""
    )
    assert done.stdout == "True True True\n", done.stderr


def test_a_process_that_runs_from_one_to_the_next_is_caught() -> None:
    done = apart(
        "limits.adopt_orphans()\npid = child(runs_from_process_to_process)\ntime.sleep(0.5)\n"
        "limits.end(pid)\nprint(limits.end_strays(), limits.children(os.getpid()))"
    )
    assert done.stdout == "True []\n", done.stderr


def test_all_are_stopped_before_the_first_is_killed_so_that_none_is_born_meanwhile() -> None:
    code = """
sent = []
really = limits.send
limits.send = lambda pid, number: (sent.append(number), really(pid, number))
limits.adopt_orphans()
pid = child(lambda: (child(lambda: time.sleep(60)), child(lambda: time.sleep(60)), time.sleep(60)))
time.sleep(0.3)
limits.end(pid)
print(sent == [signal.SIGSTOP] * 3 + [signal.SIGKILL] * 3, limits.end_strays())
"""
    assert apart("import signal" + code).stdout == "True True\n"


def test_what_spins_wants_all_the_time_that_passes_however_busy_the_machine_is() -> None:
    done = apart(
        "pids = [*(child(spin) for _ in range(6)), child(lambda: time.sleep(60))]\ntime.sleep(0.3)\n"
        "before, start = [limits.wanted_seconds([pid]) for pid in pids], time.monotonic()\ntime.sleep(0.3)\n"
        "shares = [(limits.wanted_seconds([pid]) - b) / (time.monotonic() - start) for pid, b in zip(pids, before)]\n"
        "print(*(share > 0.5 for share in shares), limits.wanted_seconds([2**22 + 5]))\n"
        "[limits.end(pid) for pid in pids]"
    )
    assert done.stdout == "True " * 6 + "False 0.0\n", done.stderr


def test_one_thread_of_a_process_may_be_left_out() -> None:
    done = apart(
        "until = time.monotonic() + 0.2\nwhile time.monotonic() < until: pass\n"
        "me = os.getpid()\nprint(limits.wanted_seconds([me]) > 0.15, limits.wanted_seconds([me], apart=me) < 0.1)"
    )
    assert done.stdout == "True True\n", done.stderr


def test_a_signal_to_a_process_that_is_gone_is_no_error() -> None:
    pid = child(lambda: None)
    os.waitpid(pid, 0)
    limits.send(pid, signal.SIGKILL)
    assert limits.stat(pid) == []
