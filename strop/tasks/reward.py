"""A user's reward function: found by name, called by its signature, its answer checked.

def score(prompt, completion, **columns) -> float                 one completion at a time
def score(prompts, completions, **columns) -> list[float]         the batch form that TRL's users write
def answer(completion) -> str                                     optional, beside it: what maj@k votes on

Both forms may be async. A reward without **columns gets the columns that it names.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import numbers
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from strop.errors import ConfigError, RewardError
from strop.tasks.signature import Signature, read_signature
from strop.types import Completion, Prompt


@dataclass(frozen=True, slots=True)
class Reward:
    """A reward function, how it wants to be called, and the function that finds the answer to vote on, if any."""

    function: Callable[..., Any]
    name: str
    signature: Signature
    voted: Callable[..., Any] | None = None

    def __call__(self, prompt: Prompt, completions: Sequence[Completion]) -> list[float]:
        """One finite score for each completion.

        Raises:
            RewardError: the function raised, returned None or nan or a text, or the wrong number of scores.
        """
        texts = [completion.text for completion in completions]
        try:
            scores = self._batch(prompt, texts) if self.signature.batched else self._singly(prompt, texts)
        except Exception as error:
            raise RewardError(
                f"reward {self.name} raised {type(error).__name__}: {error} (prompt {prompt.label}); "
                "a reward must return a number for every completion, whatever the model wrote"
            ) from error
        return self._checked(scores, prompt, len(texts))

    def check(self, prompts: Iterable[Prompt]) -> None:
        """Refuse a prompt whose row lacks a column that the reward needs, with ConfigError."""
        for prompt in prompts:
            missing = self.signature.missing(prompt.columns)
            if missing:
                raise ConfigError(
                    f"task.reward: {self.name} has the parameter {missing[0]!r}, and prompt {prompt.label} has no such "
                    f"column; it has {', '.join(prompt.columns) or 'none'}. Rename it or give it a default"
                )

    def answer(self, completion: Completion) -> str:
        """What the `answer` beside the reward finds in a completion that was not cut off, "" in one that was.

        Raises:
            RewardError: it raised, or returned no text.
        """
        if completion.truncated or self.voted is None:
            return ""
        try:
            found = self.voted(completion.text)
        except Exception as error:
            raise RewardError(f"answer, beside reward {self.name}, raised {type(error).__name__}: {error}") from error
        if not isinstance(found, str):
            raise RewardError(f"answer, beside reward {self.name}, returned {found!r}: expected a text, '' for none")
        return found

    def _batch(self, prompt: Prompt, texts: list[str]) -> Any:
        columns = {key: [value] * len(texts) for key, value in prompt.columns.items()}
        places, names = self.signature.arguments([prompt.content] * len(texts), texts, columns)
        scores = self.function(*places, **names)
        return awaited([scores])[0] if inspect.isawaitable(scores) else scores

    def _singly(self, prompt: Prompt, texts: list[str]) -> list[Any]:
        calls = [self.signature.arguments(prompt.content, text, prompt.columns) for text in texts]
        scores = [self.function(*places, **names) for places, names in calls]
        return awaited(scores) if any(map(inspect.isawaitable, scores)) else scores

    def _checked(self, scores: Any, prompt: Prompt, expected: int) -> list[float]:
        found = scores.tolist() if hasattr(scores, "tolist") else scores
        if not isinstance(found, Sequence):
            raise RewardError(f"reward {self.name} returned {scores!r}: expected a list of {expected} numbers")
        if len(found) != expected:
            raise RewardError(
                f"reward {self.name} returned the wrong number of scores: expected {expected}, got {len(found)}"
            )
        return [self._number(score, prompt) for score in found]

    def _number(self, score: Any, prompt: Prompt) -> float:
        number = score.item() if getattr(score, "ndim", None) == 0 else score
        if not isinstance(number, numbers.Real) or not is_finite(number):
            raise RewardError(
                f"reward {self.name} returned {score!r} for prompt {prompt.label}: it must return a finite number "
                "for every completion; 0.0 is the usual score of an answer that is wrong or missing"
            )
        return float(number)


def is_finite(number: Any) -> bool:
    """Whether it is a finite float: nan, inf and 10**400 are not."""
    return abs(number) <= sys.float_info.max


def awaited(values: Sequence[Any]) -> list[Any]:
    """The values, those to be awaited awaited, side by side.

    All rewards of a process share one event loop on a thread of its own: so a client that a reward keeps open stays
    usable from call to call, and a notebook, whose own loop is running, can train.
    """

    async def settle(value: Any) -> Any:
        return await value if inspect.isawaitable(value) else value

    async def together() -> list[Any]:
        return await asyncio.gather(*map(settle, values))

    return asyncio.run_coroutine_threadsafe(together(), event_loop()).result()


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="strop rewards", daemon=True).start()
    return loop


def as_reward(function: Callable[..., Any], name: str = "", answer: Callable[..., Any] | None = None) -> Reward:
    """The reward that calls `function` the way its parameters ask for; `answer`, or its attribute of that name, votes.

    Raises:
        ConfigError: `function` has no place for a completion, or `answer` cannot be called with one text.
    """
    shown = name or getattr(function, "__name__", type(function).__name__)
    voted = answer or getattr(function, "answer", None)
    if voted is not None and not takes_one_text(voted):
        raise ConfigError(
            f"task.reward: the function answer beside {shown} finds what maj@k votes on: it must take one text, "
            "def answer(completion); rename it if it does something else"
        )
    return Reward(function, shown, read_signature(function, shown), voted)


def takes_one_text(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind("")
    except (TypeError, ValueError):
        return False
    return True


def find_reward(spec: str) -> Reward:
    """The reward named "path.py:function" or "package.module.function".

    Raises:
        ConfigError: no such file, module or function.
    """
    if ":" in spec:
        path, _, attribute = spec.rpartition(":")
        module = module_of_file(Path(path).expanduser())
    else:
        path, _, attribute = spec.rpartition(".")
        if not path:
            raise ConfigError(f"task.reward: {spec!r} names no function; write path.py:function or module.function")
        try:
            module = importlib.import_module(path)
        except Exception as error:
            raise ConfigError(f"task.reward: cannot import {path}: {type(error).__name__}: {error}") from error
    function = getattr(module, attribute, None)
    if not callable(function):
        here = ", ".join(sorted(name for name, value in vars(module).items() if inspect.isfunction(value)))
        raise ConfigError(f"task.reward: {path} has no function {attribute!r}; it has {here or 'none'}")
    beside = getattr(module, "answer", None)
    return as_reward(function, spec, beside if callable(beside) and beside is not function else None)


def module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"task.reward: there is no file {path}; write path.py:function")
    spec = importlib.util.spec_from_file_location(f"strop_reward_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"task.reward: {path} is no Python file; write path.py:function")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"task.reward: {path} fails on import: {type(error).__name__}: {error}") from error
    return module


def columns_of(row: Mapping[str, Any], prompt_key: str) -> dict[str, Any]:
    """What a row of data hands to the reward by name: every column but the prompt."""
    return {key: value for key, value in row.items() if key != prompt_key}
