"""The task that a configuration names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from strop.errors import ConfigError
from strop.tasks.arithmetic import Arithmetic
from strop.tasks.jsonl import read_task
from strop.tasks.reward import Reward, as_reward, find_reward
from strop.tasks.task import Task
from strop.types import Completion, Prompt


class Rescored:
    """A task whose own verifier is replaced by a reward; so is what maj@k votes on, if the reward says it."""

    def __init__(self, task: Task, reward: Reward) -> None:
        self.task, self.reward, self.description = task, reward, f"{task.description}, scored by {reward.name}"
        self.name, self.prompt, self.held_out, self.known = task.name, task.prompt, task.held_out, task.known
        self.labels = task.labels

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[float]:
        return self.reward(prompt, completions)

    def answer(self, prompt: Prompt, completion: Completion) -> str:
        return self.task.answer(prompt, completion) if self.reward.voted is None else self.reward.answer(completion)


def find_task(settings: Any, *, seed: int, reward: Callable[..., Any] | None) -> Task:
    """The task of a checked `task` section; `reward`, if given, scores in place of the one it names.

    Raises:
        ConfigError: a jsonl task has no reward, or a reward has a parameter that a row does not fill.
        DataError: its file cannot be used.
    """
    scorer = None
    if reward is not None:
        scorer = as_reward(reward)
    elif settings.reward:
        scorer = find_reward(settings.reward)
    if settings.kind == "arithmetic":
        return arithmetic(seed, scorer)
    if scorer is None:
        raise ConfigError("task.reward: a jsonl task needs one; write task.reward: file.py:function")
    return read_task(
        Path(settings.file).expanduser(),
        Path(settings.held_out_file).expanduser() if settings.held_out_file else None,
        reward=scorer,
        prompt_key=settings.data.columns.get("prompt", "prompt"),
        seed=seed,
    )


def arithmetic(seed: int, scorer: Reward | None) -> Task:
    task = Arithmetic(seed=seed)
    if scorer is None:
        return task
    scorer.check([task.prompt(0)])
    return Rescored(task, scorer)
