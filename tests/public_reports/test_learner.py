"""The first update of a step: its ratio is 1, whatever shapes the log-probs were scored in."""

from __future__ import annotations

import pytest
import torch

from strop.algorithms import algorithm
from strop.batch.build import Batch, build
from strop.batch.split import pack
from strop.metrics import Metrics
from strop.policy.model import Policy
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner, Scored
from strop.types import Completion, Group, Prompt, Rollout
from tests.learner import tiny_llama

DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])


def four(lengths: tuple[int, ...] = (5, 9, 9, 17)) -> list[Group]:
    """Sequences of these lengths, a prompt token included."""
    rng = torch.Generator().manual_seed(0)
    ids = [tuple(torch.randint(3, 23, (n - 1,), generator=rng).tolist()) for n in lengths]
    rollouts = [Rollout(Completion(i, (-3.0,) * len(i), "", "stop", 0), float(n % 2)) for n, i in enumerate(ids)]
    return [Group(0, Prompt("p", "?"), (7,), tuple(rollouts))]


def learner(name: str, dtype: torch.dtype, *, tokens: int = 40) -> Learner:
    policy = Policy(tiny_llama(dtype=dtype))
    optimizer = Optimizer(policy.module.parameters(), AdamW(1e-3))
    return Learner(policy, algorithm(name, length=16, regularizers="none"), optimizer, tokens)


@DTYPES
@pytest.mark.parametrize("tokens", [1, 30, 10_000])
@pytest.mark.parametrize("name", ["dapo", "gspo", "gspo_token", "vespo", "gmpo"])
def test_one_update_has_ratio_exactly_one_in_every_width_and_layout(name: str, tokens: int, dtype: torch.dtype) -> None:
    """Report B14, https://github.com/verl-project/verl/issues/6280: old log-probs are the current ones, detached.

    They are not scored again, in shapes that may be others.
    """
    trainer, phases = learner(name, dtype, tokens=tokens), set[str]()
    metrics = trainer.train(build(four(), trainer.row), lambda phase, *_: phases.add(phase))
    assert phases == {"train"}
    assert metrics["ratio/max"].total == metrics["ratio/min"].total == metrics["ratio"].mean == 1.0
    assert metrics["clip_ratio/high_mean"].total == metrics["clip_ratio/low_mean"].total == 0.0


def scored_again(trainer: Learner, batch: Batch) -> tuple[Metrics, float]:
    """Metrics where old log-probs come from one batch of all rows and new ones from rows alone; their largest gap."""
    rows = range(len(batch.ids_S))
    together, alone = (pack(batch, list(rows)),), tuple(pack(batch, [s]) for s in rows)
    old_N = trainer.score(trainer.policy, Scored(batch, together), "", lambda *_: None)
    new_N = trainer.score(trainer.policy, Scored(batch, alone), "", lambda *_: None)
    metrics = trainer.accumulate(Scored(batch, alone, old_logp_N=old_N), lambda *_: None)
    return metrics, float((new_N - old_N).abs().max())


@DTYPES
@pytest.mark.parametrize("lengths", [(5, 9, 9, 17), (2, 2, 3, 30), (12, 12, 12, 12)])
def test_scored_again_in_other_shapes_the_gap_is_rounding_and_the_ratio_shows_it(
    lengths: tuple[int, ...], dtype: torch.dtype
) -> None:
    """Report B14: at most 1e-5 nats in float32; what bfloat16 makes of it stands in ratio/max and ratio/min."""
    # https://github.com/verl-project/verl/issues/6280
    trainer = learner("dapo", dtype)
    [batch] = build(four(lengths), trainer.row)
    metrics, gap = scored_again(trainer, batch)
    assert gap <= {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 0.2}[dtype]
    logs = [abs(torch.tensor(metrics[name].total, dtype=torch.float64).log()) for name in ("ratio/max", "ratio/min")]
    assert float(max(logs)) == pytest.approx(gap, rel=1e-3, abs=1e-6)
    if dtype is not torch.bfloat16:
        assert metrics["clip_ratio/high_mean"].total == metrics["clip_ratio/low_mean"].total == 0.0
