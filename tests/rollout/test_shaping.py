"""The soft overlong penalty as the trainer applies it: to sampled tokens, clamped, before group statistics."""

from __future__ import annotations

import math

import pytest

from strop.rollout.shaping import Overlong
from strop.types import Completion, Verdict


def completion(tokens: int) -> Completion:
    return Completion((5,) * tokens, (-1.0,) * tokens, "x" * 29, "stop", 0)


def test_every_sampled_token_counts_the_end_token_too_and_no_character_does() -> None:
    """Report B26: 29 characters that are 6 tokens of at most 10, buffer 4: no penalty; one more token costs 1/4."""
    # https://github.com/huggingface/open-r1/pull/567
    overlong = Overlong(max_tokens=10, buffer=4, penalty=1.0)
    assert [r.penalty for r in overlong.shape([completion(6), completion(7)], [Verdict(1.0)] * 2)] == [0.0, -0.25]


@pytest.mark.parametrize("tokens, penalty", [(80, 0.0), (81, -0.05), (90, -0.5), (99, -0.95), (100, -1.0), (150, -1.0)])
def test_the_ramp_ends_at_max_tokens_and_goes_no_lower(tokens: int, penalty: float) -> None:
    """Report B24."""
    # https://github.com/verl-project/verl/issues/3855
    assert Overlong(100, 20, 1.0).of(tokens) == pytest.approx(penalty, abs=1e-12)
    assert Overlong(100, 20, 0.5).of(tokens) == pytest.approx(penalty / 2, abs=1e-12)


def test_a_buffer_of_zero_is_no_penalty_up_to_max_tokens() -> None:
    """Report B25 (b)."""
    # https://github.com/verl-project/verl/pull/2107
    assert Overlong(100, 0, 1.0).of(100) == 0.0


def test_the_penalty_is_added_to_the_score_and_leaves_the_score_alone() -> None:
    [rollout] = Overlong(100, 20, 1.0).shape([completion(90)], [Verdict(1.0, bonus=0.25, answer="4")])
    assert (rollout.score, rollout.penalty, rollout.reward, rollout.answer) == (1.0, -0.5, 0.75, "4")


def test_no_penalty_makes_an_unscorable_completion_scorable() -> None:
    [rollout] = Overlong(100, 20, 1.0).shape([completion(90)], [Verdict.unscorable("it failed")])
    assert math.isnan(rollout.score) and math.isnan(rollout.reward) and rollout.error == "it failed"
