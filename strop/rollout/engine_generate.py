"""Sampling through a model's own `generate`, for models whose cache strop's own loop cannot use.

Slower (every completion forwards its prompt again, finished rows stay), same random numbers, same completions:
`generate` runs greedily over scores in which the token that strop picked is the only one left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from strop.rollout.engine_draws import Draws


class NoCacheWarning(UserWarning):
    """strop's own decoding loop cannot use this model's cache, and transformers' `generate` takes its place."""


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """A logits processor that picks from the draws' random numbers and leaves that token alone above -inf."""

    draws: Draws
    tick: Callable[[int], None]

    def __call__(self, input_ids: Tensor, scores_RV: Tensor) -> Tensor:
        ids_R = self.draws.take(scores_RV)
        self.tick(self.draws.finished)
        return torch.full_like(scores_RV, float("-inf")).scatter_(-1, ids_R[:, None], 0.0)


def generate(
    module: Any, prompts: Sequence[Sequence[int]], draws: Draws, *, use_cache: bool, tick: Callable[[int], None]
) -> None:
    """Sample one completion for each prompt into `draws`. The prompts are of one length, so that no row is padded:
    a recurrent model would carry padding in its state.
    """
    rows = [prompts[min(row, len(prompts) - 1)] for row in draws.row_R.tolist()]
    ids_RW = torch.tensor(rows, dtype=torch.long, device=module.device)
    ends = draws.eos.tolist()
    plain = type(module.generation_config)(
        max_new_tokens=draws.steps,
        do_sample=False,
        use_cache=use_cache,
        eos_token_id=ends or None,
        pad_token_id=ends[0] if ends else 0,
    )
    with replaced(module, plain):
        module.generate(
            ids_RW,
            attention_mask=torch.ones_like(ids_RW),
            generation_config=plain,
            logits_processor=[Picked(draws, tick)],
        )


@contextmanager
def replaced(module: Any, generation_config: Any) -> Iterator[None]:
    """`generate` fills what a generation config leaves open from the model's own: here from the same one again."""
    own = module.generation_config
    module.generation_config = generation_config
    try:
        yield
    finally:
        module.generation_config = own
