"""Soft overlong punishment: algorithms 3.4, the oracle's section 9, and public reports B24 to B26."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import strop
from strop.errors import ConfigError
from tests.objective.twins import BOTH, Twin, close


@BOTH
def test_equation_13_from_zero_down_the_slope_to_minus_one_and_no_further(twin: Twin) -> None:
    lengths = [14, 15, 16, 18, 19, 20, 21, 25]
    close(twin.soft_overlong(lengths, max_tokens=20, buffer=5), [0, 0, -1 / 5, -3 / 5, -4 / 5, -1, -1, -1])


@BOTH
def test_the_slope_ends_at_the_limit_and_does_not_begin_there(twin: Twin) -> None:
    """B24."""
    # https://github.com/verl-project/verl/issues/3855
    lengths = [0, 80, 81, 90, 99, 100, 101, 150]
    close(twin.soft_overlong(lengths, max_tokens=100, buffer=20), [0, 0, -0.05, -0.5, -0.95, -1, -1, -1])
    close(twin.soft_overlong([90], max_tokens=100, buffer=20, penalty=0.5), [-0.25])


@BOTH
def test_a_buffer_of_nothing_is_a_cliff_and_a_buffer_of_everything_a_ramp(twin: Twin) -> None:
    """B25."""
    # https://github.com/verl-project/verl/pull/2107
    close(twin.soft_overlong([99, 100, 101], max_tokens=100, buffer=0), [0, 0, -1])
    close(twin.soft_overlong([0, 1, 100], max_tokens=100, buffer=100), [0, -0.01, -1])


@BOTH
@pytest.mark.parametrize("buffer", [120, -5])
def test_a_buffer_that_cannot_be_is_refused(twin: Twin, buffer: int) -> None:
    """B25: a buffer above the limit would fine every completion."""
    # https://github.com/verl-project/verl/pull/2107
    with pytest.raises(ConfigError, match=f"buffer.*{buffer}"):
        twin.soft_overlong([90], max_tokens=100, buffer=buffer)


def test_a_penalty_that_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="penalty is -1"):
        strop.soft_overlong(1, max_tokens=10, buffer=2, penalty=-1.0)
    with pytest.raises(ConfigError, match="max_tokens is 0"):
        strop.soft_overlong(1, max_tokens=0, buffer=0)


@BOTH
def test_length_counts_sampled_tokens_the_end_token_too_and_no_padding(twin: Twin) -> None:
    """B26: ids [5, 5, 5, 5, 5, 2 (end), 0, 0, 0, 0] are 6 tokens long, 29 characters of text or not."""
    # https://github.com/huggingface/open-r1/pull/567
    close(twin.soft_overlong([6, 7, 10, 29], max_tokens=10, buffer=4), [0, -0.25, -1, -1])
    close(twin.soft_overlong([19, 19 + 1], max_tokens=20, buffer=5), [-4 / 5, -1])


@given(
    length=st.integers(0, 300),
    more=st.integers(0, 50),
    max_tokens=st.integers(1, 200),
    share=st.floats(0, 1),
    penalty=st.floats(0, 4),
)
def test_the_penalty_is_bounded_falls_with_length_and_is_one_number_in_every_form(
    length: int, more: int, max_tokens: int, share: float, penalty: float
) -> None:
    settings: dict[str, Any] = {"max_tokens": max_tokens, "buffer": int(share * max_tokens), "penalty": penalty}
    found = strop.soft_overlong(length, **settings)
    assert -penalty <= strop.soft_overlong(length + more, **settings) <= found <= 0
    assert isinstance(found, float)
    for form in (torch.tensor(length), torch.tensor([[length]]), torch.tensor(float(length))):
        shaped = strop.soft_overlong(form, **settings)
        assert shaped.shape == form.shape and shaped.dtype == torch.float64
        close(shaped, np.full(form.shape, found))
    close(strop.reference.soft_overlong(length, **settings), found)
