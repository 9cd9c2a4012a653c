"""Soft overlong punishment: a length penalty that starts `buffer` tokens before the limit and never passes -penalty."""

from __future__ import annotations

import math
from typing import overload

import torch
from torch import Tensor

from strop.errors import ConfigError
from strop.objective.given import LENGTH, length_doubts, settle
from strop.objective.streams import widest


@overload
def soft_overlong(length: float, *, max_tokens: int, buffer: int, penalty: float = 1.0) -> float: ...
@overload
def soft_overlong(length: Tensor, *, max_tokens: int, buffer: int, penalty: float = 1.0) -> Tensor: ...
def soft_overlong(length: float | Tensor, *, max_tokens: int, buffer: int, penalty: float = 1.0) -> float | Tensor:
    """What a completion of `length` sampled tokens loses: 0 up to max_tokens - buffer, then linearly to -penalty.

        L <= max - buffer          0
        L <= max                   penalty * (max - buffer - L) / buffer
        L >  max                   -penalty

    DAPO Eq. 13 (arXiv 2503.14476). `length` counts every sampled token, the end token too, and no padding: a number
    gives a number, a tensor a float64 tensor. `buffer` 0 has no slope: 0 up to max_tokens, -penalty beyond.

    Raises:
        ConfigError: a buffer outside 0 to max_tokens, or a penalty that is negative or not finite.
        ValueError: a length below 0, or NaN.
    """
    check_overlong(max_tokens=max_tokens, buffer=buffer, penalty=penalty)
    if isinstance(length, Tensor):
        settle(length_doubts(length))
        return _of_tensor(length.to(widest(length.device)), max_tokens, buffer, penalty)
    if not length >= 0:
        raise ValueError(f"length is {length}: {LENGTH}")
    over = length - (max_tokens - buffer)
    if over <= 0:
        return 0.0
    return -penalty * (min(over / buffer, 1.0) if buffer else 1.0)


def check_overlong(*, max_tokens: int, buffer: int, penalty: float) -> None:
    """ConfigError for a penalty that cannot mean anything: it would fine every completion, or reward long ones."""
    if max_tokens < 1:
        raise ConfigError(f"soft overlong: max_tokens is {max_tokens}; use 1 or more")
    if not 0 <= buffer <= max_tokens:
        raise ConfigError(f"soft overlong: buffer is {buffer}; use 0 to max_tokens ({max_tokens})")
    if not 0 <= penalty < math.inf:
        raise ConfigError(f"soft overlong: penalty is {penalty}; it is subtracted, so use 0 or more")


def _of_tensor(length: Tensor, max_tokens: int, buffer: int, penalty: float) -> Tensor:
    over = length - (max_tokens - buffer)
    share = (over / buffer).clamp(0, 1) if buffer else (over > 0).to(length.dtype)
    return torch.where(over > 0, -penalty * share, torch.zeros_like(share))
