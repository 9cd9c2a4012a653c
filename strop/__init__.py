"""strop sharpens a language model with reinforcement learning from verifiable rewards: DAPO and its relatives.

    row = strop.algorithm("dapo")                                 an algorithm is a row of five choices
    out = strop.policy_loss(row, logp=..., old_logp=..., advantage=..., mask=..., group=...)
    run = strop.train({"algorithm": "dapo", ...})                 or the whole training run

Names are imported when first used, so that `import strop` itself is quick and loads no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strop import reference as reference
    from strop.algorithms import ROWS as ROWS
    from strop.algorithms import Algorithm as Algorithm
    from strop.algorithms import algorithm as algorithm
    from strop.loop import train as train
    from strop.objective.overlong import soft_overlong as soft_overlong
    from strop.objective.padded import advantages as advantages
    from strop.objective.padded import policy_loss as policy_loss
    from strop.objective.padded import token_weights as token_weights
    from strop.objective.regularizer import kl as kl
    from strop.objective.signal import has_signal as has_signal

__version__ = "0.1.0"

_HOMES = {
    "Algorithm": "strop.algorithms",
    "ROWS": "strop.algorithms",
    "advantages": "strop.objective.padded",
    "algorithm": "strop.algorithms",
    "has_signal": "strop.objective.signal",
    "kl": "strop.objective.regularizer",
    "policy_loss": "strop.objective.padded",
    "soft_overlong": "strop.objective.overlong",
    "token_weights": "strop.objective.padded",
    "train": "strop.loop",
}

__all__ = [
    "Algorithm",
    "ROWS",
    "advantages",
    "algorithm",
    "has_signal",
    "kl",
    "policy_loss",
    "reference",
    "soft_overlong",
    "token_weights",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "reference":
        return importlib.import_module("strop.reference")
    if name not in _HOMES:
        raise AttributeError(f"module 'strop' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
