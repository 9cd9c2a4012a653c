"""Every prompt that is known before a run, encoded before the model loads: one that does not fit is told, cut or taken
out as task.data.long_prompts says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from strop.rollout.encode import Encoder
from strop.tasks.mixture import left_out
from strop.tasks.task import Task, Warned
from strop.types import Prompt

FIRST = 32
"""Draws that are encoded too: a task that makes its prompts up is met before the model is."""


def fitting(task: Task, encode: Encoder, tick: Callable[[int, int], None]) -> tuple[Task, tuple[str, ...]]:
    """The task without the prompts that are dropped, and what is to be said of its data and its template.

    `tick(done, total)` is called with every prompt.

    Raises:
        DataError: a prompt cannot be encoded, is over the limit where that is an error, or none is left.
    """
    prompts = task.known()
    tokens: dict[int, int] = {}
    for done, prompt in enumerate(prompts, start=1):
        if id(prompt.content) not in tokens:  # copies of a row share their content
            tokens[id(prompt.content)] = len(encode.whole(prompt))
        tick(done, len(prompts))
    long = [prompt for prompt in prompts if tokens[id(prompt.content)] > encode.room]
    said = [*encode.warnings, *(task.warnings if isinstance(task, Warned) else ())]
    if long:
        task = dropped(task, long, encode) if encode.long_prompts == "drop" else cut(task, long, encode)
        said.append(told(long, len(prompts), encode))
    for draw in range(FIRST):
        encode(task.prompt(draw))
    return task, tuple(said)


def dropped(task: Task, long: Sequence[Prompt], encode: Encoder) -> Task:
    """The task without its long prompts, which its description counts."""
    return left_out(task, {prompt.id for prompt in long}, f"over {encode.room} tokens and dropped")


def cut(task: Task, long: Sequence[Prompt], encode: Encoder) -> Task:
    """The same task, once every long prompt is known to be cut without an error."""
    for prompt in long:
        encode(prompt)
    return task


def told(long: Sequence[Prompt], total: int, encode: Encoder) -> str:
    """What became of the long prompts, with the first of them."""
    size = encode.room
    became = {"drop": "dropped", "left": f"cut to their last {size}", "right": f"cut to their first {size}"}
    what = f"{len(long)} of {total} prompts have more than {size} tokens and are {became[encode.long_prompts]}"
    return f"{what} (task.data.long_prompts): the first is {long[0].label}"
