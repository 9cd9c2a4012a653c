"""The task that a configuration names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from strop.errors import ConfigError
from strop.tasks.arithmetic import Arithmetic
from strop.tasks.jsonl import read_task
from strop.tasks.reward import Reward, as_reward, find_reward
from strop.tasks.task import Task
from strop.types import Completion, Prompt

DEFAULT_TASKS: dict[str, str] = {"strop:tiny": "arithmetic"}
"""The task that an embedded model was made for."""


class Rescored:
    """A task whose own verifier is replaced by a reward that was handed over."""

    def __init__(self, task: Task, reward: Reward) -> None:
        self.task, self.reward, self.description = task, reward, f"{task.description}, scored by {reward.name}"
        self.name, self.prompt, self.held_out, self.known = task.name, task.prompt, task.held_out, task.known
        self.answer, self.labels = task.answer, task.labels

    def score(self, prompt: Prompt, completions: list[Completion]) -> list[float]:
        return self.reward(prompt, completions)


def find_task(settings: Any, *, model: str, seed: int, reward: Callable[..., Any] | None) -> Task:
    """The task of the `task` section; `reward`, if given, scores in place of the one it names.

    Raises:
        ConfigError: the model names no task and the configuration neither, or a jsonl task has no reward.
        DataError: its file cannot be used.
    """
    kind = DEFAULT_TASKS.get(model, "") if settings.kind == "default" else settings.kind
    if not kind:
        raise ConfigError(f"task.kind: model {model!r} names no task of its own; set task: {{kind: jsonl, file: ...}}")
    if kind == "arithmetic":
        task = Arithmetic(seed=seed)
        return task if reward is None else Rescored(task, as_reward(reward))  # type: ignore[return-value]
    if reward is None and not settings.reward:
        raise ConfigError("task.reward: a jsonl task needs one; write task.reward: file.py:function")
    return read_task(
        Path(settings.file),
        Path(settings.held_out_file) if settings.held_out_file else None,
        reward=find_reward(settings.reward) if reward is None else as_reward(reward),
        prompt_key=settings.prompt_key,
        seed=seed,
    )
