"""What the other means would have given on the same batch: how far token, prompt, sequence and constant lie apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from strop.algorithms import KINDS, Algorithm
from strop.check.compare import norm, relative
from strop.check.oracle import Oracle
from strop.objective.aggregation import Constant


@dataclass(frozen=True, slots=True)
class Apart:
    """The whole gradient under one mean beside that under the row's own: the angle between them, and their sizes."""

    row: str
    mean: str
    cosine: float
    norm_ratio: float

    def record(self) -> dict[str, Any]:
        return asdict(self)


def means_apart(oracle: Oracle, row: Algorithm, length: int) -> list[Apart]:
    """The gradient of the batch under every mean, from the oracle, beside the row's own; `length` is the constant's."""
    own = oracle.truth(row).gradient
    found: list[Apart] = []
    for name, mean in KINDS["aggregation"].items():
        other = mean(length) if name == Constant.kind else mean()
        chosen = row.aggregation if name == row.aggregation.kind else other
        gradient = oracle.worked_out(replace(row, aggregation=chosen)).gradient
        found.append(Apart(row.name, name, *beside(gradient, own)))
    return found


def beside(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> tuple[float, float]:
    """The cosine between two gradients, and |one| / |other|."""
    product = sum(float(torch.sum(one[name].double() * other[name].double())) for name in other)
    sizes = [math.hypot(*(norm(gradient) for gradient in g.values())) for g in (one, other)]
    return relative(product, sizes[0] * sizes[1]), relative(sizes[0], sizes[1])
