from __future__ import annotations

import pytest
import torch

from strop.errors import ConfigError
from strop.objective.streams import Streams, widened, widest


def test_a_stream_that_was_not_given_is_an_error_with_its_name() -> None:
    one = torch.zeros(1)
    streams = Streams(one, one, one, one.long(), old_logp_N=one)
    assert streams.read("old_logp") is one
    with pytest.raises(ConfigError, match="ref_logp, which was not given"):
        streams.read("ref_logp")
    with pytest.raises(ConfigError, match="reads top_logp, which was not given: pass top_logp="):
        streams.read("top_logp")
    assert Streams(one, one, one, one.long(), top_logp_NK=one[:, None]).read("top_logp").shape == (1, 1)


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [
        (torch.bfloat16, torch.float32),
        (torch.float16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_arithmetic_is_in_float32_or_wider_and_float64_is_never_demoted(dtype: torch.dtype, wide: torch.dtype) -> None:
    assert widened(torch.zeros(1, dtype=dtype)).dtype is wide


def test_statistics_are_float64_except_where_a_device_has_none() -> None:
    assert widest(torch.device("cpu")) is widest(torch.device("cuda")) is torch.float64
    assert widest(torch.device("mps")) is torch.float32
