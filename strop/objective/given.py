"""What the public functions refuse before they count with it: one clear line that names the argument and its place.

Shapes cost nothing to look at. A value is looked at only where its dtype leaves room for a wrong one (a bool mask and
integer ids have none), and all values of a call in one reduction, so that a GPU is waited for at most once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor

MASK = "a token trains (1) or does not (0); to scale its share of the loss, give weight="
GROUP = "a group id is a whole number, the same for all completions of one draw of a prompt"
WEIGHT = "a live token's weight is its share of the objective, finite and 0 or more"
LENGTH = "a completion has 0 tokens or more"


class Doubt(NamedTuple):
    """Values of an argument that may be wrong, where they are, and what is asked of them."""

    name: str
    value: Tensor
    wrong: Tensor
    text: str


def settle(doubts: Sequence[Doubt]) -> None:
    """ValueError for the first wrong value, if there is one; waits for the device once, or never without a doubt."""
    if not doubts or not bool(torch.stack([doubt.wrong.any() for doubt in doubts]).any()):
        return
    for name, value, wrong, text in doubts:
        for place in wrong.nonzero()[:1].unbind():
            at = cast("list[int]", place.tolist())  # pyright: ignore[reportUnknownMemberType]
            raise ValueError(f"{name}{at if at else ''} is {value[tuple(at)].item():g}: {text}")


def mask_doubts(mask: Tensor) -> list[Doubt]:
    """A mask that is no bool holds 0 and 1 only; NaN is neither."""
    return [] if mask.dtype is torch.bool else [Doubt("mask", mask, (mask != 0) & (mask != 1), MASK)]


def group_doubts(group: Tensor) -> list[Doubt]:
    """Ids that came as floats are whole; NaN and inf are not."""
    return [Doubt("group", group, ~(group % 1 == 0), GROUP)] if group.is_floating_point() else []


def weight_doubts(weight: Tensor, keep: Tensor) -> list[Doubt]:
    """Weights of live tokens are finite and not negative."""
    return [Doubt("weight", weight, keep & ~((weight >= 0) & (weight < torch.inf)), WEIGHT)]


def length_doubts(length: Tensor) -> list[Doubt]:
    """A number of tokens is not negative, nor NaN."""
    return [Doubt("length", length, ~(length >= 0), LENGTH)]


def same_shape(keep: Tensor, **given: Tensor | None) -> None:
    """ValueError for a tensor that has not the shape of the mask."""
    for name, value in given.items():
        if value is not None and value.shape != keep.shape:
            raise ValueError(f"{name} must be {[*keep.shape]} like the mask, got {[*value.shape]}")
