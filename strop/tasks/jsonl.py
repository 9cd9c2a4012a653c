"""Prompts from a JSONL file, scored by a user's reward function."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from strop.errors import DataError
from strop.tasks.reward import Reward, columns_of
from strop.types import Completion, Message, Prompt

HELD_OUT_SHARE = 10
"""Without a held-out file, one different prompt in this many is held out."""

NUMBER = re.compile(r"(?:(?<![\w)])-)?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:/\d+)?")
"""12, -3, 1,234, 0.5, 3/4. A minus after a digit, a letter or a bracket subtracts: the last number of 2-3 is 3."""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Rows of a file in an endless stream: epoch after epoch, each in an order that follows from the seed."""

    name: str
    rows: tuple[Prompt, ...]
    held: tuple[Prompt, ...]
    reward: Reward
    seed: int

    @property
    def description(self) -> str:
        different = len({question(prompt) for prompt in self.rows})
        return f"{self.name}, {len(self.rows)} prompts to train on, {different} different"

    def prompt(self, draw: int) -> Prompt:
        epoch, place = divmod(draw, len(self.rows))
        return self.rows[order_of(self.seed, epoch, len(self.rows))[place]]

    def held_out(self, count: int) -> tuple[Prompt, ...]:
        return self.held[:count]

    def known(self) -> Sequence[Prompt]:
        return (*self.rows, *self.held)

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[float]:
        return self.reward(prompt, completions)

    def answer(self, prompt: Prompt, completion: Completion) -> str:
        """What the `answer` beside the reward finds; without one, the last number, or else the last line.

        A completion that was cut off gives none.
        """
        return last_answer(completion) if self.reward.voted is None else self.reward.answer(completion)

    def labels(self, prompt: Prompt, completion: Completion) -> dict[str, str]:
        return {}


@lru_cache(maxsize=4)
def order_of(seed: int, epoch: int, rows: int) -> tuple[int, ...]:
    """The order of an epoch: a pure function of its arguments, remembered because every draw asks for it."""
    order = list(range(rows))
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return tuple(order)


def last_answer(completion: Completion) -> str:
    """The last number of a completion, without its thousands separators; its last line if it has no number."""
    if completion.truncated:
        return ""
    found = NUMBER.findall(completion.text)
    lines = [line.strip() for line in completion.text.splitlines() if line.strip()]
    return found[-1].replace(",", "") if found else "".join(lines[-1:])


def question(prompt: Prompt) -> str:
    """A hash of what the policy is shown: equal for rows that ask the same, whatever their other columns."""
    return hashlib.sha256(json.dumps(prompt.content, sort_keys=True).encode()).hexdigest()


def read_task(file: Path, held_out_file: Path | None, *, reward: Reward, prompt_key: str, seed: int) -> JsonLines:
    """The task of a JSONL file. No row that asks what a held-out prompt asks is trained on.

    Without a held-out file one different prompt in ten is held out (and at least one), by its first row, chosen by a
    hash of what it asks: the same ones for every seed.

    Raises:
        DataError: a file that is missing, unreadable, empty or malformed; the message names file and line.
        ConfigError: the reward needs a column that a row lacks.
    """
    rows = read(file, prompt_key, "task.file")
    asked = [question(prompt) for prompt in rows]
    if held_out_file is not None:
        held = read(held_out_file, prompt_key, "task.held_out_file")
    else:
        first = dict(zip(reversed(asked), reversed(rows), strict=True))
        held = [first[name] for name in sorted(first)[: max(1, len(first) // HELD_OUT_SHARE)]]
    taken = {question(prompt) for prompt in held}
    training = tuple(prompt for prompt, name in zip(rows, asked, strict=True) if name not in taken)
    if not training:
        raise DataError(f"{file}: no prompt is left to train on once the held-out ones are set aside; add other rows")
    reward.check((*training, *held))
    return JsonLines(file.name, training, tuple(held), reward, seed)


def read(file: Path, prompt_key: str, key: str) -> list[Prompt]:
    """The prompts of a file, which the setting `key` names."""
    try:
        data = file.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"{key}: there is no file {file}") from error
    except OSError as error:
        raise DataError(f"{key}: cannot read {file}: {error.strerror or error}") from error
    prompts = [
        parse(line, f"{file}:{number}", prompt_key)
        for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1)
        if line.strip()
    ]
    if not prompts:
        raise DataError(f"{file}: it holds no rows; write one JSON object a line")
    return prompts


def parse(line: bytes, where: str, prompt_key: str) -> Prompt:
    """The prompt of one line; its id is a hash of the whole row, so that equal texts with unlike answers stay apart."""
    try:
        row: Any = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: not JSON at column {error.colno}: {error.msg}") from error
    if not isinstance(row, dict):
        raise DataError(f"{where}: expected a JSON object, found {type(row).__name__}")
    if prompt_key not in row:
        raise DataError(f"{where}: no key {prompt_key!r}; it has {', '.join(row)}. Set task.prompt_key")
    digest = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:16]
    text = content(row[prompt_key], where)
    return Prompt(id=digest, content=text, columns=columns_of(row, prompt_key), where=where)


def content(value: Any, where: str) -> str | tuple[Message, ...]:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(is_message(item) for item in value):
        return tuple(value)
    raise DataError(f"{where}: a prompt is a text or a list of messages with 'role' and 'content'")


def is_message(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("role"), str) and isinstance(item.get("content"), str)
