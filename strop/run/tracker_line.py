"""A tracker's process, and the line of JSON messages to it: one message, one answer.

call({"start": {...}})  call({"log": {...}})  call({"finish": {...}})        the answer is {} or {"error": text}
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import strop

LEAVE_S = 10.0
"""What a process is given to leave by itself once it has nothing more to do."""


class TrackerError(Exception):
    """What a tracker answered instead of taking a message, or that it is gone."""


class Line:
    """A process that is told one message at a time. One thread calls and closes; any other may kill."""

    def __init__(self, command: Sequence[str]) -> None:
        # A session of its own: Ctrl-C ends the run at a whole step, and the tracker hears of it by a message.
        self.process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=with_strop(os.environ),
            start_new_session=True,
        )
        self.into, self.out = cast("IO[str]", self.process.stdin), cast("IO[str]", self.process.stdout)

    def call(self, message: Mapping[str, Any]) -> None:
        """Returns once the tracker has done what it is told, however long that takes.

        Raises:
            TrackerError: the tracker's own error, or that its process has ended.
        """
        try:
            self.into.write(json.dumps(message) + "\n")
            self.into.flush()
            answer = self.out.readline()
        except OSError:
            answer = ""
        if not answer:
            raise TrackerError("its process has ended")
        try:
            error = json.loads(answer).get("error")
        except (ValueError, AttributeError):
            error = f"its process answered {answer[:100]!r}"
        if error:
            raise TrackerError(error)

    def close(self) -> None:
        """Let the process leave; one that has not left after LEAVE_S is killed."""
        with contextlib.suppress(OSError):  # what was not written is lost with a process that is gone
            self.into.close()
        try:
            self.process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            self.process.wait()
        self.out.close()

    def kill(self) -> None:
        """End the process at once, with all that it has started."""
        for pid in family(self.process.pid) if self.process.poll() is None else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def with_strop(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which another Python finds this strop, wherever it was imported from."""
    path = [str(Path(strop.__file__).parents[1]), environment.get("PYTHONPATH", "")]
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, path))}


def family(pid: int) -> list[int]:
    """A process and its descendants, itself last: sessions of their own, as wandb's service has, do not hide them.

    Where there is no /proc it is the process alone.
    """
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[::-1]
