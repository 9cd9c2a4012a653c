"""What can be wrong with a `task` section before any file is opened: kinds, files, rewards, and keys without effect."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from strop.config.schema import KEYS
from strop.config.schema_task import Source, Task
from strop.names import did_you_mean, nearest
from strop.rewards.builtin import BUILTIN
from strop.tasks.find import MADE
from strop.tasks.read_dataset import is_hub_id
from strop.tasks.reading import KINDS, READERS, SUFFIXES, kind_of

Found = Iterator[tuple[str, str]]
"""(key, what is wrong with it)."""

REWARD_KEYS = ("use", "weight", "name")
DATASET_KEYS = ("data.subset", "data.split", "data.held_out_split")
FILE_KEYS = ("file", "held_out_file", "data.columns", "data.duplicates", "max_bad")
MADE_KEYS = ("name", "data.settings")
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def task_problems(task: Task, model: str) -> Found:
    """What makes a task impossible, by full key."""
    if task.kind == "default" and not task.file:
        text = "give --task.file PROMPTS.jsonl with a --task.reward, or set task.kind"
        yield "task.kind", f"model {model} names no task of its own: {text}"
    elif task.kind == "mixture":
        yield from _mixture(task)
    else:
        for key, text in source_problems(task):
            yield f"task.{key}", text
    for text in reward_problems(task.reward):
        yield "task.reward", text


def _mixture(task: Task) -> Found:
    if not task.mix:
        yield "task.mix", "is empty, and task.kind mixture draws from it: give a list such as [{file: a.jsonl}, ...]"
    for number, entry in enumerate(task.mix, start=1):
        for key, text in (*entry_problems(entry), *(("reward", text) for text in reward_problems(entry.reward))):
            yield "task.mix", f"entry {number}, {key}: {text}"


def entry_problems(entry: Source) -> Found:
    if entry.kind == "mixture":
        yield "kind", "a mixture holds no mixture; write its entries here, each with its weight"
    elif entry.kind == "default" and not entry.file:
        yield "kind", "is missing, and there is no file whose ending would say it"
    else:
        yield from source_problems(entry)
    if entry.data.long_prompts != "error":
        yield "data.long_prompts", "is one for all entries: set task.data.long_prompts"


def source_problems(source: Source) -> Found:
    """What makes one source of prompts impossible, by its key in the section."""
    kind, ending = source.kind, kind_of(source.file)
    if kind in ("default", *KINDS) and (key := _pattern(source)):
        yield key, f"{getattr(source, key)} is a pattern; name the folder of the files: it is read as one dataset"
        return
    if kind in MADE and not source.name:
        yield "name", f"is empty, and task.kind {kind} makes the problems of that name"
    if kind == "default" and not ending:
        yield "kind", f"the ending of {source.file} does not say it; {_known(source.file)}{_near(source.file)}"
    kind = ending if kind == "default" else kind
    if kind not in KINDS:
        return
    if not source.file:
        hint = "give --task.file PROMPTS.jsonl"
        yield "file", f"is empty, and task.kind {kind} reads its prompts from there: {hint}"
    elif ending not in ("", kind):
        yield "kind", f"{kind}, but {source.file} is of kind {ending}: leave task.kind out"
    yield from _place("file", source.file, kind)
    yield from _place("held_out_file", source.held_out_file, kind_of(source.held_out_file) or kind)


def _pattern(source: Source) -> str:
    """The key that holds a shell's pattern in place of a name, if one does."""
    files = {"file": source.file, "held_out_file": source.held_out_file}
    odd = (key for key, file in files.items() if any(sign in file for sign in "*?["))
    return next((key for key in odd if not Path(files[key]).expanduser().exists()), "")


def _known(file: str) -> str:
    """What may stand in the place of a file whose ending says nothing."""
    known = f"{', '.join(SUFFIXES)} and a folder do"
    packed = Path(file).suffix.lower() in PACKED
    return f"{known}; {'unpack it' if packed else 'set task.kind to jsonl, parquet, csv or dataset if it is one'}"


def _place(key: str, file: str, kind: str) -> Found:
    path = Path(file).expanduser()
    if not file or (path.is_file() if kind in READERS else path.is_dir() or is_hub_id(file)):
        return
    what = "file" if kind in READERS else "folder"
    yield key, f"there is no {what} {path}{_near(file)}"


def reward_problems(reward: str | list[str | dict[str, Any]]) -> Iterator[str]:
    """What is wrong with the names of rewards."""
    listed = ([reward] if reward else []) if isinstance(reward, str) else reward
    for number, each in enumerate(listed, start=1):
        entry = f"entry {number}: " if len(listed) > 1 else ""
        for text in [*_keys_of(each)] or [*_use(each["use"] if isinstance(each, dict) else each)]:
            yield f"{entry}{text}"


def _keys_of(reward: str | Mapping[str, Any]) -> Iterator[str]:
    if isinstance(reward, str):
        return
    for key in reward:
        if key not in REWARD_KEYS:
            near = did_you_mean(nearest(str(key), REWARD_KEYS))
            yield f"there is no key {key}: a reward has {', '.join(REWARD_KEYS)}{near}"
    weight = reward.get("weight", 1.0)
    if not isinstance(reward.get("use"), str):
        yield "use must be text: file.py:function, module.function or a built-in such as math"
    if not isinstance(reward.get("name", ""), str):
        yield f"name must be text, is {reward['name']!r}"
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
        yield f"weight must be a number, is {weight!r}"


def _use(use: str) -> Iterator[str]:
    path, _, function = use.rpartition(":")
    dotted = use.split(".")
    if use in BUILTIN or len(dotted) > 1 and dotted[-1] != "py" and all(map(str.isidentifier, dotted)):
        return
    if not path.endswith(".py") or not function.isidentifier():
        known = f"FILE.py:FUNCTION or MODULE.FUNCTION, or one of {', '.join(BUILTIN)}"
        yield f"{use!r} is not of the form {known}{did_you_mean(nearest(use, BUILTIN))}"
    elif not Path(path).expanduser().is_file():
        yield f"there is no file {path}{_near(path)}"


def _near(file: str) -> str:
    """'; did you mean FILE?', of the files that stand beside where it would be; nothing if it is there."""
    path = Path(file).expanduser()
    if path.exists() or not path.parent.is_dir():
        return ""
    names = nearest(path.name, (entry.name for entry in path.parent.iterdir()))
    return did_you_mean([str(path.parent / name) for name in names])


def idle_keys(task: Task) -> Found:
    """Keys of a task that do nothing under its kind, whatever their value."""
    unused = {
        "arithmetic": (*FILE_KEYS, *DATASET_KEYS, *MADE_KEYS, "mix"),
        "mixture": (*FILE_KEYS, *DATASET_KEYS, *MADE_KEYS),
        "dataset": (*MADE_KEYS, "mix"),
        **dict.fromkeys(READERS, (*DATASET_KEYS, *MADE_KEYS, "mix")),
        **dict.fromkeys(MADE, (*FILE_KEYS, *DATASET_KEYS, "mix")),
    }
    why = {
        "arithmetic": "task.kind arithmetic makes its own problems",
        "mixture": "task.kind mixture reads it in each entry of task.mix",
    }
    for key in unused.get(task.kind, ()):
        yield f"task.{key}", f"has no effect: {why.get(task.kind, f'task.kind {task.kind} does not read it')}"


def is_default(key: str, value: Any) -> bool:
    """Whether a key has the value that it has where nobody sets it."""
    return value == KEYS[key].get_default(call_default_factory=True)
