"""Several tasks in one stream, each with its share of the draws, its own rewards and its own held-out prompts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from strop.errors import DataError
from strop.tasks.shares import Shares, quotas
from strop.tasks.task import Listed, Task, Warned
from strop.types import Completion, Prompt, Verdict


@dataclass(frozen=True, slots=True)
class Mixture:
    """Tasks by name. A prompt's id begins with the name of its task, and `labels` gives it, so an evaluation is broken
    down by task."""

    tasks: Mapping[str, Task]
    shares: Shares

    @property
    def name(self) -> str:
        return " + ".join(self.tasks)

    @property
    def description(self) -> str:
        total = sum(self.shares.weights)
        parts = zip(self.tasks.values(), self.shares.weights, strict=True)
        return "; ".join(f"{float(weight / total):.1%} {task.description}" for task, weight in parts)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its tasks have to say, with their names."""
        warned = [(name, task) for name, task in self.tasks.items() if isinstance(task, Warned)]
        return tuple(f"{name}: {text}" for name, task in warned for text in task.warnings)

    def prompt(self, draw: int) -> Prompt:
        place, draw_of_task = self.shares.of(draw)
        name, task = list(self.tasks.items())[place]
        return marked(name, task.prompt(draw_of_task))

    def held_out(self, count: int) -> tuple[Prompt, ...]:
        """Held-out prompts of every task, by weight; where one has fewer than its share, the others fill up."""
        wanted = quotas(count, self.shares.weights)
        found = [task.held_out(most) for task, most in zip(self.tasks.values(), wanted, strict=True)]
        for place, task in enumerate(self.tasks.values()):
            lacking = count - sum(map(len, found))
            if lacking and len(found[place]) == wanted[place]:
                found[place] = task.held_out(wanted[place] + lacking)
        by_name = zip(self.tasks, found, strict=True)
        return tuple(marked(name, prompt) for name, prompts in by_name for prompt in prompts)

    def known(self) -> Sequence[Prompt]:
        return [marked(name, prompt) for name, task in self.tasks.items() for prompt in task.known()]

    def without(self, ids: Collection[str], why: str) -> Mixture:
        """The same without the prompts of these ids, each in its own task.

        Raises:
            DataError: a task has none left, or makes its prompts up as it goes.
        """
        gone: dict[str, set[str]] = {}
        for mark in ids:
            name, _, own = mark.partition("/")
            gone.setdefault(name, set()).add(own)
        kept = {name: left_out(task, gone[name], why) if name in gone else task for name, task in self.tasks.items()}
        return replace(self, tasks=kept)

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        name, own = unmarked(prompt)
        return self.tasks[name].score(own, completions)

    def labels(self, prompt: Prompt, completion: Completion) -> dict[str, str]:
        name, own = unmarked(prompt)
        return {"task": name, **self.tasks[name].labels(own, completion)}

    def close(self) -> None:
        for task in self.tasks.values():
            task.close()


def mix(tasks: Sequence[Task], weights: Sequence[float], seed: int) -> Mixture:
    """The mixture of these tasks. Two of one name are told apart by a number."""
    named: dict[str, Task] = {}
    for task in tasks:
        base = task.name.replace("/", ".")
        count = 2
        name = base
        while name in named:
            name, count = f"{base} {count}", count + 1
        named[name] = task
    return Mixture(named, Shares(tuple(Fraction(str(weight)) for weight in weights), seed))


def marked(name: str, prompt: Prompt) -> Prompt:
    return replace(prompt, id=f"{name}/{prompt.id}")


def unmarked(prompt: Prompt) -> tuple[str, Prompt]:
    """The name of a prompt's task, and the prompt as that task gave it."""
    name, _, own = prompt.id.partition("/")
    return name, replace(prompt, id=own)


def left_out(task: Task, ids: Collection[str], why: str) -> Task:
    """The task without the prompts of these ids.

    Raises:
        DataError: none is left, or the task makes them up as it goes.
    """
    if not isinstance(task, Listed):
        raise DataError(f"{task.name}: {len(ids)} prompts are {why}, and this task cannot leave prompts out")
    return task.without(ids, why)
