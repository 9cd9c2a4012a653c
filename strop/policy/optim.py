"""AdamW with warm-up, over fp32 master weights where the policy's own are narrower."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import Parameter

from strop.policy.mesh import whole


@dataclass(frozen=True, slots=True)
class AdamW:
    """The settings of the optimizer. The rate rises linearly over `warmup_updates` updates, then stays."""

    learning_rate: float
    warmup_updates: int = 0
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    max_grad_norm: float = 1.0

    def rate(self, update: int) -> float:
        """The learning rate of update number `update`, counted from 0."""
        return self.learning_rate * min(1.0, (update + 1) / self.warmup_updates if self.warmup_updates else 1.0)


class Optimizer:
    """Steps the policy's parameters.

    bf16 and fp16 weights get fp32 masters: at 1e-6 a bf16 weight would never move. Their gradients are summed over
    micro-batches in the masters too: a thousand bf16 gradients of 0.001, summed in bf16, make 0.5.
    """

    def __init__(self, parameters: Iterable[Parameter], settings: AdamW, *, wide: bool = False) -> None:
        """`wide`: the parameters are themselves the masters of a model that computes in a narrower dtype (FSDP2)."""
        self.settings = settings
        self.wide = wide
        self.updates = 0
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self.masters = [master(parameter) for parameter in self.parameters]
        for parameter, weight in zip(self.parameters, self.masters, strict=True):
            if parameter is not weight:
                parameter.register_post_accumulate_grad_hook(partial(move_gradient, weight))
        self.adamw = torch.optim.AdamW(
            self.masters,
            lr=settings.learning_rate,
            betas=(settings.beta1, settings.beta2),
            weight_decay=settings.weight_decay,
        )

    @property
    def learning_rate(self) -> float:
        """The rate that the next update takes."""
        return self.settings.rate(self.updates)

    def gradient_norm(self) -> float:
        """The norm of the summed gradient over all parameters, before clipping."""
        gradients = [weight.grad for weight in self.masters if weight.grad is not None]
        return float(whole(torch.nn.utils.get_total_norm(gradients))) if gradients else 0.0

    def step(self, norm: float) -> None:
        """Clip by the norm of the whole gradient, take one AdamW step, clear the gradients, advance the schedule."""
        shrink = min(1.0, self.settings.max_grad_norm / (norm + 1e-6))
        for weight in self.masters:
            if weight.grad is not None:
                weight.grad.mul_(shrink)
        for group in self.adamw.param_groups:
            group["lr"] = self.learning_rate
        self.adamw.step()
        with torch.no_grad():
            for parameter, weight in zip(self.parameters, self.masters, strict=True):
                if parameter is not weight:
                    parameter.copy_(weight)
        self.clear()
        self.updates += 1

    def tensors(self, *, keep: bool = True) -> dict[str, Tensor]:
        """What a checkpoint keeps: Adam's moments and counts, and masters of narrower weights, by parameter number.

        Whole tensors on the CPU, also where each rank holds a slice of them: all ranks ask together, one tensor at a
        time, and only those that `keep` them have more than one at once.
        """
        held: dict[str, Tensor] = {}
        for number, (parameter, weight) in enumerate(zip(self.parameters, self.masters, strict=True)):
            for name, value in self.adamw.state[weight].items():
                held[f"{number}.{name}"] = torch.as_tensor(value).detach()
            if parameter is not weight or self.wide:
                held[f"{number}.master"] = weight.detach()
        kept = {name: copied(whole(value)) if keep else whole(value).new_empty(0) for name, value in held.items()}
        return kept if keep else {}

    def clear(self) -> None:
        for tensor in (*self.parameters, *self.masters):
            tensor.grad = None


def copied(value: Tensor) -> Tensor:
    """A copy on the CPU."""
    return value.to("cpu", copy=True)


def move_gradient(weight: Tensor, parameter: Tensor) -> None:
    """Add a parameter's gradient, as soon as a backward pass has made it, to that of its master."""
    if parameter.grad is not None:
        wide = parameter.grad.to(weight.dtype)
        weight.grad = wide if weight.grad is None else weight.grad.add_(wide)
        parameter.grad = None


def master(parameter: Parameter) -> Tensor:
    """The parameter itself if it is fp32 or wider, else an fp32 copy of it."""
    if torch.promote_types(parameter.dtype, torch.float32) == parameter.dtype:
        return parameter
    return parameter.detach().to(torch.float32)
