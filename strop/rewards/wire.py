"""What passes between a run and the processes of its rewards: lines of JSON of bounded length, and a shared clock.

run     -> worker   {"m": number, "q": question, "w": [completion, ...], "calls": [[part, [place, ...]], ...]}
worker  -> run      [[number, call, [value, ...]], ...]   or   {"ready": ...}  {"refused": text}  {"retire": text}
keeper  -> run      {"ended": status}

Text that is no Unicode, half a character of a cut completion, travels as its escape. The wire is a socket of its own,
so that what a reward prints is never taken for an answer.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import sys
import tempfile
from collections.abc import Mapping
from datetime import date, datetime
from datetime import time as clock_time
from typing import Any

from strop.rewards.adapters import Question, Written
from strop.rewards.values import Value

LONGEST_LINE = 2**24
"""Bytes of a line from a worker beyond which it is no answer."""
PIECE = 2**18
IDLE = float("inf")
CALLS = 2**20
"""Calls that one message may ask for."""

encode = json.JSONEncoder(separators=(",", ":")).encode
decode = json.loads
quoted = json.encoder.encode_basestring_ascii


class TooLong(Exception):
    """A line is longer than LONGEST_LINE."""


class Lines:
    """Lines put together from pieces as they come."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self.longest, self.rest = longest, bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that are complete with this piece.

        Raises:
            TooLong: one is longer than it may be.
        """
        start = len(self.rest)
        self.rest += piece
        last = self.rest.rfind(b"\n", start)
        if len(self.rest) - last - 1 > self.longest:
            raise TooLong
        if last < 0:
            return []
        whole = bytes(self.rest[:last])
        del self.rest[: last + 1]
        return whole.split(b"\n")


class Progress:
    """What a worker is doing, in memory that it shares with the run: which call of which message, and since when.

    The worker writes the time first, then the call; a reader that finds the call unchanged around the time has both.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = shared_file() if descriptor is None else descriptor
        self.memory = mmap.mmap(self.descriptor, mmap.PAGESIZE)
        whole = memoryview(self.memory)
        self.mark, self.since = whole[:8].cast("q"), whole[8:16].cast("d")
        if descriptor is None:
            self.since[0] = IDLE

    def read(self) -> tuple[int, int, float]:
        """Message, call, and the time since when; IDLE if no call runs, or another one has just begun."""
        mark, since = self.mark[0], self.since[0]
        return (*divmod(mark, CALLS), since if self.mark[0] == mark else IDLE)

    def close(self) -> None:
        self.mark.release()
        self.since.release()
        os.close(self.descriptor)


def shared_file() -> int:
    """A file of one page in memory, which cannot grow where the system can forbid it."""
    if sys.platform != "linux":
        with tempfile.TemporaryFile() as file:
            os.ftruncate(file.fileno(), mmap.PAGESIZE)
            return os.dup(file.fileno())
    descriptor = os.memfd_create("strop-reward", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, mmap.PAGESIZE)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return descriptor


def question_line(question: Question, columns: list[str]) -> str:
    """The JSON of a question, with these columns of its row.

    Raises:
        TypeError: a column holds what JSON has no word for; the text says which.
    """
    row = {}
    for name in columns:
        try:
            row[name] = encode_column(question.columns[name])
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"the column {name!r} of prompt {question.label} cannot be handed over: {error}") from error
    inner = ",".join(f"{encode(name)}:{value}" for name, value in row.items())
    return f"[{encode(question.prompt)},{{{inner}}},{encode(question.label)}]"


def encode_column(value: Any) -> str:
    return encode(value) if isinstance(value, str | int | float | None) else json.dumps(value, default=plain)


def plain(value: Any) -> Any:
    """An array as a list, a time as its ISO text, another mapping as a dict."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, date | datetime | clock_time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"it holds {type(value).__name__}, and a reward gets texts, numbers, lists and mappings")


def written_line(written: Written, *, ids: bool) -> str:
    """The JSON of a completion, with its ids or without."""
    truncated = "true" if written.truncated else "false"
    return f"[{quoted(written.text)},{encode(written.ids) if ids else '[]'},{written.step},{truncated}]"


def value_row(value: Value) -> Any:
    """A value as JSON has it: the number alone, if there is no more to it."""
    if value.score is not None and value.accuracy is None and not value.logged and not value.answer:
        return value.score
    return [value.score, value.accuracy, value.logged, value.answer, value.error]


def value_of(row: Any) -> Value:
    """The way back.

    Raises:
        TypeError: it is no value.
    """
    if isinstance(row, float):
        return Value(row)
    score, accuracy, logged, answer, error = row
    return Value(score, accuracy, logged, str(answer), str(error))
