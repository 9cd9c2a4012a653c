"""Rewards in the words of the pages of TRL and verl, as users copy them, for the prompt "What is 2 + 2?"."""

from __future__ import annotations

import asyncio
import re
from typing import Any


def reward_length(completions: Any, **kwargs: Any) -> list[float]:
    """TRL: the number of different letters of a completion that is a text."""
    return [float(len(set(content))) for content in completions]


def reward_correct(completions: Any, ground_truth: Any, **kwargs: Any) -> list[float]:
    """TRL: what stands in the box, beside a column, of completions that are messages."""
    matches = [re.search(r"\\boxed\{(.*?)\}", completion[0]["content"]) for completion in completions]
    contents = [match.group(1) if match else "" for match in matches]
    return [1.0 if content == right else 0.0 for content, right in zip(contents, ground_truth, strict=True)]


def reward_of_one_task(prompts: Any, completions: Any, task: Any, **kwargs: Any) -> list[float | None]:
    """TRL: a reward that applies to one kind of row only."""
    return [1.0 if kind == "math" else None for _, kind in zip(completions, task, strict=True)]


async def reward_async(prompts: Any, completions: Any, **kwargs: Any) -> list[float]:
    await asyncio.sleep(0)
    return [0.25] * len(completions)


def reward_by_step(completions: Any, trainer_state: Any, log_extra: Any, log_metric: Any, **kwargs: Any) -> list[float]:
    """TRL: the trainer's step, and what is logged beside."""
    log_extra("extracted", [str(completion) for completion in completions])
    log_metric("step", float(trainer_state.global_step))
    return [float(trainer_state.global_step) for _ in completions]


def compute_score(data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any = None) -> Any:
    """verl: a score and what is logged, of one text."""
    extra_info["seen"] = True
    right = solution_str.endswith(f"{{{ground_truth}}}")
    return {"score": 1.0 if right else -1.0, "acc": right, "pred": solution_str[-2:-1], "source": data_source}


async def compute_score_async(data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any) -> float:
    await asyncio.sleep(0)
    return float(str(extra_info["index"]) == solution_str)
