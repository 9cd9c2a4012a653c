"""The flat tensors that the objective reads, one value per trained token, no padding.

Axes, in every file of this package: _N trained tokens, _S sequences (completions), _P prompts (groups), _K the most
likely ids of a position.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from strop.errors import ConfigError

TOP_STREAMS = ("sampler_top_logp", "top_logp", "top_is_sampled")
"""The streams that are [N, K]: what a top-K divergence reads."""


@dataclass(frozen=True, slots=True)
class Streams:
    """What is known of every trained token: all [N], those of the K most likely ids [N, K].

    `seq_N` is the index (int64, from 0) of the token's sequence among the sequences held here. Log-probs are of the
    sampled token, in nats, at one temperature: `logp` the policy's, `old` the policy's when the batch was taken,
    `sampler` the engine's, `ref` the frozen reference's, `masked` the policy's on a masked input. `entropy` is that
    of the policy's whole distribution at the token, with its gradient.

    At the sampler's K most likely ids of each position, in one order: `sampler_top_logp` the sampler's log-probs,
    `top_logp` the policy's (constants), and `top_is_sampled` which of them, if any, is the sampled token.
    """

    logp_N: Tensor
    advantage_N: Tensor
    weight_N: Tensor
    seq_N: Tensor
    old_logp_N: Tensor | None = None
    sampler_logp_N: Tensor | None = None
    ref_logp_N: Tensor | None = None
    masked_logp_N: Tensor | None = None
    entropy_N: Tensor | None = None
    sampler_top_logp_NK: Tensor | None = None
    top_logp_NK: Tensor | None = None
    top_is_sampled_NK: Tensor | None = None

    def read(self, name: str) -> Tensor:
        """The optional stream of that name ("old_logp", ...); a ConfigError where it was not given."""
        value: Tensor | None = getattr(self, f"{name}_NK" if name in TOP_STREAMS else f"{name}_N")
        if value is None:
            raise ConfigError(f"reads {name}, which was not given: pass {name}=")
        return value


def widened(value: Tensor) -> Tensor:
    """The same values in float32 or wider: bfloat16 and float16 are promoted, float64 is never demoted."""
    return value.to(torch.promote_types(value.dtype, torch.float32))


def widest(device: torch.device) -> torch.dtype:
    """The dtype of statistics and weights on a device: float64, but float32 where there is none (Apple's MPS)."""
    return torch.float32 if device.type == "mps" else torch.float64
