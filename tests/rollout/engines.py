"""What the tests of engines share: requests, a plain forward to compare with, and a watch on every forward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from strop.rollout.engine import Request, Sampling
from strop.rollout.engine_hf import HFEngine
from strop.types import Completion

EOS = 2
PROMPTS: tuple[tuple[int, ...], ...] = (
    (5, 6, 7),
    (9,),
    (11, 12, 13, 14, 15, 16, 17, 18, 19),
    (20, 2, 22, 2, 24),
    (3, 4),
)


def requests(completions: int = 3, prompts: Sequence[tuple[int, ...]] = PROMPTS) -> list[Request]:
    return [Request(draw=draw, prompt_ids=ids, completions=completions) for draw, ids in enumerate(prompts)]


def sample(engine: HFEngine, asked: Sequence[Request], **sampling: Any) -> list[tuple[Completion, ...]]:
    return list(engine.sample(asked, Sampling(**{"max_tokens": 12, **sampling})))


def exact(module: Any, prompt: Sequence[int], ids: Sequence[int], temperature: float = 1.0) -> torch.Tensor:
    """Log-probs over the vocabulary at each completion token, from one full forward of the single row:   -> [L, V]"""
    row = torch.tensor([[*prompt, *ids]])
    with torch.no_grad():
        logits = module(input_ids=row, use_cache=False).logits[0, len(prompt) - 1 : -1].float()
    return torch.log_softmax(logits / temperature, -1)


def same(left: Sequence[tuple[Completion, ...]], right: Sequence[tuple[Completion, ...]]) -> bool:
    pairs = [(a, b) for group, twin in zip(left, right, strict=True) for a, b in zip(group, twin, strict=True)]
    assert all(np.allclose(a.sampler_logp, b.sampler_logp, rtol=0, atol=2e-6) for a, b in pairs if a.ids == b.ids)
    return all((a.ids, a.text, a.finish) == (b.ids, b.text, b.finish) for a, b in pairs)


@contextmanager
def watched(module: Any, edit: Callable[[int, torch.Tensor], None] | None = None) -> Iterator[list[tuple[int, int]]]:
    """The shape of every forward; `edit(step, logits of the last column)` may change what the model says."""
    shapes: list[tuple[int, int]] = []

    def see(_: Any, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        if edit is not None:
            edit(len(shapes), output.logits[:, -1])
        shapes.append(tuple(kwargs["input_ids"].shape))

    hook = module.register_forward_hook(see, with_kwargs=True)
    try:
        yield shapes
    finally:
        hook.remove()
