"""What a task is: an endless stream of prompts, held-out prompts, and a score for every completion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from strop.types import Completion, Prompt


class Task(Protocol):
    """Where prompts come from and how an answer is scored."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str:
        """For the header of a run: what the prompts are, and how many."""
        ...

    def prompt(self, draw: int) -> Prompt:
        """The prompt of this draw: a pure function of the run's seed and `draw`, for every draw from 0 on."""
        ...

    def held_out(self, count: int) -> tuple[Prompt, ...]:
        """At most `count` prompts that `prompt` never gives, the same ones every time."""
        ...

    def known(self) -> Sequence[Prompt]:
        """The prompts that can be listed before the run, to be checked; none for a task that makes them up."""
        ...

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[float]:
        """The verifier's verdict on each completion, one finite number each.

        Raises:
            RewardError: the reward raised, or returned anything else.
        """
        ...

    def answer(self, prompt: Prompt, completion: Completion) -> str:
        """What maj@k votes on; "" if the completion gives no answer."""
        ...

    def labels(self, prompt: Prompt, completion: Completion) -> dict[str, str]:
        """What an evaluation is broken down by, such as {"size": "8", "style": "steps"}."""
        ...
