"""What the tests of programs in a sandbox share: the notice where there is none, and a program run once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from strop.rewards.sandbox import INSTALL, Kind, Limits, start
from tests.rewards import probes

ROOT = Path(__file__).parents[2]
PLAIN_USER = 12_345
PYTHONS = (sys.executable, "/usr/bin/python3")

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason=f"NOTICE: the sandbox is not tested here, for want of it: {INSTALL}"
)


def ran(
    program: str, given: str = "", kind: Kind = "auto", seconds: float = 20.0, limits: Limits | None = None
) -> dict[str, Any]:
    """What a program makes of one input."""
    until = time.monotonic() + 60
    with start(program, kind, limits=limits or Limits(), until=until) as session:
        return session.ask({"input": given, "seconds": seconds}, until, 64 << 20)


def as_user(who: str, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command as root or as a plain user, wherever strop's own source can be read."""
    lowered = (
        {"user": PLAIN_USER, "group": PLAIN_USER, "extra_groups": []} if who == "user" and os.geteuid() == 0 else {}
    )
    environment |= {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False, **lowered)


@cache
def python_of(who: str) -> str:
    """A Python that this user can run and that reads strop's source."""
    if who == "root" and os.geteuid() != 0:
        pytest.skip("NOTICE: this suite does not run as root, so the sandbox is not tested as root")
    for python in PYTHONS:
        try:
            done = as_user(who, [python, "-c", "import strop.rewards.sandbox"])
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.skip("NOTICE: no Python >= 3.11 that a plain user can run, so the sandbox is not tested as a user")


@cache
def found(who: str, where: str) -> dict[str, str]:
    done = as_user(who, [python_of(who), str(ROOT / "tests/rewards/probes.py"), where], STROP_PROBE=probes.SECRET)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def below(ancestor: int) -> set[int]:
    """The processes that descend from one, from /proc."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    known = {ancestor}
    while more := {pid for pid, parent in parents.items() if parent in known} - known:
        known |= more
    return known


def marked(mark: str) -> set[int]:
    """The processes that have this in their environment."""
    pids = set[int]()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            pids |= {int(path.parent.name)} if mark.encode() in path.read_bytes() else set()
        except OSError:
            continue
    return pids


def gone(pids: set[int], seconds: float = 5.0) -> bool:
    """Whether these processes end; one that has ended and that nobody has waited for counts as gone."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and any(map(runs, pids)):
        time.sleep(0.01)
    return not any(map(runs, pids))


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
