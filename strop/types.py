"""The plain frozen records that travel from a task to a batch: Prompt, Completion, Verdict, Rollout, Group.

Left of `batch` strop speaks in these; right of it only in flat tensors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Message = Mapping[str, str]
"""One chat turn: {"role": "user", "content": "..."}."""

Finish = Literal["stop", "length"]
"""Why a completion ended: it sampled an end token, or it reached `max_tokens`."""

Fate = Literal["trained", "all_right", "all_wrong", "errored", "dropped", "carried"]
"""What became of a group: every group that was sampled has exactly one, and the ledger adds them up."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question: its text (or chat messages), a stable id, and every other column of its row for the reward.

    `where` is the file and line it came from, if it came from one.
    """

    id: str
    content: str | tuple[Message, ...]
    columns: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""

    @property
    def label(self) -> str:
        """How an error names it: "train.jsonl:12", or its id."""
        return self.where or repr(self.id)


@dataclass(frozen=True, slots=True)
class Completion:
    """A sampled answer: ids as sampled (the end token included), the sampler's log-probs, and who wrote it.

    `sampler_logp[t]` is log mu(ids[t]) in nats, at the sampling temperature, over the full vocabulary.
    `version` counts the steps that had been trained when it was written. For a row that reads them `top_ids`
    and `top_logp` hold the sampler's K most likely ids of each position and their log-probs, token by token, as
    strop.packing writes them; else they are empty.
    """

    ids: tuple[int, ...]
    sampler_logp: tuple[float, ...]
    text: str
    finish: Finish
    version: int
    top_ids: str = ""
    top_logp: str = ""

    @property
    def truncated(self) -> bool:
        return self.finish == "length"

    @property
    def tokens(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a task says of one completion.

    score    the accuracy: what dynamic sampling filters on; nan for a completion that is unscorable
    bonus    the weighted sum of all rewards, minus the score: 0 where there is one reward
    parts    each reward's own number by its name, and what a reward logged ("name/key")
    answer   what maj@k votes on; "" gives no vote
    error    why it is unscorable, in one line; "" if it is not
    """

    score: float
    bonus: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    answer: str = ""
    error: str = ""

    @classmethod
    def unscorable(cls, error: str) -> Verdict:
        """The verdict on a completion whose reward failed: in no statistic, of no weight, and never a silent 0."""
        return cls(math.nan, error=error or "no reason was given")


@dataclass(frozen=True, slots=True)
class Rollout:
    """A completion with its verdict and the length penalty (`penalty` <= 0) that is added to it.

    An `error` says that it is unscorable: its score and reward are nan, it is in no group's statistics, and no token
    of it trains.
    """

    completion: Completion
    score: float
    penalty: float = 0.0
    bonus: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    answer: str = ""
    error: str = ""

    @classmethod
    def judged(cls, completion: Completion, verdict: Verdict, penalty: float = 0.0) -> Rollout:
        found = (verdict.score, penalty, verdict.bonus, verdict.parts, verdict.answer, verdict.error)
        return cls(completion, *found)

    @property
    def reward(self) -> float:
        """The number that is trained on: score + bonus + penalty."""
        return self.score + self.bonus + self.penalty


@dataclass(frozen=True, slots=True)
class Group:
    """All rollouts of one draw of a prompt. `draw` is its place in the task's endless stream, and its group id."""

    draw: int
    prompt: Prompt
    prompt_ids: tuple[int, ...]
    rollouts: tuple[Rollout, ...]

    @property
    def tokens(self) -> int:
        return sum(rollout.completion.tokens for rollout in self.rollouts)

    @property
    def scores(self) -> tuple[float, ...]:
        """The scores of the completions that have one."""
        return tuple(rollout.score for rollout in self.rollouts if not rollout.error)

    @property
    def unscorable(self) -> int:
        """How many completions have none."""
        return sum(bool(rollout.error) for rollout in self.rollouts)
