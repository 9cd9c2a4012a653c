from __future__ import annotations

import math

import pytest

from strop.errors import ConfigError, DataError
from strop.rollout.engine import Request, Sampling


def test_a_request_needs_a_token_and_a_completion() -> None:
    with pytest.raises(DataError, match="draw 7 has no tokens"):
        Request(draw=7, prompt_ids=(), completions=1)
    with pytest.raises(ConfigError, match="completions must be at least 1, not 0"):
        Request(draw=7, prompt_ids=(1,), completions=0)


@pytest.mark.parametrize("temperature", [-1.0, math.nan, math.inf])
def test_a_temperature_is_zero_or_positive_and_finite(temperature: float) -> None:
    with pytest.raises(ConfigError, match="temperature must be 0"):
        Sampling(max_tokens=1, temperature=temperature)


def test_the_number_of_recorded_tokens_is_not_negative() -> None:
    with pytest.raises(ConfigError, match="topk must be 0 or more, not -1"):
        Sampling(max_tokens=1, topk=-1)


def test_a_completion_has_room_for_a_token() -> None:
    with pytest.raises(ConfigError, match="max_tokens must be at least 1, not 0"):
        Sampling(max_tokens=0)
