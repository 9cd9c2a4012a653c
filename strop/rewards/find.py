"""A user's reward function: found by name, in a file, a module or among the built-in ones.

def score(prompt, completion, **columns) -> float     the function; strop.rewards.signature lists the other forms
def answer(completion) -> str                         optional, beside it: what maj@k votes on
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from strop.errors import ConfigError
from strop.names import did_you_mean, nearest
from strop.rewards.builtin import BUILTIN
from strop.rewards.signature import Signature, read_signature


@dataclass(frozen=True, slots=True)
class Reward:
    """A reward function, what errors call it, how it wants to be called, and what finds the answer to vote on."""

    function: Callable[..., Any]
    name: str
    signature: Signature
    voted: Callable[..., Any] | None = None


def as_reward(function: Callable[..., Any], name: str = "", answer: Callable[..., Any] | None = None) -> Reward:
    """The reward that calls `function` the way its parameters ask for; `answer`, or its attribute of that name, votes.

    Raises:
        ConfigError: `function` has no place for a completion, or `answer` cannot be called with one text.
    """
    shown = name or name_of(function)
    voted = answer or getattr(function, "answer", None)
    if voted is not None and not takes_one_text(voted):
        raise ConfigError(
            f"task.reward: the function answer beside {shown} finds what maj@k votes on: it must take one text, "
            "def answer(completion); rename it if it does something else"
        )
    return Reward(function, shown, read_signature(function, shown), voted)


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called: its own name, that of what a partial wraps, or its class's."""
    inner = getattr(function, "func", function)
    return getattr(inner, "__name__", type(inner).__name__)


def takes_one_text(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind("")
    except (TypeError, ValueError):
        return False
    return True


def short_name(use: str) -> str:
    """What a reward is called in metrics: a built-in's own name, else the function's."""
    return use if use in BUILTIN else use.rpartition(":" if ":" in use else ".")[2]


def find_reward(use: str) -> Reward:
    """The reward named "path.py:function", "package.module.function", or by a built-in name.

    Raises:
        ConfigError: no such file, module or function.
    """
    if use in BUILTIN:
        path, _, attribute = BUILTIN[use].partition(":")
        module = imported(path)
    elif ":" in use:
        path, _, attribute = use.rpartition(":")
        module = module_of_file(Path(path).expanduser())
    else:
        path, _, attribute = use.rpartition(".")
        if not path:
            near = did_you_mean(nearest(use, BUILTIN))
            raise ConfigError(
                f"task.reward: {use!r} names no function; write path.py:function, module.function, or one of "
                f"{', '.join(BUILTIN)}{near}"
            )
        module = imported(path)
    function = getattr(module, attribute, None)
    if not callable(function):
        here = ", ".join(sorted(name for name, value in vars(module).items() if inspect.isfunction(value)))
        raise ConfigError(f"task.reward: {path} has no function {attribute!r}; it has {here or 'none'}")
    beside = getattr(module, "answer", None)
    return as_reward(function, use, beside if callable(beside) and beside is not function else None)


def imported(path: str) -> ModuleType:
    try:
        return importlib.import_module(path)
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"task.reward: cannot import {path}: {type(error).__name__}: {error}") from error


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
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"task.reward: {path} fails on import: {type(error).__name__}: {error}") from error
    return module
