"""The scorer of a run: several rewards, each in its own words, become one verdict on each completion.

score = accuracy of the accuracy reward          bonus = sum of weight * reward, over all, minus score
"""

from __future__ import annotations

import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from strop.errors import ConfigError
from strop.names import did_you_mean, nearest
from strop.rewards.adapters import Question, Written
from strop.rewards.builtin import lacking
from strop.rewards.described import Described, blindness
from strop.rewards.find import Reward, as_reward, short_name
from strop.rewards.here import Here
from strop.rewards.nest import Nest, forked, other_threads, started
from strop.rewards.pool import Pool
from strop.rewards.signature import Signature
from strop.rewards.slots import Job
from strop.rewards.values import Value, one_line
from strop.rewards.wire import question_line, written_line
from strop.rewards.worker import Setup
from strop.types import Completion, Prompt, Verdict

WINDOW = 256
"""Groups that are under way at most before the first is waited for."""


@dataclass(frozen=True, slots=True)
class Part:
    """One reward of a run: "path.py:function", "package.module.function" or a built-in, its weight, and its name.

    `name` defaults to the function's (a built-in's own), and is what metrics and `scoring.accuracy` call it.
    """

    use: str
    weight: float = 1.0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Scoring:
    """How rewards run: which one is the accuracy (the first if ""), in how many processes, for how long, in what."""

    accuracy: str = ""
    workers: int = 2
    deadline_s: float = 10.0
    memory_mb: int = 2048
    sandbox: Literal["auto", "unsafe"] = "auto"


class Scorer:
    """Rewards that give a verdict on each completion, in processes of their own.

    `votes` says whether the accuracy reward finds the answers that maj@k votes on; `warning` what there is to warn of.
    One thread may use it at a time.
    """

    def __init__(self, parts: Sequence[Part], accuracy: int, runner: Pool | Here, warning: str = "") -> None:
        self.parts, self.accuracy, self.runner = tuple(parts), accuracy, runner
        self.rewards = runner.rewards
        self.warning = "; ".join(filter(None, [warning, *map(blindness, self.rewards)]))
        self.name = " + ".join(reward.name for reward in self.rewards)
        self.votes = self.rewards[accuracy].votes
        self.ids = any("completion_ids" in each.given and each.wants("completion_ids") for each in self.signatures)

    @property
    def signatures(self) -> list[Signature]:
        return [reward.signature for reward in self.rewards]

    def check(self, prompts: Iterable[Prompt]) -> None:
        """Refuse a prompt whose row lacks what a reward needs or cannot be handed over, with ConfigError."""
        for prompt in prompts:
            for part, reward in zip(self.parts, self.rewards, strict=True):
                problem = missing(reward, prompt) or lacking(part.use, prompt)
                if problem:
                    raise ConfigError(f"task.reward: {problem}")
            try:
                self.question(prompt)
            except TypeError as error:
                raise ConfigError(f"task.reward: {error}; leave it out, or make it one of these") from error

    def __call__(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        """One verdict for each completion. A completion whose reward failed is unscorable, and the error says why."""
        return next(self.stream([(prompt, completions)]))

    def stream(self, groups: Iterable[tuple[Prompt, Sequence[Completion]]]) -> Iterator[list[Verdict]]:
        """The verdicts of each group, in order. Workers score earlier groups while `groups` gives later ones.

        Raises:
            RewardError: the rewards can no longer be started.
        """
        jobs: deque[Job] = deque()
        for prompt, completions in groups:
            jobs.append(self.submitted(prompt, completions))
            while jobs and (not jobs[0].left or len(jobs) > WINDOW):
                yield self.verdicts(jobs.popleft())
        while jobs:
            yield self.verdicts(jobs.popleft())

    def submitted(self, prompt: Prompt, completions: Sequence[Completion]) -> Job:
        written = [Written(each.text, each.ids, each.version, each.truncated) for each in completions]
        rows = [written_line(each, ids=self.ids) for each in written]
        question, head = self.question(prompt)
        values: list[list[Value | None]] = [[None] * len(rows) for _ in self.parts]
        job = Job(question, head, rows, values, len(rows) * len(self.parts))
        self.runner.submit(job)
        self.runner.glance()
        return job

    def question(self, prompt: Prompt) -> tuple[Question, str]:
        content = prompt.content if isinstance(prompt.content, str) else [dict(each) for each in prompt.content]
        question = Question(content, prompt.columns, prompt.label)
        wanted = {name for signature in self.signatures for name in signature.reads(prompt.columns)}
        return question, question_line(question, [name for name in prompt.columns if name in wanted])

    def verdicts(self, job: Job) -> list[Verdict]:
        self.runner.finish(job)
        columns = zip(*job.values, strict=True) if job.rows else ()
        return [self.verdict([value or Value() for value in values], job.question.label) for values in columns]

    def verdict(self, values: Sequence[Value], label: str) -> Verdict:
        """What the values of the rewards, in their order, come to."""
        parts: dict[str, float] = {}
        for part, value in zip(self.parts, values, strict=True):
            if value.score is not None:
                parts[part.name] = value.score
            if value.logged:
                parts |= {f"{part.name}/{key}": number for key, number in value.logged.items()}
        right = values[self.accuracy]
        score = right.score if right.accuracy is None else right.accuracy
        error = next((value.error for value in values if value.error), "")
        if score is None and not error:
            error = (
                f"reward {self.rewards[self.accuracy].name} returned None for prompt {label}: it says right or wrong, "
                "so it must return a number for every completion"
            )
        if error or score is None:
            return Verdict(math.nan, parts=parts, error=one_line(error))
        total = sum(part.weight * (value.score or 0.0) for part, value in zip(self.parts, values, strict=True))
        return Verdict(score, total - score, parts, right.answer)

    def close(self) -> None:
        """End the processes of the rewards."""
        self.runner.close()


def missing(reward: Described, prompt: Prompt) -> str:
    """What a prompt's row lacks that the reward's parameters ask for, in a sentence; "" if nothing."""
    names, taken = reward.signature.missing(prompt.columns), reward.signature.taken(prompt.columns)
    if taken:
        return (
            f"{reward.name} would get the completion as {taken!r}, its second place, and prompt {prompt.label} has a "
            f"column of that name; call its parameters `completion` and `{taken}`, or `prompt` and `completion`"
        )
    if not names:
        return ""
    return (
        f"{reward.name} has the parameter {names[0]!r}, and prompt {prompt.label} has no such column; "
        f"it has {', '.join(prompt.columns) or 'none'}. Rename it or give it a default"
    )


def make_scorer(parts: Sequence[Part], scoring: Scoring, *, function: Callable[..., Any] | None = None) -> Scorer:
    """The scorer of these rewards, or of one `function` handed over from Python.

    Call it before anything starts a thread: a function runs in processes that are forked from this one, and while
    another Python thread runs it runs in this process, without a deadline, and `warning` says so.

    Raises:
        ConfigError: a reward cannot be found, imported or called; two have one name; `scoring.accuracy` names none.
    """
    if function is not None:
        return of_function(as_reward(function), scoring)
    named = [replace(part, name=part.name or short_name(part.use)) for part in parts]
    accuracy = accuracy_of([part.name for part in named], scoring.accuracy)
    setup = setup_of(scoring, tuple(part.use for part in named), accuracy)
    names = ", ".join(setup.uses)

    def nest() -> Nest:
        warm = started(setup, warm=True).greeted(names)
        if not warm.cold:
            return warm
        warm.close()
        cold = started(setup, warm=False).greeted(names)
        cold.cold = warm.cold
        return cold

    return Scorer(named, accuracy, pool_of(nest(), scoring, again=nest))


def of_function(reward: Reward, scoring: Scoring) -> Scorer:
    part = Part(reward.name, name=reward.name)
    accuracy = accuracy_of([reward.name], scoring.accuracy)
    others = other_threads()
    if others or not hasattr(os, "fork"):
        warning = (
            f"reward {reward.name} runs in this process, so task.scoring.deadline_s and memory_mb do not hold: a "
            f"function is given a process of its own only while no other thread runs, and {others[0]!r} does. Name it "
            "as task.reward: file.py:function, or hand it over before threads start"
        )
        return Scorer([part], accuracy, Here([reward]), warning)
    nest = forked(setup_of(scoring, (reward.name,), accuracy), [reward]).greeted(reward.name)
    return Scorer([part], accuracy, pool_of(nest, scoring))


def setup_of(scoring: Scoring, uses: tuple[str, ...], accuracy: int) -> Setup:
    return Setup(uses, accuracy, scoring.deadline_s, scoring.memory_mb, scoring.sandbox, tuple(sys.path))


def pool_of(nest: Nest, scoring: Scoring, again: Callable[[], Nest] | None = None) -> Pool:
    pool = Pool(nest, workers=scoring.workers, deadline_s=scoring.deadline_s, again=again)
    try:
        pool.describe()
    except ConfigError:
        pool.close()
        raise
    return pool


def accuracy_of(names: Sequence[str], accuracy: str) -> int:
    """The place of the reward that says right or wrong.

    Raises:
        ConfigError: two rewards have one name, or none has this one.
    """
    if not names:
        raise ConfigError("task.reward: there is no reward; write task.reward: file.py:function, or a built-in's name")
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ConfigError(f"task.reward: two rewards are called {name!r}; give one a name: {{use: ..., name: ...}}")
    if accuracy and accuracy not in names:
        near = did_you_mean(nearest(accuracy, names))
        raise ConfigError(
            f"task.scoring.accuracy: no reward is called {accuracy!r}; there are {', '.join(names)}{near}"
        )
    return names.index(accuracy) if accuracy else 0
