"""Sums, means and extremes over the members of a segment: the tokens of a sequence, the sequences of a prompt.

`index` names each value's segment, 0..size-1, in any order: members of one segment need not be adjacent.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor


def compact(ids: Tensor) -> tuple[Tensor, int]:
    """Segment indices 0..size-1 for any integer ids, and size: equal ids share an index."""
    found = torch.unique(ids, return_inverse=True)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    known, index = cast("tuple[Tensor, Tensor]", found)
    return index, known.numel()


def segment_count(index: Tensor, size: int) -> Tensor:
    """How many members each segment has.    -> [size], int64"""
    return torch.bincount(index, minlength=size)


def segment_sum(value: Tensor, index: Tensor, size: int) -> Tensor:
    """Sum of each segment's values, 0 for an empty one.    -> [size], differentiable"""
    return value.new_zeros(size).index_add(0, index, value)


def segment_mean(value: Tensor, index: Tensor, size: int) -> Tensor:
    """Mean of each segment's values, 0 for an empty one.    -> [size], differentiable"""
    return segment_sum(value, index, size) / segment_count(index, size).clamp(min=1)


def segment_range(value: Tensor, index: Tensor, size: int) -> Tensor:
    """max - min of each segment's values, 0 for an empty one.    -> [size]"""
    low = value.new_full((size,), torch.inf).scatter_reduce(0, index, value, "amin")
    high = value.new_full((size,), -torch.inf).scatter_reduce(0, index, value, "amax")
    return (high - low).clamp(min=0)


def segments(index: Tensor) -> int:
    """The number of segments that an index runs over, empty ones in between included."""
    return int(index.max()) + 1 if index.numel() else 0
