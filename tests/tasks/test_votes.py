"""What maj@k votes on: what the reward's answer finds, else the last number, else the last line."""

from __future__ import annotations

from typing import Any

import pytest

from strop.tasks.votes import judged, last_answer, streamed
from strop.types import Completion, Prompt
from tests.tasks.fakes import scorer

PROMPT = Prompt("p", "2+2?")


def completion(text: str, finish: Any = "stop") -> Completion:
    return Completion((5,), (-1.0,), text, finish, 0)


@pytest.mark.parametrize(
    "text, answer",
    [
        ("So 3 + 4 = 7, the answer is 7.", "7"),
        ("It costs $1,234.50 in all.", "1234.50"),
        ("x = -3", "-3"),
        ("10-3", "3"),
        ("\\boxed{3/4}", "3/4"),
        ("about .5", ".5"),
        ("Because of this,\n\n  Paris  \n\n", "Paris"),
        (" \n", ""),
        ("", ""),
    ],
)
def test_the_vote_of_a_completion_is_its_last_number_or_else_its_last_line(text: str, answer: str) -> None:
    assert last_answer(completion(text)) == answer
    assert last_answer(completion(text, "length")) == ""


def test_a_long_text_is_gone_through_once() -> None:
    """Linear: a number of a megabyte, or a megabyte of them, is nothing to wait for."""
    assert last_answer(completion("1" * 2**20)) == "1" * 2**20
    assert last_answer(completion("1,2 " * 2**18 + "7")) == "7"


def test_completions_that_reach_one_answer_in_other_words_vote_together() -> None:
    texts = ("2+2 is 4", "I say 4.", "It is five: 5")
    assert [v.answer for v in judged(scorer(), PROMPT, [completion(text) for text in texts])] == ["4", "4", "5"]


def test_what_the_reward_itself_says_votes_and_so_does_its_silence() -> None:
    def reward(prompt: Any, completion: str) -> float:
        return 1.0

    reward.answer = lambda completion: completion[:1].strip("x")  # type: ignore[attr-defined]
    assert [v.answer for v in judged(scorer(reward), PROMPT, [completion("a 7"), completion("x 7")])] == ["a", ""]


def test_an_unscorable_completion_has_no_vote() -> None:
    [verdict] = judged(scorer(lambda prompt, completion: float("nan")), PROMPT, [completion("It is 7")])
    assert verdict.error and verdict.answer == ""


def test_a_stream_of_groups_has_the_verdicts_and_votes_of_each_group_alone() -> None:
    rewards = scorer(lambda completion, answer: float(completion == answer))
    texts = [[str(i), f"so {i + 1}", "none"] for i in range(7)]
    groups = [(Prompt(f"p{i}", "?", {"answer": str(i)}), [completion(t) for t in texts[i]]) for i in range(7)]
    found = list(streamed(rewards, iter(groups)))
    assert found == [judged(rewards, prompt, completions) for prompt, completions in groups]
    assert [[verdict.score for verdict in group] for group in found] == [[1.0, 0.0, 0.0]] * 7
    assert [[verdict.answer for verdict in group] for group in found] == [
        [f"{i}", f"{i + 1}", "none"] for i in range(7)
    ]
    rewards.close()
