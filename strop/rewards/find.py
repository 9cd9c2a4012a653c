"""A user's reward function: found by name, in a file, a module or among the built-in ones.

def score(prompt, completion, **columns) -> float     the function; strop.rewards.signature lists the other forms
def answer(completion) -> str                         optional, beside it: what maj@k votes on
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from strop.errors import ConfigError
from strop.names import did_you_mean, nearest
from strop.rewards.builtin import BUILTIN
from strop.rewards.signature import Signature, read_signature


@dataclass(frozen=True, slots=True)
class Reward:
    """A reward function, what errors call it, how it wants to be called, what finds the answer to vote on, and a
    hash of the file it is in as that was when it was found."""

    function: Callable[..., Any]
    name: str
    signature: Signature
    voted: Callable[..., Any] | None = None
    source: str = ""


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
    return Reward(function, shown, read_signature(function, shown), voted, source(function))


def source(function: Callable[..., Any]) -> str:
    """A hash of the file that a function is in, "" if none: a process that imports it anew must read the same."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    path = Path(getattr(module, "__file__", None) or "")
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


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
        module = module_of_file(Path(path).expanduser().absolute())
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
    reach_neighbours()
    try:
        return importlib.import_module(path)
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"task.reward: cannot import {path}: {type(error).__name__}: {error}") from error


def module_of_file(path: Path) -> ModuleType:
    """The module in a file, which may import its neighbours and what is in the current folder.

    It is called by the name that an import would find it under, so that a process which it starts finds it too.
    """
    if not path.is_file():
        raise ConfigError(f"task.reward: there is no file {path}; write path.py:function")
    if path.suffix not in importlib.machinery.SOURCE_SUFFIXES:
        raise ConfigError(f"task.reward: {path} is no Python file; write path.py:function")
    try:
        return member(path) if (path.parent / "__init__.py").is_file() else executed(path)
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"task.reward: {path} fails on import: {type(error).__name__}: {error}") from error


def member(path: Path) -> ModuleType:
    """The module in a file of a package, imported as its member: it may say `from .neighbour import`."""
    root = path.parent
    while (root.parent / "__init__.py").is_file():
        root = root.parent
    reach_neighbours(root.parent)
    name = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
    module = importlib.import_module(name)
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise ConfigError(
            f"task.reward: {path} is {name} of a package, and importing that finds {module.__file__}; rename the "
            "package, or name the function as package.module.function"
        )
    return module


def executed(path: Path) -> ModuleType:
    """The module in a file that is of no package, executed once a process."""
    reach_neighbours(path.parent)
    name = next(name for name in names_of(path) if is_free(name, path))
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"task.reward: {path} is no Python file; write path.py:function")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def names_of(path: Path) -> Iterator[str]:
    """What the module in a file may be called: its stem, if importing that finds the file, else a name of strop's."""
    found = importlib.util.find_spec(path.stem) if path.stem.isidentifier() and path.stem not in sys.modules else None
    if path.stem in sys.modules or (found and found.origin == str(path)):
        yield path.stem
    yield from (f"strop_reward_{path.stem}{number or ''}" for number in count())


def is_free(name: str, path: Path) -> bool:
    """Whether no other file's module has this name."""
    return name not in sys.modules or getattr(sys.modules[name], "__file__", None) == str(path)


def reach_neighbours(folder: Path | None = None) -> None:
    """Let an import find what lies in a folder and in the current one, after all that is installed."""
    for place in filter(None, (folder, Path.cwd())):
        if str(place) not in sys.path:
            sys.path.append(str(place))
