"""The scorer of a run: several rewards, each in its own words, become one verdict on each completion.

score = accuracy of the accuracy reward          bonus = sum of weight * reward, over all, minus score
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from strop.errors import ConfigError
from strop.names import did_you_mean, nearest
from strop.rewards.adapters import Question, Written, values_of
from strop.rewards.find import Reward, as_reward, find_reward, short_name
from strop.rewards.values import Value, one_line
from strop.types import Completion, Prompt, Verdict


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


@dataclass(frozen=True, slots=True)
class Named:
    """A reward as the parent knows it: its name in metrics, its weight, and the reward."""

    name: str
    weight: float
    reward: Reward


class Scorer:
    """Rewards that give a verdict on each completion. `votes` says whether the accuracy reward finds the answers."""

    def __init__(self, parts: Sequence[Named], accuracy: int) -> None:
        self.parts, self.accuracy = tuple(parts), accuracy
        self.name = " + ".join(part.reward.name for part in parts)
        self.votes = parts[accuracy].reward.voted is not None

    def check(self, prompts: Iterable[Prompt]) -> None:
        """Refuse a prompt whose row lacks a column that a reward needs, with ConfigError."""
        for prompt in prompts:
            for part in self.parts:
                refuse_missing(part.reward.name, part.reward.signature.missing(prompt.columns), prompt)

    def __call__(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        """One verdict for each completion. A completion whose reward failed is unscorable, and the error says why."""
        content = prompt.content if isinstance(prompt.content, str) else [dict(each) for each in prompt.content]
        question = Question(content, prompt.columns, prompt.label)
        written = [Written(each.text, each.ids, each.version, each.truncated) for each in completions]
        columns = [values_of(part.reward, question, written) for part in self.parts]
        return [self.verdict(values, prompt.label) for values in zip(*columns, strict=True)]

    def verdict(self, values: Sequence[Value], label: str) -> Verdict:
        """What the values of the rewards, in their order, come to."""
        parts: dict[str, float] = {}
        for part, value in zip(self.parts, values, strict=True):
            if value.score is not None:
                parts[part.name] = value.score
            parts |= {f"{part.name}/{key}": number for key, number in value.logged.items()}
        errors = [value.error for value in values if value.error]
        right = values[self.accuracy]
        score = right.score if right.accuracy is None else right.accuracy
        if score is None and not errors:
            errors = [
                f"reward {self.parts[self.accuracy].reward.name} returned None for prompt {label}: it says right "
                "or wrong, so it must apply to every completion"
            ]
        if errors or score is None:
            return Verdict(math.nan, parts=parts, error=one_line(errors[0]))
        total = sum(part.weight * (value.score or 0.0) for part, value in zip(self.parts, values, strict=True))
        return Verdict(score, total - score, parts, right.answer)

    def close(self) -> None:
        """End the processes of the rewards."""


def refuse_missing(name: str, missing: Sequence[str], prompt: Prompt) -> None:
    if missing:
        raise ConfigError(
            f"task.reward: {name} has the parameter {missing[0]!r}, and prompt {prompt.label} has no such "
            f"column; it has {', '.join(prompt.columns) or 'none'}. Rename it or give it a default"
        )


def make_scorer(parts: Sequence[Part], scoring: Scoring, *, function: Callable[..., Any] | None = None) -> Scorer:
    """The scorer of these rewards, or of one `function` handed over from Python.

    Raises:
        ConfigError: a reward cannot be found, imported or called; two have one name; `scoring.accuracy` names none.
    """
    if function is not None:
        reward = as_reward(function)
        named = [Named(reward.name, 1.0, reward)]
    else:
        named = [Named(part.name or short_name(part.use), part.weight, find_reward(part.use)) for part in parts]
    return Scorer(named, accuracy_of([part.name for part in named], scoring.accuracy))


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
