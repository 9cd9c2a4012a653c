"""A place where a program can do no harm: bubblewrap, or, only at the word `unsafe`, none.

    auto      bubblewrap >= 0.8 on Linux >= 5.14; where that cannot be had an error, never less
    unsafe    the program runs as the user who runs strop, with that user's files and network

In bubblewrap a program has no network, no process but its own, no environment, and of files only /usr, the library of
this Python and its installed packages, all read-only, and a small /tmp of its own. It runs as nobody: as another user
of the host if strop runs as root. strop.rewards.sandbox_filter lists the system calls that it may not make.
"""

from __future__ import annotations

import json
import os
import platform
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from strop.errors import ConfigError, RewardError
from strop.rewards.sandbox_filter import MACHINES, seccomp
from strop.rewards.sandbox_view import lone_user, packages, python, view

Kind = Literal["auto", "unsafe"]
Why = Literal["late", "died", "flood"]

INSTALL = "apt-get install bubblewrap"
UNSAFE = "task.scoring.sandbox: unsafe"
OLDEST, OLDEST_LINUX = (0, 8), (5, 14)
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONINTMAXSTRDIGITS": "0",
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}
"""All that a program sees of an environment. The same program does the same twice: its hashes are not salted."""

MiB = 2**20
ANSWER = 2 * MiB
"""Bytes that an answer may have which the program writes itself."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use: seconds of CPU, MB of address space, of /tmp in all, of one file or output; threads."""

    cpu_s: int = 10
    memory_mb: int = 1024
    files_mb: int = 64
    output_mb: int = 8
    threads: int = 32

    def record(self, kind: Kind) -> dict[str, int]:
        """The limits by the names of `setrlimit`. NOFILE leaves room for the pipes to strop, NPROC for what holds them.

        Without a sandbox NPROC would count whatever the user runs, so it is left out.
        """
        bytes_of = {"AS": self.memory_mb, "FSIZE": self.output_mb}
        record = {"CPU": self.cpu_s, "NOFILE": 64, "CORE": 0} | {name: mb * MiB for name, mb in bytes_of.items()}
        return record | ({"NPROC": self.threads + 4} if kind == "auto" else {})


class Ended(Exception):
    """A program gave no answer: it was late, it died, or it wrote too much. A verdict on the program, not a fault."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why = why


class Session:
    """A program in a sandbox, which answers one request at a time until it is closed."""

    def __init__(self, process: subprocess.Popen[bytes], folder: str = "") -> None:
        self.process, self.folder, self.read, self.owned = process, folder, bytearray(), False
        assert process.stdin and process.stdout and process.stderr  # noqa: S101
        self.stdin, self.stdout, self.stderr = process.stdin, process.stdout, process.stderr
        for pipe in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(pipe.fileno(), False)

    def ask(self, message: dict[str, Any], until: float, most: int = ANSWER) -> dict[str, Any]:
        """The answer to a request, of at most so many bytes, there before `time.monotonic()` is `until`.

        Raises:
            Ended: there is none.
            RewardError: the sandbox says that it failed.
        """
        sending = memoryview(json.dumps(message).encode() + b"\n")
        with selectors.DefaultSelector() as ready:
            ready.register(self.stdout, selectors.EVENT_READ)
            ready.register(self.stdin, selectors.EVENT_WRITE)
            while not self.read.endswith(b"\n"):
                events = ready.select(max(0.0, until - time.monotonic()))
                if not events:
                    raise Ended("late")
                if any(key.fileobj is self.stdout for key, _ in events):
                    self.take(most)
                    continue
                sending = self.give(sending)
                if not sending:
                    ready.unregister(self.stdin)
        line, self.read = self.read, bytearray()
        return checked(line, self.owned)

    def hand_over(self, until: float) -> None:
        """Leave the process that answers to the program: from here on every answer is the program's own word."""
        self.ask({"confine": True}, until)
        self.owned = True

    def give(self, sending: memoryview) -> memoryview:
        """Send what fits into the pipe; what is left."""
        try:
            return sending[os.write(self.stdin.fileno(), sending) :]
        except BrokenPipeError as error:
            raise Ended("died") from error

    def take(self, most: int) -> None:
        found = os.read(self.stdout.fileno(), MiB)
        self.read += found
        if not found:
            raise Ended("died")
        if len(self.read) > most:
            raise Ended("flood")

    def said(self) -> str:
        """The last line that was written to stderr, before the program was there."""
        try:
            lines = os.read(self.stderr.fileno(), MiB).decode("utf-8", "replace").strip().splitlines()
        except BlockingIOError:
            return ""
        return lines[-1] if lines else ""

    def close(self) -> None:
        """End the program and all that it started. A bubblewrap that is still at its beginning is two processes."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.stdin, self.stdout, self.stderr):
            pipe.close()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def checked(line: bytearray, owned: bool) -> dict[str, Any]:
    """What an answer says; one that says nothing, because the program wrote among it, is none.

    Raises:
        Ended: it is none.
        RewardError: the sandbox failed. A program that owns the process and says so has ended.
    """
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Ended("died") from error
    if not isinstance(found, dict) or (owned and "failed" in found):
        raise Ended("died")
    if "failed" in found:
        raise RewardError(f"sandbox: it failed: {found['failed']}")
    return found


def start(program: str, kind: Kind, *, limits: Limits, until: float) -> Session:
    """A session with a program, which has not begun to run.

    Raises:
        RewardError: the sandbox did not start, or not before `time.monotonic()` was `until`: no verdict on the program.
    """
    if kind not in ("auto", "unsafe"):
        raise ConfigError(f"task.scoring.sandbox: {kind!r} is none; write auto, or unsafe to go without")
    command, uid, words, folder = [python(), "-s", "-S", "-P", "-B", "-X", "utf8", "-c", inside()], 0, b"", ""
    if kind == "auto":
        wrapper, uid, words = bubblewrap(), lone_user(), seccomp(platform.machine())
        command = [wrapper, *view(limits.files_mb, as_root=uid > 0), "--", *command]
    else:
        folder = tempfile.mkdtemp(prefix="strop-")
    try:
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            cwd=folder or "/",
            start_new_session=True,
        )
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RewardError(f"sandbox: it did not start: {error}") from error
    session = Session(process, folder)
    first = {"program": program, "uid": uid, "filter": words.hex(), "packages": packages()}
    try:
        session.ask({**first, "limits": limits.record(kind)}, until)
    except Ended as ended:
        said = "it took too long" if ended.why == "late" else session.said()
        session.close()
        raise RewardError(f"sandbox: it did not start: {said or 'without a word'}") from ended
    except RewardError:
        session.close()
        raise
    return session


@cache
def inside() -> str:
    return (Path(__file__).parent / "inside.py").read_text(encoding="utf-8")


@cache
def bubblewrap() -> str:
    """The path of a bubblewrap that will do.

    Raises:
        ConfigError: there is none here.
    """
    refusal = f"task.scoring.sandbox: {{}}; or write {UNSAFE}"
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        here = f"{platform.system()} on {platform.machine()}"
        raise ConfigError(refusal.format(f"the sandbox needs Linux on {' or '.join(MACHINES)}, and this is {here}"))
    found = shutil.which("bwrap")
    if found is None:
        raise ConfigError(refusal.format(f"programs are run in bubblewrap, which is not here: {INSTALL}"))
    if version(platform.release()) < OLDEST_LINUX:
        raise ConfigError(refusal.format(f"the sandbox needs Linux 5.14 or newer, and this is {platform.release()}"))
    number = release(found)
    if version(number) < OLDEST:
        raise ConfigError(refusal.format(f"the sandbox needs bubblewrap 0.8 or newer, and {found} is {number}"))
    return found


def release(path: str) -> str:
    """What a bubblewrap says its version is: "0.8.0"."""
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, env={})  # noqa: S603
    return done.stdout.split()[-1] if done.stdout.strip() else "of no version"


def version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


def require(kind: Kind) -> None:
    """Nothing, if programs can be run here as `kind` says: one is, as a trial.

    Raises:
        ConfigError: they cannot; the message says what to do.
    """
    try:
        with start("print(6 * 7)", kind, limits=Limits(), until=time.monotonic() + 30) as session:
            answer = session.ask({"input": "", "seconds": 20}, time.monotonic() + 30)
    except (RewardError, Ended) as error:
        raise ConfigError(
            f"task.scoring.sandbox: bubblewrap is here and cannot make a sandbox: {error}. A container must allow it "
            "to (docker run --cap-add SYS_ADMIN, or --security-opt seccomp=unconfined), Ubuntu 24.04 too (sysctl "
            f"kernel.apparmor_restrict_unprivileged_userns=0); or write {UNSAFE}"
        ) from error
    if answer["output"] != "42\n":
        raise ConfigError(f"task.scoring.sandbox: a program printed {answer} for 42; write {UNSAFE} to go without")


def describe(kind: Kind) -> str:
    """How programs are run, for the header of a run and the card of a model."""
    if kind == "unsafe":
        return "UNSAFE: programs that the model writes run as this user, with this user's files and network"
    return (
        f"bubblewrap {release(bubblewrap())}: no network, no files but libraries, no other process, a user of its own"
    )
