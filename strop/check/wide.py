"""float64 that stays float64: inside a widened module, what asks for float32 gets float64.

Model code casts norms, softmax and rotary angles to float32 whatever the weights are. A float64 model that does so is
exact to 1e-7 only, by jumps: two layouts that differ by 1e-16 may round to neighbours. The casts change no formula.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

INSIDE: ContextVar[bool] = ContextVar("inside", default=False)
"""Whether a widened module is being run: the modules inside it need not be widened once more."""


WIDER = {id(torch.float32): torch.float64}
"""What is asked for, by identity -> what is given."""


class Wide(TorchFunctionMode):
    """Every torch call that names float32 is made with float64."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is Tensor.float:
            return args[0].double()
        named = {name: WIDER.get(id(value), value) for name, value in (kwargs or {}).items()}
        return func(*[WIDER.get(id(value), value) for value in args], **named)


def widen(module: nn.Module) -> None:
    """Make the module compute in float64 throughout, recomputed layers of a backward pass too. Its weights must be."""
    for part in module.modules():
        part.forward = inside(part.forward)


def inside(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def wide(*args: Any, **kwargs: Any) -> Any:
        if INSIDE.get():
            return forward(*args, **kwargs)
        token = INSIDE.set(True)
        try:
            with Wide():
                return forward(*args, **kwargs)
        finally:
            INSIDE.reset(token)

    return wide
