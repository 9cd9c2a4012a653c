from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from strop.types import Completion, Group, Prompt, Rollout


def completion(tokens: int, finish: str = "stop") -> Completion:
    return Completion((7,) * tokens, (-0.5,) * tokens, "x", finish, 0)  # type: ignore[arg-type]


def test_a_prompt_is_named_by_where_it_stands_else_by_its_id() -> None:
    assert Prompt("a1", "4+7=", where="train.jsonl:12").label == "train.jsonl:12"
    assert Prompt("a1", "4+7=").label == "'a1'"
    assert Prompt("a1", "4+7=").columns == {}


def test_a_completion_is_truncated_exactly_when_it_reached_the_limit() -> None:
    assert completion(3, "length").truncated
    assert not completion(3, "stop").truncated
    assert completion(3).tokens == 3


def test_the_reward_is_the_score_with_the_penalty_added() -> None:
    assert Rollout(completion(2), 1.0, -0.25).reward == 0.75
    assert Rollout(completion(2), 1.0).reward == 1.0


def test_a_group_adds_up_the_tokens_that_were_sampled_and_keeps_the_scores_without_penalties() -> None:
    group = Group(5, Prompt("a", "q"), (1, 2, 3), (Rollout(completion(2), 1.0, -0.5), Rollout(completion(4), 0.0)))
    assert group.tokens == 6
    assert group.scores == (1.0, 0.0)
    assert Group(5, Prompt("a", "q"), (1,), ()).tokens == 0


def test_records_are_frozen() -> None:
    for record, field in ((completion(1), "text"), (Rollout(completion(1), 1.0), "score"), (Prompt("a", "q"), "id")):
        with pytest.raises(FrozenInstanceError):
            setattr(record, field, "changed")
