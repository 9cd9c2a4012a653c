"""The plain frozen records that travel from a task to a batch: Prompt, Completion, Rollout, Group.

Left of `batch` strop speaks in these; right of it only in flat tensors.
"""

from __future__ import annotations

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
class Rollout:
    """A completion with the verifier's verdict (`score`) and the length penalty (`penalty` <= 0) added to it."""

    completion: Completion
    score: float
    penalty: float = 0.0

    @property
    def reward(self) -> float:
        """The number that is trained on: score + penalty."""
        return self.score + self.penalty


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
        return tuple(rollout.score for rollout in self.rollouts)
