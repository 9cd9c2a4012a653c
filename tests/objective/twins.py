"""strop and its reference behind one face: lists and NumPy arrays in, NumPy arrays out. `BOTH` runs a test on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import strop
from strop.metrics import Metric

Array = Any


@dataclass(frozen=True)
class Out:
    value: float
    metrics: dict[str, Metric]
    loss: Array
    gradient: Array
    entropy_gradient: Array


class Torch:
    """strop's own functions on float64 tensors, the gradient by autograd."""

    def advantages(self, reward: Array, group: Array, kind: Any = "standardized") -> Array:
        return strop.advantages(floats(reward), torch.tensor(group), kind).numpy()

    def token_weights(self, mask: Array, group: Array, aggregation: Any = "token", length: int | None = None) -> Array:
        return strop.token_weights(torch.tensor(mask), torch.tensor(group), aggregation, length).numpy()

    def soft_overlong(self, length: Array, **settings: Any) -> Array:
        return strop.soft_overlong(torch.tensor(length), **settings).numpy()

    def has_signal(self, score: Array, group: Array, tolerance: float = 1e-6) -> Array:
        return strop.has_signal(floats(score), torch.tensor(group), tolerance).numpy()

    def kl(self, logp: Array, ref_logp: Array, estimator: str = "k3") -> Array:
        return strop.kl(floats(logp), floats(ref_logp), estimator).numpy()

    def policy_loss(self, row: Any, **given: Array) -> Out:
        mask = torch.as_tensor(given.pop("mask"))
        group = torch.as_tensor(given.pop("group"))
        tensors = {name: floats(value) for name, value in given.items()}
        for name in {"logp", "entropy"} & set(tensors):
            tensors[name].requires_grad_()
        out = strop.policy_loss(row, mask=mask, group=group, **tensors)
        out.value.backward()
        loss = torch.zeros(mask.shape, dtype=torch.float64).masked_scatter(mask != 0, out.loss_N.detach())
        return Out(out.value.item(), out.metrics, loss.numpy(), of(tensors["logp"]), of(tensors.get("entropy")))


class Reference:
    """strop.reference: NumPy loops, the gradient by hand."""

    def advantages(self, reward: Array, group: Array, kind: Any = "standardized") -> Array:
        return strop.reference.advantages(reward, group, kind)

    def token_weights(self, mask: Array, group: Array, aggregation: Any = "token", length: int | None = None) -> Array:
        return strop.reference.token_weights(mask, group, aggregation, length)

    def soft_overlong(self, length: Array, **settings: Any) -> Array:
        return strop.reference.soft_overlong(length, **settings)

    def has_signal(self, score: Array, group: Array, tolerance: float = 1e-6) -> Array:
        return strop.reference.has_signal(score, group, tolerance)

    def kl(self, logp: Array, ref_logp: Array, estimator: str = "k3") -> Array:
        return strop.reference.kl(logp, ref_logp, estimator)

    def policy_loss(self, row: Any, **given: Array) -> Out:
        out = strop.reference.policy_loss(row, **given)
        return Out(out.value, out.metrics, out.loss, out.gradient, out.entropy_gradient)


def floats(value: Array) -> torch.Tensor:
    return torch.tensor(np.asarray(value), dtype=torch.float64)


def of(leaf: torch.Tensor | None) -> Array:
    return np.zeros(0) if leaf is None or leaf.grad is None else leaf.grad.numpy()


BOTH = pytest.mark.parametrize("twin", [Torch(), Reference()], ids=["torch", "reference"])

Twin = Torch | Reference


def rows_of(lengths: list[int], values: list[float] | None = None) -> tuple[Array, Array]:
    """The mask of completions with these lengths, and a [B, T] array that is constant in each row."""
    mask = np.array([[1 if t < n else 0 for t in range(max(lengths))] for n in lengths])
    return mask, mask * np.array(values if values is not None else [1.0] * len(lengths))[:, None]


def close(actual: Array, expected: Array, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
