"""Records the golden losses: `python -m tests.golden.record`. Do so only when the mathematics was meant to change."""

from __future__ import annotations

import json
from pathlib import Path

from strop.algorithms import ROWS, algorithm
from strop.batch.build import build
from strop.policy.model import Policy
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner
from tests.learner import nudged, ragged_groups, tiny_llama

FILE = Path(__file__).with_name("losses.json")
STEPS = 4


def losses(name: str) -> list[dict[str, float]]:
    """Loss, gradient norm and entropy of a few float64 steps of two updates each, on groups made by hand."""
    row = algorithm(name, length=12)
    policy = Policy(tiny_llama(), temperature=0.9)
    reference = Policy(nudged(tiny_llama(), 0.02, seed=5), temperature=0.9)
    learner = Learner(policy, row, Optimizer(policy.module.parameters(), AdamW(3e-3, 2)), 48, reference)
    kept: list[dict[str, float]] = []
    for step in range(STEPS):
        batches = build(ragged_groups((4, 2, 3, 5), seed=step), row, updates=2, mask_truncated=step == 3)
        metrics = learner.train(batches, lambda *_: None)
        kept.append({key: metrics[key].mean for key in ("loss", "grad_norm", "entropy")})
    return kept


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: losses(name) for name in ROWS}, indent=1) + "\n")
