from __future__ import annotations

import math

import pytest
import torch

import strop
from strop.objective.given import group_doubts, length_doubts, mask_doubts, settle, weight_doubts


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """The tensors whose truth was asked for: on a GPU each is a wait for the device."""
    asked: list[torch.Tensor] = []
    truth = torch.Tensor.__bool__
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda self: asked.append(self) or truth(self))
    return asked


def test_all_doubts_of_a_call_are_settled_by_one_wait(waits: list[torch.Tensor]) -> None:
    keep = torch.tensor([[True, False]])
    doubts = [*mask_doubts(keep.float()), *group_doubts(torch.zeros(1)), *weight_doubts(torch.ones(1, 2), keep)]
    assert len(doubts) == 3
    settle(doubts)
    assert len(waits) == 1


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64])
def test_a_bool_mask_and_integer_ids_are_not_looked_at(dtype: torch.dtype, waits: list[torch.Tensor]) -> None:
    strop.token_weights(torch.ones(2, 3).to(dtype), torch.tensor([0, 1]))
    assert len(waits) == (dtype is not torch.bool)


def test_the_first_wrong_value_is_named_with_its_place() -> None:
    keep = torch.tensor([[True, True], [True, False]])
    weight = torch.tensor([[0.5, 0.25], [-1.0, math.nan]])
    with pytest.raises(ValueError, match=r"^weight\[1, 0\] is -1: a live token's weight is .* finite and 0 or more$"):
        settle([*group_doubts(torch.tensor([1.0, -0.0])), *weight_doubts(weight, keep)])
    with pytest.raises(ValueError, match="^length is -1: "):
        settle(length_doubts(torch.tensor(-1)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_every_float_mask_is_looked_at(dtype: torch.dtype) -> None:
    settle(mask_doubts(torch.tensor([[0, 1]], dtype=dtype)))
    with pytest.raises(ValueError, match=r"^mask\[0, 0\] is 0.5: .* give weight="):
        settle(mask_doubts(torch.tensor([[0.5, 1]], dtype=dtype)))
