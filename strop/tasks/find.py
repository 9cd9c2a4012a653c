"""The task that a configuration names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strop.errors import ConfigError
from strop.rewards.scorer import Part, Scorer, Scoring, make_scorer
from strop.tasks.arithmetic import Arithmetic, answer
from strop.tasks.file_task import FileTask, read_rows
from strop.tasks.reading import KINDS, Source, kind_of
from strop.tasks.task import Task
from strop.tasks.votes import judged
from strop.types import Completion, Prompt, Verdict

MADE = {"reasoning_gym": "strop.tasks.reasoning_gym_task", "verifiers": "strop.tasks.verifiers_task"}
"""Kinds whose prompts a library makes, and the module that speaks to it."""


@dataclass(frozen=True, slots=True)
class Rescored:
    """The arithmetic task scored by rewards in place of its own verifier; its digit votes where they find no answer."""

    task: Arithmetic
    scorer: Scorer

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def description(self) -> str:
        return f"{self.task.description}, scored by {self.scorer.name}"

    def prompt(self, draw: int) -> Prompt:
        return self.task.prompt(draw)

    def held_out(self, count: int) -> tuple[Prompt, ...]:
        return self.task.held_out(count)

    def known(self) -> Sequence[Prompt]:
        return self.task.known()

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        return judged(self.scorer, prompt, completions, answer)

    def labels(self, prompt: Prompt, completion: Completion) -> dict[str, str]:
        return self.task.labels(prompt, completion)

    def close(self) -> None:
        self.scorer.close()


def find_task(settings: Any, *, seed: int, reward: Callable[..., Any] | None = None) -> Task:
    """The task of a checked `task` section; `reward`, if given, scores in place of those that it names.

    Raises:
        ConfigError: a file has no reward, or a reward has a parameter that a row does not fill.
        DataError: a file cannot be used.
    """
    scorer = find_scorer(settings, reward)
    try:
        return make_task(settings, seed, scorer)
    except BaseException:
        if scorer:
            scorer.close()
        raise


def find_scorer(settings: Any, reward: Callable[..., Any] | None) -> Scorer | None:
    """What scores in place of the task's own verifier; None if nothing does."""
    parts = reward_parts(settings.reward)
    if reward is None and not parts:
        return None
    asked = settings.scoring
    scoring = Scoring(asked.accuracy, asked.workers, asked.deadline_s, asked.memory_mb, asked.sandbox)
    return make_scorer(parts if reward is None else (), scoring, function=reward)


def reward_parts(reward: str | Sequence[str | Mapping[str, Any]]) -> list[Part]:
    """`task.reward` as a list of rewards: a text is one, a mapping has `use`, and may have `weight` and `name`."""
    listed = ([reward] if reward else []) if isinstance(reward, str) else reward
    return [Part(each) if isinstance(each, str) else Part(**each) for each in listed]


def make_task(settings: Any, seed: int, scorer: Scorer | None) -> Task:
    if settings.kind in KINDS or settings.kind == "default":
        return file_task(settings, seed, scorer)
    if settings.kind == "arithmetic":
        return arithmetic(seed, scorer)
    raise ConfigError(f"task.kind: there is no kind {settings.kind}")


def file_task(settings: Any, seed: int, scorer: Scorer | None) -> FileTask:
    if scorer is None:
        text = "a task of kind {} needs one; write task.reward: file.py:function, or a built-in such as math"
        raise ConfigError(f"task.reward: {text.format(settings.kind)}")
    data = settings.data
    rows = read_rows(
        source(settings),
        held_out_source(settings),
        columns=data.columns,
        duplicates=data.duplicates,
        max_bad=settings.max_bad,
    )
    return rows.task(scorer, seed)


def source(settings: Any) -> Source:
    """Where the rows to train on are."""
    kind = kind_of(settings.file) if settings.kind == "default" else settings.kind
    return Source(settings.file, kind, "task.file", settings.data.subset, settings.data.split)


def held_out_source(settings: Any) -> Source | None:
    """Where the held-out rows are: in a file, whose ending says its kind, or in a split of the same dataset."""
    file, data = settings.held_out_file, settings.data
    if file:
        return Source(file, kind_of(file) or source(settings).kind, "task.held_out_file", data.subset, data.split)
    if not data.held_out_split:
        return None
    return Source(settings.file, "dataset", "task.file", data.subset, data.held_out_split, "task.data.held_out_split")


def arithmetic(seed: int, scorer: Scorer | None) -> Task:
    task = Arithmetic(seed=seed)
    if scorer is None:
        return task
    scorer.check([task.prompt(0)])
    return Rescored(task, scorer)
