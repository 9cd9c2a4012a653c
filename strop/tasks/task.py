"""What a task is: an endless stream of prompts, held-out prompts, and a score for every completion."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from strop.types import Completion, Prompt, Verdict


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

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        """The verdict on each completion, in their order; one that could not be scored says why."""
        ...

    def labels(self, prompt: Prompt, completion: Completion) -> dict[str, str]:
        """What an evaluation is broken down by, such as {"size": "8", "style": "steps"}."""
        ...

    def close(self) -> None:
        """End the processes that score."""
        ...


@runtime_checkable
class Streamed(Protocol):
    """A task whose processes score earlier groups while later ones are still sampled or handed over."""

    def stream(self, groups: Iterable[tuple[Prompt, Sequence[Completion]]]) -> Iterator[list[Verdict]]:
        """The verdicts of each group, in their order."""
        ...


def verdicts(task: Task, groups: Iterable[tuple[Prompt, Sequence[Completion]]]) -> Iterator[list[Verdict]]:
    """The verdicts of each group, in their order, as the task can give them: side by side, or group by group."""
    if isinstance(task, Streamed):
        return task.stream(groups)
    return (task.score(prompt, completions) for prompt, completions in groups)


@runtime_checkable
class Warned(Protocol):
    """A task that has something to say before it is trained."""

    @property
    def warnings(self) -> Sequence[str]:
        """What is odd about its data or its rewards, one line each."""
        ...


@runtime_checkable
class Listed(Protocol):
    """A task whose prompts are known before the run, so that some can be taken out."""

    def without(self, ids: Collection[str], why: str) -> Task:
        """The same task without the prompts of these ids, which are counted in its description as `why`.

        Raises:
            DataError: none is left.
        """
        ...
