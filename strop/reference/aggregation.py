"""Which mean: the weight of one token, read off the definition of each mean.

Sources: DAPO, arXiv 2503.14476 Eq. 8 (token over the batch, prompt inside each prompt's group); GRPO, arXiv 2402.03300
Eq. 3 (sequence); Dr. GRPO, arXiv 2503.20783 (constant).
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from strop.errors import ConfigError
from strop.reference.arrays import Floats, floats, masked, named

MEANS = ("token", "prompt", "sequence", "constant")


def token_weights(mask: ArrayLike, group: ArrayLike, aggregation: Any = "token", length: int | None = None) -> Floats:
    """Each token's share of the objective; 0 under the mask.    [B, T], [B] -> [B, T]

    Raises:
        ConfigError: a mean that is not one of the four, a constant one without a length, a length below 0.
        ValueError: shapes other than [B, T] and [B]; a mask that is not 0 or 1; an id that is no whole number.
    """
    name, numbers = named(aggregation)
    if name not in MEANS:
        raise ConfigError(f"unknown aggregation {name!r}; use {', '.join(MEANS)}")
    budget = int(length or numbers.get("length", 0))
    if budget < 0:
        raise ConfigError(f"aggregation constant: length is {budget}; use a number of tokens, 1 or more")
    if name == "constant" and budget == 0:
        raise ConfigError("aggregation constant needs a length in tokens")
    rows, ids = masked(mask, group)
    tokens = [sum(1 for m in row if m != 0) for row in rows]  # L_i
    sequences = sum(1 for n in tokens if n > 0)  # S
    prompts = len({g for g, n in zip(ids, tokens, strict=True) if n > 0})  # P

    def one(i: int) -> float:
        """The weight of each token of completion i."""
        if name == "token":
            return 1 / sum(tokens)
        if name == "prompt":
            return 1 / prompts / sum(n for g, n in zip(ids, tokens, strict=True) if g == ids[i])
        if name == "sequence":
            return 1 / sequences / tokens[i]
        return 1 / sequences / budget

    return floats([[one(i) if m != 0 else 0.0 for m in row] for i, row in enumerate(rows)])
