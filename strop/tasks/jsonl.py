"""Prompts from a JSONL file, scored by a user's reward function."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strop.errors import DataError
from strop.tasks.reward import Reward, columns_of
from strop.types import Completion, Message, Prompt

HELD_OUT_SHARE = 10
"""Without a held-out file, one row in this many is held out."""


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
        different = len({prompt.id for prompt in self.rows})
        return f"{self.name}, {len(self.rows)} prompts to train on, {different} different"

    def prompt(self, draw: int) -> Prompt:
        epoch, place = divmod(draw, len(self.rows))
        order = list(range(len(self.rows)))
        random.Random(f"{self.seed}/{epoch}").shuffle(order)
        return self.rows[order[place]]

    def held_out(self, count: int) -> tuple[Prompt, ...]:
        return self.held[:count]

    def known(self) -> Sequence[Prompt]:
        return (*self.rows, *self.held)

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[float]:
        return self.reward(prompt, completions)

    def answer(self, prompt: Prompt, completion: Completion) -> str:
        return completion.text.strip()

    def labels(self, prompt: Prompt, completion: Completion) -> dict[str, str]:
        return {}


def read_task(file: Path, held_out_file: Path | None, *, reward: Reward, prompt_key: str, seed: int) -> JsonLines:
    """The task of a JSONL file.

    Without a held-out file one different prompt in ten is held out, with all its copies (and at least one), chosen by
    a hash of its id: the same ones for every seed.

    Raises:
        DataError: a file that is missing, empty or malformed; the message names file and line.
    """
    rows = read(file, prompt_key)
    if held_out_file is not None:
        held = read(held_out_file, prompt_key)
    else:
        different = {prompt.id: prompt for prompt in rows}
        ranked = sorted(different, key=lambda name: hashlib.sha256(name.encode()).digest())
        held = [different[name] for name in ranked[: max(1, len(ranked) // HELD_OUT_SHARE)]]
    taken = {prompt.id for prompt in held}
    training = tuple(prompt for prompt in rows if prompt.id not in taken)
    if not training:
        raise DataError(f"{file}: no prompt is left to train on once the held-out ones are set aside; add other rows")
    return JsonLines(file.name, training, tuple(held), reward, seed)


def read(file: Path, prompt_key: str) -> list[Prompt]:
    if not file.is_file():
        raise DataError(f"task.file: there is no file {file}")
    prompts = [
        parse(line, f"{file}:{number}", prompt_key)
        for number, line in enumerate(file.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1)
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
