"""A user's reward: as many finite numbers as completions or an error, and the length penalty on every way to it."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import strop
from strop.rewards.adapters import Question, Written, values_of
from strop.rewards.find import as_reward
from strop.rewards.scorer import Part, Scoring, make_scorer
from strop.rewards.values import Value
from strop.types import Completion, Group, Prompt

NUMBERS = st.floats(-9, 9)
NO_NUMBERS = [math.nan, math.inf, -math.inf, "0.5", [1.0], np.nan, 10**400]


def values(function: Any, count: int) -> list[Value]:
    """What a reward gives for `count` completions of one prompt."""
    written = [Written(str(place)) for place in range(count)]
    return values_of(as_reward(function), Question("2+2=", {}, "'p1'"), written)


def scores(function: Any, count: int) -> list[float | None]:
    return [value.score for value in values(function, count)]


def the_error(function: Any, count: int) -> str:
    [error] = {value.error for value in values(function, count)}
    return error


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


@given(count=st.integers(1, 6), given_=st.lists(NUMBERS, max_size=7), kind=st.sampled_from([list, tuple, np.array]))
@example(count=4, given_=[1.0], kind=list)
@example(count=4, given_=[1.0] * 5, kind=list)
@example(count=4, given_=[1.0, 0.0, 0.5, 0.0], kind=np.array)
def test_a_batch_has_one_score_for_each_completion_or_is_refused(count: int, given_: list[float], kind: Any) -> None:
    """Report B36, https://github.com/huggingface/trl/issues/6533: nothing is broadcast, and everything is awaited."""
    for function in forms(kind(given_)):
        if len(given_) == count:
            assert scores(function, count) == given_
            continue
        assert f"wrong number of scores: expected {count}, got {len(given_)}" in the_error(function, count)


@given(count=st.integers(2, 6), columns=st.integers(1, 3))
@example(count=4, columns=1)
def test_an_array_of_more_than_one_axis_is_refused_and_never_becomes_a_square(count: int, columns: int) -> None:
    """Report B36, https://github.com/huggingface/trl/issues/6533: four rows of one never are four times four."""
    for function in forms(np.ones((count, columns))):
        assert "it must return a finite number" in the_error(function, count)


@given(given_=st.lists(NUMBERS, min_size=1, max_size=6), place=st.integers(0, 5), bad=st.sampled_from(NO_NUMBERS))
def test_one_score_that_is_no_number_is_refused_wherever_it_stands(given_: list[float], place: int, bad: Any) -> None:
    """Report B38, https://github.com/NVIDIA-NeMo/Gym/pull/2015: nan and inf are not believed, nor is a text."""
    where = min(place, len(given_))
    wrong = [*given_[:where], bad, *given_[where:]]
    for function in forms(wrong):
        found = values(function, len(wrong))
        assert [value.score for value in found] == [*given_[:where], None, *given_[where:]]
        assert "returned" in found[where].error
        assert "for prompt 'p1': it must return a finite number" in found[where].error


def test_of_four_completions_one_whose_scorer_raises_is_unscorable_and_the_others_are_not(tmp_path: Path) -> None:
    """Report B38, https://github.com/NVIDIA-NeMo/Gym/pull/2015: an infrastructure failure is no real 0."""
    file = tmp_path / "judge.py"
    file.write_text("def score(completion, **rest):\n    return {'a': 1, 'b': 0, 'd': True}[completion]\n")
    scorer = make_scorer([Part(f"{file}:score")], Scoring())
    texts = [Completion((5,), (-1.0,), text, "stop", 0) for text in "abcd"]
    verdicts = scorer(Prompt("p1", "2+2="), texts)
    scorer.close()
    assert [verdict.score for verdict in verdicts if not verdict.error] == [1.0, 0.0, 1.0]
    assert math.isnan(verdicts[2].score)
    assert f"reward {file}:score raised KeyError: 'c'" in verdicts[2].error


PATHOLOGICAL = [r"\boxed{9^{9^{9^{9}}}}", *(20_000 * text for text in ("{", r"\boxed{", "Answer: "))]


@pytest.mark.parametrize("text", PATHOLOGICAL, ids=["tower", "braces", "boxes", "answers"])
def test_a_pathological_answer_is_judged_in_time_from_any_thread_and_the_next_is_right(text: str) -> None:
    """Report B34, https://github.com/areal-project/AReaL/pull/1426: a hang for ever, and a time-out of threads."""
    found: list[Any] = []
    scorer = make_scorer([Part("math")], Scoring(deadline_s=4.0, workers=1))

    def judge() -> None:
        for each in (text, r"so \boxed{1}"):
            start = time.monotonic()
            [verdict] = scorer(Prompt("p1", "2+2=", {"answer": "1"}), [Completion((5,), (-1.0,), each, "stop", 0)])
            found.append((verdict, time.monotonic() - start))

    thread = threading.Thread(target=judge)
    thread.start()
    thread.join()
    scorer.close()
    (hard, took), (easy, _) = found
    assert hard.score == 0.0 or "took more than 4 s" in hard.error
    assert took < 4.0 + 1.0
    assert easy.score == 1.0


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
