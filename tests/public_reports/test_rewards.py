"""A user's reward: as many finite numbers as completions or an error, and the length penalty on every way to it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import strop
from strop.errors import RewardError
from strop.tasks.reward import as_reward
from strop.types import Completion, Group, Prompt

PROMPT = Prompt("p1", "2+2=")
NUMBERS = st.floats(-9, 9)
NO_NUMBERS = [math.nan, math.inf, -math.inf, None, "0.5", [1.0], np.nan, 10**400]


def completions(count: int) -> list[Completion]:
    return [Completion((5,), (-1.0,), str(i), "stop", 0) for i in range(count)]


def forms(scores: Any) -> list[Any]:
    """A batch reward that gives these scores: plain, async, and an object whose call is async."""

    def plain(completions: list[str]) -> Any:
        return scores

    async def awaited(completions: list[str]) -> Any:
        return scores

    class Scorer:
        async def __call__(self, completions: list[str]) -> Any:
            return scores

    return [plain, awaited, Scorer()]


@given(count=st.integers(1, 6), scores=st.lists(NUMBERS, max_size=7), kind=st.sampled_from([list, tuple, np.array]))
@example(count=4, scores=[1.0], kind=list)
@example(count=4, scores=[1.0] * 5, kind=list)
@example(count=4, scores=[1.0, 0.0, 0.5, 0.0], kind=np.array)
def test_a_batch_has_one_score_for_each_completion_or_is_refused(count: int, scores: list[float], kind: Any) -> None:
    """Report B36, https://github.com/huggingface/trl/issues/6533: nothing is broadcast, and everything is awaited."""
    for function in forms(kind(scores)):
        if len(scores) == count:
            assert as_reward(function)(PROMPT, completions(count)) == scores
            continue
        with pytest.raises(RewardError, match=f"wrong number of scores: expected {count}, got {len(scores)}"):
            as_reward(function)(PROMPT, completions(count))


@given(count=st.integers(1, 6), columns=st.integers(1, 3))
@example(count=4, columns=1)
def test_an_array_of_more_than_one_axis_is_refused_and_never_becomes_a_square(count: int, columns: int) -> None:
    """Report B36."""
    # https://github.com/huggingface/trl/issues/6533
    for function in forms(np.ones((count, columns))):
        with pytest.raises(RewardError, match="it must return a finite number"):
            as_reward(function)(PROMPT, completions(count))


@given(scores=st.lists(NUMBERS, min_size=1, max_size=6), place=st.integers(0, 5), bad=st.sampled_from(NO_NUMBERS))
def test_one_score_that_is_no_number_is_refused_wherever_it_stands(scores: list[float], place: int, bad: Any) -> None:
    """Report B38, https://github.com/NVIDIA-NeMo/Gym/pull/2015: nan and inf are not believed, nor is a text."""
    wrong = [*scores[:place], bad, *scores[place:]]
    for function in forms(wrong):
        with pytest.raises(RewardError, match="returned .* for prompt 'p1': it must return a finite number"):
            as_reward(function)(PROMPT, completions(len(wrong)))


def single(prompt: str, completion: str) -> float:
    return 1.0


def batched(prompts: list[str], completions: list[str], **columns: Any) -> list[float]:
    return [1.0] * len(completions)


async def awaited(prompts: list[str], completions: list[str], **columns: Any) -> list[float]:
    return [1.0] * len(completions)


@pytest.mark.parametrize("reward", [single, batched, awaited])
def test_the_length_penalty_comes_with_every_form_of_reward(reward: Any, tmp_path: Path) -> None:
    """Report B25, https://github.com/verl-project/verl/pull/2107: a new way to the reward left the penalty behind."""
    seen: list[Group] = []
    overlong = {"buffer": 20, "penalty": 0.5}
    settings = {
        "rollout": {"prompts": 2, "completions": 4, "max_tokens": 24, "filter": "none", "overlong": overlong},
        "train": {"steps": 1, "updates": 1},
        "eval": {"prompts": 1, "completions": 1},
        "runs": str(tmp_path),
    }
    strop.train(settings, reward=reward, on_rollouts=lambda _, groups: seen.extend(groups))
    rollouts = [rollout for group in seen for rollout in group.rollouts]
    assert len({rollout.completion.tokens for rollout in rollouts}) > 1
    for rollout in rollouts:
        expected = strop.soft_overlong(rollout.completion.tokens, max_tokens=24, **overlong)
        assert rollout.penalty == expected
        assert (rollout.score, rollout.reward) == (1.0, 1.0 + expected)
    assert any(rollout.penalty < 0 for rollout in rollouts)
