"""Coroutines are awaited side by side, what one raises stands in its place, and so are async rewards of every form."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

from strop.rewards.together import settled
from tests.rewards.made import ask, scores, the_error


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    if isinstance(value, BaseException):
        raise value
    return value


def test_what_is_not_to_be_awaited_comes_back_as_it_is() -> None:
    before = threading.active_count()
    assert settled([1.0, None, "x", [1]]) == [1.0, None, "x", [1]]
    assert threading.active_count() == before


def test_values_and_coroutines_keep_their_places() -> None:
    assert settled([later(1), 2, later(3), later(None)]) == [1, 2, 3, None]


def test_what_one_raises_is_the_others_no_matter() -> None:
    first, failed, exit_, cancelled, last = settled(
        [later(1), later(ValueError("x")), later(SystemExit(3)), later(asyncio.CancelledError()), later(2)]
    )
    assert (first, last) == (1, 2)
    assert [type(each) for each in (failed, exit_, cancelled)] == [ValueError, SystemExit, asyncio.CancelledError]


def test_one_that_takes_too_long_is_cancelled() -> None:
    seen = []

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            seen.append("cancelled")

    late, quick = settled([slow(), later(1)], limit_s=0.05)
    assert isinstance(late, TimeoutError)
    assert (quick, seen) == (1, ["cancelled"])


class AsyncScorer:
    """Report B36: an object whose __call__ is async."""

    async def __call__(self, prompts: list[str], completions: list[str], **columns: Any) -> list[float]:
        await asyncio.sleep(0)
        return [float(c == a) for c, a in zip(completions, columns["answer"], strict=True)]


async def one_by_one(prompt: str, completion: str, answer: str) -> float:
    await asyncio.sleep(0)
    return float(completion == answer)


async def all_at_once(completions: list[str], answer: list[str]) -> Any:
    return np.array([c == a for c, a in zip(completions, answer, strict=True)])


async def as_verl(solution_str: str, ground_truth: str) -> Any:
    return {"score": float(solution_str == ground_truth)}


ASYNC = [
    AsyncScorer(),
    one_by_one,
    all_at_once,
    as_verl,
    lambda prompt, completion, answer: one_by_one("", completion, answer),
]


@pytest.mark.parametrize("function", ASYNC)
def test_an_async_reward_is_awaited(function: Any) -> None:
    """Report B36, https://github.com/huggingface/trl/issues/6533: no coroutine is taken for a score."""
    assert scores(ask(function)) == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("function", ASYNC)
def test_an_async_reward_is_awaited_under_a_loop_that_is_running_as_in_a_notebook(function: Any) -> None:
    async def cell() -> list[float | None]:
        return scores(ask(function))

    assert asyncio.run(cell()) == [1.0, 0.0, 0.0]


def test_the_single_async_form_waits_for_all_completions_side_by_side_on_one_loop() -> None:
    waiting: list[str] = []
    loops = set()

    async def score(prompt: str, completion: str) -> float:
        waiting.append(completion)
        loops.add(asyncio.get_running_loop())
        while len(waiting) % 3:
            await asyncio.sleep(0)
        return 1.0

    assert scores(ask(score)) == scores(ask(score)) == [1.0] * 3
    assert len(loops) == 1


def test_of_those_that_wait_side_by_side_the_late_one_is_given_up_and_the_others_kept() -> None:
    async def score(prompt: str, completion: str) -> float:
        await asyncio.sleep(0 if completion else 60)
        return 1.0

    values = ask(score, limit_s=0.1)
    assert [value.score for value in values] == [1.0, 1.0, None]
    assert values[2].error.startswith("reward score took more than 0.1 s over one completion of prompt 'p1'; ")


def test_an_async_reward_that_raises_is_named() -> None:
    async def broken(prompt: str, completion: str) -> float:
        raise TimeoutError("judge")

    assert the_error(ask(broken)).startswith("reward broken raised TimeoutError: judge (prompt 'p1')")
