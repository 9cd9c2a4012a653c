"""The task that a configuration names."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from strop.errors import ConfigError, DataError
from strop.rewards.find import short_name
from strop.rewards.scorer import Part, Scorer, Scoring, make_scorer
from strop.tasks.arithmetic import Arithmetic, answer
from strop.tasks.file_task import FileTask, read_rows
from strop.tasks.mixture import Mixture, mix
from strop.tasks.reading import Source, kind_of
from strop.tasks.task import Task
from strop.tasks.votes import judged, streamed
from strop.types import Completion, Prompt, Verdict

MADE = {"reasoning_gym": "strop.tasks.reasoning_gym_task", "verifiers": "strop.tasks.verifiers_task"}
"""Kinds whose prompts a library makes, and the module that speaks to it."""

OWN = {"reasoning_gym": "strop.tasks.reasoning_gym_score.score", "verifiers": "strop.tasks.verifiers_score.score"}
"""How the library scores an answer itself, as a reward."""


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

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(filter(None, [self.scorer.warning]))

    def prompt(self, draw: int) -> Prompt:
        return self.task.prompt(draw)

    def held_out(self, count: int) -> tuple[Prompt, ...]:
        return self.task.held_out(count)

    def known(self) -> Sequence[Prompt]:
        return self.task.known()

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        return judged(self.scorer, prompt, completions, answer)

    def stream(self, groups: Iterable[tuple[Prompt, Sequence[Completion]]]) -> Iterator[list[Verdict]]:
        return streamed(self.scorer, groups, answer)

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
    if settings.kind == "mixture":
        return mixture(settings, seed, reward)
    return scored_task(settings, settings.reward, scoring_of(settings.scoring, settings.reward), seed, reward)


def mixture(settings: Any, seed: int, reward: Callable[..., Any] | None) -> Mixture:
    """The tasks of `task.mix` by weight. An entry without a reward has that of the whole section, if it has one.

    Raises:
        ConfigError, DataError: as for the entry's own task; the message says which entry.
    """
    rewards = [entry.reward or settings.reward for entry in settings.mix]
    scoring = [scoring_of(settings.scoring, own, shared=True) for own in rewards]
    if settings.scoring.accuracy and not any(each.accuracy for each in scoring):
        raise ConfigError(f"task.scoring.accuracy: no entry of task.mix has a reward {settings.scoring.accuracy!r}")
    tasks: list[Task] = []
    try:
        for number, (entry, own, how) in enumerate(zip(settings.mix, rewards, scoring, strict=True), start=1):
            with named_entry(number):
                tasks.append(scored_task(entry, own, how, seed, reward))
    except BaseException:
        for task in tasks:
            task.close()
        raise
    return mix(tasks, [entry.weight for entry in settings.mix], seed)


@contextmanager
def named_entry(number: int) -> Iterator[None]:
    """What goes wrong inside is said to be of this entry of `task.mix`."""
    try:
        yield
    except (ConfigError, DataError) as error:
        raise type(error)(f"task.mix, entry {number}: {error}") from error


def scoring_of(settings: Any, rewards: Any, *, shared: bool = False) -> Scoring:
    """`task.scoring` as rewards take it. Where it is `shared` by several tasks, an accuracy that this one has no reward
    for is left to its first reward."""
    names = ("accuracy", "workers", "deadline_s", "memory_mb", "sandbox")
    found = Scoring(**{name: getattr(settings, name) for name in names})
    own = [part.name or short_name(part.use) for part in reward_parts(rewards)]
    return replace(found, accuracy="") if shared and found.accuracy not in own else found


def scored_task(settings: Any, rewards: Any, scoring: Scoring, seed: int, function: Callable[..., Any] | None) -> Task:
    """The task of one source with what scores it: `function`, or these rewards, or the task's own verifier."""
    own = [Part(OWN[settings.kind], name=settings.kind)] if settings.kind in OWN else []
    parts = reward_parts(rewards) or own
    scorer = make_scorer(() if function else parts, scoring, function=function) if function or parts else None
    try:
        return make_task(settings, seed, scorer)
    except BaseException:
        if scorer:
            scorer.close()
        raise


def reward_parts(reward: str | Sequence[str | Mapping[str, Any]]) -> list[Part]:
    """`task.reward` as a list of rewards: a text is one, a mapping has `use`, and may have `weight` and `name`."""
    listed = ([reward] if reward else []) if isinstance(reward, str) else reward
    return [Part(each) if isinstance(each, str) else Part(**each) for each in listed]


def make_task(settings: Any, seed: int, scorer: Scorer | None) -> Task:
    if settings.kind in MADE:
        return importlib.import_module(MADE[settings.kind]).make(settings, seed, scorer)
    if settings.kind == "arithmetic":
        return arithmetic(seed, scorer)
    return file_task(settings, seed, scorer)


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
        reads=partial(read_by, scorer),
    )
    return rows.task(scorer, seed)


def read_by(scorer: Scorer, names: Sequence[str]) -> set[str]:
    """Those of the columns of these names that a reward is handed or looks at."""
    return {name for signature in scorer.signatures for name in signature.reads(dict.fromkeys(names))}


def source(settings: Any) -> Source:
    """Where the rows to train on are."""
    kind = kind_of(settings.file) if settings.kind == "default" else settings.kind
    return Source(settings.file, kind, "task.file", settings.data.subset, settings.data.split)


def held_out_source(settings: Any) -> Source | None:
    """Where the held-out rows are: in a file, whose ending says its kind, or in a split of the same dataset."""
    file, data = settings.held_out_file or settings.file, settings.data
    if not settings.held_out_file and not data.held_out_split:
        return None
    key = "task.held_out_file" if settings.held_out_file else "task.file"
    split_key = "task.data.held_out_split" if data.held_out_split else "task.data.split"
    kind = kind_of(file) or source(settings).kind
    return Source(file, kind, key, data.subset, data.held_out_split or data.split, split_key)


def arithmetic(seed: int, scorer: Scorer | None) -> Task:
    task = Arithmetic(seed=seed)
    if scorer is None:
        return task
    scorer.check([task.prompt(0)])
    return Rescored(task, scorer)
