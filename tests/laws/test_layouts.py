"""True of every row, on a real model: no layout of a batch into micro-batches changes a gradient or a metric."""

from __future__ import annotations

import math
import random

import pytest
import torch

from strop.algorithms import ROWS, algorithm
from strop.batch.build import Batch, build
from strop.batch.split import MicroBatch, pack, split
from strop.metrics import Metrics
from strop.policy.model import Policy
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner, Scored
from tests.learner import gradient_error, gradients, nudged, ragged_groups, tiny_llama

LAYOUTS = ("one row each", "two rows", "small budget", "large budget", "shuffled")


def learner(name: str) -> Learner:
    row = algorithm(name, length=12)
    policy = Policy(tiny_llama(), temperature=0.8)
    reference = Policy(nudged(tiny_llama(), 0.02, seed=5), temperature=0.8)
    return Learner(policy, row, Optimizer(policy.module.parameters(), AdamW(1e-3)), 64, reference)


def layout(batch: Batch, name: str) -> tuple[MicroBatch, ...]:
    rows = [s for s, alive in enumerate(batch.live_S.tolist()) if alive]
    if name == "one row each":
        return tuple(pack(batch, [s]) for s in rows)
    if name == "two rows":
        return tuple(pack(batch, rows[i : i + 2]) for i in range(0, len(rows), 2))
    if name == "shuffled":
        random.Random(3).shuffle(rows)
        return tuple(pack(batch, rows[i : i + 3]) for i in range(0, len(rows), 3))
    return tuple(split(batch, tokens=24 if name == "small budget" else 10_000))


def run(learner: Learner, scored: Scored) -> tuple[dict[str, torch.Tensor], Metrics]:
    learner.optimizer.clear()
    metrics = learner.accumulate(scored, lambda *_: None)
    return gradients(learner.policy), {name: m for name, m in metrics.items() if name != "padding_share"}


def fixed_streams(learner: Learner, batch: Batch) -> dict[str, torch.Tensor]:
    """Old and reference log-probs, scored once: an old policy a small step away, so that clips bind."""
    whole = Scored(batch, tuple(split(batch, tokens=10_000)))
    old = Policy(nudged(tiny_llama(), 0.03), temperature=0.8)
    assert learner.reference is not None
    score = learner.score
    return {
        "old_logp_N": score(old, whole, "", lambda *_: None),
        "ref_logp_N": score(learner.reference, whole, "", lambda *_: None),
    }


@pytest.mark.parametrize("mask_truncated", [False, True])
@pytest.mark.parametrize("name", list(ROWS))
def test_no_layout_changes_gradient_or_metrics(name: str, mask_truncated: bool) -> None:
    trainer = learner(name)
    [batch] = build(ragged_groups(), trainer.row, mask_truncated=mask_truncated)
    fixed = fixed_streams(trainer, batch)
    every_row = [s for s, alive in enumerate(batch.live_S.tolist()) if alive]
    right, right_metrics = run(trainer, Scored(batch, (pack(batch, every_row),), **fixed))
    for name_of_layout in LAYOUTS:
        found, metrics = run(trainer, Scored(batch, layout(batch, name_of_layout), **fixed))
        assert gradient_error(found, right) < 1e-12, name_of_layout
        assert metrics.keys() == right_metrics.keys()
        for key, metric in metrics.items():
            assert metric.total == pytest.approx(right_metrics[key].total, rel=1e-12, abs=1e-12), key
            assert math.isclose(metric.weight, right_metrics[key].weight, rel_tol=1e-12), key


@pytest.mark.parametrize("name", list(ROWS))
def test_the_learner_adds_up_to_the_public_loss_over_the_padded_batch(name: str) -> None:
    """The path through build, split and step, against strop.policy_loss on [B, T] tensors of one big forward."""
    import strop

    trainer = learner(name)
    groups = ragged_groups()
    [batch] = build(groups, trainer.row)
    fixed = fixed_streams(trainer, batch)
    found, metrics = run(trainer, Scored(batch, tuple(split(batch, tokens=40)), **fixed))

    whole = pack(batch, range(len(batch.ids_S)))
    trainer.optimizer.clear()
    logp_n, entropy_n = trainer.policy.score(whole, entropy_gradient=True)
    length = int(whole.column_n.max()) + 1
    mask = torch.zeros(len(batch.ids_S), length, dtype=torch.bool)
    mask[whole.row_n, whole.column_n] = True

    def padded(values_n: torch.Tensor, filler: float = math.nan) -> torch.Tensor:
        grid = torch.full((len(batch.ids_S), length), filler, dtype=torch.float64)
        return grid.index_put((whole.row_n, whole.column_n), values_n.to(torch.float64))

    out = strop.policy_loss(
        trainer.row,
        logp=padded(logp_n),
        old_logp=padded(fixed["old_logp_N"][whole.index_n]),
        ref_logp=padded(fixed["ref_logp_N"][whole.index_n]),
        sampler_logp=padded(batch.sampler_logp_N[whole.index_n].double()),
        entropy=padded(entropy_n),
        advantage=batch.advantage_S,
        mask=mask,
        group=batch.group_S * 1000 + 17,
    )
    out.value.backward()
    assert gradient_error(found, gradients(trainer.policy)) < 1e-12
    assert metrics["loss"].total == pytest.approx(out.value.item(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 2e-5), (torch.bfloat16, 0.05)])
def test_in_fp32_and_bf16_a_layout_changes_the_gradient_by_rounding_only(dtype: torch.dtype, bound: float) -> None:
    """Bounded for each width on its own; a mean of micro-batch means would be off by 1 and more."""
    row = algorithm("dapo")
    policy = Policy(tiny_llama(dtype=dtype))
    trainer = Learner(policy, row, Optimizer(policy.module.parameters(), AdamW(1e-3)), 64)
    [batch] = build(ragged_groups((6, 6, 6), longest=30), row)

    def summed(name: str) -> torch.Tensor:
        trainer.optimizer.clear()
        trainer.accumulate(Scored(batch, layout(batch, name)), lambda *_: None)
        return torch.cat([weight.grad.double().flatten() for weight in trainer.optimizer.masters])

    whole = summed("large budget")
    for name in LAYOUTS:
        assert (summed(name) - whole).norm() / whole.norm() < bound, name
