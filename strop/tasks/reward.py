"""A user's reward function: found by name, called by its signature, its answer checked.

def score(prompt, completion, **columns) -> float                 one completion at a time
def score(prompts, completions, **columns) -> list[float]         the batch form that TRL's users write
"""

from __future__ import annotations

import importlib.util
import inspect
import math
import numbers
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from strop.errors import ConfigError, RewardError
from strop.types import Completion, Prompt


@dataclass(frozen=True, slots=True)
class Reward:
    """A reward function and how it wants to be called."""

    function: Callable[..., Any]
    name: str
    batched: bool

    def __call__(self, prompt: Prompt, completions: Sequence[Completion]) -> list[float]:
        """One finite score for each completion.

        Raises:
            RewardError: the function raised, returned None or nan or a text, or the wrong number of scores.
        """
        texts = [completion.text for completion in completions]
        try:
            if self.batched:
                columns = {key: [value] * len(texts) for key, value in prompt.columns.items()}
                scores = self.function(prompts=[prompt.content] * len(texts), completions=texts, **columns)
            else:
                scores = [self.function(prompt.content, text, **prompt.columns) for text in texts]
        except Exception as error:
            raise RewardError(
                f"reward {self.name} raised {type(error).__name__}: {error} (prompt {prompt.label}); "
                "a reward must return a number for every completion, whatever the model wrote"
            ) from error
        return self._checked(scores, prompt, len(texts))

    def _checked(self, scores: Any, prompt: Prompt, expected: int) -> list[float]:
        if not isinstance(scores, Sequence) and not hasattr(scores, "tolist"):
            raise RewardError(f"reward {self.name} returned {scores!r}: expected a list of {expected} numbers")
        if len(scores) != expected:
            raise RewardError(
                f"reward {self.name} returned the wrong number of scores: expected {expected}, got {len(scores)}"
            )
        return [self._number(score, prompt) for score in scores]

    def _number(self, score: Any, prompt: Prompt) -> float:
        if not isinstance(score, numbers.Real) or not math.isfinite(score):
            raise RewardError(
                f"reward {self.name} returned {score!r} for prompt {prompt.label}: it must return a finite number "
                "for every completion; 0.0 is the usual score of an answer that is wrong or missing"
            )
        return float(score)


def as_reward(function: Callable[..., Any], name: str = "") -> Reward:
    """The reward that calls `function` the way its parameters ask for."""
    batched = "completions" in inspect.signature(function).parameters
    return Reward(function, name or getattr(function, "__name__", type(function).__name__), batched)


def find_reward(spec: str) -> Reward:
    """The reward named "path.py:function" or "package.module.function".

    Raises:
        ConfigError: no such file, module or function.
    """
    if ":" in spec:
        path, _, attribute = spec.rpartition(":")
        module = module_of_file(Path(path))
    else:
        path, _, attribute = spec.rpartition(".")
        if not path:
            raise ConfigError(f"task.reward: {spec!r} names no function; write path.py:function or module.function")
        try:
            module = importlib.import_module(path)
        except ImportError as error:
            raise ConfigError(f"task.reward: cannot import {path}: {error}") from error
    function = getattr(module, attribute, None)
    if not callable(function):
        here = ", ".join(sorted(name for name, value in vars(module).items() if inspect.isfunction(value)))
        raise ConfigError(f"task.reward: {path} has no function {attribute!r}; it has {here or 'none'}")
    return as_reward(function, spec)


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
