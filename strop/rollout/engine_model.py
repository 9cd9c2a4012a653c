"""What an engine asks of the model it is handed: its end tokens, its positions, its evaluation mode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from strop.errors import ConfigError, DataError
from strop.rollout.engine import Request, Sampling


def load_weights(module: Any, weights: Iterable[tuple[str, Tensor]]) -> None:
    """Copy weights into the module's parameters, in its own dtype and on its own device.

    Raises:
        ValueError: the names are not exactly those of the module's parameters; a weight left stale would sample on.
    """
    own, missing = dict(module.named_parameters()), {name for name, _ in module.named_parameters()}
    with torch.no_grad():
        for name, weight in weights:
            if name not in own:
                raise ValueError(f"the engine's model has no weight {name}")
            own[name].copy_(weight)
            missing.discard(name)
    if missing:
        raise ValueError(f"{len(missing)} weights did not reach the engine's model, {min(missing)} among them")


def end_ids(module: Any, tokenizer: Any) -> tuple[int, ...]:
    """The end tokens of a model: of its generation config (else its config), and of its tokenizer.

    Raises:
        ConfigError: there is none, so that no completion could end before max_tokens.
    """
    generation = getattr(getattr(module, "generation_config", None), "eos_token_id", None)
    own = generation if generation is not None else getattr(text_config(module), "eos_token_id", None)
    found: list[Any] = [own] if isinstance(own, int) else list(own or ())
    found.append(getattr(tokenizer, "eos_token_id", None))
    ids = sorted({int(end) for end in found if end is not None})
    if not ids:
        raise ConfigError(
            "the model has no end token: set eos_token_id in its generation_config.json or its tokenizer, "
            "or hand the engine eos_ids"
        )
    return tuple(ids)


def text_config(module: Any) -> Any:
    return module.config.get_text_config(decoder=True)


def check_positions(module: Any, requests: Sequence[Request], sampling: Sampling) -> None:
    """Refuse what would reach beyond the positions that the model has: the last token sampled needs none."""
    limit = getattr(text_config(module), "max_position_embeddings", None)
    for request in requests:
        needed = len(request.prompt_ids) + sampling.max_tokens - 1
        if limit and needed > limit:
            raise DataError(
                f"the prompt of draw {request.draw} has {len(request.prompt_ids)} tokens, and with max_tokens "
                f"{sampling.max_tokens} needs {needed} positions; the model has {limit}: lower rollout.max_tokens or "
                "task.max_prompt_tokens"
            )


@contextmanager
def evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Dropout off for a while; afterwards each submodule is in the mode it was in."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True
